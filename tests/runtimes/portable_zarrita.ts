/**
 * Uses the zarrita adapter and prints the results. The tests run this program in
 * Deno without permissions, and bundled with zarrita in Node and a browser.
 */
import {
  type ArrayMetadata,
  createArrayChunks,
  HttpStore,
  MemoryStore,
  openArrayChunks,
  type Store,
  type StoreKey,
} from "@zarr-parts/zarr-parts";
import { convert } from "@zarr-parts/zarr-parts/jobs";
import {
  registerCodecs,
  setSharded,
  withZarrParts,
} from "@zarr-parts/zarr-parts/zarrita";
import * as zarr from "zarrita";
import { answerFromMemory } from "./answer_from_memory.ts";

registerCodecs(zarr.registry);

const SHAPE = [6, 5];
const COMMON = {
  zarr_format: 3,
  node_type: "array",
  shape: SHAPE,
  data_type: "int16",
  fill_value: -1,
} as const;
const LITTLE = { name: "bytes", configuration: { endian: "little" } };

/** An array whose chunks have their checksum as a part. */
const CHECKED: ArrayMetadata = {
  ...COMMON,
  chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 3] } },
  chunk_key_encoding: { name: "suffix", configuration: { suffix: ".bin" } },
  codecs: [LITTLE, { name: "crc32c" }],
  storage_transformers: [{
    name: "concat-parts",
    configuration: {
      parts: [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }],
    },
  }],
};

/** An array whose shards have a header and their index as parts. */
const SHARDED: ArrayMetadata = {
  ...COMMON,
  chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 4] } },
  chunk_key_encoding: { name: "suffix", configuration: { suffix: ".shard" } },
  codecs: [{
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [2, 2],
      codecs: [LITTLE, { name: "zstd", configuration: { level: 3 } }],
      index_codecs: [LITTLE, { name: "crc32c" }],
      index_location: "end",
    },
  }],
  storage_transformers: [{
    name: "concat-parts",
    configuration: {
      parts: [
        { key_suffix: ".header", size: 8 },
        { key_suffix: "" },
        { key_suffix: ".index", size: 4 * 16 + 4 },
      ],
    },
  }],
};

const memory = new MemoryStore();
await createArrayChunks(memory, "checked", CHECKED);
await createArrayChunks(memory, "sharded", SHARDED);

async function open<S extends Store>(store: S, path: string) {
  const root = zarr.root(withZarrParts(store));
  const array = await zarr.open.v3(root.resolve(path), { kind: "array" });
  return array as zarr.Array<"int16", typeof array.store>;
}

const values = {
  data: Int16Array.from({ length: 30 }, (_, i) => i * i - 100),
  shape: SHAPE,
  stride: [5, 1],
};
await zarr.set(await open(memory, "checked"), null, values);
await setSharded(zarr, await open(memory, "sharded"), null, values, {
  prefix: new Uint8Array(8).fill(42),
});

const results: Record<string, unknown> = {};
const keys: string[] = [];
for await (const key of memory.list()) keys.push(key);
results.keys = keys.sort();
results.header = Array.from((await memory.get("/sharded/c/0/0.shard.header"))!);

const stores = {
  memory,
  http: new HttpStore("http://example.com/base", {
    fetch: answerFromMemory(memory),
  }),
};
for (const [name, store] of Object.entries(stores)) {
  for (const path of ["checked", "sharded"]) {
    const array = await open(store, path);
    const window = [zarr.slice(3, 5), zarr.slice(null, null, 2)];
    const whole = await zarr.get(array);
    const slice = await zarr.get(array, window);
    results[`${path} in ${name}`] = {
      shape: whole.shape,
      whole: Array.from(whole.data),
      slice: Array.from(slice.data),
      sliceShape: slice.shape,
      row: Array.from((await zarr.get(array, [5, null])).data),
      element: await zarr.get(array, [4, 3]),
    };
  }
}

