import { copyBytes } from "./copy_bytes.ts";
import { resolveByteRange } from "./byte_range.ts";
import type { ByteRange, Store, StoreKey, StoreOptions } from "./store.ts";

/** Whether stores pad ranges, of those that were asked. */
const padding = new WeakMap<Store, Promise<boolean>>();

/**
 * A range of a value in a store that cannot tell sizes, and so may not be made
 * for ranges that go past a value's end: zarrita's store over HTTP refuses those
 * that start there, and its store of files pads with zeros. There the range is
 * cut out of the whole value.
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
      await padsRanges(store, key, options);
    if (!padded) return bytes;
  } catch (error) {
    if (!refusesRange(error)) throw error;
  }
  return await cutRange(store, key, range, options);
}

/** A range cut out of the whole value. */
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

/** By status 416 (Range Not Satisfiable), or as Node refuses a negative position. */
function refusesRange(error: unknown): boolean {
  return error instanceof RangeError || /\b416\b/.test(String(error));
}

/** Only stores over Node's files are known to pad, and they give its `Buffer`. */
function mayBePadded(bytes: Uint8Array): boolean {
  return bytes.constructor !== Uint8Array && bytes.at(-1) === 0;
}

/** Whether a store pads ranges; it is asked once. */
function padsRanges(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): Promise<boolean> {
  const answer = padding.get(store) ?? askForNothing(store, key, options);
  padding.set(store, answer);
  answer.catch(() => padding.delete(store));
  return answer;
}

/** Asks a store for a byte that no value has. */
async function askForNothing(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): Promise<boolean> {
  const nowhere = { offset: Number.MAX_SAFE_INTEGER - 1, length: 1 };
  return (await store.getRange!(key, nowhere, options))?.length === 1;
}
