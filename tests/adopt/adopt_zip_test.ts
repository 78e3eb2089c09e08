import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  arrayMetadata,
  type ArrayMetadataOptions,
  createArrayChunks,
  DamageError,
  encodeShard,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  parseShardLayout,
  type Store,
  type StoreKey,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";
import { formatZarrJson } from "../../src/metadata/json.ts";
import { setSharded, withZarrParts } from "../../zarrita.ts";
import {
  adoptZip,
  type AdoptZipOptions,
  verifyAdoptedZip,
  zipContainer,
} from "../../zip.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson } from "../support/documents.ts";
import { makeZip } from "../zip/make_zip.ts";
import { contentsOf } from "../support/bytes.ts";

async function elementsOf(store: Store, path: string): Promise<number[]> {
  const root = zarr.root(withZarrParts(store)).resolve(path);
  const array = await zarr.open(root, { kind: "array" });
  return Array.from((await zarr.get(array)).data as Uint16Array);
}

/** Metadata of an array of four elements in two chunks. */
function small(changes: Partial<ArrayMetadataOptions> = {}): ArrayMetadata {
  return arrayMetadata({
    shape: [4],
    dataType: "uint8",
    chunkShape: [2],
    ...changes,
  });
}

/** A zip with an array of four elements, of which some are other than those of the first one. */
function smallZip({ metadata = small(), at = "", add = 0, entries }: {
  metadata?: unknown;
  at?: string;
  add?: number;
  entries?: Parameters<typeof makeZip>[0];
} = {}): Uint8Array {
  return makeZip([
    { name: `${at}zarr.json`, bytes: formatZarrJson(metadata) },
    { name: `${at}c/0`, bytes: new Uint8Array([1, 2]).map((n) => n + add) },
    { name: `${at}c/1`, bytes: new Uint8Array([3, 4]).map((n) => n + add) },
    ...entries ?? [],
  ]).file;
}

Deno.test("adoptZip puts zips together that end where the array ends, and adds one index a file", async () => {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [10, 7],
    dataType: "uint16",
    shardShape: [6, 6],
    chunkShape: [2, 3],
    fillValue: 5,
    suffix: ".zip",
    parts: ["", ".index"],
    attributes: { unit: "m" },
    dimensionNames: ["y", "x"],
  });
  const written = await createArrayChunks(store, "written", metadata);
  const root = zarr.root(withZarrParts(store)).resolve("written");
  const array = await zarr.open(root, { kind: "array" });
  const values = Uint16Array.from({ length: 70 }, (_, i) => i * i);
  const container = zipContainer(metadata, { zarrJson: "last" });
  await setSharded(zarr, array, null, values, { container });

  const adopted = new MemoryStore();
  for (const shard of [[0, 0], [0, 1], [1, 0], [1, 1]]) {
    const zip = (await store.get(written.key(shard)))!;
    await adopted.set(`/a/c/${shard.join("/")}.zip`, zip);
  }
  const before = await contentsOf(adopted);
  const { chunks, report } = await adoptZip(adopted, "a");
  assertEquals(report, {
    files: 4,
    missingFiles: 0,
    innerChunks: 15,
    indexBytes: 4 * (32 + 100),
    notes: [],
  });
  assertEquals(await elementsOf(adopted, "a"), [...values]);
  const { shape, fill_value, attributes, dimension_names } = chunks.metadata;
  assertEquals({ shape, fill_value, attributes, dimension_names }, {
    shape: [10, 7],
    fill_value: 5,
    attributes: { unit: "m" },
    dimension_names: ["y", "x"],
  });
  assertEquals(chunks.innerChunkShape, [2, 3]);
  const after = await contentsOf(adopted);
  const added = Object.entries(after).filter(([key]) => !(key in before));
  assertEquals(added.map(([key, bytes]) => [key, bytes.length]), [
    ["/a/c/0/0.zip.index", 132],
    ["/a/c/0/1.zip.index", 132],
    ["/a/c/1/0.zip.index", 132],
    ["/a/c/1/1.zip.index", 132],
    ["/a/zarr.json", (await adopted.get("/a/zarr.json"))!.length],
  ]);
  assertEquals({ ...after, ...before }, after);
});

