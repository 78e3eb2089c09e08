import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
  OtherBytesError,
} from "../../mod.ts";
import { setSharded, withZarrParts } from "../../zarrita.ts";
import { zipContainer } from "../../zip.ts";
import { parseSlowZip } from "./slow_zip.ts";

/** An array of one shard, written as a zip. */
async function written(chunkShape: number[], parts?: string[]) {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [6],
    dataType: "uint8",
    shardShape: [6],
    chunkShape,
    suffix: ".zip",
    parts,
  });
  await createArrayChunks(store, "a", metadata);
  const array = await open(store);
  const container = zipContainer(metadata, { zarrJson: "first" });
  const values = Uint8Array.from([1, 2, 3, 4, 5, 6]);
  await setSharded(zarr, array, null, values, { container });
  return { store, array, metadata, container };
}

async function open(store: MemoryStore) {
  const root = zarr.root(withZarrParts(store)).resolve("a");
  return await zarr.open(root, { kind: "array" });
}

/** Tries all writes of a part and of the whole of an array. The zip must stay as it is. */
async function assertRefused(store: MemoryStore): Promise<void> {
  const array = await open(store);
  const zip = await store.get("/a/c/0.zip");
  const value = {
    data: Uint8Array.from([9, 9, 9]),
    shape: [3],
    stride: [1],
  };
  const part = [zarr.slice(0, 3)];
  const writes: Record<string, () => Promise<unknown>> = {
    "set of an element": () => zarr.set(array, [0], 9),
    "set of a part": () => zarr.set(array, part, value),
    "set of all": () => zarr.set(array, null, 9),
    "setSharded of a part": () => setSharded(zarr, array, part, value),
    "setSharded of all": () => setSharded(zarr, array, null, 9),
  };
  for (const [what, write] of Object.entries(writes)) {
    await assertRejects(write, OtherBytesError, undefined, what);
    assertEquals(await store.get("/a/c/0.zip"), zip, what);
  }
}

Deno.test("zips are not destroyed by writes without a container, whatever their inner chunks", async () => {
  for (const chunkShape of [[6], [3], [2], [1]]) {
    for (const parts of [undefined, ["", ".index"]]) {
      const { store } = await written(chunkShape, parts);
      await assertRefused(store);
    }
  }
});

Deno.test("setSharded of a part with a container writes a whole zip again", async () => {
  const { store, array, container } = await written([2], ["", ".index"]);
  const part = [zarr.slice(2, 4)];
  await setSharded(zarr, array, part, 9, { container });
  assertEquals(
    (await zarr.get(array)).data,
    Uint8Array.from([1, 2, 9, 9, 5, 6]),
  );
  const { entries } = parseSlowZip((await store.get("/a/c/0.zip"))!);
  assertEquals(
    entries.slice(1).map(({ name, bytes }) => [name, ...bytes]),
    [["c/0", 1, 2], ["c/1", 9, 9], ["c/2", 5, 6]],
  );
});
