/** What `convert` with `overwrite` removes, and what it refuses to remove. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { convert, type ConvertOptions, type NodeLocation } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { contentsOf } from "../support/bytes.ts";
import {
  encodeJson,
  groupMetadata,
  utf8,
  V2_GROUP,
  v2Metadata,
} from "../support/documents.ts";
import { observed, STORE_METHODS } from "../support/observed_store.ts";
import { treeOf } from "../support/tree.ts";
import { checksummed } from "./checksummed.ts";

const MARKER = "/.zarr-parts-unfinished.json";

const V2 = v2Metadata({ shape: [4, 4] });

/** A group with a text and an array. */
async function example(): Promise<MemoryStore> {
  const store = new MemoryStore([["/zarr.json", encodeJson(groupMetadata())]]);
  await store.set("/readme.txt", utf8("Readme"));
  await checksummed(store, 20, "a");
  return store;
}

type SetUp = (store: Store) => Promise<unknown>;

const texts = (...keys: `/${string}`[]): SetUp => async (store) => {
  for (const key of keys) await store.set!(key, utf8("The only copy"));
};
const documents =
  (entries: Record<`/${string}`, unknown>): SetUp => async (store) => {
    for (const [key, document] of Object.entries(entries)) {
      await store.set!(key as `/${string}`, encodeJson(document));
    }
  };
const array = (path = ""): SetUp => (store) => checksummed(store, 30, path);
const copy = (options: ConvertOptions = {}): SetUp => async (store) =>
  await convert(await example(), store, options);
const unfinished = (options: ConvertOptions = {}): SetUp => async (store) => {
  const full = observed(store, ({ method, key }) => {
    if (method === "set" && key === "/a/zarr.json") {
      throw new Error("No space left on device");
    }
  });
  await assertRejects(() => copy({ suffix: ".u", ...options })(full));
};

/** An overwriting conversion that ends while it removes earlier files. */
const removing: SetUp = async (store) => {
  const failing = observed(store, ({ method, key }) => {
    if (method === "delete" && key === "/b/c/1/0") throw new Error("Stopped");
  }, [...STORE_METHODS, "group", "getRangeOf"]);
  await assertRejects(() => copy({ suffix: ".u", overwrite: true })(failing));
};

/** What may be removed: what there is at the target. */
const REMOVED: Record<string, SetUp[]> = {
  nothing: [],
  "an array": [array()],
  "a copy with the texts of the source": [copy()],
  "a copy of other keys and parts": [
    copy({ suffix: ".s", parts: ["", ".index", ".crc32c"] }),
  ],
  "a group of arrays": [
    documents({ "/zarr.json": groupMetadata() }),
    array("b/c"),
    array("d"),
  ],
  "an array of fewer chunks than there are": [
    array(),
    texts("/c/9/9", "/c/0/7"),
  ],
  "documents of v2 beside those of v3": [
    array(),
    documents({ "/.zarray": V2, "/.zattrs": {}, "/.zmetadata": {} }),
    texts("/0.1"),
  ],
  "a hierarchy of v2": [
    documents({
      "/.zgroup": V2_GROUP,
      "/.zmetadata": {},
      "/b/.zarray": { ...V2, dimension_separator: "/" },
      "/b/.zattrs": {},
    }),
    texts("/b/0/1"),
  ],
  "an unfinished conversion": [unfinished()],
  "an unfinished conversion over an earlier copy": [
    array("b"),
    documents({ "/zarr.json": groupMetadata() }),
    unfinished({ overwrite: true, parts: ["", ".crc32c"] }),
  ],
  "an unfinished conversion whose source has changed": [
    unfinished(),
    texts("/readme.txt"),
  ],
  "a conversion that ended while it removed earlier files": [
    documents({ "/zarr.json": groupMetadata() }),
    array("b"),
    removing,
  ],
  "a marker that is not whole": [
    async (store) => await store.set!(MARKER, utf8("{")),
    texts("/a/c/0/0.new"),
  ],
};

