import { copyBytes } from "./copy_bytes.ts";
import { resolveByteRange } from "./byte_range.ts";
import type { ByteRange, Store, StoreKey, StoreOptions } from "./store.ts";

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
