import fc from "fast-check";
import { ArrayChunks, MemoryStore, type StoreKey } from "../../mod.ts";
import { type AnyArray, anyArray } from "./arbitrary_array.ts";
import { countingBytes } from "./bytes.ts";
import { encodeJson, groupMetadata, utf8 } from "./documents.ts";

export interface PlacedArray extends AnyArray {
  /** The path of the array, such as `c/0`; empty at the root. */
  path: string;
}

/** Groups and arrays with some chunks, and keys of no node. */
export interface Hierarchy {
  arrays: PlacedArray[];
  groups: string[];
  isConsolidated: boolean;
  chunks: AnyChunk[];
  others: StoreKey[];
}

/** Numbers that select a chunk of any array of any rank. */
export interface AnyChunk {
  array: number;
  coordinates: number[];
  more: number;
}

/** A chunk with its key in a plain view. */
export interface Chunk {
  array: PlacedArray;
  coordinates: number[];
  key: StoreKey;
  bytes: Uint8Array;
}

const name = fc.constantFrom(
  ...["c", "0", "c", "0", "1", "a", "ab", "a b", "é", "😀", "\u2028", "100%"],
  ...["%2F", "v1.0", "..c", "c.0", "__proto__", "constructor", ".zarray"],
  "zarr.jsonc",
);
const path = fc.oneof(
  { weight: 1, arbitrary: fc.constant("") },
  {
    weight: 4,
    arbitrary: fc.constantFrom("c", "c/0", "c/0/c", "c/c/0", "0", "a", "a/c"),
  },
  {
    weight: 8,
    arbitrary: fc.array(name, { minLength: 1, maxLength: 4 })
      .map((names) => names.join("/")),
  },
);
const others: StoreKey[] = [
  "/c/readme.txt",
  "/.zgroup",
  "/v2/.zattrs",
  "/v2/0.0",
  "/c/01",
  "/c/0/c/-1",
  "/a/c",
  "/zarr.json.bak",
];

export const anyChunk: fc.Arbitrary<AnyChunk> = fc.record({
  array: fc.nat(),
  coordinates: fc.array(fc.nat(12), { minLength: 5, maxLength: 5 }),
  more: fc.nat(20),
});

export const anyHierarchy: fc.Arbitrary<Hierarchy> = fc.record({
  arrays: fc.array(
    fc.tuple(path, anyArray).map(([path, array]) => ({ path, ...array })),
    { minLength: 1, maxLength: 5 },
  ),
  hasGroups: fc.boolean(),
  isConsolidated: fc.boolean(),
  chunks: fc.array(anyChunk, { maxLength: 8 }),
  others: fc.subarray(others),
}).map(({ arrays: placed, hasGroups, others, ...rest }) => {
  // Nodes have different paths, and none is below an array.
  const arrays = placed.filter(({ path }, i) =>
    !placed.slice(0, i).some((other) =>
      isWithin(path, other.path) || isWithin(other.path, path)
    )
  );
  const groups = new Set(arrays.flatMap(({ path }) => foldersOf(path)));
  const depth = (path: string) => path === "" ? 0 : path.split("/").length;
  return {
    ...rest,
    arrays,
    // Innermost first: outer groups hold the consolidated metadata of inner ones.
    groups: hasGroups ? [...groups].sort((a, b) => depth(b) - depth(a)) : [],
    others: others.filter((key) =>
      !arrays.some(({ path }) => isWithin(key.slice(1), path))
    ),
  };
});

/** Returns the selected chunk, or `undefined` if the array has no chunks. */
export function chunkOf(
  { arrays }: Hierarchy,
  { array: number, coordinates: numbers, more }: AnyChunk,
): Chunk | undefined {
  const array = arrays[number % arrays.length]!;
  const { gridShape, path, least, exact } = array;
  if (gridShape.includes(0)) return undefined;
  const coordinates = gridShape.map((count, i) => numbers[i]! % count);
  const names = ["c", ...coordinates].join("/");
  return {
    array,
    coordinates,
    key: `/${path && `${path}/`}${names}`,
    bytes: countingBytes(exact ? least : least + more, more),
  };
}

/** Stores the hierarchy as it is, and as a plain view must show it. */
export async function storedAndPlain(
  hierarchy: Hierarchy,
): Promise<{ stored: MemoryStore; plain: MemoryStore }> {
  const [stored, plain] = [new MemoryStore(), new MemoryStore()];
  const hasRoot = documentsOf(hierarchy).some(([path]) => path === "");
  for (const key of hierarchy.others) {
    await stored.set(key, utf8(key));
    const isHidden = hasRoot && key === "/.zgroup";
    if (!isHidden) await plain.set(key, utf8(key));
  }
  for (const [path, ...documents] of documentsOf(hierarchy)) {
    const key: StoreKey = `/${path && `${path}/`}zarr.json`;
    const isSame =
      JSON.stringify(documents[0]) === JSON.stringify(documents[1]);
    await stored.set(key, encodeJson(documents[0]));
    // A plain view keeps the text of a document that it does not change.
    const text = JSON.stringify(documents[1], null, isSame ? 0 : 2);
    await plain.set(key, utf8(isSame ? text : `${text}\n`));
  }
  for (const each of hierarchy.chunks) {
    const chunk = chunkOf(hierarchy, each);
    if (chunk === undefined) continue;
    const { array, coordinates, key, bytes } = chunk;
    await new ArrayChunks(stored, array.path, array.stored)
      .set(coordinates, bytes);
    await plain.set(key, bytes);
  }
  return { stored, plain };
}

/** Returns the path of each node, its document in the store, and its document in a plain view. */
function documentsOf(
  { arrays, groups, isConsolidated }: Hierarchy,
): [string, unknown, unknown][] {
  const documents = arrays.map(({ path, stored, plain }) =>
    [path, stored, plain] as [string, unknown, unknown]
  );
  for (const group of groups) {
    const within = documents.filter(([path]) => isWithin(path, group))
      .map(([path, ...both]) =>
        [path.slice(group === "" ? 0 : group.length + 1), both] as const
      );
    const [stored, plain] = [0, 1].map((i) =>
      groupMetadata(
        isConsolidated
          ? Object.fromEntries(within.map(([path, both]) => [path, both[i]]))
          : undefined,
      )
    );
    documents.push([group, stored, plain]);
  }
  return documents;
}

function isWithin(path: string, folder: string): boolean {
  return folder === "" || `${path}/`.startsWith(`${folder}/`);
}

function foldersOf(path: string): string[] {
  if (path === "") return [];
  const names = path.split("/");
  return names.map((_, i) => names.slice(0, i).join("/"));
}