/** What is refused, and what the error names. */
const REFUSED: Record<string, [SetUp[], ...string[]]> = {
  "a text": [[texts("/thesis.txt")], 'no Zarr node, and holds "/thesis.txt";'],
  "many files": [
    [texts("/1.txt", "/2.txt", "/3.txt", "/4.txt", "/5.txt")],
    ' "/3.txt" and more;',
  ],
  "the text of the source, changed": [
    [copy(), texts("/readme.txt")],
    'it holds "/readme.txt";',
  ],
  "a text beside an array": [
    [array(), texts("/thesis.txt")],
    'besides the files of Zarr, it holds "/thesis.txt";',
  ],
  "texts among chunks": [
    [array(), texts("/c/0/README", "/c/0/0.txt", "/c/00/1", "/d/0/0", "/x")],
    'it holds "/c/0/README", "/c/0/0.txt", "/c/00/1" and more;',
  ],
  "a text in a group below": [
    [documents({ "/zarr.json": groupMetadata() }), array("a"), texts("/b/x")],
    'it holds "/b/x";',
  ],
  "a text in a folder of nodes that is no node": [
    [array("a"), array("b")],
    "it is no Zarr node, and holds ",
  ],
  "a text beside an unfinished conversion": [
    [unfinished(), texts("/thesis.txt")],
    'it holds "/thesis.txt";',
  ],
  "a damaged document": [
    [array(), async (store) => await store.set!("/zarr.json", utf8('{"zarr'))],
    'holds "/zarr.json" (The metadata document is not JSON',
    ', "/c/0/0", "/c/1/2" and more;',
  ],
  "a document of another program": [
    [documents({ "/zarr.json": { my: "notes" } })],
    'holds "/zarr.json" (it is no document of Zarr);',
  ],
  "an array that is not understood": [
    [
      documents({ "/zarr.json": groupMetadata() }),
      documents({
        "/b/zarr.json": {
          ...arrayMetadata({ shape: [2], dataType: "int8", chunkShape: [2] }),
          chunk_key_encoding: { name: "unknown" },
        },
      }),
      texts("/b/c/0"),
    ],
    'it holds "/b/zarr.json" (',
    'Unknown chunk key encoding "unknown"',
  ],
  "attributes of v2 without a node": [
    [documents({ "/.zattrs": {} })],
    'no Zarr node, and holds "/.zattrs"',
  ],
};

for (const name of ["MemoryStore", "FileSystemStore"]) {
  Deno.test(`convert with overwrite removes Zarr nodes and unfinished conversions alone, in a ${name}`, async () => {
    const source = await example();
    const options = { suffix: ".new", overwrite: true };
    const expected = new MemoryStore();
    await convert(source, expected, { suffix: ".new" });
    await inTempDir(async (folder) => {
      let n = 0;
      const open = () =>
        name === "MemoryStore"
          ? new MemoryStore()
          : new FileSystemStore(`${folder}/${n++}`);
      for (const [what, setUps] of Object.entries(REMOVED)) {
        const target = open();
        for (const setUp of setUps) await setUp(target);
        await convert(source, target, { ...options, dryRun: true });
        await convert(source, target, options);
        assertEquals(
          await contentsOf(target),
          await contentsOf(expected),
          what,
        );
      }
      for (const [what, [setUps, ...messages]] of Object.entries(REFUSED)) {
        const target = open();
        for (const setUp of setUps) await setUp(target);
        const before = await contentsOf(target);
        for (const dryRun of [true, false]) {
          const { message } = await assertRejects(
            () => convert(source, target, { ...options, dryRun }),
            Error,
            "Cannot overwrite ",
            what,
          );
          for (const part of messages) {
            // The order of a listing is that of the file system.
            if (name === "MemoryStore") assertStringIncludes(message, part);
          }
        }
        assertEquals(await contentsOf(target), before, what);
      }
    });
  });
}

Deno.test("convert with overwrite keeps what was put into the target after its nodes were read", async () => {
  const source = await example();
  const target = new MemoryStore();
  await copy()(target);
  let isLate = false;
  const late = observed(target, ({ method, key }) => {
    // The marker is written when the nodes are known.
    if (method === "set" && key === MARKER && !isLate) {
      isLate = true;
      target.set("/thesis.txt", utf8("The only copy"));
    }
  }, [...STORE_METHODS, "group", "getRangeOf"]);
  await convert(source, late, { suffix: ".new", overwrite: true });
  assertEquals(await target.get("/thesis.txt"), utf8("The only copy"));
  assertEquals(await target.get("/a/c/0/0"), undefined);
});

