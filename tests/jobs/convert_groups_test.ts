/** Conversions of some nodes of a group, and of groups with arrays that cannot get the layout. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  convert,
  convertInPlace,
  type ConvertOptions,
  inspect,
  verify,
} from "../../jobs.ts";
import {
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { zipContainer } from "../../zip.ts";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { contentsOf } from "../support/bytes.ts";
import {
  encodeJson,
  groupMetadata,
  readJson,
  readText,
  utf8,
  V2_GROUP,
  v2Metadata,
} from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { arrayMetadata } from "../support/metadata.ts";

/** Attributes whose numbers JavaScript would write otherwise. */
const SCALE = "[1.50,2.0,1e-7,18446744073709551615]";

function levels(...paths: string[]) {
  return paths.map((path) => ({
    path,
    coordinateTransformations: [{ type: "scale", scale: "SCALE" }],
  }));
}

function multiscales(...paths: string[]) {
  return {
    ome: {
      version: "0.5",
      multiscales: [{ name: "image", axes: [], datasets: levels(...paths) }],
    },
  };
}

/** The attributes of the groups of an image with labels, as OME-Zarr 0.5 has them. */
const GROUPS: Readonly<Record<string, unknown>> = {
  "": multiscales("0", "1", "2"),
  "labels": { ome: { version: "0.5", labels: ["cells", "nuclei"] } },
  "labels/cells": multiscales("0", "1"),
  "labels/nuclei": multiscales("0"),
};
const ARRAYS = ["0", "1", "2", "labels/cells/0", "labels/cells/1"]
  .concat("labels/nuclei/0");

/** Stores an image with labels, consolidated metadata, and files of no node. */
async function createImage(store: Store = new MemoryStore()) {
  for (const path of ARRAYS) {
    const chunks = await createArrayChunks(store, path, arrayMetadata());
    await chunks.set([1, 1], new Uint8Array(16).fill(path.length));
  }
  const nodes: Record<string, unknown> = {};
  const group = (path: string, below?: Record<string, unknown>) => ({
    ...groupMetadata(below),
    attributes: GROUPS[path],
  });
  for (const path of ARRAYS) nodes[path] = arrayMetadata();
  for (const path of Object.keys(GROUPS).slice(1)) {
    nodes[path] = group(path);
    await setExact(store, `/${path}/zarr.json`, group(path));
  }
  await setExact(store, "/zarr.json", group("", nodes));
  for (
    const file of ["/readme.txt", "/raw/a.txt", "/labels/b.txt", "/0/c.txt"]
  ) {
    await store.set!(file as StoreKey, utf8(file));
  }
  return store as MemoryStore;
}

async function setExact(store: Store, key: StoreKey, document: unknown) {
  const text = JSON.stringify(document).replaceAll('"SCALE"', SCALE);
  await store.set!(key, utf8(text));
}

async function keysOf(store: MemoryStore): Promise<string[]> {
  return (await Array.fromAsync(store.list())).sort();
}

/** The paths of the levels that the groups of a store name, by the group. */
async function namedLevels(store: MemoryStore) {
  const named: Record<string, string[]> = {};
  const { consolidated_metadata, ...root } = await readJson(
    store,
    "/zarr.json",
  );
  const nodes = { "": root, ...consolidated_metadata.metadata };
  for (const [path, document] of Object.entries<typeof root>(nodes)) {
    const image = document.attributes?.ome?.multiscales?.[0];
    if (image === undefined) continue;
    named[path] = image.datasets.map(({ path }: { path: string }) => path);
    if (path === "") continue;
    const own = await readJson(store, `/${path}/zarr.json`);
    assertEquals(own.attributes, document.attributes);
  }
  return named;
}

/** Checks that all groups and arrays are right, and the consolidated metadata. */
async function assertSound(store: Store) {
  const { findings } = await verify(store);
  assertEquals(findings.filter(({ severity }) => severity !== "note"), []);
}