Deno.test("adoptZip adopts files by their names, by their places and by links", async () => {
  const zips: [StoreKey, Uint8Array][] = [
    ["/a/month_01.zip", smallZip({ add: 10 })],
    ["/a/month_02.zip", smallZip({ add: 20 })],
    ["/a/readme.txt", new Uint8Array(3)],
  ];
  const elements = [11, 12, 13, 14, 21, 22, 23, 24];
  const store = new MemoryStore(zips);
  const { report } = await adoptZip(store, "a", {
    chunkKeyEncoding: new TemplateChunkKeyEncoding("month_{0:02}.zip"),
  });
  assertEquals(report.notes, [
    "The first file along dimension 0 has the grid coordinate 1: elements before it have the fill value",
  ]);
  assertEquals(await elementsOf(store, "a"), [0, 0, 0, 0, ...elements]);

  await inTempDir(async (folder) => {
    const files = new FileSystemStore(folder);
    for (const [key, bytes] of zips) await files.set(key, bytes);
    await adoptZip(files, "b", {
      files: [
        { key: "/a/month_02.zip", coordinates: [1] },
        { key: "/a/month_01.zip", coordinates: [0] },
      ],
      link: true,
    });
    assertEquals(await elementsOf(files, "b"), elements);
    await adoptZip(files, "c", { key: "/a/month_02.zip", link: true });
    assertEquals(await elementsOf(files, "c"), elements.slice(4));
  });
});

Deno.test("adoptZip adopts an array in a group, and a shard that a zip holds as entries", async () => {
  const shard = encodeShard(
    [new Uint8Array([1]), new Uint8Array([2])],
    parseShardLayout(small({ shardShape: [2], chunkShape: [1] }).codecs[0], [
      2,
    ]),
  );
  const metadata = small({ shardShape: [2], chunkShape: [1] });
  const file = makeZip([
    { name: "zarr.json", bytes: encodeJson({ zarr_format: 3 }) },
    { name: "zarr.json", bytes: encodeJson({ zarr_format: 3 }) },
    { name: "x/y/zarr.json", bytes: encodeJson(metadata) },
    { name: "x/y/c/", bytes: new Uint8Array() },
    { name: "x/y/c/1", bytes: shard },
    { name: "x/y/c/7", bytes: shard },
    { name: "x/z/c/0", bytes: shard, method: 8 },
  ]).file;
  const store = new MemoryStore([["/a/c/0.zip", file]]);
  const { report } = await adoptZip(store, "a", { array: "x/y" });
  assertEquals(report.innerChunks, 1);
  assertEquals(await elementsOf(store, "a"), [0, 0, 1, 2]);
});

const FIRST: [StoreKey, Uint8Array] = ["/a/c/0.zip", smallZip()];

/** Files, of which most are two, and a part of the error. */
type Refused = [
  message: string,
  files: readonly [StoreKey, Uint8Array][],
  options?: AdoptZipOptions,
];

/** A file beside one that is right. */
function beside(changes: Parameters<typeof smallZip>[0]): Refused[1] {
  return [FIRST, ["/a/c/1.zip", smallZip(changes)]];
}

function alone(changes: Parameters<typeof smallZip>[0]): Refused[1] {
  return [["/a/c/0.zip", smallZip(changes)]];
}

const NOT_TOGETHER: Refused[] = [
  [
    'has the data_type "uint8", and File "/a/c/1.zip" has "int8": files of one',
    beside({ metadata: small({ dataType: "int8" }) }),
  ],
  ["has the fill_value 0", beside({ metadata: small({ fillValue: 3 }) })],
  ["has the codecs [", beside({ metadata: small({ codecs: ["gzip"] }) })],
  ["has the chunk_grid", beside({ metadata: small({ chunkShape: [4] }) })],
  ["has 5 elements along", beside({ metadata: small({ shape: [5] }) })],
  ['the entry "c/0.raw"', beside({ metadata: small({ suffix: ".raw" }) })],
  [
    'has no chunk of its array, such as the entry "c/0" beside',
    [FIRST, [
      "/a/c/1.zip",
      makeZip([{ name: "zarr.json", bytes: encodeJson(small()) }]).file,
    ]],
  ],
  [
    "with a backslash",
    beside({ entries: [{ name: "a\\b.txt", bytes: new Uint8Array(2) }] }),
  ],
  [
    "with a backslash",
    beside({
      at: "x\\",
      entries: [{ name: "zarr.json", bytes: new Uint8Array(2) }],
    }),
  ],
  [
    'has "18446744073709551615"',
    [0n, 2n ** 64n - 1n].map((fillValue, i) => [
      `/a/c/${i}.zip`,
      smallZip({ metadata: small({ dataType: "uint64", fillValue }) }),
    ]),
  ],
  [
    "3 elements along dimension 0, which its chunks of 2 do not divide",
    [...alone({ metadata: small({ shape: [3] }) }), ["/a/c/1.zip", smallZip()]],
  ],
  [
    "files of one array have the same length",
    [
      ...beside({ metadata: small({ shape: [2] }) }),
      ["/a/c/2.zip", smallZip()],
    ],
  ],
  ["is at [0, 0], where an array", [["/a/c/0/0.zip", smallZip()]]],
  [
    'such as "c/0/1.zip", among 1 keys such as "/a/data.zip"',
    [["/a/data.zip", smallZip()]],
  ],
  [
    "set link: true",
    [["/a/data.zip", smallZip()]],
    { key: "/a/data.zip" },
  ],
  ['There is no archive "/data.zip"', [FIRST], { key: "/data.zip" }],
  [
    "has an array with storage transformers",
    alone({ metadata: small({ parts: ["", ".end:1"] }) }),
  ],
  [
    'has the entry "c/1", which is there twice',
    alone({ entries: [{ name: "c/1", bytes: new Uint8Array([9, 9]) }] }),
  ],
];

