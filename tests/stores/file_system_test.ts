import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { ConcatParts, FileSystemStore, type StoreKey } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { testStore } from "./conformance.ts";
import { temporaryFiles } from "./file_system/processes.ts";
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
const OTHER = countingBytes(3);
const TEMPORARY = /^\.zarr-parts-tmp-[-0-9a-f]{36}$/;

/** Runs a test with a store and its root. */
function onFiles(
  name: string,
  run: (store: FileSystemStore, root: string) => Promise<void>,
): void {
  Deno.test(
    `FileSystemStore ${name}`,
    () => inTempDir((root) => run(new FileSystemStore(root), root)),
  );
}

/** The ways to store a value. */
type Write = (
  store: FileSystemStore,
  key: StoreKey,
  bytes: Uint8Array,
) => Promise<void>;
const WRITES: Record<string, Write> = {
  "bytes": (store, key, bytes) => store.set(key, bytes),
  "a stream": (store, key, bytes) => store.set(key, streamOf(bytes)),
  "a writer": async (store, key, bytes) => {
    const writer = await store.writer(key);
    await writer.write(bytes);
    await writer.close();
  },
  "an update": (store, key, bytes) =>
    store.update([key], () => Promise.resolve([bytes])),
  "a chunk": (store, key, bytes) =>
    store.update(
      [key, `${key}.index`],
      () => Promise.resolve([bytes, bytes]),
    ),
};

/** Every way to read a key, as `undefined` if it is absent. */
const readings = (
  store: FileSystemStore,
  key: StoreKey,
): Promise<unknown[]> =>
  Promise.all([
    store.get(key),
    store.getRange(key, { suffixLength: 1 }),
    store.stream(key),
    store.size(key),
  ]);
const ABSENT = [undefined, undefined, undefined, undefined];

function failing(error: Error): () => never {
  return () => {
    throw error;
  };
}

/** A signal that can be aborted, and its reason. */
function abortion() {
  const controller = new AbortController();
  const reason = new Error("enough");
  const abort = () => controller.abort(reason);
  return { signal: controller.signal, reason, abort };
}

onFiles(
  "stores a value in the file at the path of its key",
  async (store, root) => {
    await store.set("/a b/c?#%41/ü/0.0", BYTES);
    assertEquals(await Deno.readFile(`${root}/a b/c?#%41/ü/0.0`), BYTES);
    await Deno.writeFile(`${root}/x`, BYTES);
    assertEquals(await store.get("/x"), BYTES);
  },
);

Deno.test("FileSystemStore takes paths of any form, and file URLs, as its root", async () => {
  await inTempDir(async (folder) => {
    const url = new URL(`file://${folder}/a%20b%25/`);
    await new FileSystemStore(url).set("/k", BYTES);
    await Deno.mkdir(`${folder}/x`);
    const up = "../".repeat(Deno.cwd().split("/").length);
    const real = await Deno.realPath(folder);
    for (
      const root of [
        `${folder}/a b%`,
        `${folder}/./x/../a b%//`,
        `${up}${real.slice(1)}/a b%`,
      ]
    ) {
      const store = new FileSystemStore(root);
      assertEquals(await store.get("/k"), BYTES);
      assertEquals(await listed(store), ["/k"]);
    }
    const key = `${real}/a b%/l` as StoreKey;
    await new FileSystemStore("/").set(key, BYTES);
    assertEquals(await listed(new FileSystemStore("/"), key), [key]);
  });
  for (const wrong of [null, undefined, 5, {}, "https://x.example/a"]) {
    assertThrows(() => new FileSystemStore(wrong as never), TypeError);
  }
  assertThrows(() => new FileSystemStore(""), RangeError);
});

onFiles(
  "treats a missing root as an empty store, and set creates it",
  async (_, folder) => {
    const store = new FileSystemStore(`${folder}/not/yet`);
    assertEquals(await readings(store, "/k"), ABSENT);
    assertEquals(await listed(store), []);
    await store.delete("/k");
    assertEquals(await present(`${folder}/not`), false);
    await store.set("/k", BYTES);
    assertEquals(await Deno.readFile(`${folder}/not/yet/k`), BYTES);
  },
);

