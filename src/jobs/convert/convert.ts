import { describe } from "../../errors/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import type { Store, StoreOptions } from "../../stores/mod.ts";
import { ChunkCheck } from "../chunk_checks.ts";
import {
  describePlace,
  type NodeLocation,
  placeOf,
} from "../hierarchy/node_location.ts";
import {
  assertApart,
  assertTargetOutside,
  type Claim,
  claimTarget,
  removeOld,
} from "./claim_target.ts";
import {
  assertConvertOptions,
  type Conversion,
  type ConvertOptions,
} from "./convert_options.ts";
import {
  type ConvertPlan,
  listSource,
  planConversion,
} from "./convert_plan.ts";
import { ConvertWork, type WorkItem } from "./convert_work.ts";
import { type Copied, copyValue, isRight } from "./copy_value.ts";
import { finishConversion, SourceStamps } from "./finish_conversion.ts";
import {
  assertStillMarked,
  inPlaceError,
  readMarker,
} from "./unfinished_marker.ts";

/**
 * Copies an array, or a group with all that is in it, and gives the arrays another layout:
 * other chunk keys and other parts, and shards that are files of other formats. Elements are
 * neither decoded nor encoded.
 *
 * Chunks are copied in constant memory, if the stores have streams, and `concurrency` of
 * them at once. The checksum of a chunk whose last codec is `crc32c`, and that of the index
 * of a shard, are verified on the way. All members of metadata that are not about the
 * layout, and files that belong to no chunk, are copied as they are.
 *
 * The metadata comes last. Until then, the target does not open, and has a file
 * `.zarr-parts-unfinished.json`. A conversion that has failed or was killed is continued
 * with `resume`. The source is only read.
 *
 * @param source The array or group: a store, or a store and a path.
 * @param target The place for the copy, without files.
 * @param options The new layout, and how the work is done.
 * @returns What was done.
 * @throws {MetadataError} If no node is at `source`, or its metadata or the new one is not
 * valid.
 * @throws {DamageError} If a chunk of the source is damaged.
 * @throws {PartSizeError} If a chunk does not fit the sizes of the new parts.
 * @throws {RangeError} If an option is out of range, the parts do not fit the codecs, or
 * source and target lie in one another.
 * @throws {TypeError} If an option is unknown or of a wrong type, or the target is read-only.
 * @throws {Error} If something is at the target that no option allows, chunks are missing with `finish`, the
 * source changes meanwhile, or another program converts to the same target.
 *
 * @example Shards with their indexes in files of their own
 * ```ts
 * import { FileSystemStore, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { convert } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const source = new FileSystemStore("tests/fixtures/dem.zarr");
 * const target = new MemoryStore(); // Or a FileSystemStore.
 * const { copied } = await convert(source, target, {
 *   suffix: ".shard",
 *   parts: ["", ".index"],
 * });
 * assertEquals(copied, 12);
 * assertEquals(await target.size("/c/2/3.shard.index"), 196);
 * ```
 *
 * @example Back to plain Zarr
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { convert } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({ shape: [4], dataType: "uint8", chunkShape: [2], suffix: ".raw" });
 * const chunks = await createArrayChunks(store, "depth", metadata);
 * await chunks.set([1], new Uint8Array([7, 8]));
 *
 * const plain = new MemoryStore();
 * await convert({ store, path: "depth" }, plain, { plain: true });
 * assertEquals(await plain.get("/c/1"), new Uint8Array([7, 8]));
 * ```
 */
export async function convert(
  source: Store | NodeLocation,
  target: Store | NodeLocation,
  options: ConvertOptions = {},
): Promise<Conversion> {
  assertConvertOptions(options);
  const [from, to] = [placeOf(source), placeOf(target)];
  await assertApart(from, to);
  const { signal } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  if ((await readMarker(from, storeOptions))?.inPlace) throw inPlaceError(from);
  const plan = await planConversion(from, to, options, {
    ...storeOptions,
    keepGoing: options.keepGoing,
  });
  const claim = await claimTarget(plan, options);
  const listed = await listSource(plan, storeOptions).catch(async (error) => {
    await claim.undo();
    throw error;
  });
  await assertTargetOutside(plan, listed.markers, claim, storeOptions);
  const work = new ConvertWork(plan, listed, options.share);
  const conversion = {
    arrays: plan.arrays.map(({ path, source, target, stored }) => ({
      path,
      from: source.metadata,
      metadata: target.metadata,
      chunks: stored?.count,
    })),
    total: work.total,
    v2Documents: listed.v2Documents,
    v2Nodes: listed.v2Nodes,
    leftOut: plan.leftOut,
    ...NOTHING_DONE,
  };
  if (options.dryRun) return conversion;
  if (claim.marker?.earlier) await removeOld(to, claim.marker, options);
  const done = options.finish
    ? await checkAll(plan, work, options)
    : await copyAll(plan, work, claim, options);
  if (options.share) return { ...conversion, ...done };
  await finishConversion(plan, listed, claim, options);
  return { ...conversion, ...done, isFinished: true };
}