/** Options, the nodes that are copied, the files of no node, and the levels that the groups name. */
const CASES: readonly {
  options: ConvertOptions;
  nodes: string[];
  files: string[];
  levels: Record<string, string[]>;
  labels?: string[];
}[] = [
  {
    options: { exclude: ["0"] },
    nodes: ["", "1", "2", "labels", "labels/cells", "labels/cells/0"]
      .concat("labels/cells/1", "labels/nuclei", "labels/nuclei/0"),
    files: ["/labels/b.txt", "/raw/a.txt", "/readme.txt"],
    levels: {
      "": ["1", "2"],
      "labels/cells": ["0", "1"],
      "labels/nuclei": ["0"],
    },
    labels: ["cells", "nuclei"],
  },
  {
    options: { exclude: ["**/0", "labels/nuclei"] },
    nodes: ["", "1", "2", "labels", "labels/cells", "labels/cells/1"],
    files: ["/labels/b.txt", "/raw/a.txt", "/readme.txt"],
    levels: { "": ["1", "2"], "labels/cells": ["1"] },
    labels: ["cells"],
  },
  {
    options: { only: ["labels/cells", "2"], exclude: "labels/*/1" },
    nodes: ["", "2", "labels", "labels/cells", "labels/cells/0"],
    files: ["/labels/b.txt", "/readme.txt"],
    levels: { "": ["2"], "labels/cells": ["0"] },
    labels: ["cells"],
  },
  {
    options: { only: "{0,1,2}" },
    nodes: ["", "0", "1", "2"],
    files: ["/0/c.txt", "/readme.txt"],
    levels: { "": ["0", "1", "2"] },
  },
];

Deno.test("convert copies the nodes that only and exclude choose, with the groups above them", async () => {
  const source = await createImage();
  const blind: Store = { get: (key, options) => source.get(key, options) };
  for (const { options, nodes, files, levels, labels } of CASES) {
    const name = JSON.stringify(options);
    const target = new MemoryStore();
    const layout = { ...options, suffix: ".s" };
    const conversion = await convert(source, target, layout);
    const keys = nodes.flatMap((path) => {
      const root = path && `/${path}`;
      const chunk = ARRAYS.includes(path) ? [`${root}/c/1/1.s`] : [];
      return [`${root}/zarr.json`, ...chunk];
    });
    assertEquals(await keysOf(target), [...keys, ...files].sort(), name);
    const all = [...Object.keys(GROUPS), ...ARRAYS];
    assertEquals(
      conversion.excluded.toSorted(),
      all.filter((path) => !nodes.includes(path)).sort(),
      name,
    );
    const { consolidated_metadata } = await readJson(target, "/zarr.json");
    assertEquals(
      Object.keys(consolidated_metadata.metadata).sort(),
      nodes.filter((path) => path !== "").sort(),
      name,
    );
    assertEquals(await namedLevels(target), levels, name);
    if (labels) {
      const { attributes } = await readJson(target, "/labels/zarr.json");
      assertEquals(attributes.ome.labels, labels, name);
    }
    const text = await readText(target, "/zarr.json");
    const count = Object.values(levels).flat().length;
    assertEquals(
      text.replaceAll(/\s/g, "").split(`"scale":${SCALE}`).length - 1,
      count,
      name,
    );
    await assertSound(target);
    // The same nodes are found where the source cannot list.
    const found = new MemoryStore();
    await convert(blind, found, options);
    const isDocument = (key: string) => key.endsWith("/zarr.json");
    assertEquals(
      (await keysOf(found)).filter(isDocument),
      keys.filter(isDocument).sort(),
    );
  }
});

Deno.test("convert with only and exclude works in shares, resumes with the same globs, and refuses others", async () => {
  const source = await createImage();
  const options: ConvertOptions = { only: ["labels", "1"], suffix: ".s" };
  const whole = new MemoryStore();
  await convert(source, whole, options);
  const target = new MemoryStore();
  for (const index of [1, 0]) {
    await convert(source, target, { ...options, share: { index, count: 2 } });
  }
  for (
    const other of [{ suffix: ".s" }, { ...options, exclude: "labels/cells" }]
  ) {
    const share = { index: 0, count: 2 };
    for (const way of [{ resume: true }, { share }]) {
      await assertRejects(
        () => convert(source, target, { ...other, ...way }),
        Error,
        "it was begun from another source or with another layout; expected the same options",
      );
    }
  }
  await convert(source, target, { ...options, resume: true });
  assertEquals(await contentsOf(target), await contentsOf(whole));
  const again = await convert(source, target, { ...options, resume: true });
  assertEquals([again.copied, again.isFinished], [0, true]);
});