onFiles(
  "treats a value below a file as absent, and names the file to whatever writes there",
  async (store, root) => {
    await store.set("/other", BYTES);
    for (const above of ["/a", "/x/a"] as const) {
      await store.set(above, BYTES);
      for (const key of [`${above}/b`, `${above}/b/c`] as const) {
        assertEquals(await readings(store, key), ABSENT);
        assertEquals(await listed(store, `${key}/`), []);
        const parts = new ConcatParts([{ keySuffix: "" }, {
          keySuffix: ".index",
          size: 1,
        }]).apply(store);
        const writes: Record<string, Write> = {
          ...WRITES,
          "parts": () => parts.set!(key, OTHER),
          "a link": () => store.link("/other", key),
        };
        for (const [how, write] of Object.entries(writes)) {
          await assertRejects(
            () => write(store, key, OTHER),
            Error,
            `Key "${above}" names a file, expected a folder for the key "${key}": ${root}${above}`,
            how,
          );
        }
        await store.delete(key);
        await parts.delete!(key);
      }
      assertEquals(await store.get(above), BYTES);
    }
    assertEquals(await listed(store), ["/a", "/other", "/x/a"]);
    assertEquals(await temporaryFiles(root), []);
  },
);

onFiles(
  "rejects keys that name a folder or a special file",
  async (store, root) => {
    await Deno.mkdir(`${root}/empty`);
    await Deno.symlink("empty", `${root}/link`);
    await Deno.symlink(".", `${root}/self`);
    const args = [`${root}/pipe`];
    await new Deno.Command("mkfifo", { args }).output();
    for (const key of ["/empty", "/link", "/self/empty", "/pipe"] as const) {
      const kind = key === "/pipe" ? "a special file" : "a folder";
      for (const use of everyUse(store, key)) {
        await assertRejects(use, Error, `Key "${key}" names ${kind}, expected`);
      }
    }
    assertEquals(await listed(store), []);
    assertEquals((await filesIn(root)).length, 4);
  },
);

onFiles("rethrows errors of the file system", async (store, root) => {
  const long: StoreKey = `/${"x".repeat(300)}`;
  await Deno.symlink("loop", `${root}/loop`);
  for (const key of [long, "/loop", "/loop/k"] as const) {
    await assertRejects(() => store.get(key), Error, "os error");
    await assertRejects(() => store.set(key, BYTES), Error, "os error");
  }
  assertEquals(await filesIn(root), ["loop"]);
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
    for (const write of Object.values(WRITES)) {
      await write(store, "/c/0/1", BYTES);
      assertEquals(await store.get("/c/0/1"), BYTES);
      assertEquals(await readAll(await store.stream("/c/0/1")), BYTES);
    }
    const keys: StoreKey[] = ["/c/0/1", "/c/0/1.index"];
    assertEquals(await listed(store), keys);
    await store.read(keys, async (values) => {
      const version = values.version(keys[0]!)!;
      const range = { offset: 2, length: 3 };
      assertEquals(
        await store.readOf(version, keys[0]!, range),
        BYTES.slice(2, 5),
      );
      version.release();
    });
    await store.remove(keys);
    assertEquals(await listed(store), []);
    await store.set("/c/0/1", BYTES);
  },
});

Deno.test({
  name: "FileSystemStore reads without write permission",
  permissions: { read: [`${permitted}/real`], write: false },
  async fn() {
    const store = new FileSystemStore(`${permitted}/real`);
    assertEquals(await store.get("/c/0/1"), BYTES);
    assertEquals(await listed(store), ["/c/0/1"]);
    for (const key of ["/c/0/1", "/new/k"] as const) {
      await assertRejects(
        () => store.set(key, BYTES),
        Deno.errors.NotCapable,
        "--allow-write",
      );
    }
  },
});

onFiles("does not read a whole file for a range of it", async (store, root) => {
  const size = 2 ** 36 + 3;
  await Deno.writeFile(`${root}/k`, new Uint8Array());
  await Deno.truncate(`${root}/k`, size);
  using file = await Deno.open(`${root}/k`, { write: true });
  await file.seek(size - 3, Deno.SeekMode.Start);
  await file.write(new Uint8Array([1, 2, 3]));
  assertEquals(await store.size("/k"), size);
  const end = { offset: size - 4, length: 2 ** 40 };
  assertEquals(await store.getRange("/k", end), new Uint8Array([0, 1, 2, 3]));
  for await (const _ of (await store.stream("/k"))!) break;
});

