/** Writing and listing with links into folders that `followLinksInto` names. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MissingPartError,
  recover,
  type StoreKey,
} from "../../mod.ts";
import { treeOf } from "../support/tree.ts";
import {
  BYTES,
  DATA,
  OTHER,
  SECRET,
  SUM,
  withPlaces,
} from "./linked_places.ts";
import { listed, readAll } from "./store_values.ts";
import { filesIn } from "./temp_dir.ts";

Deno.test("FileSystemStore replaces and removes links into followLinksInto, and leaves their files alone", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    const before = await treeOf(tiffs);
    const { ino, mtime } = await Deno.stat(`${tiffs}/a/b.tif`);
    const ways: ((key: StoreKey) => Promise<void>)[] = [
      (key) => store.set(key, OTHER),
      (key) => store.set(key, ReadableStream.from([OTHER])),
      async (key) => {
        const writer = await store.writer(key);
        await writer.write(OTHER);
        await writer.close?.();
      },
      async (key) => {
        const writer = await store.group(key, [key]).write!();
        await writer.set(key, OTHER);
        await writer.close();
      },
      (key) =>
        store.group(key, [key]).lock!(async (locked) => {
          const bytes = await locked.read((values) => values.get(key));
          assertEquals(bytes, BYTES);
          const writer = await locked.write!();
          await writer.set(key, OTHER);
          await writer.close();
        }),
    ];
    for (const [i, write] of ways.entries()) {
      const key: StoreKey = `/c/${i}`;
      await link("../../tiffs/a/b.tif", `root${key}`);
      assertEquals(await store.get(key), BYTES);
      await write(key);
      assertEquals(await store.get(key), OTHER);
      assertEquals((await Deno.lstat(root + key)).isFile, true);
    }
    for (
      const remove of [
        () => store.delete("/k"),
        () => store.group("/k", ["/k"]).delete!(),
      ]
    ) {
      await link(`${tiffs}/a/b.tif`, "root/k");
      await remove();
      assertEquals(await store.get("/k"), undefined);
      assertEquals(await filesIn(root), ["c"]);
    }
    assertEquals(await treeOf(tiffs), before);
    const after = await Deno.stat(`${tiffs}/a/b.tif`);
    assertEquals([after.ino, after.mtime], [ino, mtime]);
  });
});

Deno.test("FileSystemStore changes nothing in linked folders", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    await link(tiffs, "root/folder");
    const before = await treeOf(`${root}/..`);
    const assertRefused = (use: () => Promise<unknown>) =>
      assertRejects(
        use,
        Error,
        `leads out of the store's root into ${tiffs}, where the store only reads`,
      );
    const keys: StoreKey[] = ["/folder/a/b.tif", "/folder/new", "/folder/x/y"];
    for (const key of keys) {
      const group = store.group(key, [key]);
      await assertRefused(() => store.set(key, OTHER));
      await assertRefused(() => store.set(key, ReadableStream.from([OTHER])));
      await assertRefused(() => store.writer(key));
      await assertRefused(async () => (await group.write!()).set(key, OTHER));
      await assertRefused(() => group.lock!(() => Promise.resolve()));
      if (key === "/folder/x/y") { // There is nothing to delete.
        await store.delete(key);
        await group.delete!();
      } else {
        await assertRefused(() => store.delete(key));
        await assertRefused(() => group.delete!());
      }
    }
    await assertRefused(() => recover(store, { path: "folder" }));
    assertEquals(await treeOf(`${root}/..`), before);
  });
});

Deno.test("FileSystemStore.list walks linked folders of followLinksInto, and walks no circles", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    await Deno.writeFile(`${tiffs}/.zarr-parts-tmp-1`, OTHER);
    await store.set("/c/own", OTHER);
    await link("../tiffs", "root/folder");
    await link("../tiffs/a/b.tif", "root/file");
    await link("c", "root/within"); // Links below the root may form circles.
    await link(".", "tiffs/here");
    await link("..", "tiffs/a/up");
    await link("../tiffs", "tiffs/a/around");
    await Deno.mkdir(`${tiffs}/d`);
    await link("../a", "tiffs/d/beside");
    await link("..", "tiffs/above");
    const beside = "/folder/d/beside/b.tif";
    const all = ["/c/own", "/file", "/folder/a/b.tif", beside];
    assertEquals(await listed(store), all);
    assertEquals(await listed(store, "/f"), all.slice(1));
    assertEquals(await listed(store, "/folder/"), ["/folder/a/b.tif", beside]);
    assertEquals(await listed(store, "/folder/a/b"), ["/folder/a/b.tif"]);
    assertEquals(await listed(store, "/folder/d/"), [beside]);
    // A folder around the root.
    const wide = new FileSystemStore(root, { followLinksInto: ["/"] });
    await link("..", "root/c/up");
    assertEquals((await listed(wide, "/c/")).includes("/c/own"), true);
  });
});

const PARTS = arrayMetadata({
  shape: [8],
  dataType: "uint8",
  chunkShape: [8],
  codecs: ["crc32c"],
  suffix: ".tif",
  parts: ["", ".crc:4"],
});

Deno.test("FileSystemStore reads and replaces a chunk with a linked part", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    const chunks = await createArrayChunks(store, "", PARTS);
    await link(`${tiffs}/a/b.tif`, `root${DATA}`);
    await store.set(SUM, SECRET.slice(0, 4));
    const chunk = new Uint8Array([...BYTES, ...SECRET.slice(0, 4)]);
    assertEquals(await chunks.get([0]), chunk);
    assertEquals(await readAll(await chunks.stream([0])), chunk);
    await chunks.set([0], OTHER);
    assertEquals(await chunks.get([0]), OTHER);
    assertEquals(await Deno.readFile(`${tiffs}/a/b.tif`), BYTES);
    assertEquals((await Deno.lstat(root + DATA)).isFile, true);
    await chunks.delete([0]);
    assertEquals(await filesIn(`${root}/c`), []);
  });
});

Deno.test("FileSystemStore reads chunks in parts in a linked folder, and says what is missing", async () => {
  await withPlaces(async ({ root, tiffs, store, link }) => {
    const chunks = await createArrayChunks(store, "", PARTS);
    await Deno.mkdir(`${tiffs}/c`);
    await Deno.remove(`${root}/c`);
    await link(`${tiffs}/c`, "root/c");
    await Deno.writeFile(`${tiffs}${DATA}`, BYTES);
    await assertRejects(() => chunks.get([0]), MissingPartError, SUM);
    await Deno.writeFile(`${tiffs}${SUM}`, OTHER.slice(0, 4));
    const chunk = new Uint8Array([...BYTES, ...OTHER.slice(0, 4)]);
    assertEquals(await chunks.get([0]), chunk);
    assertEquals(await Array.fromAsync(chunks.list()), [[0]]);
    await assertRejects(() => chunks.set([0], OTHER), Error, "only reads");
    assertEquals(await chunks.get([0]), chunk);
  });
});