Deno.test("convert reads no document of a node that is left out, and does not mind that it changes", async () => {
  const source = await createImage();
  await source.set("/labels/zarr.json", utf8("<html>"));
  await assertRejects(() => convert(source, new MemoryStore()), MetadataError);
  const target = new MemoryStore();
  let changes = 0;
  await convert(source, target, {
    exclude: "labels",
    async onProgress() {
      await source.set(`/labels/new${changes++}`, new Uint8Array(1));
    },
  });
  assert(changes > 0);
  assertEquals((await keysOf(target)).filter((key) => /labels/.test(key)), []);
  await assertSound(target);
});

Deno.test("convert names the nearest paths where a glob matches nothing", async () => {
  const source = await createImage();
  const cases: readonly [ConvertOptions, string][] = [
    [
      { only: "label" },
      'The glob "label" of the option "only" matches no node',
    ],
    [{ only: "label" }, 'the nearest of 9 are "labels", '],
    [{ only: ["0", "7"] }, 'The glob "7" of the option "only"'],
    [{ exclude: "labels/nuclei/1" }, 'the nearest of 9 are "labels/nuclei/0"'],
    [{ only: "0", exclude: "0" }, "leave no node"],
    [{ only: [] }, "to have a glob, found none"],
    [{ only: "" }, 'paths below the group, such as "0" or "labels/**"'],
    [{ exclude: "./" }, 'paths below the group, such as "0" or "labels/**"'],
    [{ exclude: "!0" }, 'the option "only" chooses the other nodes'],
    [{ only: "!0" }, 'the option "exclude" chooses the other nodes'],
    [{ only: "[" }, 'The glob "["'],
  ];
  for (const [options, message] of cases) {
    const target = new MemoryStore();
    await assertRejects(
      () => convert(source, target, options),
      RangeError,
      message,
    );
    assertEquals(await keysOf(target), []);
  }
  await assertRejects(
    () =>
      convert({ store: source, path: "0" }, new MemoryStore(), { only: "0" }),
    RangeError,
    'Expected a group with nodes for the option "only"',
  );
  await assertRejects(
    // @ts-expect-error: no glob.
    () => convert(source, new MemoryStore(), { exclude: [0] }),
    TypeError,
    'Expected the option "exclude" to be a glob or a list of globs',
  );
});

Deno.test("convert removes excluded nodes from Zarr v2 consolidated metadata of groups around them", async () => {
  const source = new MemoryStore();
  for (const path of ["old/a", "old/b"]) {
    await createArrayChunks(source, path, arrayMetadata());
  }
  await source.set("/zarr.json", encodeJson(groupMetadata()));
  const metadata = {
    ".zgroup": 1,
    "a/.zarray": 1,
    "b/.zarray": 1,
    "c/.zarray": 1,
  };
  await source.set("/old/.zmetadata", encodeJson({ metadata }));
  for (const exclude of ["old/a", "**/{a,b}"]) {
    const target = new MemoryStore();
    await convert(source, target, { exclude });
    const copied = await readJson(target, "/old/.zmetadata");
    assertEquals(Object.keys(copied.metadata), [".zgroup", "c/.zarray"]);
  }
});

/** A group with one array of shards, and arrays that no container fits. */
async function createMixed(others: readonly string[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  const shards = {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [2, 2],
      codecs: [{ name: "bytes" }],
      index_codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        { name: "crc32c" },
      ],
    },
  };
  const nodes: Record<string, unknown> = {
    shards: arrayMetadata({ codecs: [shards] }),
  };
  for (const path of others) nodes[path] = arrayMetadata();
  for (const [path, metadata] of Object.entries(nodes)) {
    await createArrayChunks(
      store,
      path,
      metadata as ReturnType<typeof arrayMetadata>,
    );
    if (path !== "shards") {
      await store.set(`/${path}/c/0/0`, new Uint8Array(16));
    }
  }
  await store.set("/zarr.json", encodeJson(groupMetadata(nodes)));
  return store;
}

const SHARDS: ConvertOptions = {
  suffix: ".zip",
  parts: ["", ".index"],
  container: (metadata) => zipContainer(metadata),
};

