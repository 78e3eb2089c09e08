import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  FileSystemStore,
  openArrayChunks,
} from "../../mod.ts";
import { setSharded, withZarrParts } from "../../zarrita.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { withEncoders } from "./fixtures_codecs.ts";
import { elementsOf, padded, product, stridesOf } from "./fixtures_elements.ts";
import { nodesIn } from "./fixtures_found.ts";
import type { MadeArray } from "./fixtures_made_array.ts";
import { locationOf, openArray } from "./fixtures_open.ts";

/** Writes arrays into a folder: by zarrita, except for documents and shards that it cannot write. */
export async function makeFolder(
  folder: string,
  arrays: readonly MadeArray[],
): Promise<void> {
  const store = new FileSystemStore(folder);
  await withEncoders(async () => {
    for (const array of arrays) await make(store, array);
  });
}

/** Writes the documents of the groups in a folder, with the consolidated metadata of all nodes below them. */
export async function makeGroups(folder: string): Promise<void> {
  const store = new FileSystemStore(folder);
  const arrays = await nodesIn(folder);
  const names = arrays.map(({ path }) => path.slice(0, path.indexOf("/")));
  const nodes = [...arrays];
  for (const group of [...new Set(names), ""]) {
    const inside = nodes.filter(({ path }) => path.startsWith(group));
    const start = group === "" ? 0 : group.length + 1;
    const document = groupMetadata(Object.fromEntries(
      inside.map(({ path, document }) => [path.slice(start), document]),
    ));
    nodes.push({ path: group, kind: "group", document: groupMetadata() });
    await store.set(
      `${group && `/${group}` as "/"}/zarr.json`,
      encodeJson(document),
    );
  }
}

/** The expected elements of an array: a chunk, or an element of no dimensions. */
export function madeElements(made: MadeArray): unknown {
  const { dataType, shape, fill, rows = shape[0] ?? 1 } = made;
  const written = elementsOf(dataType, product([rows, ...shape.slice(1)]));
  const data = padded(dataType, written, product(shape), fill);
  if (shape.length === 0) return [...data][0];
  return { data, shape, stride: stridesOf(shape) };
}

async function make(store: FileSystemStore, made: MadeArray): Promise<void> {
  const { path, shape, dataType, rows = shape[0] ?? 1, rawChunk } = made;
  const isByZarrita = !made.innerShape && !made.members &&
    !("fillJson" in made);
  if (isByZarrita) await create(store, made);
  else await store.set(`/${path}/zarr.json`, encodeJson(documentOf(made)));
  if (rawChunk) {
    const chunks = await openArrayChunks(store, path);
    await chunks.set(shape.map(() => 0), Uint8Array.from(rawChunk));
  }
  if (rows === 0 || rawChunk) return;
  const array = await openArray(withZarrParts(store), { path, kind: "array" });
  const selection = shape.map((_, i) => i === 0 ? zarr.slice(rows) : null);
  const size = [rows, ...shape.slice(1)];
  const data = elementsOf(dataType, product(size));
  const value = shape.length === 0
    ? [...data][0] // zarrita takes no chunk there.
    : { data, shape: size, stride: stridesOf(size) };
  await (made.innerShape
    ? setSharded(zarr, array as never, selection, value as never)
    : zarr.set(array as never, selection, value as never));
}

async function create(store: FileSystemStore, made: MadeArray) {
  const { path, shape, chunkShape, dataType, codecs, fill } = made;
  await zarr.create(locationOf(store, path), {
    shape: [...shape],
    chunkShape: [...chunkShape],
    dtype: dataType as zarr.DataType,
    codecs: codecs as zarr.CodecMetadata[],
    fillValue: (typeof fill === "bigint" ? Number(fill) : fill) as never,
    attributes: { made: true },
  });
}

function documentOf(made: MadeArray): ArrayMetadata {
  const { shape, dataType, chunkShape, innerShape, codecs, fill } = made;
  const index_codecs = [
    { name: "bytes", configuration: { endian: "little" } },
    { name: "crc32c" },
  ];
  const configuration = {
    chunk_shape: innerShape,
    codecs,
    index_codecs,
    index_location: made.indexLocation ?? "end",
  };
  return {
    zarr_format: 3,
    node_type: "array",
    shape,
    data_type: dataType,
    chunk_grid: { name: "regular", configuration: { chunk_shape: chunkShape } },
    chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
    fill_value: "fillJson" in made
      ? made.fillJson
      : typeof fill === "bigint"
      ? Number(fill)
      : fill,
    codecs: innerShape ? [{ name: "sharding_indexed", configuration }] : codecs,
    attributes: {},
    storage_transformers: [],
    ...made.members,
  };
}
