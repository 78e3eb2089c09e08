import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  DamageError,
  OtherBytesError,
  plainView,
  type StoreKey,
} from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { readAll } from "../stores/store_values.ts";
import {
  ELEMENTS,
  KEY,
  type Kind,
  type Stored,
  storedArray,
} from "./damaged_arrays.ts";

registerCodecs(zarr);

/** Changes of a part; `undefined` removes it. */
export const CHANGES: Record<
  string,
  (part: Uint8Array) => Uint8Array | undefined
> = {
  "cut by its last byte": (part) => part.slice(0, -1),
  "cut by its first byte": (part) => part.slice(1),
  "emptied": () => new Uint8Array(),
  "longer by a zero": (part) => new Uint8Array([...part, 0]),
  "longer by a byte before it": (part) => new Uint8Array([255, ...part]),
  "missing": () => undefined,
};

type Read<T> = (stored: Stored) => Promise<T>;

/** The ways of reading the encoded chunk. */
export const BYTES: Record<string, Read<Uint8Array | undefined>> = {
  "ArrayChunks.get": ({ chunks }) => chunks.get([0]),
  "ArrayChunks.stream": async ({ chunks }) => readAll(await chunks.stream([0])),
  "ArrayChunks.getRange": ({ chunks }) =>
    chunks.getRange([0], { offset: 0, length: 999 }),
  "ArrayChunks.getRange of the last bytes": ({ chunks }) =>
    chunks.getRange([0], { suffixLength: 999 }),
  "plainView.get": ({ store }) => plainView(store).get(KEY),
  "plainView.stream": async ({ store }) =>
    readAll(await plainView(store).stream(KEY)),
  "plainView.getRange": ({ store }) =>
    plainView(store).getRange(KEY, { suffixLength: 999 }),
};

/** The ways of asking for the length of the encoded chunk. */
export const SIZES: Record<string, Read<number | undefined>> = {
  "ArrayChunks.size": ({ chunks }) => chunks.size([0]),
  "plainView.size": ({ store }) => plainView(store).size(KEY),
};

/** The ways of reading the elements. */
export const READ_ELEMENTS: Record<string, Read<Uint8Array>> = {
  "zarr.get": async (stored) =>
    (await zarr.get(await opened(stored))).data as Uint8Array,
  async "zarr.get of one element after the other"(stored) {
    const array = await opened(stored);
    const elements: number[] = [];
    for (const i of ELEMENTS.keys()) {
      elements.push(await zarr.get(array, [i]) as number);
    }
    return new Uint8Array(elements);
  },
  async "zarr.set of one element, and zarr.get"(stored) {
    const array = await opened(stored);
    for (const i of [1, 6]) {
      const before = await contents(stored);
      try {
        await zarr.set(array, [i], ELEMENTS[i] as never);
      } catch (error) {
        assertEquals(await contents(stored), before);
        throw error;
      }
    }
    return (await zarr.get(await opened(stored))).data as Uint8Array;
  },
};

async function opened({ store }: Stored) {
  const root = zarr.root(withZarrParts(store)).resolve("a");
  return await zarr.open(root, { kind: "array" });
}

async function contents({ store }: Stored): Promise<[string, Uint8Array][]> {
  const keys = (await Array.fromAsync(store.list("/a/c/"))).sort();
  return await Promise.all(
    keys.map(async (key) =>
      [key, (await store.get(key))!] as [string, Uint8Array]
    ),
  );
}

/** What reading gives, or "damage" for an error about damage that names a key of the chunk. */
export async function outcomeOf<T>(reading: Promise<T>): Promise<T | "damage"> {
  try {
    return await reading;
  } catch (error) {
    for (let it = error; it !== undefined; it = (it as Error).cause) {
      assert(!(it instanceof RangeError), String(it));
      // A change refuses bytes that damage has left beside the inner chunks.
      if (!(it instanceof DamageError || it instanceof OtherBytesError)) {
        continue;
      }
      assert(it.key.startsWith(KEY), `${it.name} has the key "${it.key}"`);
      assert(it.message.includes(`"${it.key}"`), it.message);
      return "damage";
    }
    throw error;
  }
}

/** Stores an array, with one part of its chunk changed. */
export async function damaged(
  kind: Kind,
  suffix: string,
  change: (part: Uint8Array) => Uint8Array | undefined,
): Promise<Stored> {
  const stored = await storedArray(kind);
  const key = `${KEY}${suffix}` as StoreKey;
  const part = change((await stored.store.get(key))!);
  if (part === undefined) await stored.store.delete(key);
  else await stored.store.set(key, part);
  return stored;
}
