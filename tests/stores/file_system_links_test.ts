import { assertEquals, assertRejects } from "@std/assert";
import { FileSystemStore } from "../../src/stores/file_system/file_system_store.ts";
import { countingBytes } from "../support/bytes.ts";
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
      ] as const
    ) {
      for (const use of everyUse(store, key)) {
        await assertRejects(
          use,
          Error,
          `Key "${key}" leads out of the store's root`,
        );
      }
    }
    for (
      const key of ["/folder/new", "/folder/sub/new", "/up/new/k"] as const
    ) {
      for (const use of everyUse(store, key)) {
        await assertRejects(use, Error, "leads out of the store's root");
      }
    }
    assertEquals(await listed(store), []);
    await assertRejects(() => listed(store, "/folder/"), Error, "leads out");
    assertEquals(await filesIn(folder), ["root", "root-and-more"]);
    assertEquals(await filesIn(outside), ["secret", "sub"]);
    assertEquals(await filesIn(`${outside}/sub`), []);
    assertEquals(await Deno.readFile(`${outside}/secret`), SECRET);
    assertEquals((await filesIn(root)).length, 5);
  });
});

Deno.test("FileSystemStore checks a key at every read, also one that was read before", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/root`;
    await Deno.mkdir(`${folder}/outside`);
    await Deno.writeFile(`${folder}/outside/k`, SECRET);
    const store = new FileSystemStore(root);
    const read = [
      () => store.get("/c/k"),
      () => store.getRange("/c/k", { offset: 0, length: 2 }),
      () => store.stream("/c/k"),
      () => store.size("/c/k"),
    ];
    const outsideFile = () => Deno.symlink("../../outside/k", `${root}/c/k`);
    const outsideFolder = async () => {
      await Deno.remove(`${root}/c`, { recursive: true });
      await Deno.symlink("../outside", `${root}/c`);
    };
    for (const replace of [outsideFile, outsideFolder]) {
      await store.set("/c/k", BYTES);
      for (let i = 0; i < 2; i++) assertEquals(await store.get("/c/k"), BYTES);
      await Deno.remove(`${root}/c/k`);
      for (let i = 0; i < 2; i++) {
        assertEquals(await store.get("/c/k"), undefined);
      }
      await replace();
      for (const use of [...read, ...read]) {
        await assertRejects(use, Error, "leads out of the store's root");
      }
      await Deno.remove(`${root}/c`, { recursive: true });
    }
    await Deno.writeFile(`${root}/c`, BYTES);
    assertEquals(await store.get("/c/k"), undefined);
    await Deno.remove(root, { recursive: true });
    await Deno.writeFile(root, BYTES);
    await assertRejects(() => store.get("/c/k"), Error, "to be a folder");
  });
});

Deno.test("FileSystemStore.set creates nothing through a broken link", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/root`;
    await Deno.mkdir(root);
    await Deno.symlink(`${folder}/none`, `${root}/k`);
    const store = new FileSystemStore(root);
    assertEquals(await store.get("/k"), undefined);
    assertEquals(await listed(store), []);
    await assertRejects(() => store.set("/k/x/y", BYTES), Error, "os error");
    await store.set("/k", BYTES);
    assertEquals(await store.get("/k"), BYTES);
    await Deno.remove(`${root}/k`);
    await Deno.symlink(`${folder}/none`, `${root}/k`);
    await store.delete("/k");
    assertEquals(await filesIn(root), []);
    assertEquals(await filesIn(folder), ["root"]);
  });
});

