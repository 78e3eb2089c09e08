import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  createArrayChunks,
  MemoryStore,
  openArrayChunks,
} from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { testWith } from "../support/tools.ts";
import { CHECKSUM_EXAMPLE } from "../zarrita/document_examples.ts";
import { Exchange, type ExchangedArray, PEERS } from "./exchange.ts";
import { failuresOf } from "./outcomes.ts";
import { PYTHON } from "./python.ts";
import { readElements } from "./read_elements.ts";
import { copyPlain } from "./store_again.ts";

registerCodecs(zarr.registry);

/** Metadata without a fill value. */
function unfilled(changes: Record<string, unknown>): ArrayMetadata {
  const { fill_value: _, ...metadata } = arrayMetadata(changes);
  return metadata;
}

function sharding(codecs: unknown[]) {
  return {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [2, 2],
      codecs,
      index_codecs: ["bytes", "crc32c"],
    },
  };
}

/** Documents that zarr-python refuses as they stand. */
const SHORT: Readonly<Record<string, ArrayMetadata>> = {
  "the example with a checksum": JSON.parse(CHECKSUM_EXAMPLE),
  "no fill value": unfilled({}),
  "names of codecs": arrayMetadata({ codecs: ["bytes", "zstd", "gzip"] }),
  "no codec to bytes": unfilled({ data_type: "float64", codecs: ["blosc"] }),
  "codecs of inner chunks": unfilled({
    data_type: "int32",
    codecs: [sharding(["crc32c"])],
  }),
  "an object as a data type": unfilled({ data_type: { name: "uint16" } }),
  "names of encodings": arrayMetadata({
    chunk_key_encoding: {
      name: "suffix",
      configuration: { suffix: ".x", base_encoding: "v2" },
    },
    codecs: [sharding(["bytes"])],
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".index", size: 68 }),
    ],
  }),
  ...Object.fromEntries(
    ["bool", "int8", "uint64", "float16", "float32", "int64"].map((
      data_type,
    ) => [`the default fill of ${data_type}`, unfilled({ data_type })]),
  ),
};

for (const peer of PEERS) {
  testWith(
    PYTHON,
    `${peer.name} opens what createArrayChunks completes`,
    async (python) => {
      const stored = new MemoryStore();
      const arrays: ExchangedArray[] = [];
      for (const [path, document] of Object.entries(SHORT)) {
        await createArrayChunks(stored, path, document);
        const { metadata } = await openArrayChunks(stored, path);
        const elements = await readElements(withZarrParts(stored), path);
        arrays.push({ path, metadata, byDefault: false, elements });
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