Deno.test("convert with overwrite removes links and empty folders, and nothing behind links", async () => {
  await inTempDir(async (folder) => {
    const source = await example();
    await Deno.mkdir(`${folder}/elsewhere`);
    await Deno.writeTextFile(`${folder}/elsewhere/0`, "The only copy");
    const before = await treeOf(`${folder}/elsewhere`);
    const root = `${folder}/target`;
    const target = new FileSystemStore(root);
    await checksummed(target, 30);
    await Deno.mkdir(`${root}/empty`);
    await Deno.symlink(`${folder}/elsewhere`, `${root}/c/2`);
    await Deno.symlink(`${folder}/elsewhere/0`, `${root}/c/3`);
    await convert(source, target, { overwrite: true });
    assertEquals(await treeOf(`${folder}/elsewhere`), before);
    assertEquals(await contentsOf(target), await contentsOf(source));
  });
});

Deno.test("convert with overwrite refuses adopted files, which may be the only copy", async () => {
  await inTempDir(async (folder) => {
    const source = await example();
    const target = new FileSystemStore(folder);
    const metadata = arrayMetadata({
      shape: [2],
      dataType: "uint8",
      shardShape: [2],
      chunkShape: [1],
    });
    const index = { key_suffix: ".index", size: 32 + 2 * 16 + 4 };
    const chunks = await createArrayChunks(target, "", {
      ...metadata,
      storage_transformers: [{
        name: "concat-parts",
        configuration: { parts: [{ key_suffix: "" }, index] },
      }],
    });
    await chunks.set([0], new Uint8Array(200));
    const before = await treeOf(folder);
    await assertRejects(
      () => convert(source, target, { overwrite: true }),
      Error,
      "its chunks are adopted files, which may be the only copy",
    );
    assertEquals(await treeOf(folder), before);
  });
});

Deno.test("convert with overwrite stops with everything in place where the source changes with the target", async () => {
  const folder = new MemoryStore();
  await checksummed(folder, 20, "a");
  await folder.set("/zarr.json", encodeJson(groupMetadata()));
  const nested = { store: folder, path: "a" };
  const before = await contentsOf(folder);
  /** Reads the folder, as a server does that may hide files. */
  const served = (prefix: string): Store => ({
    async get(key) {
      if (key.includes("/.")) return undefined;
      return await folder.get(`${prefix}${key}` as `/${string}`);
    },
  });
  const cases: [Store | NodeLocation, Store | NodeLocation][] = [
    [{ store: served(""), path: "a" }, nested],
    [served("/a"), nested],
    [served("/a"), folder],
  ];
  for (const [source, target] of cases) {
    for (const layout of [{}, { suffix: ".new" }]) {
      await assertRejects(
        () => convert(source, target, { ...layout, overwrite: true }),
        RangeError,
        "since they lie in one another",
      );
      assertEquals(await contentsOf(folder), before);
    }
  }
});

Deno.test("convert with overwrite keeps each earlier chunk until its replacement is stored", async () => {
  const source = await example();
  const target = new MemoryStore();
  await copy()(target);
  const chunks = (keys: string[]) => keys.filter((key) => /\/c\//.test(key));
  const earlier = chunks(Object.keys(await contentsOf(target)));
  const failing = observed(source, ({ method, key }) => {
    if (method === "get" && key === "/a/c/1/2") {
      throw new Error("No connection");
    }
  });
  const options = { overwrite: true, concurrency: 1 };
  await assertRejects(() => convert(failing, target, options), Error, "No con");
  assertEquals(chunks(Object.keys(await contentsOf(target))), earlier);
  // Chunks of the right length may be earlier ones.
  await target.set(
    "/a/c/0/0",
    new Uint8Array((await source.size("/a/c/0/0"))!),
  );
  await convert(source, target, { resume: true });
  assertEquals(await contentsOf(target), await contentsOf(source));
});