Deno.test("convert copies arrays that cannot get the layout as they are, if asked, and says why", async () => {
  const source = await createMixed(["a", "b"]);
  const target = new MemoryStore();
  const options: ConvertOptions = { ...SHARDS, keepGoing: true };
  const dry = await convert(source, target, { ...options, dryRun: true });
  assertEquals(await keysOf(target), []);
  const { others } = await convert(source, target, options);
  assertEquals(dry.others, others);
  assertEquals(others.map(({ path }) => path), ["a", "b"]);
  for (const { message } of others) {
    assert(message.includes("the array has no shards"), message);
    assert(!message.includes("/a") && !message.includes("/b"), message);
  }
  assertEquals(await keysOf(target), [
    ...["/a/c/0/0", "/a/zarr.json", "/b/c/0/0", "/b/zarr.json"],
    ...["/shards/zarr.json", "/zarr.json"],
  ]);
  const { consolidated_metadata: { metadata } } = await readJson(
    target,
    "/zarr.json",
  );
  for (const path of ["a", "b", "shards"] as const) {
    const own = await readJson(target, `/${path}/zarr.json`);
    assertEquals("storage_transformers" in metadata[path], path === "shards");
    assertEquals("storage_transformers" in own, path === "shards");
  }
});

Deno.test("convert copies arrays as they are whose codecs nobody knows, if asked, where others are encoded anew", async () => {
  const numbers = arrayMetadata();
  const codecs = [{ name: "bytes" }, { name: "wavelet" }];
  const texts = arrayMetadata({
    data_type: "string",
    fill_value: "",
    codecs: [{ name: "vlen-utf8" }, { name: "wavelet" }],
  });
  const arrays = { numbers, texts, waves: arrayMetadata({ codecs }) };
  const source = new MemoryStore();
  await source.set("/zarr.json", encodeJson(groupMetadata(arrays)));
  for (const [path, metadata] of Object.entries(arrays)) {
    await createArrayChunks(source, path, metadata);
    await source.set(`/${path}/c/0/0` as StoreKey, new Uint8Array(16).fill(7));
  }
  const options: ConvertOptions = { recode: { codecs: "gzip" }, threads: 0 };
  const target = new MemoryStore();
  const { others } = await convert(source, target, {
    ...options,
    keepGoing: true,
  });
  assertEquals(others.map(({ path }) => path), ["texts", "waves"]);
  const [reason, waves] = others.map(({ message }) => message);
  assert(reason!.includes('data type "string"'), reason);
  assert(waves!.includes('Unknown codec "wavelet"'), waves);
  for (const path of ["texts", "waves"] as const) {
    for (const key of [`/${path}/zarr.json`, `/${path}/c/0/0`] as StoreKey[]) {
      assertEquals(await target.get(key), await source.get(key), key);
    }
  }
  assertEquals(
    (await readJson(target, "/numbers/zarr.json")).codecs[1].name,
    "gzip",
  );

  const error = await assertRejects(
    () => convert(source, new MemoryStore(), { ...options, exclude: "texts" }),
    MetadataError,
    '"/waves": Unknown codec "wavelet"',
  );
  assert(error.message.includes('the option "keepGoing"'), error.message);
});

Deno.test("convert names all arrays that cannot get the layout, or the first ones and their number", async () => {
  const cases: readonly [string[], ConvertOptions, string[]][] = [
    [["a"], SHARDS, ['1 of 2 arrays this layout: "/a": Part']],
    [["a", "b"], SHARDS, [
      'Cannot give 2 of 3 arrays this layout: "/a", "/b": Part ".index" is',
      '; the option "keepGoing" copies such arrays as they are',
    ]],
    [["a", "b", "c", "d", "e"], SHARDS, [
      "5 of 6 arrays",
      '"/a", "/b", "/c" and 2 more: Part',
    ]],
    [["a", "b"], { ...SHARDS, exclude: "shards" }, ["any of the 2 arrays"]],
    [["a", "b"], { ...SHARDS, exclude: "shards", keepGoing: true }, [
      "any of the 2 arrays",
    ]],
    [["a", "b"], { ...SHARDS, only: "a", keepGoing: true }, ['(array "/a")']],
    [
      ["a", "b", "c", "d", "e"],
      {
        metadata(_, path) {
          if (path === "shards") return _;
          throw new RangeError(`no ${path}`);
        },
      },
      ['"/a", "/b", "/c" and 2 more: no a; the option "keepGoing"'],
    ],
  ];
  for (const [others, options, texts] of cases) {
    const source = await createMixed(others);
    const target = new MemoryStore();
    const error = await assertRejects(
      () => convert(source, target, options),
      RangeError,
    );
    for (const text of texts) {
      assert(error.message.includes(text), error.message);
    }
    assertEquals(await keysOf(target), []);
  }
});

