import { isAdopted } from "../../adopt/mod.ts";
import { parseArray, readDocument } from "../../arrays/mod.ts";
import { describe, MetadataError } from "../../errors/mod.ts";
import {
  ArrayKeys,
  describePlace,
  MARKER,
  type Place,
} from "../../hierarchy/mod.ts";
import {
  isArrayDocument,
  isGroupDocument,
  isMembers,
  type Members,
  parseZarrJson,
} from "../../metadata/mod.ts";
import { isSameBytes } from "../../runtime/mod.ts";
import {
  backendOf,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import type { ConvertPlan } from "./convert_plan.ts";
import type { Documents, UnfinishedMarker } from "./unfinished_marker.ts";

/** The documents that make a folder a node. */
const DOCUMENTS = ["zarr.json", ".zarray", ".zgroup"];
/** The documents that may lie in the folder of a node. */
const IN_NODES = [...DOCUMENTS, ".zattrs", ".zmetadata"];
/** The number of files that an error names. */
const MOST_NAMED = 3;
const DECODER = new TextDecoder();

/** The documents that a conversion writes, by their keys below the target. */
export function ownDocuments({ documents }: ConvertPlan): Documents {
  return Array.from(documents, ([path, bytes]) => [
    `${path && "/"}${path}/zarr.json` as StoreKey,
    DECODER.decode(bytes),
  ]);
}

/**
 * Finds the documents at a target whose files a conversion may replace and remove: those that
 * are stored, and those of unfinished conversions.
 *
 * @param found The marker of an unfinished conversion.
 * @throws {Error} If there are files of no node, which nothing could bring back, unless they
 * are copies of files of the source.
 */
export async function earlierDocuments(
  plan: ConvertPlan,
  found: UnfinishedMarker | undefined,
  options: StoreOptions,
): Promise<Documents> {
  const { target } = plan;
  const stored: [StoreKey, string][] = [];
  const problems = new Map<StoreKey, string>();
  const take = async (key: StoreKey) => {
    if (!isDocument(key)) return;
    const text = await readText(target, key, problems, options);
    if (text !== undefined) stored.push([relativeTo(target, key), text]);
  };
  for (const name of DOCUMENTS) {
    await take(`${target.root as StoreKey}/${name}`);
  }
  const isNode = found !== undefined || stored.length > 0;
  // Other folders, such as a home folder, may hold so much that listing it takes long.
  if (isNode) {
    stored.length = 0;
    for await (const key of keysIn(target, options)) await take(key);
  }
  const earlier = [
    ...stored,
    ...found ? [...found.own ?? [], ...found.earlier ?? []] : [],
    ...found ? ownDocuments(plan) : [],
  ];
  const isKnown = keysOfDocuments(target, earlier);
  // A document that is not valid says why the files below it are not known.
  const foreign = new Set<StoreKey>(isNode ? [] : problems.keys());
  for await (const key of keysIn(target, options)) {
    if (isKnown(key)) continue;
    const file = relativeTo(target, key);
    if (await isCopy(plan, file, found !== undefined, options)) continue;
    foreign.add(file);
    if (!isNode && foreign.size > MOST_NAMED) break;
  }
  if (foreign.size === 0) return earlier;
  throw foreignFilesError(target, [...foreign], isNode, problems);
}

/** Returns a function that says whether a key is that of a document, or of a chunk or a part that a document describes. */
export function keysOfDocuments(
  { root }: Place,
  documents: Documents,
): (key: StoreKey) => boolean {
  const arraysIn = new Map<string, ArrayKeys[]>();
  for (const [key, text] of documents) {
    const { folder, name } = split(root + key);
    const arrays = arraysIn.get(folder) ?? [];
    arraysIn.set(folder, arrays);
    const metadata = DOCUMENTS.includes(name) && arrayOf(name, text);
    if (metadata) arrays.push(new ArrayKeys(parseArray(metadata), folder));
  }
  const state = `${root}/.zarr-parts-unfinished/`;
  return (key) => {
    if (key === root + MARKER || key.startsWith(state)) return true;
    const { folder } = split(key);
    if (isDocument(key)) return arraysIn.has(folder);
    const chunk = key.replace(/\.zarr-parts-old$/, "") as StoreKey;
    for (let above = folder; above.length >= root.length;) {
      const arrays = arraysIn.get(above) ?? [];
      if (arrays.length > 0) {
        return arrays.some((each) =>
          each.isTaken(chunk) || each.isOutsideGrid(chunk)
        );
      }
      if (above === root) return false;
      above = split(above).folder;
    }
    return false;
  };
}

/** Whether a key has the name of a document of a node. */
export function isDocument(key: StoreKey): boolean {
  return IN_NODES.includes(split(key).name);
}

/** The keys at a place; none in a store that cannot list. */
export async function* keysIn(
  { store, root }: Place,
  options: StoreOptions,
): AsyncGenerator<StoreKey> {
  if (typeof store.list !== "function") return;
  yield* store.list(`${root}/` as StoreKey, options);
}

/** Reads a document; `undefined` if it is absent, or not valid, which adds a problem. */
async function readText(
  target: Place,
  key: StoreKey,
  problems: Map<StoreKey, string>,
  options: StoreOptions,
): Promise<string | undefined> {
  const { name } = split(key);
  try {
    const bytes = await readDocument(target.store, key, options);
    if (bytes === undefined) return undefined;
    const text = DECODER.decode(bytes);
    if (!DOCUMENTS.includes(name)) return text;
    const metadata = arrayOf(name, text);
    const { chunk: { shard } = {}, parts = [] } = metadata
      ? parseArray(metadata)
      : {};
    if (!shard || !isAdopted(parts, shard.layout)) return text;
    throw new MetadataError(
      "its chunks are adopted files, which may be the only copy",
    );
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    problems.set(relativeTo(target, key), error.problem);
    return undefined;
  }
}

/**
 * The metadata of an array, as far as it determines the keys of chunks; `undefined` for a group.
 *
 * @param name The name of the document.
 */
function arrayOf(name: string, text: string): Members | undefined {
  const document = parseZarrJson(new TextEncoder().encode(text));
  if (name === "zarr.json" && isGroupDocument(document)) return undefined;
  if (name === "zarr.json" && isArrayDocument(document)) return document;
  const isV2 = name !== "zarr.json" && isMembers(document) &&
    document.zarr_format === 2;
  if (!isV2) throw new MetadataError("it is no document of Zarr");
  if (name === ".zgroup") return undefined;
  const { shape, chunks, dimension_separator } = document;
  const configuration = { separator: dimension_separator ?? "." };
  return {
    ...{ zarr_format: 3, node_type: "array", shape, data_type: "uint8" },
    chunk_grid: { name: "regular", configuration: { chunk_shape: chunks } },
    chunk_key_encoding: { name: "v2", configuration },
    codecs: [{ name: "bytes" }],
  };
}

/**
 * Whether a file of the target is a copy of a file of the source.
 *
 * @param isUnfinished Whether the source may have changed since the file was copied.
 */
export async function isCopy(
  { source, target }: ConvertPlan,
  file: StoreKey,
  isUnfinished: boolean,
  options: StoreOptions,
): Promise<boolean> {
  if (typeof source.store.list !== "function") return false;
  const [from, to] = [source, target].map(({ root }) =>
    `${root}${file}` as StoreKey
  ) as [StoreKey, StoreKey];
  const size = await backendOf(source.store).size(from, options)
    .catch(() => undefined);
  if (size === undefined) return false;
  if (isUnfinished) return true;
  if (await backendOf(target.store).size(to, options) !== size) return false;
  return isSameBytes(
    await backendOf(source.store).get(from, options),
    await backendOf(target.store).get(to, options) ?? new Uint8Array(),
  );
}

/** An error about files that nothing could bring back. */
function foreignFilesError(
  target: Place,
  foreign: readonly StoreKey[],
  isNode: boolean,
  problems: ReadonlyMap<StoreKey, string>,
): Error {
  const named = foreign
    .toSorted((a, b) => Number(problems.has(b)) - Number(problems.has(a)))
    .slice(0, MOST_NAMED)
    .map((key) => {
      const problem = problems.get(key);
      return problem ? `${describe(key)} (${problem})` : describe(key);
    });
  const more = foreign.length > named.length ? " and more" : "";
  const what = isNode
    ? "besides the files of Zarr, it holds"
    : "it is no Zarr node, and holds";
  return new Error(
    `Cannot overwrite ${describePlace(target)}: ${what} ${
      named.join(", ")
    }${more}; expected a Zarr node or an unfinished conversion, and no other files; move or remove them yourself, or choose another target`,
  );
}

function relativeTo({ root }: Place, key: StoreKey): StoreKey {
  return key.slice(root.length) as StoreKey;
}

function split(key: string): { folder: string; name: string } {
  const end = key.lastIndexOf("/");
  return { folder: key.slice(0, end), name: key.slice(end + 1) };
}
