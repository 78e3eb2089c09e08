import { assert, assertEquals } from "@std/assert";
import { FetchStore, FileSystemStore } from "@zarrita/storage";
import {
  readRange,
  readSize,
  readStream,
  snapshot,
  write,
} from "../../src/stores/capabilities.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import type { Store } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { readAll, streamOf } from "./conformance.ts";
import { serve, storeHandler } from "./loopback.ts";
import { inTempDir } from "./temp_dir.ts";

const KEY = "/c/0/1";
const ABSENT = "/c/0/2";
const BYTES = countingBytes(100);

/** That these are assignable is what the compiler tests here. */
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
  const before = [await snapshot(store, KEY), await snapshot(store, ABSENT)];
  await write(store, KEY, new Uint8Array(3));
  await before[1]!.restore();
  await write(store, ABSENT, new Uint8Array(3));
  assertEquals(await readSize(store, KEY), 3);
  for (const each of before) await each.restore();
}

Deno.test({
  name: "zarrita's FetchStore is a store",
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

Deno.test("zarrita's FileSystemStore is a store", async () => {
  await inTempDir(async (root) => {
    const store = fileSystemStore(root);
    await assertWritable(store);
    await assertReadable(store);
  });
});

Deno.test("a Map, as zarrita takes it, is a store", async () => {
  const store = new Map() as unknown as Store;
  await assertWritable(store);
  await assertReadable(store);
});
