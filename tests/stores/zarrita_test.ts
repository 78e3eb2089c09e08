import { assert, assertEquals, assertRejects } from "@std/assert";
import { FetchStore, FileSystemStore } from "@zarrita/storage";
import fc from "fast-check";
import { ConcatParts, type Store } from "../../mod.ts";
import {
  readRange,
  readSize,
  readStream,
  write,
} from "../../src/stores/capabilities.ts";
import { MemoryStore } from "../../src/stores/memory_store.ts";
import { countingBytes } from "../support/bytes.ts";
import { serve, storeHandler } from "./loopback.ts";
import { readAll, streamOf } from "./store_values.ts";
import { inTempDir } from "./temp_dir.ts";

const KEY = "/c/0/1";
const ABSENT = "/c/0/2";
const BYTES = countingBytes(100);

/** The type check verifies that these stores are assignable. */
const fetchStore = (url: string): Store => new FetchStore(url);
const fileSystemStore = (root: string): Store => new FileSystemStore(root);

async function assertReadable(store: Store): Promise<void> {
  assertEquals(new Uint8Array((await store.get(KEY))!), BYTES);
  assertEquals(await readAll(await readStream(store, KEY)), BYTES);
  assertEquals(await readSize(store, KEY), 100);
  for (const range of [{ offset: 90, length: 10 }, { suffixLength: 10 }]) {
    const bytes = await readRange(store, KEY, range);
    assertEquals(new Uint8Array(bytes!), BYTES.slice(90));
  }
  assertEquals(await store.get(ABSENT), undefined);
  assertEquals(await readStream(store, ABSENT), undefined);
  assertEquals(await readSize(store, ABSENT), undefined);
  assertEquals(
    await readRange(store, ABSENT, { offset: 0, length: 1 }),
    undefined,
  );
}

async function assertWritable(store: Store): Promise<void> {
  await write(store, KEY, streamOf(BYTES.slice(0, 7), BYTES.slice(7)));
  await write(store, KEY, new Uint8Array(3));
  assertEquals(await readSize(store, KEY), 3);
  await write(store, KEY, BYTES);
}

Deno.test({
  name: "zarrita's FetchStore works as a Store",
  // It does not read or cancel the body of a 404.
  sanitizeResources: false,
  fn: readFetchStore,
});

async function readFetchStore(): Promise<void> {
  const { url, close } = serve(storeHandler(new MemoryStore([[KEY, BYTES]])));
  const store = fetchStore(url);
  await assertReadable(store);
  assert(store.set === undefined);
  await close();
}

Deno.test("zarrita's FileSystemStore works as a Store", async () => {
  await inTempDir(async (root) => {
    const store = fileSystemStore(root);
    await assertWritable(store);
    await assertReadable(store);
  });
});

Deno.test("a Map works as a Store", async () => {
  const store = new Map() as unknown as Store;
  await assertWritable(store);
  await assertReadable(store);
});

Deno.test("readRange of zarrita's FileSystemStore ends at the end of the value, also after zeros", async () => {
  await inTempDir(async (root) => {
    for (const value of [BYTES, new Uint8Array(100), new Uint8Array(0)]) {
      // A new store each time, since each store is checked for padding only once.
      const store = fileSystemStore(root);
      await write(store, KEY, value);
      for (const offset of [0, 1, 99, 100, 101, 2 ** 40]) {
        for (const length of [0, 1, 2, 99, 100, 101]) {
          assertEquals(
            new Uint8Array((await readRange(store, KEY, { offset, length }))!),
            value.slice(offset, offset + length),
            `${length} bytes from ${offset} of ${value.length}`,
          );
        }
      }
      for (const suffixLength of [0, 1, 99, 100, 101, 102, 1000]) {
        assertEquals(
          new Uint8Array((await readRange(store, KEY, { suffixLength }))!),
          suffixLength === 0 ? new Uint8Array(0) : value.slice(-suffixLength),
          `the last ${suffixLength} bytes of ${value.length}`,
        );
      }
    }
  });
});

Deno.test("readRange checks once whether zarrita's FileSystemStore pads ranges", async () => {
  await inTempDir(async (root) => {
    const zarrita = fileSystemStore(root);
    await write(zarrita, KEY, new Uint8Array(9));
    const asked: number[] = [];
    const store: Store = {
      get: (key) => zarrita.get(key),
      getRange(key, range) {
        asked.push("offset" in range ? range.offset : -1);
        return zarrita.getRange!(key, range);
      },
    };
    await Promise.all(
      [1, 2, 3].map((offset) => readRange(store, KEY, { offset, length: 1 })),
    );
    await readRange(store, KEY, { offset: 4, length: 1 });
    const isOnce = (offset: number) =>
      asked.indexOf(offset) === asked.lastIndexOf(offset);
    assertEquals(asked.slice(0, 4), [1, 2, 3, 2 ** 53 - 2]);
    assert(isOnce(2 ** 53 - 2));
  });
});

