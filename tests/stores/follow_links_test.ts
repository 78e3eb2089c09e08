/** Links out of the root of a store, which the option `followLinks` follows. */
import { assertEquals, assertRejects } from "@std/assert";
import { FileSystemStore, recover, type StoreKey } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { treeOf } from "../support/tree.ts";
import { testStore } from "./conformance.ts";
import { listed, readAll } from "./store_values.ts";
import { filesIn, inTempDir } from "./temp_dir.ts";

const BYTES = countingBytes(9);
const OTHER = countingBytes(9, 50);

testStore("FileSystemStore with followLinks", async () => {
  const folder = await Deno.makeTempDir();
  const store = new FileSystemStore(`${folder}/root`, { followLinks: true });
  return {
    store,
    fill: (key, bytes) => store.set(key, bytes),
    close: () => Deno.remove(folder, { recursive: true }),
  };
}, { hasWriter: true });

/** Runs a test with the folder `outside`, which holds `a/b`, and with a store that follows links. */
function withLinks(
  name: string,
  test: (places: {
    root: string;
    outside: string;
    store: FileSystemStore;
    link(target: string, path: string): Promise<void>;
  }) => Promise<void>,
): void {
  Deno.test(`FileSystemStore with followLinks ${name}`, () =>
    inTempDir(async (folder) => {
      const [root, outside] = [`${folder}/root`, `${folder}/outside`];
      await Deno.mkdir(`${root}/c`, { recursive: true });
      await Deno.mkdir(`${outside}/a`, { recursive: true });
      await Deno.writeFile(`${outside}/a/b`, BYTES);
      const store = new FileSystemStore(root, { followLinks: true });
      const link = (target: string, path: string) =>
        Deno.symlink(target, `${folder}/${path}`);
      await test({ root, outside, store, link });
    }));
}

withLinks("reads all that links lead to", async ({ outside, store, link }) => {
  await link(`${outside}/a/b`, "root/absolute");
  await link("../outside/a/b", "root/relative");
  await link("../outside", "root/folder");
  await link("../folder/a/b", "root/c/chain");
  await link("../root/absolute", "outside/back");
  const keys: StoreKey[] = [
    "/absolute",
    "/relative",
    "/folder/a/b",
    "/c/chain",
    "/folder/back",
  ];
  const range = { offset: 2, length: 3 };
  for (const key of keys) {
    assertEquals(await store.get(key), BYTES, key);
    assertEquals(await store.getRange(key, range), BYTES.slice(2, 5));
    assertEquals(await readAll(await store.stream(key)), BYTES);
    assertEquals(await store.size(key), BYTES.length);
    await store.read([key], async (values) => {
      const version = values.version(key)!;
      assertEquals(await store.readOf(version, key, range), BYTES.slice(2, 5));
      version.release();
    });
  }
  for (const key of ["/folder/none", "/folder/a/b/x"] as const) {
    assertEquals(await store.get(key), undefined);
  }
  await assertRejects(() => store.get("/folder/a"), Error, "names a folder");
});

withLinks(
  "replaces and removes links, and leaves their files alone",
  async ({ root, outside, store, link }) => {
    const before = await treeOf(outside);
    const ways: ((key: StoreKey) => Promise<void>)[] = [
      (key) => store.set(key, OTHER),
      (key) => store.set(key, ReadableStream.from([OTHER])),
      (key) => store.update([key], () => Promise.resolve([OTHER])),
    ];
    for (const [i, write] of ways.entries()) {
      const key: StoreKey = `/c/${i}`;
      await link("../../outside/a/b", `root${key}`);
      assertEquals(await store.get(key), BYTES);
      await write(key);
      assertEquals(await store.get(key), OTHER);
      assertEquals((await Deno.lstat(root + key)).isFile, true);
    }
    await link("../outside/a/b", "root/k");
    await store.delete("/k");
    assertEquals(await filesIn(root), ["c"]);
    assertEquals(await treeOf(outside), before);
  },
);

withLinks(
  "changes nothing in linked folders",
  async ({ root, store, link }) => {
    await link("../outside", "root/folder");
    const before = await treeOf(`${root}/..`);
    const assertRefused = (use: () => Promise<unknown>) =>
      assertRejects(use, Error, 'the option "followLinks" is for reading only');
    for (const key of ["/folder/a/b", "/folder/new", "/folder/x/y"] as const) {
      await assertRefused(() => store.set(key, OTHER));
      await assertRefused(() => store.writer(key));
      await assertRefused(() =>
        store.update([key], () => Promise.resolve("keep"))
      );
    }
    await assertRefused(() => store.delete("/folder/a/b"));
    await assertRefused(() => recover(store, { path: "folder" }));
    assertEquals(await treeOf(`${root}/..`), before);
  },
);

withLinks("lists linked folders, and walks no circles", async (
  { outside, store, link },
) => {
  await Deno.writeFile(`${outside}/.zarr-parts-tmp-1`, OTHER);
  await store.set("/c/own", OTHER);
  await link("../outside", "root/folder");
  await link("../outside/a/b", "root/file");
  await link("none", "root/dangling");
  await link("loop", "root/loop");
  await link(".", "outside/here");
  await link("..", "outside/a/up");
  await link("../../root", "root/c/above");
  assertEquals(await listed(store), ["/c/own", "/file", "/folder/a/b"]);
  assertEquals(await listed(store, "/fo"), ["/folder/a/b"]);
  assertEquals(await listed(store, "/folder/a/"), ["/folder/a/b"]);
});

withLinks("replaces all parts of a chunk, of which some are links", async (
  { root, outside, store, link },
) => {
  const keys: StoreKey[] = ["/c/0", "/c/0.tail"];
  const before = await treeOf(outside);
  for (const key of keys) {
    await link("../../outside/a/b", `root${key}`);
    await Deno.writeFile(root + keys[key === keys[0] ? 1 : 0]!, BYTES);
    const read = () =>
      store.read(keys, (v) => Promise.all(keys.map((key) => v.read(key))));
    assertEquals(await read(), [BYTES, BYTES]);
    await store.update(keys, () => Promise.resolve([OTHER, OTHER]));
    assertEquals(await read(), [OTHER, OTHER]);
    await store.remove(keys);
  }
  assertEquals(await treeOf(outside), before);
});