Deno.test("FileSystemStore follows links that stay below its root", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/root`;
    const store = new FileSystemStore(root);
    await store.set("/real/k", BYTES);
    await Deno.symlink("real/k", `${root}/file`);
    await Deno.symlink(`${root}/real`, `${root}/folder`);
    for (const key of ["/file", "/folder/k"] as const) {
      assertEquals(await store.get(key), BYTES);
      assertEquals(
        await store.getRange(key, { suffixLength: 2 }),
        BYTES.slice(-2),
      );
      assertEquals(await readAll(await store.stream(key)), BYTES);
      assertEquals(await store.size(key), 9);
    }
    await store.set("/folder/new/k", BYTES);
    assertEquals(await store.get("/real/new/k"), BYTES);
    await store.delete("/folder/new/k");
    assertEquals(await store.get("/real/new/k"), undefined);
  });
});

Deno.test("FileSystemStore.set and delete replace and remove a link, not its target", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/real/k", BYTES);
    await Deno.symlink("real/k", `${root}/link`);
    await store.set("/link", SECRET);
    assertEquals(await store.get("/link"), SECRET);
    assertEquals(await store.get("/real/k"), BYTES);
    await Deno.remove(`${root}/link`);
    await Deno.symlink("real/k", `${root}/link`);
    await store.delete("/link");
    assertEquals(await present(`${root}/link`), false);
    assertEquals(await store.get("/real/k"), BYTES);
    assertEquals(await filesIn(`${root}/real`), ["k"]);
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

Deno.test("FileSystemStore accepts a link as its root", async () => {
  await inTempDir(async (folder) => {
    await Deno.mkdir(`${folder}/real`);
    await Deno.symlink("real", `${folder}/link`);
    const store = new FileSystemStore(`${folder}/link`);
    await store.set("/c/k", BYTES);
    await Deno.symlink(`${folder}/real/c`, `${folder}/real/d`);
    assertEquals(await store.get("/d/k"), BYTES);
    assertEquals(await listed(store), ["/c/k"]);
    await store.delete("/d/k");
    assertEquals(await filesIn(`${folder}/real/c`), []);
    assertEquals((await Deno.lstat(`${folder}/link`)).isSymlink, true);
  });
});

Deno.test("FileSystemStore follows a linked root whose target changes", async () => {
  await inTempDir(async (folder) => {
    await Deno.mkdir(`${folder}/a/sub/sub`, { recursive: true });
    await Deno.writeFile(`${folder}/a/v`, Uint8Array.of(1));
    await Deno.writeFile(`${folder}/a/sub/v`, Uint8Array.of(2));
    await Deno.writeFile(`${folder}/a/sub/sub/v`, Uint8Array.of(3));
    await Deno.symlink(`${folder}/a`, `${folder}/root`);
    const store = new FileSystemStore(`${folder}/root`);
    assertEquals(await store.get("/v"), Uint8Array.of(1));
    for (
      const [target, value] of [["a/sub", 2], ["a/sub/sub", 3], [
        "a",
        1,
      ]] as const
    ) {
      await Deno.remove(`${folder}/root`);
      await Deno.symlink(`${folder}/${target}`, `${folder}/root`);
      assertEquals(await store.get("/v"), Uint8Array.of(value));
      assertEquals(await store.size("/v"), 1);
      assertEquals((await Array.fromAsync(store.list())).includes("/v"), true);
    }
  });
});

Deno.test("FileSystemStore.link gives a file another key", () =>
  inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await store.set("/a", new Uint8Array([1]));
    await store.link("/a", "/b/c/d");
    assertEquals(await store.get("/b/c/d"), new Uint8Array([1]));
    await store.link("/a", "/b/c/d"); // They are the same file already.
    await store.set("/b/c/d", new Uint8Array([2]));
    assertEquals(await store.get("/a"), new Uint8Array([1]));
    await assertRejects(
      () => store.link("/a", "/b/c/d"),
      Deno.errors.AlreadyExists,
    );
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

/** The device of a folder; 0 if there is no such folder. */
async function deviceOf(folder: string): Promise<number> {
  return (await Deno.stat(folder).catch(() => undefined))?.dev ?? 0;
}

const SHARED_MEMORY = "/dev/shm";
const TEMPORARY = await Deno.makeTempDir();
const devices = await Promise.all([SHARED_MEMORY, TEMPORARY].map(deviceOf));
await Deno.remove(TEMPORARY);

Deno.test({
  name: "FileSystemStore.link refuses another file system, and says what to do",
  ignore: devices[0] === 0 || devices[0] === devices[1],
  async fn() {
    await inTempDir(async (folder) => {
      await Deno.writeTextFile(`${folder}/a`, "a");
      const other = await Deno.makeTempDir({ dir: SHARED_MEMORY });
      try {
        await assertRejects(
          () =>
            new FileSystemStore("/").link(
              `${folder}/a` as "/",
              `${other}/b` as "/",
            ),
          Error,
          `they are on different file systems, and a hard link is on that of its file`,
        );
        assertEquals(await Array.fromAsync(Deno.readDir(other)), []);
      } finally {
        await Deno.remove(other, { recursive: true });
      }
    });
  },
});
