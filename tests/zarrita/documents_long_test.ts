import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { FileSystemStore } from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import {
  assertReads,
  chunkFiles,
  created,
  open,
  square,
} from "./document_arrays.ts";
import { CHECKSUM_EXAMPLE, SHARDING_EXAMPLE } from "./document_examples.ts";

registerCodecs(zarr.registry);

Deno.test("the concat-parts document's array with a checksum is written and read in files", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    const source = square(1000);
    await created(
      store,
      CHECKSUM_EXAMPLE,
      (array) => zarr.set(array, null, source),
    );

    const sizes = await chunkFiles(folder);
    const chunks = ["c/0/0", "c/0/1", "c/1/0", "c/1/1"];
    assertEquals(
      Object.keys(sizes).sort(),
      chunks.flatMap((key) => [key, `${key}.crc32c`]),
    );
    for (const key of chunks) assertEquals(sizes[`${key}.crc32c`], 4);
    await assertReads(await open(store), source);
  });
});

Deno.test("the concat-parts document's array in shards is written and read in files", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    const source = square(10_000);
    const header = new TextEncoder().encode("A header of a file ".repeat(4))
      .subarray(0, 64);
    await created(
      store,
      SHARDING_EXAMPLE,
      (array) => setSharded(zarr, array, null, source, { prefix: header }),
    );

    const sizes = await chunkFiles(folder);
    const expected: Record<string, number> = {};
    for (const key of ["c/0/0", "c/0/1", "c/1/0", "c/1/1"]) {
      expected[key] = 5000 * 5000;
      expected[`${key}.header`] = 64;
      expected[`${key}.index`] = 1604;
      assertEquals(await Deno.readFile(`${folder}/${key}.header`), header);
    }
    assertEquals(sizes, expected);
    // Offsets in the index count from the header on.
    const index = await Deno.readFile(`${folder}/c/0/0.index`);
    assertEquals(new DataView(index.buffer).getBigUint64(0, true), 64n);
    await assertReads(await open(store), source);
  });
});
