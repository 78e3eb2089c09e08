import { assertByteRange, resolveByteRange } from "../stores/byte_range.ts";
import { hasGroups } from "../stores/has_groups.ts";
import type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
} from "../stores/store.ts";
import type { GroupValues, StoreVersion } from "../stores/store_group.ts";
import type { Part } from "../splitter/part.ts";
import { assertPartSize } from "../splitter/part_size_error.ts";
import { appliedParts } from "./applied_parts.ts";
import { ChunkVersion, overlaps } from "./chunk_version.ts";
import { Composition } from "./composition.ts";
import { READ_WHOLE, type StoredChunk } from "./stored_chunk.ts";

/** The version of a chunk, and bytes of it that were read with it. */
export interface FoundVersion {
  readonly version: ChunkVersion;
  /** The bytes of the range that was asked for, if one was. */
  readonly pieces: readonly Uint8Array[] | undefined;
}

/** Caches the composition of each store, which flattens the parts of its chunks. */
const compositions = /* @__PURE__ */ new WeakMap<Store, Composition>();

/**
 * Finds the parts of a value, which may be a chunk in parts of a composed store.
 * Returns `undefined` if the store does not tell versions.
 */
export function versionedChunk(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): StoredChunk | undefined {
  let composition = compositions.get(store);
  if (composition === undefined) {
    composition = new Composition(
      appliedParts(store) ??
        { layers: [], below: store, isChunkKey: () => false },
    );
    compositions.set(store, composition);
  }
  const below = composition.store;
  return hasGroups(below) && typeof below.getRangeOf === "function"
    ? composition.valueAt(key, options)
    : undefined;
}

/**
 * Looks up the lengths and the versions of a chunk's parts, all of one write. The bytes
 * of a range are read with the same requests, where that is possible.
 *
 * @param range The bytes to read into memory.
 * @param toEnd Whether more bytes are needed, up to the end of the chunk.
 * @returns The version; `undefined` for an absent chunk, and `"unknown"` if the store
 * cannot tell a later version from this one.
 */
export function findChunkVersion(
  chunk: StoredChunk,
  range?: ByteRange,
  toEnd = false,
): Promise<FoundVersion | "unknown" | undefined> {
  if (range) assertByteRange(range);
  const { parts, store, options } = chunk;
  const asked = range && chunk.flat.sums.length === 0
    ? knownPieces(parts, range, toEnd)
    : [];
  return chunk.group()!.read(async (values) => {
    const over = chunk.over(values);
    const lookedUp = await Promise.all(
      parts.map((part, i) => lookUp(over, values, part, asked[i])),
    );
    const found = await over.allOrAbsent(parts, lookedUp);
    if (found === undefined) return undefined;
    chunk.assertSums(found.map(({ size }) => size));
    const versioned = found.filter(hasVersion);
    if (versioned.length < found.length) {
      for (const { version } of versioned) version.release();
      return "unknown";
    }
    const last = chunk.keyOf(chunk.flat.storingOrder.at(-1)!);
    const version = new ChunkVersion(store, versioned, last);
    if (range === undefined) return { version, pieces: undefined };
    const { start, end } = resolveByteRange(range, version.size);
    const pieces = await Promise.all(
      overlaps(found, start, end).map(({ part, offset, length }) =>
        pieceOf(part, offset, length, values, options)
      ),
    );
    return { version, pieces };
  }, options);
}

/** The length and the version of a part, and the bytes that were read from the part. */
interface LookedUp {
  readonly key: StoreKey;
  readonly size: number;
  readonly version: StoreVersion | undefined;
  /** The first of the bytes in the part. */
  readonly offset: number;
  readonly bytes: Uint8Array | undefined;
}

function hasVersion(
  part: LookedUp,
): part is LookedUp & { readonly version: StoreVersion } {
  return part.version !== undefined;
}

async function lookUp(
  chunk: StoredChunk,
  values: GroupValues,
  part: Part,
  piece: ByteRange | undefined,
): Promise<LookedUp | undefined> {
  const key = chunk.keyOf(part);
  const { options } = chunk;
  if (piece !== undefined && (part.size ?? Infinity) <= READ_WHOLE) {
    const bytes = await chunk.get(part);
    const size = bytes?.length;
    return size === undefined
      ? undefined
      : { key, size, version: values.version(key), offset: 0, bytes };
  }
  const bytes = piece && await values.getRange(key, piece, options);
  if (piece !== undefined && bytes === undefined) return undefined;
  const size = bytes && values.version(key)?.size ||
    await values.size(key, options);
  if (size === undefined) return undefined;
  assertPartSize(key, part.size, size);
  const version = values.version(key);
  const offset = piece ? resolveByteRange(piece, size).start : 0;
  return { key, size, version, offset, bytes };
}

/** Returns bytes of a part, read again unless they are known. */
async function pieceOf(
  part: LookedUp,
  offset: number,
  length: number,
  values: GroupValues,
  options: StoreOptions,
): Promise<Uint8Array> {
  const { key, bytes } = part;
  const skip = offset - part.offset;
  if (bytes && skip >= 0 && skip + length <= bytes.length) {
    return bytes.subarray(skip, skip + length);
  }
  const range = { offset, length };
  const read = await values.getRange(key, range, options);
  assertPartSize(key, length, read?.length ?? 0);
  return read!;
}

/**
 * Returns the pieces of parts that a range overlaps for certain, `undefined` for other
 * parts. The places of the parts behind the first one without a size are unknown, or
 * those before the last one, if the range counts from the end. Short parts behind it are
 * read whole if more bytes are needed up to the end of the chunk.
 */
function knownPieces(
  parts: readonly Part[],
  range: ByteRange,
  toEnd: boolean,
): (ByteRange | undefined)[] {
  const pieces = new Array<ByteRange | undefined>(parts.length).fill(undefined);
  if ("suffixLength" in range) {
    let needed = range.suffixLength;
    for (let i = parts.length; i-- > 0 && needed > 0;) {
      const { size } = parts[i]!;
      if (size !== 0) {
        pieces[i] = { suffixLength: Math.min(needed, size ?? needed) };
      }
      if (size === undefined) break;
      needed -= size;
    }
    return pieces;
  }
  let first = 0;
  const end = range.offset + range.length;
  parts.forEach(({ size = Infinity }, i) => {
    if (first < end) {
      const offset = Math.max(range.offset - first, 0);
      const length = Math.min(end - first, size) - offset;
      if (length > 0) pieces[i] = { offset, length };
    } else if (toEnd && size <= READ_WHOLE) {
      pieces[i] = { offset: 0, length: size };
    }
    first += size;
  });
  return pieces;
}