/** The same for metadata that is missing or not valid. */
const NO_ARRAY: Refused[] = [
  [
    'name the array by the option "array", such as "x"',
    alone({
      at: "x/",
      entries: [{ name: "y/zarr.json", bytes: encodeJson(small()) }],
    }),
  ],
  [
    'Expected an array, found a group; there is a node at "/x"',
    alone({
      at: "x/",
      entries: [{
        name: "zarr.json",
        bytes: encodeJson({ zarr_format: 3, node_type: "group" }),
      }],
    }),
  ],
  ['No Zarr node at "/" in ZipStore', [FIRST], { array: "x" }],
  [
    "v2View shows it as Zarr v3",
    [[
      "/a/c/0.zip",
      makeZip([{ name: ".zarray", bytes: new Uint8Array(2) }]).file,
    ]],
  ],
  ['member "zarr_format"', alone({ metadata: { node_type: "array" } })],
  ["is there already", [FIRST, ["/a/zarr.json", new Uint8Array()]]],
];

const DAMAGED: Refused[] = [
  ["has a directory of", [["/a/c/0.zip", smallZip().subarray(1)]]],
];

Deno.test("adoptZip refuses files that are no shards of one array, with the reason and a way out", async () => {
  for (
    const [error, refused] of [
      [RangeError, NOT_TOGETHER],
      [MetadataError, NO_ARRAY],
      [DamageError, DAMAGED],
    ] as const
  ) {
    for (const [message, files, options] of refused) {
      const store = new MemoryStore(files);
      const before = await contentsOf(store);
      await assertRejects(() => adoptZip(store, "a", options), error, message);
      assertEquals(await contentsOf(store), before, message);
    }
  }
});

Deno.test("adoptZip reads the length, the end and the zarr.json of a file", async () => {
  const entries = Array.from({ length: 2000 }, (_, i) => ({
    name: `c/${i}`,
    bytes: new Uint8Array(100),
  }));
  const metadata = small({ shape: [4000] });
  const document = { name: "zarr.json", bytes: encodeJson(metadata) };
  const few = makeZip([document, ...entries.slice(0, 1000)]).file;
  const many = makeZip([
    document,
    ...entries,
    ...entries.map((entry) => ({
      ...entry,
      name: `other/${entry.name}`,
    })),
  ]).file;
  for (const [file, expected] of [[few, 2], [many, 3]] as const) {
    const memory = new MemoryStore([["/a/c/0.zip", file]]);
    const ranges: number[] = [];
    let sizes = 0;
    const store: Store = {
      get: (key) => memory.get(key),
      set: (key, value) => memory.set(key, value),
      list: (prefix) => memory.list(prefix),
      size(key) {
        if (key === "/a/c/0.zip") sizes++;
        return memory.size(key);
      },
      async getRange(key, range) {
        const bytes = await memory.getRange(key, range);
        ranges.push(bytes!.length);
        return bytes;
      },
    };
    await adoptZip(store, "a");
    assertEquals([sizes, ranges.length], [1, expected]);
    // The document is read with its local header.
    assertEquals(ranges.at(-1), 30 + 9 + document.bytes.length);
  }
});

Deno.test("adoptZip notes attributes that differ, and has those of the first file", async () => {
  const store = new MemoryStore([0, 1].map((n) => [
    `/a/c/${n}.zip`,
    smallZip({ metadata: small({ attributes: { n } }) }),
  ]));
  const { chunks, report } = await adoptZip(store, "a");
  assertEquals(chunks.metadata.attributes, { n: 0 });
  assertEquals(report.notes, [
    'File "/a/c/1.zip" has other attributes than "/a/c/0.zip", whose attributes the array has',
  ]);
});

