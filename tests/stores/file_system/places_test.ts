/** Chunks of several files in places that are out of the ordinary. */
import { assertEquals } from "@std/assert";
import { FileSystemStore, recover } from "../../../mod.ts";
import type { StoreKey } from "../../../src/stores/store.ts";
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

for (const [name, keys] of Object.entries(KEYS)) {
  Deno.test(`group stores, updates and deletes files with names ${name}`, () =>
    inTempDir(async (folder) => {
      const group = new FileSystemStore(folder).group(keys[0]!, keys);
      const read = () =>
        group.read((values) => Promise.all(keys.map((key) => values.get(key))));
      await put(group, keys, 1);
      assertEquals(await read(), keys.map(() => new Uint8Array([1])));
      await group.lock!((group) => put(group, keys, 2));
      assertEquals(await read(), keys.map(() => new Uint8Array([2])));
      await group.delete!();
      assertEquals(await read(), keys.map(() => undefined));
      assertEquals(await temporaryFiles(folder), []);
    }));
}

Deno.test("groups of one chunk have the same lock, whatever the root of their store is", () =>
  inTempDir(async (folder) => {
    await Deno.mkdir(`${folder}/real/a/c`, { recursive: true });
    await Deno.symlink(`${folder}/real`, `${folder}/link`);
    const groups = [
      groupIn(`${folder}/real`, "/a"),
      groupIn(`${folder}/real/a`, ""),
      groupIn(`${folder}/link`, "/a"),
      groupIn(`${folder}/link/a/`, ""),
      groupIn(`${folder}/real/../real/a`, ""),
    ];
    await put(groups[0]!.group, groups[0]!.keys, 0);
    const rounds = 10;
    await Promise.all(groups.map(async ({ group, keys }) => {
      for (let i = 0; i < rounds; i++) {
        await group.lock!(async (group) => {
          const [first, last] = await group.read((values) =>
            Promise.all(keys.map((key) => values.get(key)))
          );
          assertEquals(first, last);
          await put(group, keys, first![0]! + 1);
        });
      }
    }));
    for (const { group, keys } of groups) {
      const last = await group.read((values) => values.get(keys[1]!));
      assertEquals(last, new Uint8Array([rounds * groups.length]));
    }
    assertEquals(await temporaryFiles(`${folder}/real`), []);
  }));

Deno.test("an aborted write into a new folder leaves its neighbours as they are", () =>
  inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    for (let i = 0; i < 200; i++) {
      const [aborted, kept] = [0, 1].map((j) =>
        ["", ".tail"].map((end): StoreKey => `/a/${i}/c/${j}${end}`)
      );
      const controller = new AbortController();
      const { signal } = controller;
      const writing = Promise.allSettled([
        put(store.group(aborted![0]!, aborted!), aborted!, 1, { signal }),
        put(store.group(kept![0]!, kept!), kept!, 2),
      ]);
      for (let turn = 0; turn < i % 40; turn++) await null;
      if (i % 3 > 0) await new Promise((resolve) => setTimeout(resolve, 0));
      controller.abort(new Error("Aborted"));
      const [first, second] = await writing;
      assertEquals(second, { status: "fulfilled", value: undefined });
      if (first!.status === "rejected") {
        assertEquals(first.reason.message, "Aborted");
      }
      const [size] = await Promise.all(kept!.map((key) => store.size(key)));
      assertEquals(size, 1);
      // All of the aborted chunk is there or nothing.
      const sizes = await store.group(aborted![0]!, aborted!).read((values) =>
        Promise.all(aborted!.map((key) => values.size(key)))
      );
      assertEquals(new Set(sizes).size, 1);
    }
    assertEquals(await temporaryFiles(folder), []);
    assertEquals((await recover(store)).temporary.files, 0);
  }));

function groupIn(root: string, path: string) {
  const keys = ["", ".tail"].map((end) => `${path}/c/0${end}` as StoreKey);
  return { keys, group: new FileSystemStore(root).group(keys[0]!, keys) };
}

async function put(
  group: ReturnType<FileSystemStore["group"]>,
  keys: readonly StoreKey[],
  byte: number,
  options: { signal?: AbortSignal } = {},
): Promise<void> {
  const writer = await group.write!(options);
  try {
    for (const key of keys) await writer.set(key, new Uint8Array([byte]));
  } catch (error) {
    await writer.abort(error);
    throw error;
  }
  await writer.close();
}
