/** Writes of several files that the disk refuses, and journals that cannot be read. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  FileSystemStore,
  PendingWriteError,
  recover,
  type StoreKey,
} from "../../../mod.ts";
import {
  createTemporary,
  discard,
} from "../../../src/stores/file_system/change_files.ts";
import {
  FileSystem,
  type OpenFile,
} from "../../../src/stores/file_system/system.ts";
import { filesIn, inTempDir, replaced } from "../temp_dir.ts";
import { temporaryFiles } from "./processes.ts";

async function write(
  store: FileSystemStore,
  key: StoreKey,
  value: number,
): Promise<void> {
  const keys: StoreKey[] = [key, `${key}.tail`];
  await store.update(
    keys,
    () => Promise.resolve(keys.map(() => new Uint8Array([value]))),
  );
}

async function read(store: FileSystemStore, key: StoreKey): Promise<number[]> {
  const parts = [await store.get(key), await store.get(`${key}.tail`)];
  return parts.map((bytes) => bytes?.[0] ?? 0);
}

/** Lets the renaming to a path fail. */
async function refusing(
  path: string,
  run: () => Promise<unknown>,
): Promise<void> {
  const { renameSync } = Deno;
  await replaced("renameSync", (from, to) => {
    if (to === path) throw new Deno.errors.PermissionDenied("EPERM");
    renameSync(from, to);
  }, run);
}

Deno.test("a write that has begun is a PendingWriteError, and recover or the next writer finishes it", async () => {
  for (const refused of ["/c/0", "/c/0.tail"]) {
    for (const isRecovered of [true, false]) {
      await inTempDir(async (root) => {
        const store = new FileSystemStore(root);
        await write(store, "/c/0", 1);
        await refusing(root + refused, async () => {
          const error = await assertRejects(
            () => write(store, "/c/0", 2),
            PendingWriteError,
            "EPERM",
          );
          assertEquals(error.key, "/c/0");
          assert(error.cause instanceof Deno.errors.PermissionDenied);
        });
        if (isRecovered) {
          assertEquals((await recover(store)).written, ["/c/0"]);
          assertEquals(await read(store, "/c/0"), [2, 2]);
        } else {
          await write(store, "/c/0", 3);
          assertEquals(await read(store, "/c/0"), [3, 3]);
        }
        assertEquals(await filesIn(`${root}/c`), ["0", "0.tail"]);
      });
    }
  }
});

Deno.test("the journal of a change has the name that the option says, so that others find it", () =>
  inTempDir(async (root) => {
    const store = new FileSystemStore(root, {
      onRecovery: (key) => recovered.push(key),
    });
    const recovered: string[] = [];
    const keys: StoreKey[] = ["/c/0/head", "/c/0.tail"];
    const change = (byte: number, name: StoreKey) =>
      store.update(
        keys,
        () => Promise.resolve(keys.map(() => Uint8Array.of(byte))),
        { name },
      );
    await refusing(`${root}/c/0.tail`, async () => {
      await assertRejects(() => change(1, "/c/0"), PendingWriteError);
    });
    const journal = `${root}/c/.zarr-parts-tmp-journal-0`;
    assertEquals((await temporaryFiles(root)).includes(journal), true);
    assertEquals(recovered, []);
    await change(2, "/c/0");
    assertEquals(recovered, ["/c/0"]);
    assertEquals(await temporaryFiles(root), []);
  }));

Deno.test("recover keeps a journal that it does not understand, and finishes the others", async () => {
  const line = `${
    JSON.stringify({ chunk: "1", action: "later", files: [] })
  }\n`;
  for (const text of [line + line, "{\n{\n"]) {
    await inTempDir(async (root) => {
      const store = new FileSystemStore(root);
      await write(store, "/c/1", 1);
      const journal = `${root}/c/.zarr-parts-tmp-journal-1`;
      const needed = `${root}/c/.zarr-parts-tmp-needed`;
      await Deno.writeTextFile(journal, text);
      await Deno.writeFile(needed, new Uint8Array([9]));
      for (const key of ["/c/0", "/c/2"] as const) {
        await refusing(
          `${root}${key}.tail`,
          () => assertRejects(() => write(store, key, 2), PendingWriteError),
        );
      }
      for (const dryRun of [true, false]) {
        const error = await assertRejects(
          () => recover(store, { dryRun }),
          AggregateError,
        );
        assertStringIncludes(error.message, journal);
        assertEquals(await Deno.readTextFile(journal), text);
        const found = dryRun ? [0, 0] : [2, 2];
        assertEquals((await read(store, "/c/0"))[1], found[1]);
        assertEquals((await read(store, "/c/2"))[1], found[1]);
        assertEquals((await Deno.readFile(needed))[0], 9);
      }
      await assertRejects(() => write(store, "/c/1", 3), Error, journal);
      assertEquals(await Deno.readTextFile(journal), text);
      assertEquals(await read(store, "/c/1"), [1, 1]);
      // A record that was not written to its end is one of no change.
      await Deno.writeTextFile(journal, text.slice(0, -1));
      await write(store, "/c/1", 3);
      assertEquals(await read(store, "/c/1"), [3, 3]);
    });
  }
});