/** The counts of the values of a conversion that a run has handled. */
export type ConvertCounts = Pick<
  Conversion,
  "copied" | "skipped" | "absent" | "bytes" | "isFinished"
>;

/** The counts at the start. */
export const NOTHING_DONE: ConvertCounts = {
  copied: 0,
  skipped: 0,
  absent: 0,
  bytes: 0,
  isFinished: false,
};

/** Tells the progress of a run. */
export function report(
  { total }: ConvertWork,
  { copied, skipped, absent, bytes }: ConvertCounts,
  { onProgress }: ConvertOptions,
): void {
  onProgress?.({ done: copied + skipped + absent, total, bytes });
}

/** The number of missing chunks that a message names. */
const MOST_NAMED = 3;

/** Checks that the target has all values. */
export async function checkAll(
  { target }: ConvertPlan,
  work: ConvertWork,
  options: ConvertOptions,
): Promise<ConvertCounts> {
  const done = { ...NOTHING_DONE };
  const missing: string[] = [];
  let count = 0;
  await runConcurrently(
    work,
    options.concurrency ?? 4,
    async (item, signal) => {
      const { from, to, contain } = item;
      const size = contain
        ? sizeOf(await from.get({ signal }), contain)
        : await from.size({ signal });
      if (size === undefined) done.absent++;
      else if (await isRight(from, to, size, "same size", { signal })) {
        done.skipped++;
      } else if (count++ < MOST_NAMED) missing.push(describe(to.key));
      report(work, done, options);
    },
    options.signal,
  );
  if (count === 0) return done;
  throw new Error(
    `Cannot finish the conversion to ${
      describePlace(target)
    }: it lacks ${count} of ${work.total} chunks and files, such as ${
      missing.join(", ")
    }; run their shares again`,
  );
}

/** The length of a value once it is changed. */
function sizeOf(
  bytes: Uint8Array | undefined,
  change: (bytes: Uint8Array) => Uint8Array,
): number | undefined {
  return bytes && change(bytes).length;
}

/** The time between two looks at whether another run has taken the place of this one, in milliseconds. */
const CLAIM_PERIOD = 2000;

/** Copies all values, and counts what happened. */
export async function copyAll(
  plan: ConvertPlan,
  work: ConvertWork,
  { marker }: Claim,
  options: ConvertOptions,
): Promise<ConvertCounts> {
  const { source, target } = plan;
  const done = { ...NOTHING_DONE };
  const stamps = new SourceStamps(source.store);
  const skip = options.resume === "compare"
    ? "same bytes"
    : options.resume || options.share
    ? "same size"
    : undefined;
  let checkedAt = performance.now();
  await runConcurrently(
    work,
    options.concurrency ?? 4,
    async (item, signal) => {
      if (marker && performance.now() - checkedAt > CLAIM_PERIOD) {
        checkedAt = performance.now();
        await assertStillMarked(target, marker, { signal });
      }
      await stamps.take(item, { signal });
      const { outcome, bytes } = await copyItem(item, skip, signal);
      done[outcome]++;
      done.bytes += bytes;
      report(work, done, options);
    },
    options.signal,
  );
  await stamps.check(plan, work, options);
  return done;
}

async function copyItem(
  { from, to, checks, contain, copyFiles, isListed }: WorkItem,
  skip: "same size" | "same bytes" | undefined,
  signal: AbortSignal,
): Promise<Copied> {
  const copied = await copyValue(from, to, {
    skip,
    change: contain,
    ...copyFiles && { copyFiles },
    ...checks && {
      check: (size: number) => new ChunkCheck(checks, from.key, size),
    },
  }, signal);
  if (copied.outcome !== "absent") return copied;
  if (isListed) {
    throw new Error(
      `${
        describe(from.key)
      } was listed and is absent now: the source is being changed; run the conversion again when nobody writes`,
    );
  }
  // An earlier run may have found the chunk.
  if (skip && await to.size({ signal }) !== undefined) {
    await to.delete({ signal });
  }
  return copied;
}
