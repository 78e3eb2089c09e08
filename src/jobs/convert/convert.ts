import type { Store, StoreOptions } from "../../stores/store.ts";
import { checkAll } from "./check_all.ts";
import { claimTarget, removeOld } from "./claim_target.ts";
import type { Conversion } from "../plan/conversion.ts";
import { NOTHING_DONE } from "./convert_counts.ts";
import {
  assertConvertOptions,
  type ConvertOptions,
} from "../plan/convert_options.ts";
import { listSource, planConversion } from "../plan/convert_plan.ts";
import { ConvertWork } from "./convert_work.ts";
import { copyAll } from "./copy_all.ts";
import { finishConversion } from "./finish_conversion.ts";
import { type NodeLocation, placeOf } from "../hierarchy/node_location.ts";
import { assertApart, assertTargetOutside } from "./places_apart.ts";
import { inPlaceError, readMarker } from "../plan/unfinished_marker.ts";

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
