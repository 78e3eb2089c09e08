import {
  describePlace,
  documentKey,
  type NodeLocation,
  type Place,
  placeOf,
} from "../../hierarchy/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import {
  rootOf,
  type Store,
  type StoreOptions,
  write,
} from "../../stores/mod.ts";
import type { Copied, CopySettings } from "../stored_chunks.ts";
import { withThreads } from "../../threads/mod.ts";
import {
  type Claim,
  claimTarget,
  inOneAnotherError,
  removeEarlierDocuments,
  removeLeftovers,
} from "./claim_target.ts";
import {
  assertConvertOptions,
  type Conversion,
  type ConvertOptions,
} from "./convert_options.ts";
import { recodeArray } from "../recode/recode_run.ts";
import { type ConvertPlan, planConversion } from "./convert_plan.ts";
import { copyValue, countValues, valuesOf } from "./copy_values.ts";
import {
  assertUnchanged,
  type ListedSource,
  listSource,
} from "./source_files.ts";
import {
  assertStillMarked,
  inPlaceError,
  readMarker,
  setMarker,
  type UnfinishedMarker,
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
 * @throws {Error} If something is at the target that no option allows, the source changes during
 * the conversion, or another program converts to the same target.
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
  const { share } = options;
  if ((await readMarker(from, options))?.inPlace) throw inPlaceError(from);
  const plan = await planConversion(from, to, options);
  const claim = await claimTarget(plan, options);
  let listed: ListedSource;
  try {
    listed = await listSource(plan, options);
    await assertTargetOutside(plan, listed.markers, claim, options);
  } catch (error) {
    await claim.undo();
    throw error;
  }
  const arrays = plan.arrays.map(({ path, source, target, ...array }) => {
    const { recoded, stored } = array;
    const chunks = recoded?.total(share);
    return {
      ...{ path, from: source.metadata, metadata: target.metadata },
      chunks: stored.isListed ? stored.count : undefined,
      ...recoded && { recoded: { chunks: chunks!, decodes: recoded.decodes } },
    };
  });
  const total = arrays.reduce(
    (sum, { recoded }) => sum + (recoded?.chunks ?? 0),
    countValues(plan, listed, share),
  );
  const conversion = {
    arrays,
    total,
    v2Documents: listed.v2Documents,
    v2Nodes: plan.nodes.filter(({ v2Documents }) => v2Documents.length > 0)
      .map(({ path }) => path),
    leftOut: plan.leftOut,
    excluded: [...plan.selected.excluded],
    others: plan.others,
    ...{ copied: 0, skipped: 0, absent: 0, bytes: 0, isFinished: false },
  };
  if (options.dryRun) return conversion;
  if (claim.marker?.earlier) {
    await removeEarlierDocuments(plan, claim, options);
  }
  await copyAll(plan, listed, claim, options, ({ outcome, bytes }) => {
    conversion[outcome]++;
    conversion.bytes += bytes;
    const { copied, skipped, absent } = conversion;
    const done = copied + skipped + absent;
    options.onProgress?.({ done, total, bytes: conversion.bytes });
  });
  await assertUnchanged(plan, listed, options);
  if (share) return conversion;
  // Without a marker, the target was finished before, with the same documents.
  if (claim.marker) await finish(plan, listed, claim.marker, options);
  return { ...conversion, isFinished: true };
}

/** The bytes of elements for which threads are started, which takes as long as to encode some MiB. */
const LEAST_TO_START = 16 * 2 ** 20;
/** The time after which a run looks again whether another run has claimed the target, in milliseconds. */
const CLAIM_PERIOD = 2000;

/**
 * Copies or makes all values.
 *
 * @param done Called after each value.
 * @throws {Error} If another run claims the target.
 */
async function copyAll(
  plan: ConvertPlan,
  listed: ListedSource,
  { marker }: Claim,
  options: ConvertOptions,
  done: (copied: Copied) => void,
): Promise<void> {
  const { share, resume = false, concurrency = 4, signal } = options;
  // Where earlier chunks are replaced, one of the right length may be an earlier one.
  const settings: CopySettings = {
    skipsStored: !marker?.earlier && (resume || share !== undefined),
    replaces: marker?.earlier !== undefined || resume || share !== undefined,
    set: marker
      ? { exclusive: true, otherBytes: "replace" }
      : { exclusive: false, otherBytes: "refuse" },
  };
  let checkedAt = performance.now();
  const before = async (signal: AbortSignal) => {
    if (!marker || performance.now() - checkedAt < CLAIM_PERIOD) return;
    checkedAt = performance.now();
    await assertStillMarked(plan.target, marker, { signal });
  };
  const values = valuesOf(plan, listed, share, settings);
  await runConcurrently(values, concurrency, async (value, signal) => {
    await before(signal);
    done(await copyValue(value, settings, { signal }));
  }, signal);
  const recoded = plan.arrays.flatMap(({ recoded }) => recoded ?? []);
  const bytes = recoded.reduce((sum, array) => sum + array.threadedBytes, 0);
  const least = typeof options.threads === "object" ? 1 : LEAST_TO_START;
  await withThreads(bytes < least ? 0 : options.threads, async (threads) => {
    const sink = { ...settings, concurrency, before, done };
    for (const array of recoded) {
      await recodeArray(array, sink, share, threads, signal);
    }
  });
}

/**
 * Removes what is left over at the target, writes its documents, the outermost one last, and
 * removes the marker. From then on, the target opens.
 *
 * @throws {Error} If another program has claimed the target.
 */
async function finish(
  plan: ConvertPlan,
  listed: ListedSource,
  marker: UnfinishedMarker,
  options: ConvertOptions,
): Promise<void> {
  const { target, documents } = plan;
  await assertStillMarked(target, marker, options);
  if (options.resume || marker.earlier) {
    await removeLeftovers(plan, listed, marker, options);
  }
  for (const [path, bytes] of documents) {
    await write(target.store, documentKey(target, path), bytes, options);
  }
  await setMarker(target, undefined, options);
}

/** Throws if the target lies in the source, or the source in the target, as far as the stores show it. */
async function assertApart(source: Place, target: Place): Promise<void> {
  const [from, to] = source.store === target.store
    ? [source.root, target.root]
    : await Promise.all([source, target].map(realFolder));
  if (from === undefined || to === undefined) return;
  if (from === to) throw ontoItselfError(source);
  const [one, other] = [from, to].map((path) => path.replace(/[\\/]?$/, "/"));
  if (!one!.startsWith(other!) && !other!.startsWith(one!)) return;
  throw inOneAnotherError(source, target);
}

/** Throws if the listing of the source has the marker of this run, so that the target lies in the source. */
async function assertTargetOutside(
  { source, target }: ConvertPlan,
  markers: readonly string[],
  { marker }: Claim,
  options: StoreOptions,
): Promise<void> {
  if (marker === undefined) return;
  for (const key of markers) {
    const root = key.slice(0, key.lastIndexOf("/")) as Place["root"];
    const place = { store: source.store, root };
    const found = await readMarker(place, options);
    if (found?.run === marker.run) throw inOneAnotherError(source, target);
  }
}

/** The real path of the folder of a place; `undefined` in stores other than file stores. */
async function realFolder({ store, root }: Place): Promise<string | undefined> {
  return await rootOf(store)?.root.realFolder(root);
}

function ontoItselfError(place: Place): RangeError {
  const canChange = rootOf(place.store) !== undefined;
  return new RangeError(
    `Cannot convert ${
      describePlace(place)
    } onto itself; expected another target${
      canChange ? ", or a conversion in place (convertInPlace, --in-place)" : ""
    }`,
  );
}