Deno.test("convertInPlace changes the nodes that only and exclude choose, and leaves the others as they are", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await createImage(store);
    const before = await readJson(store, "/zarr.json");
    await store.set("/labels/nuclei/zarr.json", utf8("<html>"));
    const options = {
      suffix: ".s",
      only: ["labels", "1"],
      exclude: ["labels/nuclei"],
    };
    const dry = await convertInPlace(store, { ...options, dryRun: true });
    const { arrays, excluded } = await convertInPlace(store, options);
    assertEquals(dry.excluded, excluded);
    const changed = ["1", "labels/cells/0", "labels/cells/1"];
    assertEquals(arrays.map(({ path }) => path), changed);
    for (const path of ARRAYS) {
      const suffix = changed.includes(path) ? ".s" : "";
      const size = await store.size(`/${path}/c/1/1${suffix}`);
      assertEquals(size, 16, path);
    }
    const after = await readJson(store, "/zarr.json");
    assertEquals(after.attributes, before.attributes);
    const { metadata } = after.consolidated_metadata;
    for (
      const [path, node] of Object.entries<
        { chunk_key_encoding?: { name: string } }
      >(metadata)
    ) {
      if (node.chunk_key_encoding === undefined) continue;
      const name = changed.includes(path) ? "suffix" : "default";
      assertEquals(node.chunk_key_encoding.name, name, path);
    }
    assertEquals(
      Object.keys(metadata),
      Object.keys(before.consolidated_metadata.metadata),
    );
    await assertRejects(
      () => convertInPlace(store, { suffix: ".t", only: "7" }),
      RangeError,
      'The glob "7" of the option "only" matches no node',
    );
  });
});

Deno.test("convertInPlace leaves arrays as they are that cannot get the layout, if asked", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    const source = await createMixed(["a"]);
    await convert(source, store);
    const layout = { parts: ["", ".index"] };
    await assertRejects(
      () => convertInPlace(store, layout),
      RangeError,
      '; the option "keepGoing" leaves such arrays as they are',
    );
    const { others, arrays } = await convertInPlace(store, {
      ...layout,
      keepGoing: true,
    });
    assertEquals(arrays.map(({ path }) => path), ["shards"]);
    assertEquals(others.map(({ path }) => path), ["a"]);
    assertEquals(await store.size("/a/c/0/0"), 16);
  });
});

Deno.test("the command line takes --only and --exclude several times, and lists what they leave out", async () => {
  await inTempDir(async (folder) => {
    await createImage(new FileSystemStore(`${folder}/a`));
    const args = ["convert", `${folder}/a`, `${folder}/b`, "--suffix=.s"]
      .concat("--only", "labels/*", "--only=2", "--exclude", "**/cells/0");
    const dry = await runCli(...args, "--dry-run");
    const { code, out, err } = await runCli(...args);
    assertEquals([dry.code, code, err], [0, 0, ""]);
    const line = "left out by --only or --exclude: /0, /1, /labels/cells/0";
    assert(out.split("\n").includes(line), out);
    assert(dry.out.split("\n").includes(line), dry.out);
    const store = new FileSystemStore(`${folder}/b`);
    const documents = (await Array.fromAsync(store.list()))
      .filter((key) => key.endsWith("/zarr.json")).sort();
    assertEquals(documents, [
      ...["/2/zarr.json", "/labels/cells/1/zarr.json"],
      ...["/labels/cells/zarr.json", "/labels/nuclei/0/zarr.json"],
      ...["/labels/nuclei/zarr.json", "/labels/zarr.json", "/zarr.json"],
    ]);
    const again = await runCli(...args, "--resume", "--json");
    assertEquals(JSON.parse(again.out).excluded, ["0", "1", "labels/cells/0"]);
    const wrong = await runCli(...args, "--only=7", "--overwrite");
    assertEquals(wrong.code, 2);
    assert(
      wrong.err.includes('The glob "7" of --only matches no node'),
      wrong.err,
    );
  });
});

