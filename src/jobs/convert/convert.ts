import { parsedArrayOf } from "../../arrays/mod.ts";
import { describe } from "../../errors/mod.ts";
import { isSameBytes, runConcurrently } from "../../runtime/mod.ts";
import { type Store, type StoreOptions, write } from "../../stores/mod.ts";
import {
  ArrayKeys,
  describePlace,
  documentKey,
  listHierarchy,
  type NodeLocation,
  placeOf,
  readNodeDocument,
  rootIn,
} from "../../hierarchy/mod.ts";
import {
  assertApart,
  assertTargetOutside,
  type Claim,
  claimTarget,
  removeEarlier,
} from "./claim_target.ts";
import {
  assertConvertOptions,
  type Conversion,
  type ConvertOptions,
} from "./convert_options.ts";
import {
  type ConvertPlan,
  planConversion,
  type PlannedArray,
} from "./convert_plan.ts";
import { Recodings } from "../recode/recodings.ts";
import { ConvertWork } from "./convert_work.ts";
import { type Copied, copyValue, isRight } from "./copy_value.ts";
import {
  changedError,
  type CopiedValue,
  fingerprintOf,
  type ListedSource,
  listSource,
  SourceStamps,
} from "./source_files.ts";
import {
  assertStillMarked,
  inPlaceError,
  readMarker,
  removeMarker,
} from "./unfinished_marker.ts";

/**
 * Copies an array, or a group with all that is in it, and gives the arrays another layout:
 * other chunk keys and other parts, and shards that are files of other formats. Elements are
 * decoded and encoded only with `recode`, for other codecs, and for other shapes of chunks
 * and shards.
 *
 * Chunks are copied in constant memory, if the stores have streams, and `concurrency` of
 * them at once. The checksum of a chunk whose last codec is `crc32c`, and that of the index
 * of a shard, are verified on the way. All members of metadata that are not about the
 * layout, and files that belong to no chunk, are copied as they are.
 *
 * Arrays and groups of Zarr v2 are read as `v2View` shows them, and become Zarr v3.
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
 * @throws {Error} If something is at the target that no option allows, chunks are missing with
 * `finish`, the source changes during the conversion, or another program converts to the same
 * target.
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
  const { keepGoing, only, exclude, others } = options;
  const recoding = new Recodings(to.store, options);
  const plan = await planConversion(from, to, options, {
    ...storeOptions,
    ...{ keepGoing, only, exclude, others },
    recode: (array) => recoding.add(array, from),
  });
  const claim = await claimTarget(plan, options);
  const listed = await listSource(plan, storeOptions).catch(async (error) => {
    await claim.undo();
    throw error;
  });
  await assertTargetOutside(plan, listed.markers, claim, storeOptions);
  const isUnfinished = claim.marker !== undefined;
  const work = new ConvertWork(plan, listed, options.share, isUnfinished);
  recoding.begin(options.share);
  const total = work.total + recoding.total;
  const conversion = {
    arrays: plan.arrays.map(({ path, source, target, stored }) => ({
      path,
      from: source.metadata,
      metadata: target.metadata,
      chunks: stored?.count,
      ...recoding.report(path),
    })),
    total,
    v2Documents: listed.v2Documents,
    v2Nodes: listed.v2Nodes,
    leftOut: plan.leftOut,
    excluded: [...plan.selected.excluded],
    others: plan.others,
    ...NOTHING_DONE,
  };
  if (options.dryRun) return conversion;
  if (claim.marker?.earlier) await removeEarlier(to, claim.marker, options);
  const done = options.finish
    ? await checkAll(plan, work, recoding, options)
    : await copyAll(plan, work, recoding, claim, options);
  if (options.share) return { ...conversion, ...done };
  await finishConversion(plan, listed, recoding, claim, options);
  return { ...conversion, ...done, isFinished: true };
}

/** The counts of the values that a run has handled. */
type ConvertCounts = Pick<
  Conversion,
  "copied" | "skipped" | "absent" | "bytes" | "isFinished"
>;

const NOTHING_DONE: ConvertCounts = {
  copied: 0,
  skipped: 0,
  absent: 0,
  bytes: 0,
  isFinished: false,
};

