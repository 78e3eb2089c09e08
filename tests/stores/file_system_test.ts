import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { FileSystemStore } from "../../src/stores/file_system/file_system_store.ts";
import { countingBytes } from "../support/bytes.ts";
import { testStore } from "./conformance.ts";
import { everyUse, listed, readAll, streamOf } from "./store_values.ts";
import { filesIn, inTempDir, present, replaced } from "./temp_dir.ts";

testStore("FileSystemStore", async () => {
  const root = await Deno.makeTempDir();
  const store = new FileSystemStore(root);
  return {
    store,
    fill: (key, bytes) => store.set(key, bytes),
    close: () => Deno.remove(root, { recursive: true }),
  };
}, { hasWriter: true });

const BYTES = countingBytes(9);

Deno.test("FileSystemStore stores a value in the file at the path of its key", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/a b/c?#%41/ü/0.0", BYTES);
    assertEquals(await Deno.readFile(`${root}/a b/c?#%41/ü/0.0`), BYTES);
    await Deno.writeFile(`${root}/x`, BYTES);
    assertEquals(await store.get("/x"), BYTES);
  });
});

Deno.test("FileSystemStore accepts a path and a file URL", async () => {
  await inTempDir(async (folder) => {
    const url = new URL(`file://${folder}/a%20b%25/`);
    await new FileSystemStore(url).set("/k", BYTES);
    assertEquals(await Deno.readFile(`${folder}/a b%/k`), BYTES);
    for (const root of [`${folder}/a b%`, `${folder}/./x/../a b%//`]) {
      await Deno.mkdir(`${folder}/x`, { recursive: true });
      const store = new FileSystemStore(root);
      assertEquals(await store.get("/k"), BYTES);
      assertEquals(await listed(store), ["/k"]);
    }
  });
});

Deno.test("FileSystemStore accepts the root of the file system and a relative path", async () => {
  await inTempDir(async (folder) => {
    const key = await Deno.realPath(folder) as `/${string}`;
    const store = new FileSystemStore("/");
    await store.set(`${key}/a/k`, BYTES);
    assertEquals(await store.get(`${key}/a/k`), BYTES);
    assertEquals(await listed(store, `${key}/`), [`${key}/a/k`]);
    const up = "../".repeat(Deno.cwd().split("/").length);
    assertEquals(
      await new FileSystemStore(`${up}${key.slice(1)}`).get("/a/k"),
      BYTES,
    );
  });
});

