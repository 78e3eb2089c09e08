import {
  type ArrayChunks,
  isInShare,
  parsedArrayOf,
  type SetChunkOptions,
  type Share,
} from "../../arrays/mod.ts";
import { partsBackend } from "../../concat_parts/mod.ts";
import { sentence } from "../../errors/mod.ts";
import { type Part, storingOrder } from "../../splitter/mod.ts";
import {
  backendOf,
  canCopyFiles,
  copyFile,
  fileStamp,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
  writeAll,
} from "../../stores/mod.ts";
import {
  checkedStream,
  checksOf,
  ChunkCheck,
  type ChunkChecks,
} from "../chunk_checks.ts";
import {
  type Copied,
  type CopySettings,
  sizeOrDamage,
} from "../stored_chunks.ts";
import type { ConvertPlan } from "./convert_plan.ts";
import { type ListedSource, withoutNodes } from "./source_files.ts";

/** A chunk or a file that is copied. */
interface CopiedValue {
  readonly from: StoredValue;
  readonly to: StoredValue;
  /** The checksums of a chunk; `undefined` for a file. */
  readonly checks: ChunkChecks | undefined;
  /** Changes the bytes of a shard, or of metadata of Zarr v2; `undefined` for values that are copied as they are. */
  readonly change: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** Whether the source was found to hold the value. */
  readonly isListed: boolean;
}

/** A chunk or a file in a store. */
interface StoredValue {
  readonly store: Store;
  readonly key: StoreKey;
  /** The parts that the value is stored in. */
  readonly parts: readonly Part[];
  size(options: StoreOptions): Promise<number | undefined>;
  get(options: StoreOptions): Promise<Uint8Array | undefined>;
  stream(options?: StoreOptions): Promise<
    ReadableStream<Uint8Array> | undefined
  >;
  set(
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions,
  ): Promise<void>;
  delete(options: StoreOptions): Promise<void>;
}

/** The number of chunks that are copied, and of files, or of those of a share. */
export function countValues(
  plan: ConvertPlan,
  listed: ListedSource,
  share: Share | undefined,
): number {
  return copiedArrays(plan).reduce(
    (sum, { stored }) => sum + stored.countOf(share),
    filesOf(listed, share).length,
  );
}

/** The chunks that are copied, and the files of a conversion, or those of one share. */
export function* valuesOf(
  plan: ConvertPlan,
  listed: ListedSource,
  share: Share | undefined,
  { set }: CopySettings,
): Generator<CopiedValue> {
  const { source, target } = plan;
  for (const array of copiedArrays(plan)) {
    const { contain, stored } = array;
    const checks = checksOf(parsedArrayOf(array.source));
    for (const coordinates of stored.of(share)) {
      const from = chunkIn(source.store, array.source, coordinates, {});
      yield {
        from,
        to: chunkIn(target.store, array.target, coordinates, set),
        checks,
        change: contain && ((bytes) => contain(bytes, coordinates, from.key)),
        isListed: stored.isListed,
      };
    }
  }
  for (const file of filesOf(listed, share)) {
    const key: StoreKey = `${source.root as StoreKey}${file}`;
    yield {
      from: fileIn(source.store, key),
      to: fileIn(target.store, `${target.root as StoreKey}${file}`),
      checks: undefined,
      change: file.endsWith("/.zmetadata")
        ? (bytes) => withoutNodes(bytes, key, plan)
        : undefined,
      isListed: true,
    };
  }
}

function copiedArrays({ arrays }: ConvertPlan) {
  return arrays.filter(({ recoded }) => recoded === undefined);
}

function filesOf({ files }: ListedSource, share: Share | undefined) {
  return share ? files.filter((file) => isInShare(share, file)) : files;
}

function chunkIn(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
  settings: SetChunkOptions,
): StoredValue {
  return {
    store,
    key: chunks.key(coordinates),
    parts: parsedArrayOf(chunks).parts,
    size: (options) => chunks.size(coordinates, options),
    get: (options) => chunks.get(coordinates, options),
    stream: (options) => chunks.stream(coordinates, options),
    set: (value, options) =>
      chunks.set(coordinates, value, { ...settings, ...options }),
    delete: (options) => chunks.delete(coordinates, options),
  };
}

function fileIn(store: Store, key: StoreKey): StoredValue {
  return {
    store,
    key,
    parts: [{ keySuffix: "" }],
    size: (options) => backendOf(store).size(key, options),
    get: (options) => backendOf(store).get(key, options),
    stream: (options) => backendOf(store).stream(key, options),
    set: (value, options) => write(store, key, value, options),
    delete: (options) => remove(store, key, options),
  };
}

/** Values of up to this length are read whole, since streams and copies of files take time to set up. */
const SMALL = 1024 * 1024;

/**
 * Copies a value, in constant memory if the stores have streams.
 *
 * @throws {DamageError} If the value is damaged.
 * @throws {Error} If the value was listed and is absent now.
 */
