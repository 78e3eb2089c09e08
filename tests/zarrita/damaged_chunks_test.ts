import { assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  createArrayChunks,
  DamageError,
  MemoryStore,
} from "../../mod.ts";
import {
  getSharded,
  registerCodecs,
  setSharded,
  ThreadPool,
  withZarrParts,
} from "../../zarrita.ts";

registerCodecs(zarr);

Deno.test("getSharded and setSharded reject a damaged chunk as zarr.get does, and keep the chunk", async () => {
  using threads = new ThreadPool(1);
  for (const codec of ["gzip", "zstd", "crc32c"]) {
    const store = new MemoryStore();
    const metadata = arrayMetadata({
      shape: [8],
      dataType: "uint16",
      chunkShape: [4],
      codecs: [codec],
    });
    await createArrayChunks(store, "", metadata);
    const array = await zarr.open.v3(withZarrParts(store), { kind: "array" });
    await zarr.set(array, null, 7);
    const damaged = (await store.get("/c/1"))!.slice(0, -2);
    await store.set("/c/1", damaged);
    const tasks = {
      get: () => zarr.get(array),
      read: () => getSharded(zarr, array),
      "read by threads": () => getSharded(zarr, array, null, { threads }),
      write: () => setSharded(zarr, array, [zarr.slice(5, 6)], 1),
      "write by threads": () =>
        setSharded(zarr, array, [zarr.slice(5, 6)], 1, { threads }),
    };
    for (const [name, task] of Object.entries(tasks)) {
      const error = await assertRejects(task, Error, "/c/1", name);
      const { cause = error } = error;
      assertInstanceOf(cause, DamageError, `${codec}, ${name}`);
    }
    assertEquals(await store.get("/c/1"), damaged);
    const whole = await getSharded(zarr, array, [zarr.slice(0, 4)]);
    assertEquals(whole.data, new Uint16Array(4).fill(7));
  }
});