Deno.test("FileSystemStore treats a missing root as an empty store, and set creates it", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/not/yet`;
    const store = new FileSystemStore(root);
    assertEquals(await store.get("/k"), undefined);
    assertEquals(await store.getRange("/k", { suffixLength: 1 }), undefined);
    assertEquals(await store.stream("/k"), undefined);
    assertEquals(await store.size("/k"), undefined);
    assertEquals(await listed(store), []);
    await store.delete("/k");
    assertEquals(await present(`${folder}/not`), false);
    await store.set("/k", BYTES);
    assertEquals(await Deno.readFile(`${root}/k`), BYTES);
  });
});

Deno.test("FileSystemStore treats a value below a file as absent", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/file", BYTES);
    for (const key of ["/file/k", "/file/deeper/k"] as const) {
      assertEquals(await store.get(key), undefined);
      assertEquals(await store.getRange(key, { suffixLength: 0 }), undefined);
      assertEquals(await store.stream(key), undefined);
      assertEquals(await store.size(key), undefined);
      await store.delete(key);
      await assertRejects(() => store.set(key, BYTES), Error, root);
    }
    assertEquals(await listed(store, "/file/"), []);
    assertEquals(await listed(store, "/file/deeper/"), []);
    assertEquals(await filesIn(root), ["file"]);
    assertEquals(await store.get("/file"), BYTES);
  });
});

Deno.test("FileSystemStore rejects a key that names a folder", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await Deno.mkdir(`${root}/empty`);
    await Deno.symlink("empty", `${root}/link`);
    await Deno.symlink(".", `${root}/self`);
    for (const key of ["/empty", "/link", "/self", "/self/empty"] as const) {
      for (const use of everyUse(store, key)) {
        await assertRejects(
          use,
          Error,
          `Key "${key}" names a folder, expected a regular file`,
        );
      }
    }
    assertEquals(await filesIn(root), ["empty", "link", "self"]);
  });
});

Deno.test("FileSystemStore rejects a special file instead of waiting for it", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    const { success } = await new Deno.Command("mkfifo", {
      args: [`${root}/pipe`],
    }).output();
    assertEquals(success, true);
    for (
      const use of [
        () => store.get("/pipe"),
        () => store.stream("/pipe"),
        () => store.delete("/pipe"),
      ]
    ) await assertRejects(use, Error, 'Key "/pipe" names a special file');
    assertEquals(await listed(store), []);
  });
});

Deno.test("FileSystemStore rethrows errors of the file system", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    const long = `/${"x".repeat(300)}` as const;
    await Deno.symlink("loop", `${root}/loop`);
    for (const key of [long, "/loop", "/loop/k"] as const) {
      await assertRejects(() => store.get(key), Error, "os error");
      await assertRejects(() => store.set(key, BYTES), Error, "os error");
    }
    assertEquals(await listed(store), []);
    assertEquals(await filesIn(root), ["loop"]);
    const longest = `/c/${"x".repeat(255)}` as const;
    await store.set(longest, BYTES);
    assertEquals(await listed(store), [longest]);
  });
});

Deno.test({
  name: "FileSystemStore does not treat a missing permission as absence",
  permissions: { read: false, write: false },
  async fn() {
    const store = new FileSystemStore("/tmp");
    for (
      const use of [
        () => store.get("/k"),
        () => store.set("/k", BYTES),
        () => store.delete("/k"),
        () => Array.fromAsync(store.list()),
      ]
    ) await assertRejects(use, Deno.errors.NotCapable, "--allow-read");
  },
});

const permitted = Deno.makeTempDirSync();
Deno.mkdirSync(`${permitted}/real`);
Deno.symlinkSync("real", `${permitted}/root`);
Deno.test.afterAll(() => Deno.removeSync(permitted, { recursive: true }));

Deno.test({
  name:
    "FileSystemStore needs permissions only for its root, also for a linked root",
  permissions: { read: [`${permitted}/root`], write: [`${permitted}/root`] },
  async fn() {
    const store = new FileSystemStore(`${permitted}/root`);
    await store.set("/c/0/1", BYTES);
    await store.set("/c/0/1", streamOf(BYTES));
    const writer = await store.writer("/c/0/1");
    await writer.write(BYTES);
    await writer.close();
    assertEquals(await store.get("/c/0/1"), BYTES);
    assertEquals(await readAll(await store.stream("/c/0/1")), BYTES);
    assertEquals(await listed(store), ["/c/0/1"]);
    await store.delete("/c/0/1");
    assertEquals(await store.size("/c/0/1"), undefined);
    await store.set("/c/0/1", BYTES);
    assertEquals(await store.size("/c/0/1"), 9);
  },
});

Deno.test({
  name: "FileSystemStore reads without write permission",
  permissions: { read: [`${permitted}/real`], write: false },
  async fn() {
    const store = new FileSystemStore(`${permitted}/real`);
    assertEquals(await store.get("/c/0/1"), BYTES);
    assertEquals(await listed(store), ["/c/0/1"]);
    await assertRejects(
      () => store.set("/c/0/1", BYTES),
      Deno.errors.NotCapable,
      "--allow-write",
    );
    await assertRejects(
      () => store.set("/new/k", BYTES),
      Deno.errors.NotCapable,
      "--allow-write",
    );
  },
});

Deno.test("FileSystemStore.getRange and size do not read the whole file", async () => {
  await inTempDir(async (root) => {
    const size = 2 ** 36 + 3;
    await Deno.writeFile(`${root}/k`, new Uint8Array());
    await Deno.truncate(`${root}/k`, size);
    using file = await Deno.open(`${root}/k`, { write: true });
    await file.seek(size - 3, Deno.SeekMode.Start);
    await file.write(new Uint8Array([1, 2, 3]));
    const store = new FileSystemStore(root);
    assertEquals(await store.size("/k"), size);
    assertEquals(
      await store.getRange("/k", { offset: size - 4, length: 2 ** 40 }),
      new Uint8Array([0, 1, 2, 3]),
    );
    assertEquals(
      await store.getRange("/k", { suffixLength: 2 }),
      new Uint8Array([2, 3]),
    );
    const reader = (await store.stream("/k"))!.getReader();
    await reader.read();
    await reader.cancel();
  });
});

Deno.test("FileSystemStore.get stops when its signal aborts during reading", async () => {
  await inTempDir(async (root) => {
    await Deno.writeFile(`${root}/k`, new Uint8Array());
    await Deno.truncate(`${root}/k`, 2 ** 20);
    const store = new FileSystemStore(root);
    const { signal, reason, abort } = abortion();
    const reading = store.get("/k", { signal });
    abort();
    assertStrictEquals(await assertRejects(() => reading), reason);
  });
});

Deno.test("FileSystemStore.stream reads the earlier value to its end while set replaces it", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    const value = countingBytes(300_000);
    await store.set("/k", value);
    const streams = [await store.stream("/k"), await store.stream("/k")];
    await store.set("/k", BYTES);
    assertEquals(await readAll(streams[0]), value);
    await store.delete("/k");
    assertEquals(await readAll(streams[1]), value);
  });
});

Deno.test("FileSystemStore.set keeps the earlier value visible until the new value is complete", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/c/k", BYTES);
    const { readable, writable } = new TransformStream<Uint8Array>();
    const setting = store.set("/c/k", readable);
    const writer = writable.getWriter();
    await writer.write(countingBytes(70_000));
    await writer.write(countingBytes(1));
    assertEquals(await store.get("/c/k"), BYTES);
    assertEquals(await listed(store), ["/c/k"]);
    assertEquals(await listed(store, "/c/."), []);
    const names = await filesIn(`${root}/c`);
    assertEquals(names.length, 2);
    assertMatch(names[0]!, /^\.zarr-parts-tmp-[-0-9a-f]{36}$/);
    await writer.close();
    await setting;
    assertEquals((await store.get("/c/k"))?.length, 70_001);
    assertEquals(await filesIn(`${root}/c`), ["k"]);
  });
});

Deno.test("FileSystemStore.set never shows a partial value to readers", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    const value = (i: number) => new Uint8Array(50_000 + i).fill(i);
    await store.set("/k", value(0));
    let writing = true;
    const read = async () => {
      while (writing) {
        const bytes = (await store.get("/k"))!;
        assertEquals(bytes, value(bytes[0]!));
      }
    };
    const write = async () => {
      for (let i = 1; i <= 40; i++) await store.set("/k", value(i));
    };
    const readers = [read(), read(), read()];
    await Promise.all([write(), write()]).finally(() => writing = false);
    await Promise.all(readers);
    assertEquals(await store.get("/k"), value(40));
  });
});

Deno.test("FileSystemStore.set removes the temporary file when it fails", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/k", BYTES);
    const broken = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(countingBytes(70_000));
        },
        pull() {
          throw new Error("the source broke");
        },
      });
    for (const key of ["/k", "/new"] as const) {
      await assertRejects(
        () => store.set(key, broken()),
        Error,
        "the source broke",
      );
      const { signal, reason, abort } = abortion();
      const setting = store.set(key, countingBytes(9_000_000), { signal });
      abort();
      assertStrictEquals(await assertRejects(() => setting), reason);
    }
    assertEquals(await filesIn(root), ["k"]);
    assertEquals(await store.get("/k"), BYTES);
  });
});

Deno.test("FileSystemStore.set can be aborted until the temporary file is renamed", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    const { signal, reason, abort } = abortion();
    const { openSync } = Deno;
    await replaced("openSync", (path, options) => {
      abort();
      return openSync(path, options);
    }, async () => {
      assertStrictEquals(
        await assertRejects(() => store.set("/k", BYTES, { signal })),
        reason,
      );
    });
    assertEquals(await filesIn(root), []);
  });
});

Deno.test("FileSystemStore.set leaves the earlier value when the disk fails", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/k", BYTES);
    const failure = new Error("disk full");
    const fail = () => {
      throw failure;
    };
    await replaced("renameSync", fail, async () => {
      for (const value of [countingBytes(3), streamOf(countingBytes(3))]) {
        assertStrictEquals(
          await assertRejects(() => store.set("/k", value)),
          failure,
        );
      }
    });
    assertEquals(await filesIn(root), ["k"]);
    assertEquals(await store.get("/k"), BYTES);
  });
});

Deno.test("FileSystemStore hides temporary files and rejects their names", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await Deno.mkdir(`${root}/.zarr-parts-tmp-folder`);
    await Deno.writeFile(`${root}/.zarr-parts-tmp-folder/k`, BYTES);
    await Deno.writeFile(`${root}/.zarr-parts-tmp-1`, BYTES);
    await store.set("/c/.zarr-parts-tmp", BYTES);
    await store.set("/c/x.zarr-parts-tmp-", BYTES);
    assertEquals(await listed(store), [
      "/c/.zarr-parts-tmp",
      "/c/x.zarr-parts-tmp-",
    ]);
    for (
      const key of [
        "/.zarr-parts-tmp-1",
        "/.zarr-parts-tmp-",
        "/.zarr-parts-tmp-folder/k",
        "/c/.zarr-parts-tmp-2/0",
      ] as const
    ) {
      for (const use of everyUse(store, key)) {
        await assertRejects(
          use,
          RangeError,
          `Key "${key}" has a name that starts with ".zarr-parts-tmp-"`,
        );
      }
    }
    assertEquals(await present(`${root}/.zarr-parts-tmp-1`), true);
  });
});

Deno.test("FileSystemStore.list omits files whose names are not valid in keys", async () => {
  await inTempDir(async (root) => {
    for (const name of ["a\\b", "a\nb", "a\u007f", "k"]) {
      await Deno.writeFile(`${root}/${name}`, BYTES);
      await Deno.mkdir(`${root}/folder ${name}`);
      await Deno.writeFile(`${root}/folder ${name}/k`, BYTES);
    }
    assertEquals(await listed(new FileSystemStore(root)), [
      "/folder k/k",
      "/k",
    ]);
  });
});

Deno.test("FileSystemStore.list walks only the deepest folder that the prefix names", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    for (const key of ["/a/b/k", "/a/c/k", "/d/k"] as const) {
      await store.set(key, BYTES);
    }
    const read: string[] = [];
    const { readDir } = Deno;
    await replaced("readDir", (path) => {
      read.push(String(path).slice(root.length));
      return readDir(path);
    }, async () => {
      assertEquals(await listed(store, "/a/b"), ["/a/b/k"]);
      assertEquals(await listed(store, "/x/y"), []);
    });
    assertEquals(read, ["/a", "/a/b"]);
  });
});

function abortion(): {
  signal: AbortSignal;
  reason: Error;
  abort(): void;
} {
  const controller = new AbortController();
  const reason = new Error("enough");
  return {
    signal: controller.signal,
    reason,
    abort: () => controller.abort(reason),
  };
}

Deno.test("FileSystemStore rejects a root that is not a path", () => {
  for (const wrong of [null, undefined, 5, {}]) {
    assertThrows(
      () => new FileSystemStore(wrong as never),
      TypeError,
      "Expected the path or file: URL of a folder, found",
    );
  }
});

Deno.test("FileSystemStore.get rejects when the file is truncated during reading", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/k", countingBytes(20));
    const { read, readSync } = Deno.FsFile.prototype;
    // Short reads run at once unless the disk is slow.
    Deno.FsFile.prototype.read = async function (bytes) {
      await Deno.truncate(`${root}/k`, 5);
      return await read.call(this, bytes);
    };
    Deno.FsFile.prototype.readSync = function (bytes) {
      Deno.truncateSync(`${root}/k`, 5);
      return readSync.call(this, bytes);
    };
    try {
      await assertRejects(
        () => store.getRange("/k", { offset: 2, length: 10 }),
        Error,
        'Key "/k" names a file that was cut short while it was read, to 5 bytes: expected 20',
      );
    } finally {
      Object.assign(Deno.FsFile.prototype, { read, readSync });
    }
  });
});
