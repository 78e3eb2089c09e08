import type { Store, StoreKey } from "../../mod.ts";

/** Keys that every store rejects. */
export const HOSTILE_KEYS = [
  "",
  "x",
  "/",
  "//",
  "/..",
  "/../x",
  "/a/../../x",
  "/a//b",
  "/a/",
  "/a/./b",
  "/a\\b",
  "/a\u0000b",
  "/a\nb",
  "/\ud800",
] as StoreKey[];

export function streamOf(...chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(chunks);
}

export async function readAll(
  stream: ReadableStream<Uint8Array> | undefined,
): Promise<Uint8Array | undefined> {
  return stream && await new Response(
    stream as ReadableStream<Uint8Array<ArrayBuffer>>,
  ).bytes();
}

/** All keys that a store lists, sorted. */
export async function listed(
  store: Store,
  prefix?: StoreKey,
): Promise<StoreKey[]> {
  return (await Array.fromAsync(store.list!(prefix))).sort();
}

/** Every way to use one key of a store, for errors that they all must give. */
export function everyUse(
  store: Required<Omit<Store, "group" | "getRangeOf" | "streamRangeOf">>,
  key: StoreKey,
): (() => Promise<unknown>)[] {
  const bytes = Uint8Array.of(1, 2, 3);
  return [
    () => store.get(key),
    () => store.getRange(key, { offset: 0, length: 1 }),
    () => store.getRange(key, { offset: 0, length: 0 }),
    () => store.getRange(key, { suffixLength: 0 }),
    () => store.stream(key),
    () => store.size(key),
    () => store.set(key, bytes),
    () => store.set(key, streamOf(bytes)),
    () => store.delete(key),
    () => store.writer(key),
  ];
}
