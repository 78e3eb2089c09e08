import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  createArrayChunks,
  DamageError,
  FileSystemStore,
  MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { openIn, readAnew, type Writable } from "./sharded_array.ts";

registerCodecs(zarr.registry);

type FullStore = Writable & Required<Pick<Store, "delete" | "list">>;
/** The states in which a killed job, a full disk or a stray program may leave one part. */
const DAMAGE: Readonly<
  Record<string, (bytes: Uint8Array) => Uint8Array | undefined>
> = {
  missing: () => undefined,
  empty: () => new Uint8Array(),
  "one byte shorter": (bytes) => bytes.subarray(0, -1),
  "cut in half": (bytes) => bytes.subarray(0, bytes.length >> 1),
  // Other bytes than zeros might be those of another file format.
  "one byte longer": (bytes) => new Uint8Array([...bytes, 0]),
  "of zeros": (bytes) => new Uint8Array(bytes.length),
  "of ones": (bytes) => new Uint8Array(bytes.length).fill(255),
};

async function inStores(
  act: (store: FullStore) => Promise<void>,
): Promise<void> {
  await act(new MemoryStore());
  await inTempDir((folder) => act(new FileSystemStore(folder)));
}

/** The keys of a store but for the document. */
async function partsOf(store: FullStore): Promise<StoreKey[]> {
  const keys = await Array.fromAsync(store.list());
  return keys.filter((key) => key !== "/zarr.json").sort();
}

async function damage(
  store: FullStore,
  key: StoreKey,
  change: (bytes: Uint8Array) => Uint8Array | undefined,
): Promise<void> {
  const changed = change((await store.get(key))!);
  if (changed === undefined) await store.delete(key);
  else await store.set(key, changed);
}

Deno.test("setSharded keeps a head part that is whole, replaces a damaged one by zeros, and takes the prefix that is given", async () => {
  const metadata = arrayMetadata({
    shape: [4],
    dataType: "uint8",
    shardShape: [4],
    chunkShape: [2],
    parts: [".header:3", "", ".index"],
  });
  const header = new Uint8Array([1, 2, 3]);
  const zeros = new Uint8Array(3);
  const other = new Uint8Array([7, 8, 9]);
  for (const part of ["", ".header", ".index"]) {
    for (const [what, change] of Object.entries(DAMAGE)) {
      await inStores(async (store) => {
        await createArrayChunks(store, "", metadata);
        const job = async (prefix?: Uint8Array) =>
          await setSharded(
            zarr,
            await openIn(store),
            null,
            new Uint8Array([4, 3, 2, 1]),
            prefix && { prefix },
          );
        const found = async () => await store.get("/c/0.header");
        await job(header);
        await damage(store, `/c/0${part}`, change);
        // Bytes of the right number cannot be told from a header.
        const isKept = part !== ".header" || /of (?:zeros|ones)/.test(what);
        const expected = isKept ? await found() : zeros;
        await job();
        assertEquals(await found(), expected, `${part} ${what}`);
        await damage(store, `/c/0${part}`, change);
        await job(other);
        assertEquals(await found(), other, `${part} ${what}`);
        assertEquals(await readAnew(store), [4, 3, 2, 1]);
      });
    }
  }
});

Deno.test("setSharded refuses to change a part of a damaged shard, and leaves it as it is", async () => {
  const metadata = arrayMetadata({
    shape: [5],
    dataType: "uint8",
    shardShape: [4],
    chunkShape: [2],
    parts: ["", ".index"],
  });
  for (const change of [DAMAGE.missing!, DAMAGE["of zeros"]!]) {
    await inStores(async (store) => {
      await createArrayChunks(store, "", metadata);
      await setSharded(zarr, await openIn(store), null, 1);
      for (const shard of [0, 1]) {
        await damage(store, `/c/${shard}.index`, change);
      }
      const before = await partsOf(store);
      const array = await openIn(store);
      await assertRejects(
        () => setSharded(zarr, array, [zarr.slice(1, 4)], 2),
        DamageError,
      );
      assertEquals(await partsOf(store), before);
      // The edge shard is covered by the only element that it has.
      await setSharded(zarr, array, [zarr.slice(4, 5)], 3);
      assertEquals(await zarr.get(array, [4]), 3);
      await setSharded(zarr, array, [zarr.slice(0, 4)], 2);
      assertEquals(await readAnew(store), [2, 2, 2, 2, 3]);
    });
  }
});
