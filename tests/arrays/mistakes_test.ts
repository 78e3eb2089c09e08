import { assertEquals } from "@std/assert";
import { inspect } from "node:util";
import {
  ArrayChunks,
  arrayMetadata,
  ConcatParts,
  createArrayChunks,
  FileSystemStore,
  HttpStore,
  MemoryStore,
  openArrayChunks,
  parseChunkKeyEncoding,
  parseShardLayout,
  plainView,
  type Store,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson, groupMetadata, utf8 } from "../support/documents.ts";

/** A mistake of a caller: a name, the call, the class of the error, and its whole message. */
type Mistake = [
  name: string,
  act: () => unknown,
  error: string,
  message: string,
];

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
const concatParts = (...parts: Any[]) => new ConcatParts(...parts as [Any]);
const concatPartsOf = (...parts: unknown[]) =>
  ConcatParts.parse({ name: "concat-parts", configuration: { parts } });
const encoding: Any = parseChunkKeyEncoding;
const layout: Any = parseShardLayout;

const PATH =
  'Expected the array\'s path in the store, such as "elevation" or "" for the root';
const STORE_EXPECTED = 'Expected a store, an object with a "get" method';

const MISTAKES: Mistake[] = [
  // The wrong place.
  [
    "a path without a node",
    () => open(STORE, "g/b"),
    "MetadataError",
    'No Zarr node at "/g/b" in MemoryStore(4): there is no "/g/b/zarr.json"; there are nodes at "/g", "/g/a" and "/old"',
  ],
  [
    "a store that holds the array deeper",
    () => open(STORE),
    "MetadataError",
    'No Zarr node at "/" in MemoryStore(4): there is no "/zarr.json"; there are nodes at "/g", "/g/a" and "/old"',
  ],
  [
    "a path inside an array",
    () => open(STORE, "g/a/c/0"),
    "MetadataError",
    'No Zarr node at "/g/a/c/0" in MemoryStore(4): there is no "/g/a/c/0/zarr.json"; there are nodes at "/g", "/g/a" and "/old"',
  ],
  [
    "a path inside an array, in a store that cannot list",
    () => open(UNLISTED, "g/a/c/0"),
    "MetadataError",
    'No Zarr node at "/g/a/c/0" in a store object: there is no "/g/a/c/0/zarr.json"; there is a node at "/g/a"',
  ],
  [
    "an empty store",
    () => open(new MemoryStore()),
    "MetadataError",
    'No Zarr node at "/" in MemoryStore(0): there is no "/zarr.json"; the store is empty, or does not exist',
  ],
  [
    "a path without a node in a plain view",
    () => open(plainView(STORE), "b"),
    "MetadataError",
    'No Zarr node at "/b" in plainView(MemoryStore(4)): there is no "/b/zarr.json"; there are nodes at "/g", "/g/a" and "/old"',
  ],
  [
    "a URL without an array",
    () => open(NOT_FOUND, "a"),
    "MetadataError",
    'No Zarr node at "/a" in HttpStore(https://user.example/x.zarr?…): there is no "/a/zarr.json"; the folder or URL may not exist',
  ],
  [
    "an empty store that cannot list",
    () => open({ get: () => undefined }),
    "MetadataError",
    'No Zarr node at "/" in a store object: there is no "/zarr.json"; the folder or URL may not exist',
  ],
  [
    "a group",
    () => open(STORE, "g"),
    "MetadataError",
    'Expected an array, found a group; there is a node at "/g/a" (at /g/zarr.json#/node_type in MemoryStore(4))',
  ],
  [
    "a group, in a store that cannot list",
    () => open(UNLISTED, "/g/"),
    "MetadataError",
    "Expected an array, found a group (at /g/zarr.json#/node_type in a store object)",
  ],
  [
    "a Zarr v2 array",
    () => open(STORE, "old"),
    "MetadataError",
    'Expected a Zarr v3 array at "/old" in MemoryStore(4), found a Zarr v2 array (.zarray); v2View shows it as Zarr v3, and migrate or zarr-parts migrate gives it a zarr.json',
  ],
  [
    "a Zarr v2 group",
    () => open(new Map([["/.zgroup", utf8("{}")]])),
    "MetadataError",
    'Expected a Zarr v3 array at "/" in Map(1), found a Zarr v2 group (.zgroup); v2View shows it as Zarr v3, and migrate or zarr-parts migrate gives it a zarr.json',
  ],
  [
    "a document that is not JSON",
    () => open(new Map([["/zarr.json", utf8("<html>")]])),
    "MetadataError",
    `The metadata document is not JSON in UTF-8, it starts with "<html>": Unexpected token '<', "<html>" is not valid JSON (at /zarr.json in Map(1))`,
  ],
  [
    "an empty document",
    () => open(new Map([["/zarr.json", utf8("")]])),
    "MetadataError",
    "The metadata document is empty, where JSON is expected (at /zarr.json in Map(1))",
  ],
  [
    "metadata that lacks a shape",
    () =>
      open(
        new Map([[
          "/zarr.json",
          utf8('{"zarr_format":3,"node_type":"array"}'),
        ]]),
      ),
    "MetadataError",
    'Missing member "shape" in array metadata (at /zarr.json#/shape in Map(1))',
  ],
  [
    "a node where an array is created",
    () => create(STORE, "g/a", METADATA),
    "MetadataError",
    'Cannot create an array at "/g/a": a node is there already (at /g/a/zarr.json in MemoryStore(4))',
  ],
  // A store that cannot write.
  [
    "an array created in a read-only store",
    () => create(UNREACHABLE, "a", METADATA),
    "TypeError",
    'Cannot write key "/a/zarr.json" to HttpStore(https://user.example/x.zarr): the store is read-only, it has no "set" method; FileSystemStore and S3Store can write',
  ],
  [
    "a chunk written to a read-only store",
    () => IN_PARTS.set([1], new Uint8Array(4)),
    "TypeError",
    'Cannot write key "/a/c/1" to HttpStore(https://user.example/x.zarr): the store is read-only, it has no "set" method; FileSystemStore and S3Store can write',
  ],
  [
    "a stream written to a read-only store",
    () => IN_PARTS.set([0], new Blob(["abcd"]).stream()),
    "TypeError",
    'Cannot write key "/a/c/0" to HttpStore(https://user.example/x.zarr): the store is read-only, it has no "set" method; FileSystemStore and S3Store can write',
  ],
  // The wrong argument.
  [
    "a path for the store",
    () => open("data/x.zarr"),
    "TypeError",
    `${STORE_EXPECTED}, found "data/x.zarr": use new FileSystemStore("data/x.zarr")`,
  ],
  [
    "a URL for the store",
    () => create("https://example.org/x.zarr", "", METADATA),
    "TypeError",
    `${STORE_EXPECTED}, found "https://example.org/x.zarr": use new HttpStore("https://example.org/x.zarr")`,
  ],
  [
    "a file URL for the store",
    () => new ArrayChunks(new URL("file:///x.zarr") as Any, "", METADATA),
    "TypeError",
    `${STORE_EXPECTED}, found "file:///x.zarr": use new FileSystemStore(new URL("file:///x.zarr"))`,
  ],
  [
    "a class for the store",
    () => plainView(MemoryStore as Any),
    "TypeError",
    `${STORE_EXPECTED}, found the class MemoryStore: use new MemoryStore(…)`,
  ],
  ["no store", () => open(), "TypeError", `${STORE_EXPECTED}, found undefined`],
  [
    "no store for parts",
    () => (new ConcatParts([{ keySuffix: "" }]) as Any).apply(),
    "TypeError",
    `${STORE_EXPECTED}, found undefined`,
  ],
  [
    "a URL for the path",
    () => open(STORE, "https://example.org/x.zarr"),
    "RangeError",
    `Path "https://example.org/x.zarr" holds an empty segment; e${
      PATH.slice(1)
    }`,
  ],
  [
    "metadata for the path",
    () => create(STORE, { shape: [] }),
    "TypeError",
    `${PATH}, found an object with the members "shape"`,
  ],
  [
    "no metadata",
    () => create(STORE, "b"),
    "MetadataError",
    "Expected array metadata to be an object, found undefined (at /b/zarr.json in MemoryStore(4))",
  ],
  [
    "a document's text for metadata",
    () => new ArrayChunks(STORE, "", "{}"),
    "MetadataError",
    'Expected array metadata to be an object, found "{}"',
  ],
  // Chunks.
  [
    "coordinates outside the grid",
    () => chunks.get([3, 0]),
    "RangeError",
    'Chunk [3, 0] is not in the chunk grid, whose shape is [3, 2] (array "/g/a" of MemoryStore(4))',
  ],
  [
    "coordinates of another rank",
    () => chunks.key([0]),
    "RangeError",
    'Chunk [0] is not in the chunk grid, whose shape is [3, 2] (array "/g/a" of MemoryStore(4))',
  ],
  [
    "coordinates without a list",
    () => chunks.get(0, 0),
    "TypeError",
    'Expected grid coordinates, a list of numbers, found 0 (array "/g/a" of MemoryStore(4))',
  ],
  [
    "coordinates as text",
    () => chunks.get("0/0"),
    "TypeError",
    'Expected grid coordinates, a list of numbers, found "0/0" (array "/g/a" of MemoryStore(4))',
  ],
  [
    "no coordinates",
    () => chunks.size(),
    "TypeError",
    'Expected grid coordinates, a list of numbers, found undefined (array "/g/a" of MemoryStore(4))',
  ],
  [
    "a listing of a store that cannot list",
    async () => await (await openArrayChunks(UNLISTED, "g/a")).list().next(),
    "TypeError",
    'Cannot list chunks: the store has no "list" method (array "/g/a" of a store object)',
  ],
  // Parts.
  [
    "key_suffix in a program",
    () => concatParts([{ key_suffix: "" }]),
    "TypeError",
    'Unknown member "key_suffix" in a part; expected "keySuffix", as only metadata spells it "key_suffix"',
  ],
  [
    "keySuffix in metadata",
    () => concatPartsOf({ keySuffix: "" }),
    "MetadataError",
    'Unknown member "keySuffix" in a part; expected "key_suffix", as only programs spell it "keySuffix" (at /configuration/parts/0/keySuffix)',
  ],
  [
    "a part without a list",
    () => concatParts({ keySuffix: "" }),
    "TypeError",
    'Expected parts to be a list, found an object with the members "keySuffix"',
  ],
  [
    "a part as text",
    () => concatParts([""]),
    "TypeError",
    'Expected a part, an object with a keySuffix, found ""',
  ],
  [
    "no parts",
    () => concatParts(),
    "TypeError",
    "Expected parts to be a list, found undefined",
  ],
  [
    "a suffix of a metadata document",
    () => concatParts([{ keySuffix: "/zarr.json" }]),
    "RangeError",
    'The keySuffix "/zarr.json" makes no part key: with it, the key is that of a metadata document',
  ],
  [
    "a suffix of a metadata document in metadata",
    () => concatPartsOf({ key_suffix: "/zarr.json" }),
    "MetadataError",
    'The key_suffix "/zarr.json" makes no part key: with it, the key is that of a metadata document (at /configuration/parts/0/key_suffix)',
  ],
  [
    "a suffix that leaves the folder",
    () => concatPartsOf({ key_suffix: "/c/../x" }),
    "MetadataError",
    'The key_suffix "/c/../x" makes no part key: with it, the key holds the segment ".." (at /configuration/parts/0/key_suffix)',
  ],
  [
    "parts beside the configuration",
    () => ConcatParts.parse({ name: "concat-parts", parts: [] }),
    "MetadataError",
    'Unknown member "parts" in a storage transformer; known are "name", "configuration" and "must_understand" (at /parts)',
  ],
  [
    "a list of parts as metadata",
    () => ConcatParts.parse([{ key_suffix: "" }]),
    "MetadataError",
    "Expected a storage transformer, a name or an object with a name, found a list of 1 members",
  ],
  // Metadata of chunk keys and shards.
  [
    "no chunk key encoding",
    () => encoding(),
    "MetadataError",
    "Expected a chunk key encoding, a name or an object with a name, found undefined",
  ],
  [
    "a chunk key encoding without a name",
    () => encoding({ suffix: ".tiff" }),
    "MetadataError",
    'Missing member "name" in a chunk key encoding (at /name)',
  ],
  [
    "an unknown chunk key encoding",
    () => encoding("Suffix"),
    "MetadataError",
    'Unknown chunk key encoding "Suffix"; known are "default", "v2", "suffix", "template" and "fanout"',
  ],
  [
    "a suffix encoding without a suffix",
    () => encoding("suffix"),
    "MetadataError",
    'Missing member "suffix" in the configuration of "suffix" (at /configuration/suffix)',
  ],
  [
    "a codec that is not sharding_indexed",
    () => layout(METADATA.codecs[0], [4, 4]),
    "MetadataError",
    'Expected the codec "sharding_indexed", found "bytes" (at /name)',
  ],
  [
    "no codec",
    () => layout(METADATA.codecs[9], [4, 4]),
    "MetadataError",
    "Expected a codec, a name or an object with a name, found undefined",
  ],
  [
    "no shape of a shard",
    () => layout({ name: "sharding_indexed" }),
    "TypeError",
    "Expected the shape of a shard, a list of lengths, found undefined",
  ],
];

