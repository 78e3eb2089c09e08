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
import type { Files, OpenFile } from "../../../src/stores/file_system/files.ts";
import { SYSTEM_FILES } from "../../../src/stores/file_system/system_files.ts";
import {
  createTemporary,
  discardTemporary,
} from "../../../src/stores/file_system/value.ts";
import { filesIn, inTempDir, replaced } from "../temp_dir.ts";
import { temporaryFiles } from "./processes.ts";

async function write(
  store: FileSystemStore,
  key: StoreKey,
  value: number,
): Promise<void> {
  const writer = await store.group(key, [key, `${key}.tail`]).write!();
  try {
    await writer.set(key, new Uint8Array([value]));
    await writer.set(`${key}.tail`, new Uint8Array([value]));
    await writer.close();
  } catch (error) {
    await writer.abort(error);
    throw error;
  }
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

Deno.test("createTemporary leaves no file that a dry run of recover has locked first", () =>
  inTempDir(async (folder) => {
    let locked: OpenFile | undefined;
    const files: Files = {
      ...SYSTEM_FILES,
      async create(path) {
        const file = await SYSTEM_FILES.create(path);
        if (locked === undefined) {
          locked = await SYSTEM_FILES.open(path);
          assert(await locked!.tryLock());
        }
        return file;
      },
    };
    const temporary = await createTemporary(files, folder);
    await locked!.close();
    assertEquals((await temporaryFiles(folder)).length, 1);
    await discardTemporary(files, temporary);
    assertEquals(await temporaryFiles(folder), []);
  }));
