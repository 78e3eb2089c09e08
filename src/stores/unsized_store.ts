import { copyBytes } from "../runtime/mod.ts";
import {
  type ByteRange,
  resolveByteRange,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "./store.ts";

/** Whether each store pads ranges, for the stores that were asked. */
const padding = new WeakMap<Store, Promise<boolean>>();

/** The number of bytes after a range that are searched for one that is not 0. */
const PROBE = 64;

/**
 * Reads a range of a value in a store without `size`, which may not support ranges
 * past the end of a value: zarrita's HTTP store refuses a range that starts there,
 * and its file store pads with zeros. Such a range is cut out of the whole value.
 */
export async function readUnsizedRange(
  store: Store,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  try {
    const bytes = await store.getRange!(key, range, options);
    const padded = bytes !== undefined && mayBePadded(bytes) &&
      await padsRanges(store, key, options) &&
      !await liesInValue(store, key, range, bytes, options);
    if (!padded) return bytes;
  } catch (error) {
    if (!refusesRange(error)) throw error;
  }
  return await cutRange(store, key, range, options);
}

/**
 * Whether a range that ends with zeros lies in its value, as far as few bytes tell: a
 * byte after the range is not 0, or the value ends with at least as many zeros as the
 * range. If the store had added zeros to the range, the value would end with fewer.
 * Encoded chunks often end with a 0, so that this saves reading whole shards.
 */
async function liesInValue(
  store: Store,
  key: StoreKey,
  range: ByteRange,
  bytes: Uint8Array,
  options: StoreOptions,
): Promise<boolean> {
  const isZero = (byte: number) => byte === 0;
  if ("offset" in range) {
    const next = { offset: range.offset + bytes.length, length: PROBE };
    const after = await store.getRange!(key, next, options);
    if (after?.every(isZero) === false) return true;
  }
  let start = bytes.length;
  while (start > 0 && bytes[start - 1] === 0) start--;
  if (start === 0) return false; // The value may end before the range.
  const zeros = bytes.length - start;
  const end = await store.getRange!(key, { suffixLength: zeros }, options);
  return end?.length === zeros && end.every(isZero);
}

/** Reads the whole value, and copies a range of it. */
export async function cutRange(
  store: Store,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  const value = await store.get(key, options);
  if (value === undefined) return undefined;
  const { start, end } = resolveByteRange(range, value.length);
  return copyBytes(value, start, end);
}

/** Whether a store refuses a range: by status 416 (Range Not Satisfiable), or as Node refuses a negative position. */
function refusesRange(error: unknown): boolean {
  return error instanceof RangeError || /\b416\b/.test(String(error));
}

/** Whether bytes may end with padding. Only stores over the files of Node are known to pad; they return a `Buffer`. */
function mayBePadded(bytes: Uint8Array): boolean {
  return bytes.constructor !== Uint8Array && bytes.at(-1) === 0;
}

/** Whether a store pads ranges. Each store is asked once. */
function padsRanges(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): Promise<boolean> {
  const answer = padding.get(store) ?? padsBeyondEnd(store, key, options);
  padding.set(store, answer);
  answer.catch(() => padding.delete(store));
  return answer;
}

/** Whether a store returns a byte from beyond the end of a value. */
async function padsBeyondEnd(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): Promise<boolean> {
  const nowhere = { offset: Number.MAX_SAFE_INTEGER - 1, length: 1 };
  return (await store.getRange!(key, nowhere, options))?.length === 1;
}
