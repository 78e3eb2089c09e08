import { assertEquals, assertRejects } from "@std/assert";
import { FileSystemStore, type StoreKey } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { treeOf } from "../support/tree.ts";
import { everyUse, listed, readAll } from "./store_values.ts";
import { filesIn, inTempDir, present } from "./temp_dir.ts";

const BYTES = countingBytes(9);
const SECRET = countingBytes(5, 100);

Deno.test("FileSystemStore rejects links that lead out of its root", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/root`;
    // The path starts with that of the root, but is not below the root.
    const outside = `${folder}/root-and-more`;
    await Deno.mkdir(root);
    await Deno.mkdir(`${outside}/sub`, { recursive: true });
    await Deno.writeFile(`${outside}/secret`, SECRET);
    await Deno.symlink(`${outside}/secret`, `${root}/file`);
    await Deno.symlink("../root-and-more/secret", `${root}/relative`);
    await Deno.symlink(outside, `${root}/folder`);
    await Deno.symlink("..", `${root}/up`);
    await Deno.symlink("folder", `${root}/again`);
    const before = await treeOf(folder);
    const store = new FileSystemStore(root);
    for (
      const key of [
        "/file",
        "/relative",
        "/folder",
        "/folder/secret",
        "/again/secret",
        "/up/root-and-more/secret",
        "/up",
        "/folder/new",
        "/folder/sub/new",
        "/up/new/k",
      ] as const
    ) {
      for (
        const use of [
          ...everyUse(store, key),
          () => store.update([key], () => Promise.resolve([BYTES])),
          () => store.link(key, "/x"),
        ]
      ) {
        await assertRejects(use, Error, "leads out of the store's root");
      }
    }
    assertEquals(await listed(store), []);
    await assertRejects(() => listed(store, "/folder/"), Error, "leads out");
    await assertRejects(() => store.recover({ path: "up" }), Error, "out of");
    assertEquals(await treeOf(folder), before);
  });
});

Deno.test("FileSystemStore checks a key at every read, also one that was read before", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/root`;
    await Deno.mkdir(`${folder}/outside`);
    await Deno.writeFile(`${folder}/outside/k`, SECRET);
    const store = new FileSystemStore(root);
    const replacements = [
      () => Deno.symlink("../../outside/k", `${root}/c/k`),
      async () => {
        await Deno.remove(`${root}/c`, { recursive: true });
        await Deno.symlink("../outside", `${root}/c`);
      },
    ];
    for (const replace of replacements) {
      await store.set("/c/k", BYTES);
      assertEquals(await store.get("/c/k"), BYTES);
      await Deno.remove(`${root}/c/k`);
      assertEquals(await store.get("/c/k"), undefined);
      const writer = await store.writer("/c/k");
      await replace();
      for (const use of everyUse(store, "/c/k")) {
        await assertRejects(use, Error, "leads out of the store's root");
      }
      // A link in the place of a value is replaced, and one in that of a folder not followed.
      const isFolder = (await Deno.lstat(`${root}/c`)).isSymlink;
      const closed = Promise.resolve(writer.close());
      if (isFolder) await assertRejects(() => closed, Error, "leads out");
      else await closed;
      assertEquals(await Deno.readFile(`${folder}/outside/k`), SECRET);
      await Deno.remove(`${root}/c`, { recursive: true });
    }
    await Deno.remove(root, { recursive: true });
    await Deno.writeFile(root, BYTES);
    await assertRejects(() => store.get("/c/k"), Error, "to be a folder");
  });
});

