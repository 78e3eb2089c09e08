/** Chunks of several files in places that are out of the ordinary. */
import { assertEquals } from "@std/assert";
import { FileSystemStore, recover, type StoreKey } from "../../../mod.ts";
import { inTempDir } from "../temp_dir.ts";
import { temporaryFiles } from "./processes.ts";

/** The longest name of a file in bytes, and such a name that ends in some text. */
const LONGEST_NAME = 255;
const longName = (end: string) => "n".repeat(LONGEST_NAME - end.length) + end;
const wideName = (end: string) =>
  "é".repeat((LONGEST_NAME - end.length) >> 1) + end;

const KEYS: Record<string, readonly StoreKey[]> = {
  "of 255 bytes": [`/c/${longName("")}`, `/c/${longName(".tail")}`],
  "of 255 bytes that differ at their end": [
    `/c/${longName("1")}`,
    `/c/${longName("2")}`,
  ],
  "of characters of two bytes": [`/c/${wideName("")}`, `/c/${wideName(".t")}`],
  "in new folders": ["/a/b/c/0", "/a/b/c/0.tail"],
  "in different new folders": ["/a/0", "/a/0.parts/tail", "/a/0.index/x/y"],
  "in the root": ["/0", "/0.tail"],
};

function read(store: FileSystemStore, keys: readonly StoreKey[]) {
  return store.read(
    keys,
    (values) => Promise.all(keys.map((key) => values.read(key))),
  );
}

async function put(
  store: FileSystemStore,
  keys: readonly StoreKey[],
  byte: number,
  options: { signal?: AbortSignal } = {},
): Promise<void> {
  const pending = await store.prepare(keys, options);
  try {
    for (const key of keys) await pending.set(key, new Uint8Array([byte]));
  } catch (error) {
    await pending.abort(error);
    throw error;
  }
  await pending.commit();
}

for (const [name, keys] of Object.entries(KEYS)) {
  Deno.test(`FileSystemStore stores, updates and deletes chunks of files with names ${name}`, () =>
    inTempDir(async (folder) => {
      const store = new FileSystemStore(folder);
      await put(store, keys, 1);
      assertEquals(await read(store, keys), keys.map(() => Uint8Array.of(1)));
      await store.update(keys, async (values) => {
        assertEquals(await values.read(keys[0]!), Uint8Array.of(1));
        return keys.map(() => Uint8Array.of(2));
      });
      assertEquals(await read(store, keys), keys.map(() => Uint8Array.of(2)));
      await store.update(keys, () => Promise.resolve("keep"));
      await store.update(keys, () => Promise.resolve("delete"));
      assertEquals(await read(store, keys), keys.map(() => undefined));
      await put(store, keys, 3);
      await store.remove(keys);
      assertEquals(await read(store, keys), keys.map(() => undefined));
      assertEquals(await temporaryFiles(folder), []);
    }));
}

Deno.test("chunks have the same lock, whatever the root of their store is", () =>
  inTempDir(async (folder) => {
    await Deno.mkdir(`${folder}/real/a/c`, { recursive: true });
    await Deno.symlink(`${folder}/real`, `${folder}/link`);
    const places = [
      ["real", "/a"],
      ["real/a", ""],
      ["link", "/a"],
      ["link/a/", ""],
      ["real/../real/a", ""],
    ].map(([root, path]) => ({
      store: new FileSystemStore(`${folder}/${root}`),
      keys: ["", ".tail"].map((end) => `${path}/c/0${end}` as StoreKey),
    }));
    await put(places[0]!.store, places[0]!.keys, 0);
    const rounds = 10;
    await Promise.all(places.map(async ({ store, keys }) => {
      for (let i = 0; i < rounds; i++) {
        await store.update(keys, async (values) => {
          const [first, last] = await Promise.all(
            keys.map((key) => values.read(key)),
          );
          assertEquals(first, last);
          return keys.map(() => Uint8Array.of(first![0]! + 1));
        });
      }
    }));
    for (const { store, keys } of places) {
      const [first] = await read(store, keys);
      assertEquals(first, Uint8Array.of(rounds * places.length));
    }
    assertEquals(await temporaryFiles(`${folder}/real`), []);
  }));

Deno.test("an aborted write into a new folder leaves its neighbours as they are", () =>
  inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    for (let i = 0; i < 120; i++) {
      const [aborted, kept] = [0, 1].map((j) =>
        ["", ".tail"].map((end): StoreKey => `/a/${i}/c/${j}${end}`)
      );
      const controller = new AbortController();
      const { signal } = controller;
      const writing = Promise.allSettled([
        put(store, aborted!, 1, { signal }),
        put(store, kept!, 2),
      ]);
      for (let turn = 0; turn < i % 40; turn++) await null;
      if (i % 3 > 0) await new Promise((resolve) => setTimeout(resolve, 0));
      controller.abort(new Error("Aborted"));
      const [first, second] = await writing;
      assertEquals(second, { status: "fulfilled", value: undefined });
      if (first!.status === "rejected") {
        assertEquals(first.reason.message, "Aborted");
      }
      assertEquals((await read(store, kept!))[0], Uint8Array.of(2));
      // All of the aborted chunk is there or nothing.
      const [a, b] = await read(store, aborted!);
      assertEquals(a, b);
    }
    assertEquals(await temporaryFiles(folder), []);
    assertEquals((await recover(store)).temporary.files, 0);
  }));
