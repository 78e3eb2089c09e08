import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { readElevationModel } from "../../examples/browser/read_elevation_model.ts";
import {
  type ArrayMetadata,
  createArrayChunks,
  MemoryStore,
} from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { concatParts } from "../support/metadata.ts";

const BYTES = { name: "bytes", configuration: { endian: "little" } };

/** Composes the metadata of an array in parts, by default of 3 × 5 points. */
function metadata(changes: Partial<ArrayMetadata> = {}): ArrayMetadata {
  return {
    zarr_format: 3,
    node_type: "array",
    shape: [3, 5],
    data_type: "float32",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 2] } },
    chunk_key_encoding: { name: "suffix", configuration: { suffix: ".bin" } },
    fill_value: -1,
    codecs: [BYTES],
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".end", size: 2 }),
    ],
    ...changes,
  };
}

async function storeWith(metadata: ArrayMetadata): Promise<MemoryStore> {
  const store = new MemoryStore();
  await createArrayChunks(store, "", metadata);
  return store;
}

const ELEVATIONS = Float32Array.from({ length: 15 }, (_, i) => i * i / 2);

for (
  const [order, codecs] of Object.entries({
    "rows": [BYTES],
    "columns": [{ name: "transpose", configuration: { order: [1, 0] } }, BYTES],
  })
) {
  Deno.test(`readElevationModel() returns the rows of an array that is stored by ${order}`, async () => {
    const store = await storeWith(metadata({ codecs }));
    const array = await zarr.open.v3(withZarrParts(store), { kind: "array" });
    await zarr.set(array as zarr.Array<"float32", typeof array.store>, null, {
      data: ELEVATIONS,
      shape: [3, 5],
      stride: [5, 1],
    });
    const progress: number[][] = [];
    const { elevations, ...model } = await readElevationModel(
      store,
      (...now) => progress.push(now),
    );
    assertEquals(Array.from(elevations), Array.from(ELEVATIONS));
    assertEquals(model, {
      width: 5,
      height: 3,
      fillValue: -1,
      spacing: { x: 30, y: 30 },
    });
    assertEquals(progress, [1, 2, 3, 4, 5, 6].map((chunk) => [chunk, 6]));
  });
}

Deno.test("readElevationModel() computes the spacing from the attributes", async () => {
  const store = await storeWith(metadata({
    attributes: {
      bounding_box: { west: -2, south: -3, east: 3, north: 3 },
    },
  }));
  const { spacing } = await readElevationModel(store);
  assertEquals(spacing, { x: 111_195, y: 2 * 111_195 });
});

Deno.test("readElevationModel() refuses arrays of other ranks and data types", async () => {
  const long = metadata({ data_type: "int64" });
  await assertRejects(
    async () => await readElevationModel(await storeWith(long)),
    TypeError,
    "Expected an array of numbers in two dimensions, found int64 in 2",
  );
  const deep = metadata({
    shape: [3, 5, 1],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 2, 1] } },
  });
  await assertRejects(
    async () => await readElevationModel(await storeWith(deep)),
    TypeError,
    "found float32 in 3",
  );
});