onFiles(
  "reads values of any length, also many at once, and stops at a signal",
  async (store) => {
    // 1 MiB is read at once, and longer values on another thread.
    for (const length of [0, 2 ** 20, 2 ** 20 + 1, 17 * 2 ** 20]) {
      const value = countingBytes(length);
      await store.set("/k", value);
      const [bytes, streamed, ...ranges] = await Promise.all([
        store.get("/k"),
        store.stream("/k").then(readAll),
        ...[1, 2, 3].map((i) =>
          store.getRange("/k", { offset: i, length: length >> 1 })
        ),
      ]);
      assert(bytes?.every((byte, i) => byte === value[i]));
      assertEquals([bytes!.length, streamed?.length], [length, length]);
      for (const [i, range] of ranges.entries()) {
        assertEquals(range!.length, Math.min(length >> 1, length));
        if (length > 0) assertEquals(range![0], value[i + 1]);
      }
    }
    const { signal, reason, abort } = abortion();
    const reading = store.get("/k", { signal });
    abort();
    assertStrictEquals(await assertRejects(() => reading), reason);
  },
);

onFiles("lets timers run between many short reads", async (store) => {
  await store.set("/k", BYTES);
  let isOver = false;
  setTimeout(() => isOver = true, 1);
  const deadline = performance.now() + 30_000;
  while (!isOver) {
    await store.get("/k");
    assert(performance.now() < deadline, "No timer has run");
  }
});

onFiles(
  "tells a version from later files, and holds young files open",
  async (store, root) => {
    const versionOf = () =>
      store.read(["/k"], (values) => Promise.resolve(values.version("/k")!));
    const all = { offset: 0, length: 99 };
    await store.set("/k", BYTES);
    const young = await versionOf();
    assertEquals([young.isLasting, young.tag], [false, undefined]);
    assertEquals(await store.readOf(young, "/k", all), BYTES);
    await store.set("/k", OTHER);
    assertEquals(await store.readOf(young, "/k", all), undefined);
    young.release();
    const now = new Date(Date.now() - 2_100);
    await Deno.utime(`${root}/k`, now, now);
    const old = await versionOf();
    assertEquals([old.isLasting, old.size], [true, 3]);
    assert(old.tag !== undefined);
    // Links to the same file are read, and links to others are not.
    await store.link("/k", "/l");
    await Deno.symlink("k", `${root}/m`);
    for (const key of ["/k", "/l", "/m"] as const) {
      assertEquals(await store.readOf(old, key, all), OTHER);
    }
    await Deno.remove(`${root}/k`);
    assertEquals(await store.readOf(old, "/k", all), undefined);
  },
);

onFiles(
  "streams the earlier value to its end while others replace it",
  async (store) => {
    const value = countingBytes(300_000);
    await store.set("/k", value);
    const streams = [await store.stream("/k"), await store.stream("/k")];
    await store.set("/k", BYTES);
    assertEquals(await readAll(streams[0]), value);
    await store.delete("/k");
    assertEquals(await readAll(streams[1]), value);
  },
);

onFiles(
  "writes a temporary file in the folder of the value, and renames it at the end",
  async (store, root) => {
    await store.set("/c/k", BYTES);
    const writers = await Promise.all(
      (["/c/k", "/a/b/k", "/a/l", "/a/m"] as const)
        .map((key) => store.writer(key)),
    );
    for (const writer of writers) {
      await writer.write(countingBytes(70_000));
      await writer.write(countingBytes(1));
    }
    assertEquals(await store.get("/c/k"), BYTES);
    assertEquals(await listed(store), ["/c/k"]);
    assertEquals(await listed(store, "/c/."), []);
    const [temporary, k] = await filesIn(`${root}/c`);
    assertMatch(temporary!, TEMPORARY);
    assertEquals(k, "k");
    assertEquals(await filesIn(root), ["a", "c"]);
    assertEquals((await temporaryFiles(root)).length, 4);
    await writers.pop()!.abort!("never mind");
    for (const writer of writers) await writer.close();
    assertEquals(await listed(store), ["/a/b/k", "/a/l", "/c/k"]);
    assertEquals((await store.get("/c/k"))?.length, 70_001);
    assertEquals(await temporaryFiles(root), []);
  },
);