Deno.test("convert with only or exclude copies what a whole conversion copies of these nodes", async () => {
  let parts = 0;
  await fc.assert(
    fc.asyncProperty(
      anyHierarchy,
      fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
      fc.constantFrom("only" as const, "exclude" as const),
      async (hierarchy, numbers, name) => {
        const { stored } = await storedAndPlain(hierarchy);
        // Conversions begin with an array or a group.
        const root = await stored.get("/zarr.json");
        if (root === undefined) {
          await stored.set("/zarr.json", encodeJson(groupMetadata()));
        }
        const whole = new MemoryStore();
        await convert(stored, whole, { plain: true });
        const all = await contentsOf(whole);
        const nodes = Object.keys(all)
          .filter((key) => key.endsWith("/zarr.json"))
          .map((key) => key.slice(1, -"/zarr.json".length));
        const below = nodes.filter((path) => path !== "");
        if (below.length === 0) return;
        const chosen = numbers.map((number) => below[number % below.length]!);
        const isWithin = (path: string, group: string) =>
          path === group || path.startsWith(`${group}/`);
        const isIn = (path: string) =>
          chosen.some((each) => isWithin(path, each)) === (name === "only");
        const isAround = (path: string) =>
          name === "only" && !isIn(path) &&
          chosen.some((each) => path === "" || isWithin(each, path));
        const target = new MemoryStore();
        await convert(stored, target, { plain: true, [name]: chosen });
        const expected = Object.keys(all).filter((key) => {
          const folder = key.slice(1, Math.max(1, key.lastIndexOf("/")));
          const node = nodes.filter((path) =>
            path === "" || isWithin(folder, path)
          )
            .reduce((a, b) => a.length > b.length ? a : b);
          return isAround(node) ? folder === node : isIn(node);
        });
        const copied = await contentsOf(target);
        assertEquals(Object.keys(copied).sort(), expected.sort());
        for (const key of expected) {
          if (!key.endsWith("/zarr.json")) assertEquals(copied[key], all[key]);
        }
        const { findings } = await verify(target);
        const before = await verify(whole);
        const errors = (list: typeof findings) =>
          list.filter(({ severity }) => severity !== "note")
            .map(({ key, rule }) => `${key} ${rule}`);
        const known = errors(before.findings);
        assertEquals(
          errors(findings).filter((each) => !known.includes(each)),
          [],
        );
        if (expected.length < Object.keys(all).length) parts++;
      },
    ),
    { numRuns: 60 },
  );
  assert(parts > 10, `${parts} parts`);
});

Deno.test("convert refuses a target in a node of the source that is left out", async () => {
  const source = await createImage();
  const before = await contentsOf(source);
  // Another store over the same values, as two servers of one bucket are.
  const same: Store = {
    get: (key, options) => source.get(key, options),
    set: (key, value) => source.set(key, value),
    delete: (key) => source.delete(key),
    list: (prefix) => source.list(prefix),
  };
  for (const path of ["labels/copy", "0/copy"]) {
    await assertRejects(
      () =>
        convert(source, { store: same, path }, { exclude: ["labels", "0"] }),
      RangeError,
      "lie in one another",
    );
  }
  assertEquals(await contentsOf(source), before);
});