for (
  const key of [
    "/checked/c/0/1.bin",
    "/checked/c/0/1.bin.crc32c",
    "/sharded/c/0/1.shard.index",
  ] satisfies StoreKey[]
) {
  const value = (await memory.get(key))!;
  const damaged = value.slice();
  damaged[1]! ^= 4;
  await memory.set(key, damaged);
  const array = await open(memory, key.split("/")[1]!);
  results[`damaged ${key}`] = await zarr.get(array).catch(messages);
  await memory.set(key, value);
}
/** Codecs of TIFF, with the bytes that they encode, but for JPEG. */
for (
  const codecs of [
    [{ name: "imagecodecs_delta" }, LITTLE, { name: "imagecodecs_lzw" }],
    [LITTLE, { name: "imagecodecs_packbits" }],
    [LITTLE, { name: "imagecodecs_deflate", configuration: { raw: true } }],
  ]
) {
  const array = await zarr.create(new Map(), {
    shape: SHAPE,
    chunkShape: SHAPE,
    dtype: "int16",
    codecs: codecs.map((codec) => ({ configuration: {}, ...codec })),
  });
  await zarr.set(array, null, values);
  const { data } = await zarr.get(array);
  results[codecs.map(({ name }) => name).join(", ")] = Array.from(data);
}

/** `16x5x1 -progressive` of `tests/fixtures/jpeg.json`. */
const JPEG = [
  "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHR",
  "ofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wgALCAAFABABAREA/8QA",
  "FQABAQAAAAAAAAAAAAAAAAAABQb/2gAIAQEAAAABpUP/xAAZEAABBQAAAAAAAAAAAAAAAA",
  "AAAQIDERL/2gAIAQEAAQUCict6P//EABQQAQAAAAAAAAAAAAAAAAAAABD/2gAIAQEABj8C",
  "P//EABgQAQEAAwAAAAAAAAAAAAAAAAEAESFR/9oACAEBAAE/IRYc3Kb/2gAIAQEAAAAQf/",
  "/EABkQAQEBAQEBAAAAAAAAAAAAAAEhEQChwf/aAAgBAQABPxB0lcMODk+djCFUkoN87//Z",
].join("");
const picture = await zarr.create(
  new Map([["/c/0/0", Uint8Array.from(atob(JPEG), (c) => c.charCodeAt(0))]]),
  {
    shape: [5, 16],
    chunkShape: [5, 16],
    dtype: "uint8",
    codecs: [{ name: "imagecodecs_jpeg", configuration: {} }],
  },
);
results.jpeg = Array.from((await zarr.get(picture)).data);

const unknown = await zarr.create(new Map([["/c/0", new Uint8Array(1)]]), {
  shape: [1],
  chunkShape: [1],
  dtype: "uint8",
  codecs: ["bytes", "mine", "yours"].map((name) => ({
    name,
    configuration: {},
  })),
});
results.unknown = [
  await zarr.get(unknown).catch(messages),
  await zarr.set(unknown, null, 1).catch(messages),
];
/** Numbers of documents that JavaScript does not read exactly, or JSON does not have. */
const NUMBERS: readonly (readonly [dataType: string, fill: string])[] = [
  ["uint64", "18446744073709551615"],
  ["int64", "-9223372036854775808"],
  ["int64", "9007199254740993"],
  ["uint64", "18446744073709551616"],
  ["uint64", "1e400"],
  ["float64", "1e400"],
  ["float64", "NaN"],
  ["float32", "-Infinity"],
  ["float32", "100000000000000000000"],
];
const shownText = (_: string, value: unknown) =>
  typeof value === "bigint"
    ? `${value}n`
    : typeof value === "number"
    ? String(value)
    : value;
results.numbers = await Promise.all(NUMBERS.map(async ([dataType, fill]) => {
  const { data_type: _, fill_value: __, ...rest } = CHECKED;
  const text = JSON.stringify({ ...rest, data_type: dataType })
    .replace("{", `{"fill_value":${fill},"attributes":{"a":[${fill}]},`);
  const document = new TextEncoder().encode(text);
  const store = new MemoryStore([["/zarr.json", document]]);
  const copy = new MemoryStore();
  try {
    const { metadata } = await openArrayChunks(store);
    const array = await zarr.open(withZarrParts(store), { kind: "array" });
    const { data } = await zarr.get(array);
    await convert(store, copy, { plain: true });
    const copied = new TextDecoder().decode(await copy.get("/zarr.json"));
    return JSON.stringify([
      metadata.fill_value,
      metadata.attributes,
      Array.from(data as Iterable<unknown>)[29],
      copied.split(fill).length,
    ], shownText);
  } catch (error) {
    return messages(error);
  }
}));
// An unhandled rejection would end the process here.
await new Promise((resolve) => setTimeout(resolve));
console.log(JSON.stringify(results, null, 1));

/** Returns the names and messages of an error and its causes. */
function messages(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  return [`${error.name}: ${error.message}`, ...messages(error.cause)];
}