/** The time after which a run looks again whether another run has claimed the target, in milliseconds. */
const CLAIM_PERIOD = 2000;

/**
 * Copies all values.
 *
 * @throws {Error} If another run claims the target, or the source changes.
 */
async function copyAll(
  plan: ConvertPlan,
  work: ConvertWork,
  recoding: Recodings,
  { marker }: Claim,
  options: ConvertOptions,
): Promise<ConvertCounts> {
  const { source, target } = plan;
  const stamps = new SourceStamps(source.store);
  const skip = options.resume === "compare"
    ? "same bytes"
    : options.resume || options.share
    ? "same size"
    : undefined;
  let checkedAt = performance.now();
  const check = async (signal: AbortSignal) => {
    if (marker && performance.now() - checkedAt > CLAIM_PERIOD) {
      checkedAt = performance.now();
      await assertStillMarked(target, marker, { signal });
    }
  };
  const total = work.total + recoding.total;
  const counter = new Counter(total, options);
  await runConcurrently(work, concurrencyOf(options), async (item, signal) => {
    await check(signal);
    await stamps.take(item, { signal });
    counter.count(await copyValue(item, skip, { signal }));
  }, options.signal);
  await recoding.run({
    mode: skip === "same bytes" ? "compare" : "write",
    skipsStored: skip === "same size",
    isExclusive: marker !== undefined,
    concurrency: concurrencyOf(options),
    async before(values, signal) {
      await check(signal);
      await runConcurrently(
        values,
        STAMPS,
        (value, signal) => stamps.take(value, { signal }),
        signal,
      );
    },
    done: (_, copied) => counter.count(copied),
  }, options.signal);
  await stamps.check(plan, allValues(work, recoding), options);
  return counter.counts;
}

/** The values whose stamps are taken, as many times as they are taken. */
function* allValues(
  work: ConvertWork,
  recoding: Recodings,
): Generator<CopiedValue> {
  yield* work;
  yield* recoding.sourceValues();
}

/** How many stamps are taken at the same time. */
const STAMPS = 8;

/** The number of missing chunks that a message names. */
const MOST_NAMED = 3;

/**
 * Checks that the target has all values.
 *
 * @throws {Error} If the target lacks values.
 */
async function checkAll(
  { target }: ConvertPlan,
  work: ConvertWork,
  recoding: Recodings,
  options: ConvertOptions,
): Promise<ConvertCounts> {
  const missing: string[] = [];
  let count = 0;
  const miss = (key: string) => {
    if (count++ < MOST_NAMED) missing.push(describe(key));
  };
  const concurrency = concurrencyOf(options);
  const total = work.total + recoding.total;
  const counter = new Counter(total, options);
  await runConcurrently(work, concurrency, async (item, signal) => {
    const { from, to, change } = item;
    let size: number | undefined;
    if (change === undefined) size = await from.size({ signal });
    else {
      const bytes = await from.get({ signal });
      size = bytes && change(bytes).length;
    }
    if (size === undefined) return counter.count(ABSENT);
    if (await isRight(from, to, size, "same size", { signal })) {
      return counter.count(THERE);
    }
    miss(to.key);
    counter.count(undefined);
  }, options.signal);
  // A chunk that is absent may have no elements but the fill value.
  await recoding.run({
    mode: "check",
    skipsStored: true,
    isExclusive: false,
    concurrency,
    before: () => Promise.resolve(),
    done(key, copied) {
      if (copied.outcome !== "copied") return counter.count(copied);
      miss(key);
      counter.count(undefined);
    },
  }, options.signal);
  if (count === 0) return counter.counts;
  throw new Error(
    `Cannot finish the conversion to ${
      describePlace(target)
    }: it lacks ${count} of ${total} chunks and files, such as ${
      missing.join(", ")
    }; run their shares again`,
  );
}

const ABSENT: Copied = { outcome: "absent", bytes: 0 };
const THERE: Copied = { outcome: "skipped", bytes: 0 };

function concurrencyOf({ concurrency = 4 }: ConvertOptions): number {
  return concurrency;
}

/** Counts the outcomes, and reports the progress. */
class Counter {
  readonly counts = { ...NOTHING_DONE };
  readonly #total: number;
  readonly #onProgress: ConvertOptions["onProgress"];

