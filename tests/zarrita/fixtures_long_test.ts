/**
 * Arrays that zarrita reads directly are read as well through `withZarrParts`, as they are
 * and stored again with other keys and in parts.
 */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { concatParts } from "../support/metadata.ts";

registerCodecs(zarr);

/**
 * Any folder of Zarr v3 arrays: those of zarrita's own repository,
 * `fixtures/v3/data.zarr`, are one. Without it, zarrita makes some arrays.
 */
const FOLDER = Deno.env.get("ZARR_PARTS_FIXTURES");

const BASES = ["default", "v2"].flatMap((name) =>
  ["/", "."].map((separator) => ({ name, configuration: { separator } }))
);

/** All chunk key encodings of the documents, with both separators, and suffixes over each. */
const KEYS: readonly unknown[] = [
  ...BASES,
  ...BASES.map((base_encoding, i) => ({
    name: "suffix",
    configuration: {
      suffix: [".tiff", ".shard.zip", "/data.ü", "-0"][i]!,
      base_encoding,
    },
  })),
  { name: "suffix", configuration: { suffix: ".bin" } },
];

/** Parts for chunks that are at least so many bytes long, which may be stacked. */
function partsFor(least: number) {
  const half = Math.ceil(least / 2);
  const quarter = Math.floor(least / 4);
  const tail = (size: number) =>
    concatParts({ key_suffix: "" }, { key_suffix: ".tail", size });
  const head = (size: number) =>
    concatParts({ key_suffix: ".head", size }, { key_suffix: ".data" });
  return [
    [],
    [{ name: "none", must_understand: false }],
    [concatParts({ key_suffix: ".data" })],
    [tail(0)],
    [tail(least)],
    [head(least)],
    [
      concatParts(
        { key_suffix: ".head", size: quarter },
        { key_suffix: "/head ü", size: 0 },
        { key_suffix: ".data" },
        { key_suffix: ".tail", size: quarter },
      ),
    ],
    [tail(half), head(quarter)],
  ];
}

/** What a read gives: all bits, or the name of its error. */
async function outcomeOf(
  store: object,
  path: string,
): Promise<unknown> {
  try {
    const root = zarr.root(store as zarr.Readable).resolve(path);
    const array = await zarr.open.v3(root, { kind: "array" });
    const read = await zarr.get(array);
    if (typeof read !== "object" || !("data" in read!)) return read;
    const { data, shape, stride } = read as zarr.Chunk<"uint8">;
    const elements = Array.isArray(data)
      ? data
      : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    return { class: data.constructor.name, elements, shape, stride };
  } catch (error) {
    return { error: (error as Error).name };
  }
}

function isRead(outcome: unknown): boolean {
  return typeof outcome !== "object" || outcome === null ||
    !("error" in outcome);
}

/** Compares an array as it is, and stored again in all ways; returns the number of comparisons. */
async function compareArray(stored: Store, path: string): Promise<number> {
  const expected = await outcomeOf(stored, path);
  const shown = await outcomeOf(withZarrParts(stored), path);
  // This package reads some arrays that zarrita alone does not.
  if (isRead(expected)) assertEquals(shown, expected, path);
  if (!isRead(shown)) return 1;
  const extended = await zarr.extendStore(stored, withZarrParts);
  assertEquals(await outcomeOf(extended, path), shown, path);
  const array = await openArrayChunks(stored, path);
  const { storage_transformers: _, ...metadata } = array.metadata;
  const chunks: [number[], Uint8Array][] = [];
  for await (const coordinates of array.list()) {
    chunks.push([coordinates, (await array.get(coordinates))!]);
  }
  const least = Math.min(...chunks.map(([, { length }]) => length));
  let count = 2;
  for (const parts of partsFor(Number.isFinite(least) ? least : 0)) {
    for (const chunk_key_encoding of KEYS) {
      const again = new MemoryStore();
      const created = await createArrayChunks(again, path, {
        ...metadata,
        chunk_key_encoding,
        storage_transformers: parts,
      } as never);
      for (const [coordinates, bytes] of chunks) {
        await created.set(coordinates, bytes);
      }
      const what = `${path} ${JSON.stringify([chunk_key_encoding, parts])}`;
      assertEquals(await outcomeOf(withZarrParts(again), path), shown, what);
      count++;
    }
  }
  return count;
}

const CODECS = {
  raw: [{ name: "bytes", configuration: { endian: "little" } }],
  gzip: [{ name: "gzip", configuration: { level: 1 } }],
  transposed: [{ name: "transpose", configuration: { order: [1, 0] } }],
  big: [{ name: "bytes", configuration: { endian: "big" } }],
};

/** Arrays that zarrita writes by itself. */
async function makeArrays(): Promise<Store> {
  const store = new MemoryStore();
  for (
    const dtype of ["bool", "int8", "uint16", "int32", "uint64", "float64"]
  ) {
    for (const [name, codecs] of Object.entries(CODECS)) {
      // zarrita reverses four booleans at a time.
      if (dtype === "bool" && name === "big") continue;
      const location = zarr.root(store).resolve(`${dtype}/${name}`);
      const array = await zarr.create(location, {
        dtype: dtype as zarr.DataType,
        shape: [5, 7],
        chunkShape: [2, 3],
        fillValue: (dtype === "bool" ? false : 0) as never,
        codecs: codecs as never,
      });
      const values: Record<string, unknown> = { bool: true, uint64: 5n };
      const value = values[dtype] ?? 5;
      await zarr.set(
        array,
        [zarr.slice(1, 4), zarr.slice(0, 7, 2)],
        value as never,
      );
    }
  }
  return store;
}

Deno.test("zarrita reads arrays through withZarrParts as directly, as they are and stored again", async (t) => {
  const store = FOLDER === undefined
    ? await makeArrays()
    : new FileSystemStore(FOLDER);
  const listed = await Array.fromAsync(store.list!("/"));
  let count = 0;
  for (const key of listed.sort()) {
    if (!key.endsWith("/zarr.json")) continue;
    const bytes = (await store.get(key as StoreKey))!;
    const { node_type } = JSON.parse(new TextDecoder().decode(bytes));
    if (node_type !== "array") continue;
    const path = key.slice(1, -"/zarr.json".length);
    await t.step(path, async () => {
      count += await compareArray(store, path);
    });
  }
  assert(count >= 23 * 70, `${count} comparisons`);
});
