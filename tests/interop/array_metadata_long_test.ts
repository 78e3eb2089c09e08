import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  MemoryStore,
} from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { ITEM_SIZES } from "./elements.ts";
import { Exchange, PEERS } from "./exchange.ts";
import { type InteropArray, interopArray } from "./interop_array.ts";
import { failuresOf } from "./outcomes.ts";
import { PYTHON } from "./python.ts";
import { copyPlain } from "./store_again.ts";
import { writeElements } from "./write_elements.ts";

registerCodecs(zarr.registry);

const SHAPES = { shape: [7, 5], chunkShape: [3, 2] };
const SHARDS = { shape: [7, 5], shardShape: [6, 4], chunkShape: [3, 2] };
const DATA_TYPES = Object.keys(ITEM_SIZES).filter((name) =>
  name !== "bfloat16"
);

/** Arrays without chunks, of which readers see the fill value. */
const EMPTY: readonly ArrayMetadataOptions[] = [
  ...DATA_TYPES.map((dataType) => ({ ...SHAPES, dataType })),
  ...["gzip", "zstd", "blosc", "crc32c"].flatMap((codec) => [
    { ...SHAPES, dataType: "float64", codecs: [codec] },
    { ...SHARDS, dataType: "uint8", codecs: [codec], parts: ["", ".index"] },
  ]),
  {
    ...SHAPES,
    dataType: "int16",
    codecs: [{ name: "transpose", configuration: { order: [1, 0] } }, "zstd"],
  },
  { shape: [], chunkShape: [], dataType: "int32", dimensionNames: [] },
  {
    ...SHARDS,
    dataType: "int8",
    dimensionNames: ["y", null],
    attributes: { units: "m" },
  },
];

/** Arrays whose elements zarrita or `setSharded` can write. */
const WRITTEN: readonly ArrayMetadataOptions[] = [
  { ...SHAPES, dataType: "int16" },
  { ...SHAPES, dataType: "uint16", suffix: ".x", parts: [".head:3", ""] },
  { ...SHAPES, dataType: "int32", codecs: ["crc32c"], parts: ["", ".crc32c"] },
  {
    ...SHARDS,
    dataType: "uint8",
    suffix: ".tiff",
    parts: [".header:64", "", ".index"],
  },
  {
    ...SHARDS,
    dataType: "float32",
    keyEncoding: "v2",
    indexLocation: "start",
    codecs: ["crc32c"],
    parts: [".index", ".data"],
  },
  {
    ...SHARDS,
    dataType: "uint64",
    indexCodecs: ["bytes"],
    suffix: "/data",
    parts: ["", ".index"],
  },
];

for (const peer of PEERS) {
  testWith(
    PYTHON,
    `${peer.name} opens what arrayMetadata composes`,
    async (python) => {
      const stored = new MemoryStore();
      const empty = EMPTY.map((options, i) => {
        const metadata = arrayMetadata(options);
        const array = interopArrayOf(`empty/${i}`, metadata, options);
        const { fill, elements } = array;
        const filled = elements.map((_, i) => fill[i % fill.length]!);
        return { ...array, elements: filled };
      });
      const written = WRITTEN.map((options, i) =>
        interopArrayOf(`written/${i}`, arrayMetadata(options), options)
      );
      const arrays = [...empty, ...written];
      for (const { path, metadata } of arrays) {
        await createArrayChunks(stored, path, metadata);
      }
      for (const array of written) {
        await writeElements(withZarrParts(stored), array);
      }
      await inTempDir(async (folder) => {
        const exchange = new Exchange(folder, arrays);
        await copyPlain(stored, exchange.store);
        const read = await exchange.read(python, peer);
        assertEquals(await failuresOf(arrays, read), {});
      });
    },
  );
}

function interopArrayOf(
  path: string,
  metadata: InteropArray["metadata"],
  { dataType, shape, chunkShape, shardShape }: ArrayMetadataOptions,
): InteropArray {
  const array = interopArray(path, {
    dataType: dataType as string,
    shape,
    chunkShape: shardShape ?? chunkShape,
    innerShapes: shardShape ? [chunkShape] : [],
    fill: 0,
  });
  return { ...array, metadata };
}
