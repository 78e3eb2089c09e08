import { assertEquals } from "@std/assert";
import { inspect } from "node:util";
import {
  ArrayChunks,
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  HttpStore,
  MemoryStore,
  openArrayChunks,
  plainView,
  type Store,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, groupMetadata, utf8 } from "../support/documents.ts";

/** A mistake of a caller, and the whole error. */
type Mistake = [act: () => unknown, error: string];

const METADATA = arrayMetadata({
  shape: [10, 7],
  dataType: "uint8",
  chunkShape: [4, 4],
});

/** A group "/g" with the array "/g/a", and a Zarr v2 array "/old". */
const STORE = new MemoryStore([
  ["/g/zarr.json", encodeJson(groupMetadata())],
  ["/g/a/zarr.json", encodeJson(METADATA)],
  ["/g/a/c/0/0", new Uint8Array(16)],
  ["/old/.zarray", utf8("{}")],
]);
const CHUNKS = await openArrayChunks(STORE, "g/a");
/** The same, as a store that cannot list. */
const UNLISTED: Store = { get: (key) => STORE.get(key) };
const NOT_FOUND = new HttpStore("https://user.example/x.zarr?token=secret", {
  fetch: () => Promise.resolve(new Response(null, { status: 404 })),
});
/** A store that fails at every request. */
const UNREACHABLE = new HttpStore("https://user.example/x.zarr", {
  fetch: () => Promise.reject(new Error("Expected no request")),
});
const IN_PARTS = new ArrayChunks(
  UNREACHABLE,
  "a",
  arrayMetadata({
    shape: [8],
    dataType: "uint8",
    chunkShape: [4],
    parts: ["", ".tail:1"],
  }),
);

// Arguments of wrong types, as plain JavaScript passes them.
// deno-lint-ignore no-explicit-any
type Any = any;
const open: Any = openArrayChunks;
const create: Any = createArrayChunks;
const chunks: Any = CHUNKS;
const PATH =
  'Expected the array\'s path in the store, such as "elevation" or "" for the root';
const STORE_EXPECTED = 'Expected a store, an object with a "get" method';