Deno.test("readRange of zarrita's FileSystemStore reads a whole value only where few bytes cannot tell that a range lies in it", async () => {
  await inTempDir(async (root) => {
    const zarrita = fileSystemStore(root);
    const value = new Uint8Array(3000);
    value[999] = value[1999] = value[2949] = 1;
    await write(zarrita, KEY, value);
    const log: string[] = [];
    const store: Store = {
      get(key) {
        log.push("get");
        return zarrita.get(key);
      },
      getRange(key, range) {
        log.push(JSON.stringify(range));
        return zarrita.getRange!(key, range);
      },
    };
    await readRange(store, KEY, { offset: 0, length: 1 }); // Asks whether it pads.
    const cases: [number, number, boolean][] = [
      [0, 999, false], // The byte after the range is not 0.
      [0, 999 - 63, false],
      [0, 999 - 64, true], // The last byte that is asked for is 0, as the whole range.
      [0, 1000, false], // The range ends with another byte.
      [0, 1050, false], // The value ends with as many zeros.
      [0, 1051, true],
      [900, 2100, false], // The range ends where the value does.
      [900, 2101, true], // The store has added a 0.
      [2950, 50, true], // All bytes are 0.
    ];
    for (const [offset, length, isWhole] of cases) {
      log.length = 0;
      const range = { offset, length };
      assertEquals(
        new Uint8Array((await readRange(store, KEY, range))!),
        value.slice(offset, offset + length),
      );
      assertEquals(log.includes("get"), isWhole, `${JSON.stringify(range)}`);
    }
  });
});

Deno.test("readRange of zarrita's FileSystemStore gives the bytes of any range of zeros and other bytes", async () => {
  await inTempDir(async (root) => {
    const store = fileSystemStore(root);
    const size = fc.nat({ max: 200 });
    const runs = fc.array(fc.tuple(size, fc.nat({ max: 1 })), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(runs, size, size, async (runs, offset, length) => {
        const value = new Uint8Array(
          runs.flatMap(([count, byte]) => Array(count).fill(byte)),
        );
        await write(store, KEY, value);
        const found = await readRange(store, KEY, { offset, length });
        assertEquals(
          new Uint8Array(found!),
          value.slice(offset, offset + length),
        );
        const end = await readRange(store, KEY, { suffixLength: length });
        assertEquals(
          new Uint8Array(end!),
          value.slice(Math.max(0, value.length - length)),
        );
      }),
      { numRuns: 500 },
    );
  });
});

Deno.test({
  name:
    "a range of zarrita's FetchStore that starts past the end is empty, and other errors are errors",
  sanitizeResources: false, // zarrita's FetchStore leaves bodies of errors unread.
  async fn() {
    let broken = false;
    const handler = storeHandler(new MemoryStore([[KEY, BYTES]]));
    const { url, close } = serve((request) =>
      broken && request.headers.has("range")
        ? new Response(null, { status: 500 })
        : handler(request)
    );
    const store = fetchStore(url);
    for (const offset of [99, 100, 101, 1000]) {
      assertEquals(
        await readRange(store, KEY, { offset, length: 5 }),
        BYTES.slice(offset),
      );
    }
    broken = true;
    await assertRejects(
      () => readRange(store, KEY, { offset: 1, length: 5 }),
      Error,
      "500",
    );
    await close();
  },
});

Deno.test({
  name: "ConcatParts reads every range of chunks from zarrita's stores",
  sanitizeResources: false, // zarrita's FetchStore leaves bodies of errors unread.
  async fn() {
    const parts = new ConcatParts([
      { keySuffix: ".h", size: 4 },
      { keySuffix: "" },
      { keySuffix: ".i", size: 4 },
    ]);
    const chunk = new Uint8Array(30); // All zeros: padding would not show.
    chunk.fill(7, 0, 20);
    await inTempDir(async (root) => {
      const files = fileSystemStore(root);
      await parts.apply(files).set!(KEY, chunk);
      const memory = new MemoryStore();
      await parts.apply(memory).set(KEY, chunk);
      const { url, close } = serve(storeHandler(memory));
      for (const store of [files, fetchStore(url)]) {
        const composed = parts.apply(store);
        for (const a of [0, 3, 4, 5, 25, 26, 27, 29, 30, 31, 40]) {
          for (const b of [0, 1, 4, 5, 21, 22, 23, 30, 31, 50]) {
            const range = { offset: a, length: b };
            assertEquals(
              new Uint8Array((await composed.getRange(KEY, range))!),
              chunk.slice(a, a + b),
            );
          }
          const tail = await composed.getRange(KEY, { suffixLength: a });
          assertEquals(new Uint8Array(tail!), chunk.slice(Math.max(0, 30 - a)));
        }
      }
      await close();
    });
  },
});