Deno.test("a planted journal that names other files than parts of its chunk is reported, and its names are not followed", async () => {
  const temporary = ".zarr-parts-tmp-9";
  const records = [
    { chunk: "0", action: "delete", files: ["../../mine.zarr/zarr.json"] },
    { chunk: "0", action: "delete", files: ["0", "0/../1"] },
    { chunk: "0", action: "delete", files: ["0", "00/zarr.json"] },
    { chunk: "0", action: "replace", files: [[temporary, "1"]] },
    {
      chunk: "0",
      action: "replace",
      files: [["../../mine.zarr/zarr.json", "0"]],
    },
    {
      chunk: "0",
      action: "replace",
      files: [[`../../mine.zarr/${temporary}`, "0"]],
    },
    { chunk: "1", action: "delete", files: ["1"] },
  ];
  for (const record of records) {
    await inTempDir(async (root) => {
      const store = new FileSystemStore(root);
      await store.set("/mine.zarr/zarr.json", new Uint8Array([1]));
      await write(store, "/theirs.zarr/c/0", 1);
      await write(store, "/theirs.zarr/c/1", 1);
      await store.set("/theirs.zarr/c/00/zarr.json", new Uint8Array([1]));
      const folder = `${root}/theirs.zarr/c`;
      for (const path of [folder, `${root}/mine.zarr`]) {
        await Deno.writeFile(`${path}/${temporary}`, new Uint8Array([9]));
      }
      const journal = `${folder}/.zarr-parts-tmp-journal-0`;
      const line = `${JSON.stringify(record)}\n`;
      await Deno.writeTextFile(journal, line + line);
      const before = await filesIn(root);
      const keys: StoreKey[] = ["/theirs.zarr/c/0", "/theirs.zarr/c/0.tail"];
      for (
        const run of [
          () => recover(store),
          () => recover(store, { dryRun: true }),
          () => write(store, "/theirs.zarr/c/0", 2),
          () => store.remove(keys),
        ]
      ) await assertRejects(run, Error, journal);
      assertEquals(await filesIn(root), before);
      assertEquals(await read(store, "/theirs.zarr/c/0"), [1, 1]);
    });
  }
});

Deno.test("createTemporary leaves no file that a dry run of recover has locked first", () =>
  inTempDir(async (folder) => {
    let locked: OpenFile | undefined;
    const system = new class extends FileSystem {
      override create(path: string): OpenFile {
        const file = super.create(path);
        if (locked === undefined) {
          locked = this.open(path)!;
          assert(locked.tryLock());
        }
        return file;
      }
    }(false);
    const temporary = await createTemporary(system, folder);
    locked!.close();
    assertEquals((await temporaryFiles(folder)).length, 1);
    await discard(system, temporary);
    assertEquals(await temporaryFiles(folder), []);
  }));

function diskFull(): never {
  throw Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
}

Deno.test("an acknowledged delete on a full disk is final, also where a killed writer left a journal", async () => {
  const keys: StoreKey[] = ["/c/0", "/c/0.tail"];
  for (const placed of [0, 1]) {
    await inTempDir(async (root) => {
      const store = new FileSystemStore(root);
      await write(store, "/c/0", 1);
      // A writer begins to replace the chunk, and stops before or after its first part.
      await refusing(`${root}${keys[placed]}`, async () => {
        await assertRejects(() => write(store, "/c/0", 2), PendingWriteError);
      });
      assertEquals((await temporaryFiles(root)).length, 3 - placed);
      // Neither can the change be finished, nor can a record be written.
      const { writeSync } = Deno.FsFile.prototype;
      Deno.FsFile.prototype.writeSync = diskFull;
      try {
        await replaced("renameSync", diskFull, () => store.remove(keys));
      } finally {
        Deno.FsFile.prototype.writeSync = writeSync;
      }
      assertEquals(await filesIn(`${root}/c`), []);
      assertEquals((await recover(store)).written, []);
      assertEquals(await read(store, "/c/0"), [0, 0]);
    });
  }
});

Deno.test("a delete on a full disk needs no journal", () =>
  inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await write(store, "/c/0", 1);
    const { openSync } = Deno;
    await replaced(
      "openSync",
      (path, options) =>
        options?.create || options?.createNew
          ? diskFull()
          : openSync(path, options),
      () => store.remove(["/c/0", "/c/0.tail"]),
    );
    assertEquals(await filesIn(`${root}/c`), []);
  }));