Deno.test("FileSystemStore.set creates nothing through a broken link", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/root`;
    await Deno.mkdir(root);
    const store = new FileSystemStore(root);
    for (const change of ["set", "delete"] as const) {
      await Deno.symlink(`${folder}/none`, `${root}/k`);
      assertEquals(await store.get("/k"), undefined);
      assertEquals(await listed(store), []);
      await assertRejects(() => store.set("/k/x/y", BYTES), Error, "os error");
      if (change === "set") await store.set("/k", BYTES);
      await store.delete("/k");
      assertEquals(await filesIn(root), []);
    }
    assertEquals(await filesIn(folder), ["root"]);
  });
});

Deno.test("FileSystemStore follows links below its root, and replaces and removes them, not their targets", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/real/k", BYTES);
    await Deno.symlink(`${root}/real`, `${root}/folder`);
    for (const change of ["set", "delete"] as const) {
      await Deno.symlink("real/k", `${root}/file`);
      for (const key of ["/file", "/folder/k"] as const) {
        assertEquals(await store.get(key), BYTES);
        const end = await store.getRange(key, { suffixLength: 2 });
        assertEquals(end, BYTES.slice(-2));
        assertEquals(await readAll(await store.stream(key)), BYTES);
        assertEquals(await store.size(key), 9);
      }
      if (change === "set") await store.set("/file", SECRET);
      assertEquals(
        await store.get("/file"),
        change === "set" ? SECRET : BYTES,
      );
      await store.delete("/file");
      assertEquals(await present(`${root}/file`), false);
      assertEquals(await store.get("/real/k"), BYTES);
    }
    await store.set("/folder/new/k", BYTES);
    assertEquals(await store.get("/real/new/k"), BYTES);
    await store.delete("/folder/new/k");
    assertEquals(await store.get("/real/new/k"), undefined);
  });
});

Deno.test("FileSystemStore sees that a link of a chunk was replaced while its files are opened", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    const keys: StoreKey[] = ["/c/0", "/c/0.tail"];
    await store.set("/old", BYTES);
    await store.set("/c/0", BYTES);
    await Deno.symlink("../old", `${root}/c/0.tail`);
    const { openSync } = Deno;
    let isReplaced = false;
    Deno.openSync = (path, options) => {
      const file = openSync(path, options);
      if (String(path) === `${root}/old` && !isReplaced) {
        isReplaced = true;
        Deno.removeSync(`${root}/c/0.tail`);
        for (const key of keys) Deno.writeFileSync(root + key, SECRET);
      }
      return file;
    };
    try {
      const read = await store.read(
        keys,
        (values) => Promise.all(keys.map((key) => values.read(key))),
      );
      assertEquals(read, [SECRET, SECRET]);
    } finally {
      Deno.openSync = openSync;
    }
    assertEquals(isReplaced, true);
  });
});

Deno.test("FileSystemStore.list returns linked files, and walks linked folders only if the prefix names them", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/a/real/k", BYTES);
    await Deno.symlink("real/k", `${root}/a/file`);
    await Deno.symlink("real", `${root}/a/folder`);
    await Deno.symlink("..", `${root}/a/circle`);
    await Deno.symlink("none", `${root}/a/nowhere`);
    await Deno.symlink("loop", `${root}/a/loop`);
    await Deno.symlink("/", `${root}/a/outside`);
    assertEquals(await listed(store), ["/a/file", "/a/real/k"]);
    assertEquals(await listed(store, "/a/f"), ["/a/file"]);
    assertEquals(await listed(store, "/a/folder/"), ["/a/folder/k"]);
    assertEquals(await listed(store, "/a/circle/a/r"), ["/a/circle/a/real/k"]);
    assertEquals(await listed(store, "/a/nowhere/"), []);
  });
});

Deno.test("FileSystemStore takes a link as its root, also if its target changes", async () => {
  await inTempDir(async (folder) => {
    const targets = ["a", "a/sub", "a/sub/sub", "a"];
    const store = new FileSystemStore(`${folder}/root`);
    await Deno.mkdir(`${folder}/a/sub/sub`, { recursive: true });
    for (const [i, target] of targets.entries()) {
      await Deno.symlink(`${folder}/${target}`, `${folder}/root`);
      await store.set("/c/k", Uint8Array.of(i));
      assertEquals(await store.get("/c/k"), Uint8Array.of(i));
      assertEquals(
        await Deno.readFile(`${folder}/${target}/c/k`),
        Uint8Array.of(i),
      );
      assertEquals((await listed(store)).includes("/c/k"), true);
      await Deno.remove(`${folder}/root`);
    }
  });
});

Deno.test("FileSystemStore.link gives a file another key", () =>
  inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await store.set("/a", new Uint8Array([1]));
    await store.link("/a", "/b/c/d");
    await store.link("/a", "/b/c/d"); // They are the same file already.
    assertEquals(await store.get("/b/c/d"), new Uint8Array([1]));
    await store.set("/b/c/d", new Uint8Array([2]));
    assertEquals(await store.get("/a"), new Uint8Array([1]));
    const linking = () => store.link("/a", "/b/c/d");
    await assertRejects(linking, Deno.errors.AlreadyExists);
    assertEquals(await store.get("/b/c/d"), new Uint8Array([2]));
    await assertRejects(
      () => store.link("/none", "/e"),
      Deno.errors.NotFound,
      'Key "/none" has no file',
    );
    for (const key of ["/b", "/.zarr-parts-tmp-1", "/../x"] as const) {
      await assertRejects(() => store.link("/a", key), Error);
      await assertRejects(() => store.link(key, "/f"), Error);
    }
  }));

const SHARED_MEMORY = "/dev/shm";

Deno.test("FileSystemStore.link refuses another file system, and says what to do", () =>
  inTempDir(async (folder) => {
    const shared = await Deno.stat(SHARED_MEMORY).catch(() => undefined);
    if (!shared || shared.dev === (await Deno.stat(folder)).dev) return;
    await Deno.writeTextFile(`${folder}/a`, "a");
    const other = await Deno.makeTempDir({ dir: SHARED_MEMORY });
    try {
      const [from, to] = [`${folder}/a`, `${other}/b`] as StoreKey[];
      await assertRejects(
        () => new FileSystemStore("/").link(from!, to!),
        Error,
        "they are on different file systems, and a hard link is on that of its file",
      );
      assertEquals(await filesIn(other), []);
    } finally {
      await Deno.remove(other, { recursive: true });
    }
  }));