  constructor(total: number, { onProgress }: ConvertOptions) {
    this.#total = total;
    this.#onProgress = onProgress;
  }

  /** @param copied The outcome for a value; `undefined` for one that is missing. */
  count(copied: Copied | undefined): void {
    const { counts } = this;
    if (copied !== undefined) {
      counts[copied.outcome]++;
      counts.bytes += copied.bytes;
    }
    const { skipped, absent, bytes } = counts;
    const done = counts.copied + skipped + absent;
    this.#onProgress?.({ done, total: this.#total, bytes });
  }
}

/**
 * Writes the documents of the target, the outermost one last, and removes the marker. From
 * then on, the target opens.
 *
 * @throws {Error} If the source has changed, or another program has claimed the target.
 */
async function finishConversion(
  plan: ConvertPlan,
  listed: ListedSource,
  recoding: Recodings,
  { marker }: Claim,
  options: ConvertOptions,
): Promise<void> {
  const { target, documents } = plan;
  await assertUnchanged(plan, listed, options);
  // Without a marker, the target was finished before, with the same documents.
  if (marker === undefined) return;
  await assertStillMarked(target, marker, options);
  if (options.resume || options.finish) {
    const { signal } = options;
    await removeStaleChunks(plan, recoding, signal ? { signal } : {});
  }
  for (const [path, bytes] of documents) {
    await write(target.store, documentKey(target, path), bytes, options);
  }
  await removeMarker(target, options);
}

/** Throws if a document of the source, or the set of its chunks and files, has changed. */
async function assertUnchanged(
  plan: ConvertPlan,
  { fingerprint }: ListedSource,
  options: StoreOptions,
): Promise<void> {
  const { source, nodes } = plan;
  for (const { path, bytes } of nodes) {
    const found = await readNodeDocument(source, path, false, options);
    if (!isSameBytes(found?.bytes, bytes)) throw changedError(plan);
  }
  if (fingerprint === undefined) return;
  if (await fingerprintOf(plan, options) !== fingerprint) {
    throw changedError(plan);
  }
}

/**
 * Removes the chunks of the target that an earlier run copied, and that the source does not
 * have any more. Targets that cannot list are left as they are.
 */
async function removeStaleChunks(
  plan: ConvertPlan,
  recoding: Recodings,
  options: StoreOptions,
): Promise<void> {
  if (typeof plan.target.store.list !== "function") return;
  const counts = new Map<PlannedArray, number>();
  const found: [PlannedArray, readonly number[]][] = [];
  await listChunks(plan, plan.arrays, (array, coordinates) => {
    if (!array.isRecoded) counts.set(array, (counts.get(array) ?? 0) + 1);
    else if (!recoding.mayMake(array, coordinates)) {
      found.push([array, coordinates]);
    }
  }, options);
  // The target has all chunks of the source, so that any further chunk is stale.
  const stale = plan.arrays.filter((array) =>
    (counts.get(array) ?? 0) > (array.stored?.count ?? Infinity)
  );
  const known = new Map(
    stale.map((array) => [array, new Set(Array.from(array.stored!, String))]),
  );
  if (stale.length > 0) {
    await listChunks(plan, stale, (array, coordinates) => {
      const isKnown = known.get(array)!.has(String(coordinates));
      if (!isKnown) found.push([array, coordinates]);
    }, options);
  }
  for (const [array, coordinates] of found) {
    await array.target.delete(coordinates, options);
  }
}

/** Lists the chunks of some arrays of the target. */
async function listChunks(
  { target, nodes }: ConvertPlan,
  arrays: readonly PlannedArray[],
  onChunk: (array: PlannedArray, coordinates: readonly number[]) => void,
  options: StoreOptions,
): Promise<void> {
  const byPath = new Map(arrays.map((array) => [array.path, array]));
  const keys = new Map(arrays.map((array) => [
    array.path,
    new ArrayKeys(parsedArrayOf(array.target), rootIn(target, array.path)),
  ]));
  await listHierarchy(target, nodes, keys, {
    chunk: (path, coordinates) => onChunk(byPath.get(path)!, coordinates),
    file() {},
  }, options);
}