Deno.test("adoptZip refuses options that are unknown or of a wrong type", async () => {
  const wrong: [unknown, string][] = [
    [{ keys: [] }, 'Unknown option "keys" of adoptZip; expected "key"'],
    [{ key: 1 }, 'Expected the option "key" to be the key of a zip, found 1'],
    [{ files: [] }, 'the option "files"'],
    [{ array: 1 }, 'the option "array" to be a path, found 1'],
    [
      { key: "/a", files: [{ key: "/a", coordinates: [0] }] },
      'Expected one of the options "key" and "files", found both',
    ],
  ];
  for (const [options, message] of wrong) {
    await assertRejects(
      () => adoptZip(new MemoryStore(), "a", options as AdoptZipOptions),
      TypeError,
      message,
    );
  }
  await assertRejects(
    () => adoptZip(new MemoryStore(), "a", { key: "a.zip" as StoreKey }),
    RangeError,
    'Key "a.zip" does not start with "/"',
  );
});

Deno.test("verifyAdoptedZip finds files whose index is not right any more", async () => {
  const at = "x/y/";
  /** A zip of the same length as the adopted one, unless changed. */
  const zipOf = (
    chunks: [number[], number[]],
    changes: { metadata?: ArrayMetadata; at?: string; method?: number } = {},
  ) => {
    const { metadata = small(), method = 0 } = changes;
    const path = changes.at ?? at;
    return makeZip([
      { name: `${path}zarr.json`, bytes: encodeJson(metadata) },
      ...chunks.map((chunk, i) => ({
        name: `${path}c/${i}`,
        bytes: new Uint8Array(chunk),
        method,
      })),
    ]).file;
  };
  const same: [number[], number[]] = [[1, 2, 3], [4]];
  const before = zipOf(same);
  const replaced: [string, Uint8Array, string | undefined][] = [
    ["the same file", before, undefined],
    ["other bytes in the same places", zipOf([[9, 9, 9], [9]]), undefined],
    [
      "entries elsewhere",
      zipOf([[1, 2], [3, 4]]),
      "inner chunk 0 has 2 bytes from",
    ],
    [
      "another array",
      zipOf(same, { metadata: small({ fillValue: 7 }) }),
      "the file has the fill value 7, where the array has 0",
    ],
    [
      "other chunks",
      zipOf(same, { metadata: small({ chunkShape: [4] }) }),
      "the file has the shape of inner chunks [4], where the array has [2]",
    ],
    [
      "an array elsewhere",
      zipOf(same, { at: "x/z/" }),
      "has no array at the path that was adopted",
    ],
    [
      "metadata that is not valid",
      zipOf(same, { metadata: { ...small(), zarr_format: 4 } }),
      "Expected 3 as zarr_format, found 4",
    ],
    ["compressed entries", zipOf(same, { method: 8 }), "compressed by deflate"],
    ["no zip", new Uint8Array(before.length), "does not end with the last"],
  ];
  for (const [what, file, reason] of replaced) {
    const store = new MemoryStore([
      ["/a/c/0.zip", before],
      ["/a/c/1.zip", before],
    ]);
    await adoptZip(store, "a", { array: "x/y" });
    await store.set("/a/c/1.zip", file);
    const { files, mismatches } = await verifyAdoptedZip(store, "a");
    assertEquals(files, 2);
    assertEquals(
      mismatches.map(({ key }) => key),
      reason === undefined ? [] : ["/a/c/1.zip"],
      what,
    );
    const found = mismatches[0]?.reason ?? "";
    assert(found.includes(reason ?? ""), `${what}: ${found}`);
  }
});

Deno.test("verifyAdoptedZip asks for the places of a large grid one after another in a store that cannot list", async () => {
  const stored = new MemoryStore([["/c/0.zip", smallZip()]]);
  const { chunks } = await adoptZip(stored, "");
  const metadata = { ...chunks.metadata, shape: [4 * 2 ** 40] };
  await stored.set("/zarr.json", encodeJson(metadata));
  // So that no file is being read when the signal is aborted.
  await chunks.delete([0]);
  const controller = new AbortController();
  let requests = 0;
  const store: Store = {
    get: (key) => stored.get(key),
    size(key) {
      if (++requests === 100) controller.abort(new Error("Enough"));
      return stored.size(key);
    },
  };
  const { signal } = controller;
  const verified = verifyAdoptedZip(store, "", { signal });
  await assertRejects(() => verified, Error, "Enough");
  assert(requests < 200, `${requests} requests`);
});