export async function copyValue(
  { from, to, checks, change, isListed }: CopiedValue,
  { skipsStored, replaces }: CopySettings,
  options: Required<StoreOptions>,
): Promise<Copied> {
  const isStored = async (size: number) =>
    skipsStored && await sizeOrDamage(to.size(options)) === size;
  const isWhole = change !== undefined ||
    typeof from.store.size !== "function";
  let bytes = isWhole ? await from.get(options) : undefined;
  let size = isWhole ? bytes?.length : await from.size(options);
  if (size !== undefined && change === undefined && await isStored(size)) {
    return { outcome: "skipped", bytes: 0 };
  }
  if (!isWhole && size !== undefined && size <= SMALL) {
    bytes = await from.get(options);
    size = bytes?.length;
  }
  if (bytes !== undefined) {
    if (checks) verifyBytes(bytes, from.key, checks);
    if (change) {
      bytes = change(bytes);
      if (await isStored(bytes.length)) return { outcome: "skipped", bytes: 0 };
    }
    await to.set(bytes, options);
    return { outcome: "copied", bytes: bytes.length };
  }
  if (size !== undefined) {
    const isCopied = await copyBySystem(from, to, size, checks, options) ||
      await copyStream(from, to, size, checks, options);
    if (isCopied) return { outcome: "copied", bytes: size };
  }
  if (isListed) {
    throw new Error(
      sentence`${from.key} was listed and is absent now: the source is being changed; run the conversion again when nobody writes`,
    );
  }
  // The source may have had the chunk when an earlier run copied it.
  const isReplaced = replaces &&
    await sizeOrDamage(to.size(options)) !== undefined;
  if (isReplaced) await to.delete(options);
  return { outcome: "absent", bytes: 0 };
}

function verifyBytes(bytes: Uint8Array, key: string, checks: ChunkChecks) {
  const check = new ChunkCheck(checks, key, bytes.length);
  check.take(bytes);
  check.finish();
}

/** Copies a value by a stream. Returns whether the value is there. */
async function copyStream(
  from: StoredValue,
  to: StoredValue,
  size: number,
  checks: ChunkChecks | undefined,
  options: StoreOptions,
): Promise<boolean> {
  // Without the signal, files are read without copies. The signal ends the writing.
  const stream = await from.stream();
  if (stream === undefined) return false;
  const value = checks
    ? checkedStream(stream, checks, { key: from.key, size })
    : stream;
  await to.set(value, options);
  return true;
}

/** The longest chunk that the operating system copies, since that cannot be aborted. */
const LONGEST = 1024 * 1024 * 1024;
/** The most bytes that are read beside a copy. */
const MOST_READ = 8 * 1024 * 1024;

/** Thrown if a file of the source has changed since it was first looked at. */
class ChangedSource extends Error {}

/**
 * Copies a chunk between file stores whose first parts hold the rest of the chunk: the operating
 * system copies that file, whose end is cut off or appended. This takes half of the processor
 * time of a stream.
 *
 * @returns Whether the chunk was copied. If not, nothing has changed, and a stream copies it,
 * which reports any damage.
 */
async function copyBySystem(
  from: StoredValue,
  to: StoredValue,
  size: number,
  checks: ChunkChecks | undefined,
  options: StoreOptions,
): Promise<boolean> {
  const [length, needed] = [from, to].map(({ parts }) =>
    parts.slice(1).reduce((rest, { size = NaN }) => rest - size, size)
  ) as [number, number];
  const copied = Math.min(length, needed);
  // The checksum of a whole chunk needs all bytes.
  const isFitting = canCopyFiles(from.store, to.store) && size <= LONGEST &&
    copied > size - MOST_READ && !checks?.hasChecksum &&
    [from, to].every(({ parts }) => parts[0]!.size === undefined);
  if (!isFitting) return false;
  const files = from.parts.map(({ keySuffix }): StoreKey =>
    `${from.key}${keySuffix}`
  );
  const stamps = () =>
    files.map((file) => fileStamp(from.store, file, options)).join("\n");
  const before = stamps();
  const source = partsBackend(backendOf(from.store), from.parts);
  const read = async (offset: number, length: number) => {
    if (length === 0) return new Uint8Array();
    const bytes = await source.read(
      [from.key],
      (values) => values.read(from.key, { offset, length }),
      options,
    );
    if (bytes?.length !== length) throw new ChangedSource();
    return bytes;
  };
  try {
    if (checks) await verifyIndex(from.key, size, checks, read);
    const keys = storingOrder(to.parts)
      .map(({ keySuffix }): StoreKey => `${to.key}${keySuffix}`);
    const pending = await backendOf(to.store)
      .prepare!(keys, { ...options, name: to.key });
    try {
      let start = 0;
      for (const [i, { keySuffix, size = needed }] of to.parts.entries()) {
        const writer = await pending.writer(`${to.key}${keySuffix}`);
        const file = { store: from.store, key: files[0]!, size: length };
        const skipped = i === 0 ? copied : 0;
        if (i === 0 && !await copyFile(file, writer, copied, options)) {
          throw new ChangedSource();
        }
        await writeAll(writer, await read(start + skipped, size - skipped));
        // No file may have bytes of two writes.
        if (stamps() !== before) throw new ChangedSource();
        await writer.close();
        start += size;
      }
      await pending.commit();
      return true;
    } catch (error) {
      await pending.abort(error);
      throw error;
    }
  } catch (error) {
    if (error instanceof ChangedSource) return false;
    throw error;
  }
}

/** Verifies the checksum of the index of a shard. */
async function verifyIndex(
  key: string,
  size: number,
  checks: ChunkChecks,
  read: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<void> {
  const check = new ChunkCheck(checks, key, size);
  const { offset, length } = check.index ?? { offset: size, length: 0 };
  check.skip(offset);
  check.take(await read(offset, length));
  check.skip(size - offset - length);
  check.finish();
}
