import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { type ByteWriter, ConcatParts, type StoreKey } from "../../mod.ts";
import { FileSystemStore } from "../../src/stores/file_system/file_system_store.ts";
import { writeAll } from "../../src/stores/store.ts";
import { countingBytes } from "../support/bytes.ts";
import { temporaryFiles } from "./file_system/processes.ts";
import { streamOf } from "./store_values.ts";
import { filesIn, inTempDir, replaced } from "./temp_dir.ts";

const BYTES = countingBytes(9);
const TEMPORARY = /^\.zarr-parts-tmp-[-0-9a-f]{36}$/;

/** Runs a test with a store and its root. */
function onFiles(
  name: string,
  run: (store: FileSystemStore, root: string) => Promise<void>,
): void {
  Deno.test(`FileSystemStore.writer ${name}`, async () => {
    await inTempDir(async (root) => {
      await run(new FileSystemStore(root), root);
    });
  });
}

async function close(writer: ByteWriter): Promise<void> {
  await writer.close();
}

onFiles(
  "writes a temporary file in the value's folder",
  async (store, root) => {
    await store.set("/c/k", BYTES);
    const writer = await store.writer("/c/k");
    await writer.write(countingBytes(3));
    const [temporary, ...others] = await filesIn(`${root}/c`);
    assertMatch(temporary!, TEMPORARY);
    assertEquals(others, ["k"]);
    assertEquals(
      await Deno.readFile(`${root}/c/${temporary}`),
      countingBytes(3),
    );
    await writer.close();
    assertEquals(await filesIn(`${root}/c`), ["k"]);
    assertEquals(await filesIn(root), ["c"]);
  },
);

onFiles(
  "creates folders when it is closed, not before",
  async (store, root) => {
    const writers = [await store.writer("/a/b/k"), await store.writer("/a/l")];
    const aborted = await store.writer("/a/b/c/m");
    for (const writer of [...writers, aborted]) await writer.write(BYTES);
    const names = await filesIn(root);
    assertEquals(names.length, 3);
    for (const name of names) assertMatch(name, TEMPORARY);
    await aborted.abort!("never mind");
    for (const writer of writers) await writer.close();
    assertEquals(await filesIn(root), ["a"]);
    assertEquals(await filesIn(`${root}/a`), ["b", "l"]);
    assertEquals(await filesIn(`${root}/a/b`), ["k"]);
  },
);

onFiles("that is aborted leaves no file and no folder", async (store, root) => {
  await store.set("/c/k", BYTES);
  for (const key of ["/c/k", "/c/new", "/new/k", "/new/c/k"] as const) {
    const writer = await store.writer(key);
    await writeAll(writer, countingBytes(70_001));
    await writer.abort!(new Error("never mind"));
    assertEquals(await filesIn(root), ["c"]);
    assertEquals(await filesIn(`${root}/c`), ["k"]);
  }
  assertEquals(await store.get("/c/k"), BYTES);
});

onFiles(
  "that is aborted while it writes leaves nothing",
  async (store, root) => {
    const writer = await store.writer("/k");
    const writing = writer.write(countingBytes(8_000_000));
    await writer.abort!(new Error("never mind"));
    await Promise.allSettled([writing]);
    assertEquals(await filesIn(root), []);
  },
);