const MISTAKES: Mistake[] = [
  // The wrong place.
  [
    () => open(STORE, "g/b"),
    'MetadataError: No Zarr node at "/g/b" in MemoryStore(4): there is no "/g/b/zarr.json"; there are nodes at "/g", "/g/a" and "/old"',
  ],
  [
    () => open(STORE),
    'MetadataError: No Zarr node at "/" in MemoryStore(4): there is no "/zarr.json"; there are nodes at "/g", "/g/a" and "/old"',
  ],
  [
    () => open(STORE, "g/a/c/0"),
    'MetadataError: No Zarr node at "/g/a/c/0" in MemoryStore(4): there is no "/g/a/c/0/zarr.json"; there are nodes at "/g", "/g/a" and "/old"',
  ],
  [
    () => open(UNLISTED, "g/a/c/0"),
    'MetadataError: No Zarr node at "/g/a/c/0" in a store object: there is no "/g/a/c/0/zarr.json"; there is a node at "/g/a"',
  ],
  [
    () => open(new MemoryStore()),
    'MetadataError: No Zarr node at "/" in MemoryStore(0): there is no "/zarr.json"; the folder or URL may not exist',
  ],
  [
    () => open(plainView(STORE), "b"),
    'MetadataError: No Zarr node at "/b" in plainView(MemoryStore(4)): there is no "/b/zarr.json"; there are nodes at "/g", "/g/a" and "/old"',
  ],
  [
    () => open(NOT_FOUND, "a"),
    'MetadataError: No Zarr node at "/a" in HttpStore(https://user.example/x.zarr?…): there is no "/a/zarr.json"; the folder or URL may not exist',
  ],
  [
    () => open({ get: () => undefined }),
    'MetadataError: No Zarr node at "/" in a store object: there is no "/zarr.json"; the folder or URL may not exist',
  ],
  [
    () => open(STORE, "g"),
    'MetadataError: Expected an array, found a group; there is a node at "/g/a" (at /g/zarr.json#/node_type in MemoryStore(4))',
  ],
  [
    () => open(UNLISTED, "/g/"),
    "MetadataError: Expected an array, found a group (at /g/zarr.json#/node_type in a store object)",
  ],
  [
    () => open(STORE, "old"),
    'MetadataError: Expected a Zarr v3 array at "/old" in MemoryStore(4), found a Zarr v2 array (.zarray); v2View shows it as Zarr v3, and migrate or zarr-parts migrate gives it a zarr.json',
  ],
  [
    () => open(new Map([["/.zgroup", utf8("{}")]])),
    'MetadataError: Expected a Zarr v3 array at "/" in Map(1), found a Zarr v2 group (.zgroup); v2View shows it as Zarr v3, and migrate or zarr-parts migrate gives it a zarr.json',
  ],
  [
    () => open(new Map([["/zarr.json", utf8("<html>")]])),
    `MetadataError: The metadata document is not JSON in UTF-8, it starts with "<html>": Unexpected token '<', "<html>" is not valid JSON (at /zarr.json in Map(1))`,
  ],
  [
    () => open(new Map([["/zarr.json", utf8("")]])),
    "MetadataError: The metadata document is empty, where JSON is expected (at /zarr.json in Map(1))",
  ],
  [
    () =>
      open(
        new Map([[
          "/zarr.json",
          utf8('{"zarr_format":3,"node_type":"array"}'),
        ]]),
      ),
    'MetadataError: Missing member "shape" in array metadata (at /zarr.json#/shape in Map(1))',
  ],
  [
    () => create(STORE, "g/a", METADATA),
    'MetadataError: Cannot create an array at "/g/a": a node is there already (at /g/a/zarr.json in MemoryStore(4))',
  ],
  // A store that cannot write.
  [
    () => create(UNREACHABLE, "a", METADATA),
    'TypeError: Cannot write key "/a/zarr.json" to HttpStore(https://user.example/x.zarr): the store is read-only, it has no "set" method; FileSystemStore and S3Store can write',
  ],
  [
    () => IN_PARTS.set([1], new Uint8Array(4)),
    'TypeError: Cannot write key "/a/c/1" to HttpStore(https://user.example/x.zarr): the store is read-only, it has no "set" method; FileSystemStore and S3Store can write',
  ],
  [
    () => IN_PARTS.set([0], new Blob(["abcd"]).stream()),
    'TypeError: Cannot write key "/a/c/0" to HttpStore(https://user.example/x.zarr): the store is read-only, it has no "set" method; FileSystemStore and S3Store can write',
  ],
  // The wrong argument.
  [
    () => open("data/x.zarr"),
    `TypeError: ${STORE_EXPECTED}, found "data/x.zarr": use new FileSystemStore("data/x.zarr")`,
  ],
  [
    () => create("https://example.org/x.zarr", "", METADATA),
    `TypeError: ${STORE_EXPECTED}, found "https://example.org/x.zarr": use new HttpStore("https://example.org/x.zarr")`,
  ],
  [
    () => new ArrayChunks(new URL("file:///x.zarr") as Any, "", METADATA),
    `TypeError: ${STORE_EXPECTED}, found "file:///x.zarr": use new FileSystemStore(new URL("file:///x.zarr"))`,
  ],
  [
    () => plainView(MemoryStore as Any),
    `TypeError: ${STORE_EXPECTED}, found the class MemoryStore: use new MemoryStore(…)`,
  ],
  [() => open(), `TypeError: ${STORE_EXPECTED}, found undefined`],
  [
    () => open(STORE, "https://example.org/x.zarr"),
    `RangeError: Path "https://example.org/x.zarr" holds an empty segment; e${
      PATH.slice(1)
    }`,
  ],
  [
    () => create(STORE, { shape: [] }),
    `TypeError: ${PATH}, found an object with the members "shape"`,
  ],
  [
    () => create(STORE, "b"),
    "MetadataError: Expected array metadata to be an object, found undefined (at /b/zarr.json in MemoryStore(4))",
  ],
  [
    () => new ArrayChunks(STORE, "", "{}"),
    'MetadataError: Expected array metadata to be an object, found "{}"',
  ],
  // Chunks.
  [
    () => chunks.get([3, 0]),
    'RangeError: Chunk [3, 0] is not in the chunk grid, whose shape is [3, 2] (array "/g/a" of MemoryStore(4))',
  ],
  [
    () => chunks.key([0]),
    'RangeError: Chunk [0] is not in the chunk grid, whose shape is [3, 2] (array "/g/a" of MemoryStore(4))',
  ],
  [
    () => chunks.get(0, 0),
    'TypeError: Expected grid coordinates, a list of numbers, found 0 (array "/g/a" of MemoryStore(4))',
  ],
  [
    () => chunks.get("0/0"),
    'TypeError: Expected grid coordinates, a list of numbers, found "0/0" (array "/g/a" of MemoryStore(4))',
  ],
  [
    () => chunks.size(),
    'TypeError: Expected grid coordinates, a list of numbers, found undefined (array "/g/a" of MemoryStore(4))',
  ],
  [
    async () => await (await openArrayChunks(UNLISTED, "g/a")).list().next(),
    'TypeError: Cannot list chunks: the store has no "list" method (array "/g/a" of a store object)',
  ],
];