for (const [name, act, error, message] of MISTAKES) {
  Deno.test(`${name}: the message says what is wrong and what is right`, async () => {
    assertEquals(await errorOf(act), `${error}: ${message}`);
  });
}

Deno.test("a folder that does not exist, or is a file: the message names it", async () => {
  await inTempDir(async (folder) => {
    const openFolder = (name: string, path?: string) =>
      errorOf(() => open(new FileSystemStore(`${folder}/${name}`), path));
    assertEquals(
      await openFolder("missing.zarr"),
      `MetadataError: No Zarr node at "/" in FileSystemStore(${folder}/missing.zarr): there is no "/zarr.json"; the store is empty, or does not exist`,
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

Deno.test("openArrayChunks names three nodes at most", async () => {
  const store = new MemoryStore();
  for (const name of ["d", "b", "a", "c"]) {
    await createArrayChunks(store, name, METADATA);
  }
  assertEquals(
    await errorOf(() => open(store)),
    'MetadataError: No Zarr node at "/" in MemoryStore(4): there is no "/zarr.json"; there are nodes at "/a", "/b", "/c" and elsewhere',
  );
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
    'MetadataError: No Zarr node at "/" in a store object: there is no "/zarr.json"',
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
    'MetadataError: No Zarr node at "/a" in a store object: there is no "/a/zarr.json"',
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
