import { parseArray, readDocument } from "../../arrays/mod.ts";
import { isAdopted } from "../../adopt/mod.ts";
import { describe, describeAll, MetadataError } from "../../errors/mod.ts";
import {
  isArrayDocument,
  isGroupDocument,
  isMembers,
  type Members,
  parseZarrJson,
} from "../../metadata/mod.ts";
import {
  readSize,
  readStream,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import {
  ArrayKeys,
  describePlace,
  MARKER,
  type Place,
} from "../../hierarchy/mod.ts";
import type { ConvertPlan } from "./convert_plan.ts";
import { isSameStream } from "./copy_value.ts";
import type { KnownFiles, UnfinishedMarker } from "./unfinished_marker.ts";

/** The number of foreign files that an error names. */
const MOST_NAMED = 3;

/** The documents that make a folder a node. */
const DOCUMENTS = ["zarr.json", ".zarray", ".zgroup"];

/** The members of a document that determine the keys of chunks. */
const KEY_MEMBERS = [
  ...["zarr_format", "node_type", "shape", "data_type", "chunk_grid"],
  ...["chunk_key_encoding", "codecs", "storage_transformers"],
];

/** The files that a conversion writes, as they are known before the documents of the target exist. */
export function filesOf({ arrays }: ConvertPlan): KnownFiles {
  return {
    arrays: arrays.map(({ path, target: { metadata } }) => ({
      path,
      metadata: keyMembers(metadata as unknown as Members),
    })),
    files: [],
  };
}

function keyMembers(document: Members): Members {
  return Object.fromEntries(
    KEY_MEMBERS.flatMap((name) =>
      document[name] === undefined ? [] : [[name, document[name]]]
    ),
  );
}

/**
 * Finds the files at a target that may be removed: those of Zarr nodes, those of an
 * unfinished conversion, and copies of files of the source.
 *
 * @param found The marker of an unfinished conversion.
 * @throws {Error} If there are other files, which nothing could bring back.
 */
export async function assertRemovable(
  plan: ConvertPlan,
  found: UnfinishedMarker | undefined,
  options: StoreOptions,
): Promise<KnownFiles> {
  const { target } = plan;
  const problems = new Map<StoreKey, string>();
  const read = (key: StoreKey) => readNodeAt(target, key, problems, options);
  const roots = await Promise.all(
    DOCUMENTS.map((name) => read(`${target.root}/${name}` as StoreKey)),
  );
  const isNode = found !== undefined || roots.some(Boolean);
  const nodes: FoundNode[] = [];
  // Other folders, such as a home folder, may hold so much that listing it takes long.
  if (isNode) {
    for await (const key of keysIn(target, options)) {
      const node = await read(key);
      if (node !== undefined) nodes.push(node);
    }
  }
  const earlier = found === undefined
    ? []
    : [found.own, found.earlier, filesOf(plan)].filter((known) =>
      known !== undefined
    );
  const arrays = [
    ...nodes.flatMap(({ path, metadata }) =>
      metadata === undefined ? [] : [{ path, metadata }]
    ),
    ...earlier.flatMap(({ arrays }) => arrays),
  ];
  const files = earlier.flatMap(({ files }) => files);
  const isKnown = knownKeys(target, { arrays, files }, nodes);
  const foreign: StoreKey[] = [];
  for await (const key of keysIn(target, options)) {
    if (isKnown(key)) continue;
    const file = key.slice(target.root.length) as StoreKey;
    if (await isCopy(plan, file, found !== undefined, options)) {
      files.push(file);
      continue;
    }
    foreign.push(file);
    if (!isNode && foreign.length > MOST_NAMED) break;
  }
  if (foreign.length > 0) {
    throw foreignFilesError(target, foreign, isNode, problems);
  }
  return { arrays, files };
}

/** An error about files that nothing could bring back. */
function foreignFilesError(
  target: Place,
  foreign: readonly StoreKey[],
  isNode: boolean,
  problems: ReadonlyMap<StoreKey, string>,
): Error {
  // A document that is not valid says why the files below it are not known.
  const sorted = foreign.toSorted((a, b) =>
    Number(problems.has(b)) - Number(problems.has(a))
  );
  const named = sorted.slice(0, MOST_NAMED);
  const more = foreign.length - named.length;
  const what = more === 0
    ? describeAll(named)
    : `${named.map(describe).join(", ")} and ${isNode ? more : "more"}`;
  const reasons = named.flatMap((key) => problems.get(key) ?? [])
    .map((reason) => ` (${reason})`).join("");
  const expected =
    "expected a Zarr node or an unfinished conversion, and no other files; move or remove them yourself, or choose another target";
  return new Error(
    `Cannot overwrite ${describePlace(target)}: ${
      isNode
        ? `besides the files of Zarr, it holds ${what}${reasons}`
        : problems.size > 0
        ? `the files of its node are not known${
          reasons || ` (${[...problems.values()][0]})`
        }, and it holds ${what}`
        : `it is no Zarr node, and holds ${what}`
    }; ${expected}`,
  );
}

/** A node of the target. */
interface FoundNode {
  readonly path: string;
  /** The members of an array's metadata that determine the keys of chunks; `undefined` for a group. */
  readonly metadata: Members | undefined;
}

/** Reads the document of a node, if a key is that of a document. Adds a problem if the document is not valid. */
async function readNodeAt(
  target: Place,
  key: StoreKey,
  problems: Map<StoreKey, string>,
  options: StoreOptions,
): Promise<FoundNode | undefined> {
  const relative = key.slice(target.root.length) as StoreKey;
  const { folder, name } = split(relative);
  if (!DOCUMENTS.includes(name)) return undefined;
  try {
    const bytes = await readDocument(target.store, key, options);
    if (bytes === undefined) return undefined;
    const metadata = metadataOf(name, parseZarrJson(bytes));
    return { path: folder.slice(1), metadata };
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    problems.set(relative, error.problem);
    return undefined;
  }
}

/**
 * Returns the members of an array's metadata that determine the keys of chunks, and
 * `undefined` for a group.
 *
 * @param name The name of the document.
 */
function metadataOf(name: string, document: unknown): Members | undefined {
  if (name === "zarr.json" && isGroupDocument(document)) return undefined;
  if (name === "zarr.json" && isArrayDocument(document)) {
    const metadata = keyMembers(document);
    const { chunk: { shard }, parts } = parseArray(metadata);
    if (!shard || !isAdopted(parts, shard.layout)) return metadata;
    throw new MetadataError(
      "its chunks are adopted files, which may be the only copy",
    );
  }
  const isV2 = name !== "zarr.json" && isMembers(document) &&
    document.zarr_format === 2;
  if (!isV2) throw new MetadataError("it is no document of Zarr");
  if (name === ".zgroup") return undefined;
  const { shape, chunks, dimension_separator } = document;
  const configuration = { separator: dimension_separator ?? "." };
  const metadata = {
    ...{ zarr_format: 3, node_type: "array", shape, data_type: "uint8" },
    chunk_grid: { name: "regular", configuration: { chunk_shape: chunks } },
    chunk_key_encoding: { name: "v2", configuration },
    codecs: [{ name: "bytes" }],
  };
  parseArray(metadata); // Throws if it is not valid.
  return metadata;
}

/**
 * Returns a function that says whether the file of a key is known.
 *
 * @param nodes The nodes whose documents are known.
 */
export function knownKeys(
  target: Place,
  { arrays, files }: KnownFiles,
  nodes: readonly { path: string }[] = arrays,
): (key: StoreKey) => boolean {
  const { root } = target;
  const rootOf = (path: string) => root + (path === "" ? "" : `/${path}`);
  const folders = new Set(nodes.map(({ path }) => rootOf(path)));
  const keys = new Map<string, ArrayKeys[]>();
  for (const { path, metadata } of arrays) {
    const folder = rootOf(path);
    keys.set(folder, [
      ...keys.get(folder) ?? [],
      new ArrayKeys(parseArray(metadata), folder),
    ]);
  }
  const others = new Set([MARKER, ...files].map((key) => root + key));
  return (key) => {
    const { folder } = split(key);
    if (others.has(key) || key.startsWith(`${root}/.zarr-parts-unfinished/`)) {
      return true;
    }
    if (isDocument(key)) {
      return folders.has(folder);
    }
    const chunk = key.replace(/\.zarr-parts-old$/, "") as StoreKey;
    for (let above = folder; above.length >= root.length;) {
      const here = keys.get(above);
      if (here !== undefined) {
        return here.some((each) =>
          each.isTaken(chunk) || each.isOutsideGrid(chunk)
        );
      }
      if (above === root) return false;
      above = split(above).folder;
    }
    return false;
  };
}

/** Whether a file of the target is a copy of a file of the source. */
async function isCopy(
  { source, target }: ConvertPlan,
  file: StoreKey,
  isUnfinished: boolean,
  options: StoreOptions,
): Promise<boolean> {
  if (typeof source.store.list !== "function") return false;
  const [from, to] = [source, target].map(({ root }) =>
    `${root}${file}` as StoreKey
  ) as [StoreKey, StoreKey];
  const size = await readSize(source.store, from, options)
    .catch(() => undefined);
  if (size === undefined) return false;
  // The source may have changed since an unfinished conversion.
  if (isUnfinished) return true;
  if (await readSize(target.store, to, options) !== size) return false;
  return await isSameStream(
    await readStream(source.store, from, options),
    await readStream(target.store, to, options),
    options,
  );
}

/** The documents that may lie in the folder of a node. */
const IN_NODES = [...DOCUMENTS, ".zattrs", ".zmetadata"];

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

function split(key: string): { folder: string; name: string } {
  const end = key.lastIndexOf("/");
  return { folder: key.slice(0, end), name: key.slice(end + 1) };
}