Deno.test("messages say what is wrong with an array, and what is right", async () => {
  for (const [act, error] of MISTAKES) assertEquals(await errorOf(act), error);
});

Deno.test("a folder that does not exist, or is a file: the message names it", async () => {
  await inTempDir(async (folder) => {
    const openFolder = (name: string, path?: string) =>
      errorOf(() => open(new FileSystemStore(`${folder}/${name}`), path));
    assertEquals(
      await openFolder("missing.zarr"),
      `MetadataError: No Zarr node at "/" in FileSystemStore(${folder}/missing.zarr): there is no "/zarr.json"; the folder or URL may not exist`,
    );
    await Deno.writeTextFile(`${folder}/file.zarr`, "");
    assertEquals(
      await openFolder("file.zarr"),
      `Error: Expected the store's root to be a folder, found a file: ${folder}/file.zarr`,
    );
    const store = new FileSystemStore(`${folder}/x.zarr`);
    await createArrayChunks(store, "a", METADATA);
    assertEquals(
      await openFolder("x.zarr"),
      `MetadataError: No Zarr node at "/" in FileSystemStore(${folder}/x.zarr): there is no "/zarr.json"; there is a node at "/a"`,
    );
    assertEquals(
      await openFolder("x.zarr", "a/zarr.json"),
      `MetadataError: No Zarr node at "/a/zarr.json" in FileSystemStore(${folder}/x.zarr): there is no "/a/zarr.json/zarr.json"; there is a node at "/a"`,
    );
  });
});

Deno.test("ArrayChunks prints as its array and store", () => {
  const text =
    'ArrayChunks(array "/a" of HttpStore(https://user.example/x.zarr))';
  assertEquals(String(IN_PARTS), text);
  assertEquals(Deno.inspect(IN_PARTS), text);
  assertEquals(inspect(IN_PARTS), text);
});

Deno.test("openArrayChunks reads at most 1000 keys of a listing for its message", async () => {
  let listed = 0;
  const store: Store = {
    get: () => Promise.resolve(undefined),
    async *list() {
      for (;;) yield await Promise.resolve(`/chunk/${listed++}` as const);
    },
  };
  assertEquals(
    await errorOf(() => open(store)),
    'MetadataError: No Zarr node at "/" in a store object: there is no "/zarr.json"; the folder or URL may not exist',
  );
  assertEquals(listed, 1000);
});

Deno.test("openArrayChunks does without a listing that fails, unless it was aborted", async () => {
  const controller = new AbortController();
  const reason = new Error("Enough");
  const store: Store = {
    get: () => Promise.resolve(undefined),
    // deno-lint-ignore require-yield
    async *list() {
      throw await Promise.resolve(new Error("No permission to list"));
    },
  };
  assertEquals(
    await errorOf(() => open(store, "a")),
    'MetadataError: No Zarr node at "/a" in a store object: there is no "/a/zarr.json"; the folder or URL may not exist',
  );
  const { signal } = controller;
  store.list = () => {
    controller.abort(reason);
    throw reason;
  };
  assertEquals(
    await errorOf(() => open(store, "a", { signal })),
    "Error: Enough",
  );
});

async function errorOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    const { name, message } = error as Error;
    return `${name}: ${message}`;
  }
  return "no error";
}