onFiles("never shows a part of a value to readers", async (store) => {
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

onFiles(
  "keeps the earlier value, and no temporary file, if a write fails",
  async (store, root) => {
    await store.set("/k", BYTES);
    const failure = new Error("the disk fails");
    for (const key of ["/k", "/new", "/new/k"] as const) {
      for (const [how, write] of Object.entries(WRITES)) {
        for (const name of ["openSync", "renameSync"] as const) {
          await replaced(name, failing(failure), async () => {
            const error = await assertRejects(
              () => write(store, key, OTHER),
              Error,
              failure.message,
              how,
            );
            // A chunk whose record is written is finished later.
            if (how !== "a chunk") assertStrictEquals(error, failure);
          });
          if (how === "a chunk") {
            await store.remove([key, `${key}.index`]);
            await store.recover();
            if (key === "/k") await store.set(key, BYTES);
          }
        }
      }
      const broken = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(countingBytes(70_000)),
        pull: failing(failure),
      });
      await assertRejects(() => store.set(key, broken), Error, failure.message);
      const { signal, reason, abort } = abortion();
      const setting = store.set(key, countingBytes(9_000_000), { signal });
      abort();
      assertStrictEquals(await assertRejects(() => setting), reason);
      const writer = await store.writer(key);
      const writing = writer.write(countingBytes(8_000_000));
      await writer.abort!(failure);
      await Promise.allSettled([writing]);
    }
    assertEquals(await listed(store), ["/k"]);
    assertEquals(await temporaryFiles(root), []);
    assertEquals(await store.get("/k"), BYTES);
  },
);

onFiles("can abort a write until the file is renamed", async (store, root) => {
  const { signal, reason, abort } = abortion();
  const { openSync } = Deno;
  await replaced("openSync", (path, options) => {
    abort();
    return openSync(path, options);
  }, async () => {
    const setting = store.set("/k", BYTES, { signal });
    assertStrictEquals(await assertRejects(() => setting), reason);
  });
  assertEquals(await filesIn(root), []);
});

onFiles("goes on after short writes", async (store) => {
  const { writeSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.writeSync = function (bytes) {
    return writeSync.call(this, bytes.subarray(0, 4));
  };
  try {
    await store.set("/k", BYTES);
  } finally {
    Deno.FsFile.prototype.writeSync = writeSync;
  }
  assertEquals(await store.get("/k"), BYTES);
});

onFiles(
  "does not take the place of a folder that came meanwhile",
  async (store, root) => {
    const writer = await store.writer("/k");
    await writer.write(BYTES);
    await Deno.mkdir(`${root}/k`);
    await assertRejects(async () => await writer.close(), Error, root);
    assertEquals(await filesIn(root), ["k"]);
    assertEquals(await filesIn(`${root}/k`), []);
  },
);

onFiles(
  "hides temporary files and rejects their names",
  async (store, root) => {
    await Deno.mkdir(`${root}/.zarr-parts-tmp-folder`);
    await Deno.writeFile(`${root}/.zarr-parts-tmp-folder/k`, BYTES);
    await Deno.writeFile(`${root}/.zarr-parts-tmp-1`, BYTES);
    const allowed = ["/c/.zarr-parts-tmp", "/c/x.zarr-parts-tmp-"] as const;
    for (const key of allowed) await store.set(key, BYTES);
    assertEquals(await listed(store), [...allowed]);
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
  },
);

onFiles(
  "lists the deepest folder of the prefix, without names that are not valid in keys",
  async (store, root) => {
    for (const key of ["/a/b/k", "/a/c/k", "/d/k"] as const) {
      await store.set(key, BYTES);
    }
    for (const name of ["a\\b", "a\nb", "a\u007f"]) {
      await Deno.writeFile(`${root}/a/${name}`, BYTES);
      await Deno.mkdir(`${root}/a/folder ${name}`);
      await Deno.writeFile(`${root}/a/folder ${name}/k`, BYTES);
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
    assertEquals(await listed(store), ["/a/b/k", "/a/c/k", "/d/k"]);
  },
);

onFiles(
  "rejects if a file is cut short while it is read",
  async (store, root) => {
    await store.set("/k", countingBytes(20));
    const { readSync } = Deno.FsFile.prototype;
    Deno.FsFile.prototype.readSync = function (bytes) {
      Deno.truncateSync(`${root}/k`, 5);
      return readSync.call(this, bytes);
    };
    try {
      await assertRejects(
        () => store.getRange("/k", { suffixLength: 18 }),
        Error,
        'Key "/k" names a file that was cut short while it was read, to 5 bytes: expected 20',
      );
    } finally {
      Deno.FsFile.prototype.readSync = readSync;
    }
  },
);