Deno.test("convert chooses nodes of Zarr v2, and leaves them out of multiscales", async () => {
  const group = encodeJson(V2_GROUP);
  const array = (shape: number[]) =>
    encodeJson(v2Metadata({ shape, chunks: [4, 4] }));
  const documents: Record<StoreKey, Uint8Array> = {
    "/.zgroup": group,
    "/.zattrs": utf8(
      '{"multiscales":[{"datasets":[{"path":"0"},{"path":"1","s":1.50}]}]}',
    ),
    "/0/.zarray": array([8, 8]),
    "/1/.zarray": array([4, 4]),
    "/labels/.zgroup": group,
    "/labels/.zattrs": encodeJson({ labels: ["a", "b"] }),
    "/labels/a/.zarray": array([4, 4]),
    "/labels/b/.zarray": array([4, 4]),
  };
  const metadata = Object.fromEntries(
    Object.entries(documents).map((
      [key, bytes],
    ) => [key.slice(1), JSON.parse(new TextDecoder().decode(bytes))]),
  );
  const source = new MemoryStore([
    ...Object.entries(documents) as [StoreKey, Uint8Array][],
    ["/.zmetadata", encodeJson({ zarr_consolidated_format: 1, metadata })],
    ["/0/1.1", new Uint8Array(16)],
    ["/1/0.0", new Uint8Array(16)],
    ["/labels/b/0.0", new Uint8Array(16)],
    ["/readme.txt", utf8("x")],
  ]);
  const target = new MemoryStore();
  const { excluded } = await convert(source, target, {
    exclude: ["0", "labels/a"],
  });
  assertEquals(excluded, ["0", "labels/a"]);
  const keys = await keysOf(target);
  assertEquals(keys.filter((key) => /^\/0|^\/labels\/a/.test(key)), []);
  assertEquals(
    keys.filter((key) => key.endsWith("/zarr.json")),
    ["/1", "/labels/b", "/labels", ""].map((path) => `${path}/zarr.json`),
  );
  const text = await readText(target, "/zarr.json");
  assertEquals(text.includes('"s": 1.50'), true, text);
  assertEquals((await readJson(target, "/zarr.json")).attributes, {
    multiscales: [{ datasets: [{ path: "1", s: 1.5 }] }],
  });
  const { attributes } = await readJson(target, "/labels/zarr.json");
  assertEquals(attributes, { ome: { version: "0.5", labels: ["b"] } });
  assertEquals(text.includes("labels/a") || text.includes('"0"'), false, text);
  await assertSound(target);
});

Deno.test("verify and inspect take the nodes that only and exclude choose", async () => {
  const source = await createImage();
  await source.set("/labels/nuclei/zarr.json", utf8("<html>"));
  await source.set("/0/c/1/1", new Uint8Array(3));
  await source.set("/0/c/9/9", new Uint8Array(3));
  const all = await verify(source);
  assertEquals(all.isSound, false);
  const { isSound, findings, arrays, otherValues } = await verify(source, "", {
    exclude: ["0", "labels/nuclei"],
  });
  assertEquals([isSound, findings, arrays], [true, [], 4]);
  assertEquals(otherValues, 3); // Without that in the array 0.
  const labels = await verify(source, "", { only: "labels/cells/*" });
  assertEquals([labels.isSound, labels.arrays, labels.chunks], [true, 2, 2]);
  assertEquals(labels.otherValues, 2);
  const bad = await verify(source, "", { only: ["0", "1"] });
  assertEquals([bad.isSound, bad.arrays], [false, 2]);
  assertEquals(
    bad.findings.map(({ key }) => key).sort(),
    all.findings.map(({ key }) => key).filter((key) => key.startsWith("/0/"))
      .sort(),
  );
  const { nodes } = await inspect(source, "", {
    only: "labels",
    exclude: "**/0",
  });
  assertEquals(
    nodes.map(({ path, kind }) => `${path} ${kind}`),
    [" group", "labels group", "labels/cells group", "labels/cells/1 array"]
      .concat("labels/nuclei invalid"),
  );
  for (const job of [verify, inspect]) {
    await assertRejects(
      () => job(source, "", { only: "labels/x" }),
      RangeError,
      'The glob "labels/x" of the option "only" matches no node',
    );
  }
});

Deno.test("convert with keepGoing leaves levels out of multiscales that are not valid", async () => {
  const source = await createImage();
  await source.set("/1/zarr.json", utf8("<html>"));
  await source.set("/labels/nuclei/zarr.json", utf8("<html>"));
  const target = new MemoryStore();
  const { leftOut } = await convert(source, target, { keepGoing: true });
  assertEquals(leftOut.map(({ path }) => path).sort(), ["1", "labels/nuclei"]);
  assertEquals(await namedLevels(target), {
    "": ["0", "2"],
    "labels/cells": ["0", "1"],
  });
  const { attributes } = await readJson(target, "/labels/zarr.json");
  assertEquals(attributes.ome.labels, ["cells"]);
});