onFiles("goes on after short writes", async (store) => {
  const { writeSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.writeSync = function (bytes) {
    return writeSync.call(this, bytes.subarray(0, 4));
  };
  try {
    const writer = await store.writer("/k");
    assertEquals(await writer.write(BYTES), BYTES.length);
    await writer.close();
  } finally {
    Deno.FsFile.prototype.writeSync = writeSync;
  }
  assertEquals(await store.get("/k"), BYTES);
});

onFiles("leaves nothing when no file can be opened", async (store, root) => {
  const failure = new Error("disk full");
  const fail = () => {
    throw failure;
  };
  await replaced("openSync", fail, async () => {
    assertStrictEquals(
      await assertRejects(() => store.writer("/new/k")),
      failure,
    );
  });
  assertEquals(await filesIn(root), []);
});

onFiles("leaves the earlier value when the disk fails", async (store, root) => {
  await store.set("/k", BYTES);
  const failure = new Error("disk full");
  const writer = await store.writer("/k");
  await writer.write(countingBytes(3));
  const fail = () => {
    throw failure;
  };
  await replaced("renameSync", fail, async () => {
    assertStrictEquals(await assertRejects(() => close(writer)), failure);
  });
  await writer.abort!(failure);
  assertEquals(await filesIn(root), ["k"]);
  assertEquals(await store.get("/k"), BYTES);
});

onFiles(
  "does not take the place of a folder that came meanwhile",
  async (store, root) => {
    const writers = [await store.writer("/k"), await store.writer("/l/k")];
    for (const writer of writers) await writer.write(BYTES);
    await Deno.mkdir(`${root}/k`);
    await Deno.writeFile(`${root}/l`, BYTES);
    for (const writer of writers) {
      await assertRejects(() => close(writer), Error, root);
    }
    assertEquals(await filesIn(root), ["k", "l"]);
    assertEquals(await filesIn(`${root}/k`), []);
  },
);

onFiles("does not follow a link out that came meanwhile", async (_, folder) => {
  const [root, outside] = [`${folder}/root`, `${folder}/outside`];
  await Deno.mkdir(outside);
  await Deno.writeFile(`${outside}/k`, BYTES);
  const store = new FileSystemStore(root);
  await store.set("/c/0", BYTES);
  const keys = ["/new/k", "/new/sub/k", "/c/new/k"] as const;
  const writers = await Promise.all(keys.map((key) => store.writer(key)));
  for (const writer of writers) await writer.write(countingBytes(3));
  await Deno.symlink(outside, `${root}/new`);
  await Deno.symlink("../../outside", `${root}/c/new`);
  for (const writer of writers) {
    await assertRejects(
      () => close(writer),
      Error,
      "leads out of the store's root",
    );
  }
  assertEquals(await filesIn(outside), ["k"]);
  assertEquals(await Deno.readFile(`${outside}/k`), BYTES);
  assertEquals(await filesIn(root), ["c", "new"]);
  assertEquals(await filesIn(`${root}/c`), ["0", "new"]);
});

onFiles(
  "takes the place of a link, not of what it leads to",
  async (_, folder) => {
    const root = `${folder}/root`;
    const store = new FileSystemStore(root);
    await store.set("/real", BYTES);
    await Deno.writeFile(`${folder}/secret`, BYTES);
    await Deno.symlink("real", `${root}/inside`);
    const keys = ["/inside", "/outside"] as const;
    const writers = await Promise.all(keys.map((key) => store.writer(key)));
    for (const writer of writers) await writer.write(countingBytes(3));
    // This one was no link when the writer was opened.
    await Deno.symlink("../secret", `${root}/outside`);
    for (const writer of writers) await writer.close();
    for (const key of keys) {
      assertEquals(
        await store.get(key),
        countingBytes(3),
      );
    }
    assertEquals(await store.get("/real"), BYTES);
    assertEquals(await Deno.readFile(`${folder}/secret`), BYTES);
    assertEquals(await filesIn(root), ["inside", "outside", "real"]);
  },
);

Deno.test("FileSystemStore names the file that is in the place of a folder, whatever writes below it", async () => {
  const whole = countingBytes(2);
  for (const above of ["/a", "/x/a", "/x/y/a"] as const) {
    for (const below of [`${above}/b`, `${above}/b/c`, `${above}/b/c/d`]) {
      const key = below as StoreKey;
      await inTempDir(async (folder) => {
        const store = new FileSystemStore(folder);
        await store.set(above, BYTES);
        await store.set("/other", BYTES);
        // One part below the file, or both.
        const parts = ["", ".tail"].map((suffix) =>
          new ConcatParts([{ keySuffix: suffix }, {
            keySuffix: ".index",
            size: 1,
          }]).apply(store)
        );
        const writes: Record<string, () => Promise<unknown>> = {
          "bytes": () => store.set(key, whole),
          "a stream": () => store.set(key, streamOf(whole)),
          "a writer": () => store.writer(key),
          "a link": () => store.link("/other", key),
          "a lock": () =>
            store.group(key, [key]).lock!(() => Promise.resolve()),
          "a chunk": () =>
            store.group(key, [key]).write!().then(async (group) => {
              await group.set(key, whole).catch(async (error) => {
                await group.abort(error);
                throw error;
              });
              await group.close();
            }),
          ...Object.fromEntries(parts.flatMap((store, i) => [
            [`parts ${i}`, () => store.set!(key, whole)],
            [
              `parts ${i}, a stream`,
              () => store.set!(key, streamOf(whole)),
            ],
          ])),
        };
        for (const [how, write] of Object.entries(writes)) {
          const { message } = await assertRejects(write, Error, "", how);
          const named =
            /^Key "(.*)" names a file, expected a folder for the key "(.*)": (.*)$/
              .exec(message);
          assertEquals(named?.[1], above, `${how}: ${message}`);
          assert(named?.[2]?.startsWith(key), `${how}: ${message}`);
          assertEquals(named?.[3], `${folder}${above}`, how);
        }
        await store.delete(key);
        for (const store of parts) {
          await store.delete!(key);
          assertEquals(await store.get(key), undefined);
        }
        const keys = await Array.fromAsync(store.list());
        assertEquals(keys.sort(), ["/other", above].sort());
        assertEquals(await store.get(above), BYTES);
        assertEquals(await temporaryFiles(folder), []);
      });
    }
  }
});
