/**
 * Uses the library without the file store and prints the results. The tests run
 * this program in Deno without permissions, and bundled in Node and a browser.
 */
import {
  ChecksumError,
  ConcatParts,
  concatStream,
  crc32c,
  createArrayChunks,
  HttpStore,
  MemoryStore,
  MissingPartError,
  openArrayChunks,
  splitStream,
} from "@zarr-parts/zarr-parts";
import { createHandler } from "@zarr-parts/zarr-parts/serve";
import { ZipStore } from "@zarr-parts/zarr-parts/zip";
import { answerFromMemory } from "./answer_from_memory.ts";

const memory = new MemoryStore();
const created = await createArrayChunks(memory, "a", {
  zarr_format: 3,
  node_type: "array",
  shape: [4, 4],
  data_type: "uint8",
  chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 2] } },
  chunk_key_encoding: { name: "suffix", configuration: { suffix: ".bin" } },
  fill_value: 0,
  codecs: [{ name: "bytes" }],
  storage_transformers: [{
    name: "concat-parts",
    configuration: {
      parts: [
        { key_suffix: ".head", size: 1 },
        { key_suffix: "" },
        { key_suffix: ".tail", size: 2 },
      ],
    },
  }],
});
await created.set([0, 1], Uint8Array.of(1, 2, 3, 4, 5, 6));
await created.set(
  [1, 1],
  new ReadableStream({
    start(controller) {
      controller.enqueue(Uint8Array.of(9, 8));
      controller.enqueue(Uint8Array.of(7));
      controller.close();
    },
  }),
);

/** Reads a stream to its end. */
async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<number[]> {
  const bytes: number[] = [];
  const reader = stream.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes.push(...read.value);
  }
  return bytes;
}

const results: Record<string, unknown> = {};
const stores = {
  memory,
  http: new HttpStore("http://example.com/base", {
    fetch: answerFromMemory(memory),
  }),
};
for (const [name, store] of Object.entries(stores)) {
  const chunks = await openArrayChunks(store, "a");
  results[name] = {
    get: Array.from((await chunks.get([0, 1]))!),
    range: Array.from(
      (await chunks.getRange([0, 1], { offset: 0, length: 3 }))!,
    ),
    suffix: Array.from((await chunks.getRange([0, 1], { suffixLength: 3 }))!),
    stream: await bytesOf((await chunks.stream([1, 1]))!),
    size: await chunks.size([0, 1]),
    absent: await chunks.get([0, 0]) === undefined,
  };
}
const served = await createHandler(memory)(
  new Request("http://localhost/a/c/0/1", { headers: { range: "bytes=-3" } }),
);
results.served = {
  status: served.status,
  range: served.headers.get("content-range"),
  body: await bytesOf(served.body!),
};

/** An archive of the stored entry `notes.txt` and the deflated entry `c/0`. */
const ARCHIVE = Uint8Array.from(
  atob(
    "UEsDBBQAAAAAAAAAIQAL+UNWBgAAAAYAAAAJAAAAbm90ZXMudHh0c3RvcmVkUEsDBBQAAAAIAAAAIQC2RrGmFAAAAIQDAAADAAAAYy8wS0lNy0ksSU1RSBlljDJGGQPBAABQSwECFAMUAAAAAAAAACEAC/lDVgYAAAAGAAAACQAAAAAAAAAAAAAAgAEAAAAAbm90ZXMudHh0UEsBAhQDFAAAAAgAAAAhALZGsaYUAAAAhAMAAAMAAAAAAAAAAAAAAIABLQAAAGMvMFBLBQYAAAAAAgACAGgAAABiAAAAAAA=",
  ),
  (character) => character.charCodeAt(0),
);
for (const damaged of [-1, 85]) {
  const archive = ARCHIVE.map((byte, i) => i === damaged ? byte ^ 1 : byte);
  const zip = new ZipStore(new MemoryStore([["/x.zip", archive]]), "/x.zip");
  const read = async (task: Promise<number[]>) => {
    try {
      return new TextDecoder().decode(Uint8Array.from(await task));
    } catch (error) {
      return String(error).split(" has ")[0];
    }
  };
  const range = { offset: 9, length: 12 };
  const name = damaged < 0 ? "archive" : "damaged archive";
  results[name] = [
    await read(zip.get("/notes.txt").then((bytes) => Array.from(bytes!))),
    await read(zip.getRange("/c/0", range).then((bytes) => Array.from(bytes!))),
    await read(zip.stream("/c/0").then((stream) => bytesOf(stream!))),
  ];
}
const keys: string[] = [];
for await (const key of memory.list()) keys.push(key);
results.keys = keys.sort();
await memory.delete("/a/c/0/1.bin.tail");
results.missing = await created.get([0, 1]).catch((error) =>
  error instanceof MissingPartError && error.message
);
const parts = new ConcatParts([{ keySuffix: "", size: 1 }]);
try {
  parts.split(new Uint8Array(2));
} catch (error) {
  results.size = String(error);
}

/** Bytes of a chunk that is split and joined, and ends with its checksum. */
const data = Uint8Array.from({ length: 100_000 }, (_, i) => i % 251);
const chunk = new Uint8Array(data.length + 4);
chunk.set(data);
new DataView(chunk.buffer).setUint32(data.length, crc32c(data), true);
const stored: Record<string, Uint8Array<ArrayBuffer>[]> = {};
const split = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".crc32c",
  size: 4,
}]);
for (const engine of ["native", "wasm", "auto"] as const) {
  const options = { crc32c: "verify", engine } as const;
  results[engine] = await splitStream(
    new Blob([chunk]).stream(),
    split,
    ({ keySuffix }) => {
      const pieces: Uint8Array<ArrayBuffer>[] = stored[keySuffix] = [];
      return new WritableStream({
        write: (piece) => void pieces.push(new Uint8Array(piece)),
      });
    },
    options,
  );
  const open = ({ keySuffix }: { keySuffix: string }) =>
    new Blob(stored[keySuffix]).stream();
  const joined = await bytesOf(concatStream(split, open, options));
  results[`${engine} joined`] = joined.length === chunk.length &&
    joined.every((byte, i) => byte === chunk[i]);
  stored[""]![0]![0]! ^= 1;
  results[`${engine} damaged`] = await bytesOf(
    concatStream(split, open, options),
  ).catch((error) => error instanceof ChecksumError && error.message);
}
console.log(JSON.stringify(results, null, 1));
