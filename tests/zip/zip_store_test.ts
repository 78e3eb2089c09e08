import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import { crc32 } from "node:zlib";
import {
  type ByteRange,
  DamageError,
  MemoryStore,
  SizeLimitError,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { ZipStore } from "../../zip.ts";
import { testStore } from "../stores/conformance.ts";
import { readAll } from "../stores/store_values.ts";
import { countingBytes } from "../support/bytes.ts";
import { utf8 } from "../support/documents.ts";
import { withoutVersions } from "../support/without_versions.ts";
import {
  type ArchiveEntry,
  archiveOf,
  deflatedEntry,
  makeArchive,
} from "./archives.ts";
import { makeZip } from "./make_zip.ts";

const KEY = "/x.zarr.zip";

function inMemory(archive: Uint8Array): MemoryStore {
  return new MemoryStore([[KEY, archive]]);
}

testStore("ZipStore", () => {
  const values = new Map<StoreKey, Uint8Array>();
  const open = () => new ZipStore(inMemory(archiveOf(values)), KEY);
  let zip = open();
  const store: Store = {
    get: (...args) => zip.get(...args),
    getRange: (...args) => zip.getRange(...args),
    stream: (...args) => zip.stream(...args),
    size: (...args) => zip.size(...args),
    list: (...args) => zip.list(...args),
  };
  return Promise.resolve({
    store,
    fill(key, bytes) {
      values.set(key, bytes.slice());
      zip = open();
      return Promise.resolve();
    },
  });
}, { lacks: ["set", "delete"] });

const CONTENT = utf8("content");

/** Cuts a range out of bytes, byte by byte. */
function slowRange(bytes: Uint8Array, range: ByteRange): Uint8Array {
  return bytes.filter((_, i) =>
    "suffixLength" in range
      ? i >= bytes.length - range.suffixLength
      : i >= range.offset && i < range.offset + range.length
  );
}

Deno.test("ZipStore reads values, ranges and streams of entries, however they are stored", async () => {
  const length = fc.nat({ max: 90 });
  const range: fc.Arbitrary<ByteRange> = fc.oneof(
    fc.record({ offset: length, length }),
    fc.record({ suffixLength: length }),
  );
  const names = fc.uniqueArray(
    fc.stringMatching(/^[a-zé]{1,6}(\/[a-z0-9]{1,3}){0,2}$/),
    { minLength: 1, maxLength: 8 },
  );
  const archives = names.chain((names) =>
    fc.record({
      entries: fc.tuple(...names.map((name) =>
        fc.record({
          name: fc.constant(name),
          content: fc.uint8Array({ maxLength: 80 }),
          isDeflated: fc.boolean(),
          gap: fc.constantFrom(0, 0, 1, 4097, 40_000),
          localExtra: fc.constantFrom(0, 0, 4, 28, 5000),
          centralExtra: fc.constantFrom(0, 4),
          hasDescriptor: fc.boolean(),
          isZip64: fc.boolean(),
          flags: fc.constantFrom(0, 1 << 11),
        })
      )),
      isZip64: fc.boolean(),
      range,
      hasVersions: fc.boolean(),
    })
  );
  await fc.assert(
    fc.asyncProperty(
      archives,
      async ({ entries, isZip64, range, hasVersions }) => {
        const files = inMemory(makeArchive(entries, { isZip64 }));
        const store = new ZipStore(
          hasVersions ? files : withoutVersions(files),
          KEY,
        );
        for (const { name, content } of entries) {
          const key: StoreKey = `/${name}`;
          assertEquals(
            await store.getRange(key, range),
            slowRange(content, range),
          );
          assertEquals(await store.get(key), content);
          assertEquals(await readAll(await store.stream(key)), content);
          assertEquals(await store.size(key), content.length);
          // Once more, by what is known by now.
          assertEquals(
            await store.getRange(key, range),
            slowRange(content, range),
          );
          assertEquals(await store.get(key), content);
          const version = await store.read(
            [key],
            (values) => Promise.resolve(values.version(key)),
          );
          assertEquals(
            version !== undefined && !version.ownChangesOnly,
            hasVersions,
          );
          if (version === undefined) continue;
          assertEquals(version.size, content.length);
          assertEquals(
            await store.readOf(version, key, range),
            slowRange(content, range),
          );
          const stream = await store.read(
            [key],
            (values) => values.stream(key, range),
          );
          assertEquals(await readAll(stream), slowRange(content, range));
          version.release();
        }
        assertEquals(
          await Array.fromAsync(store.list()),
          entries.map(({ name }): StoreKey => `/${name}`),
        );
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("ZipStore reads ranges far from the header of an entry, also if they are the first ones", async () => {
  const content = countingBytes(100_000);
  const offsets = [0, 1, 32_767, 32_768, 32_769, 65_000, 99_990, 100_000];
  for (const localExtra of [0, 4, 28, 4092, 4096, 4100, 9000]) {
    for (const hasDescriptor of [false, true]) {
      const files = inMemory(makeArchive([
        { name: "a", content: CONTENT },
        { name: "c/0", content, localExtra, hasDescriptor },
      ]));
      for (const offset of offsets) {
        const store = new ZipStore(files, KEY);
        for (const length of [1, 10, 70_000]) {
          assertEquals(
            await store.getRange("/c/0", { offset, length }),
            content.slice(offset, offset + length),
            `${localExtra} ${hasDescriptor} ${offset} ${length}`,
          );
        }
      }
    }
  }
});

Deno.test("ZipStore keeps inflated entries up to 64 MiB together", async () => {
  const content = new Uint8Array(40 * 2 ** 20);
  const { file } = makeZip([
    deflatedEntry("a", content),
    deflatedEntry("b", content),
    { name: "c", bytes: CONTENT },
  ]);
  const files = inMemory(file);
  let requests = 0;
  const counted = withoutVersions(files);
  counted.getRange = (...args) => {
    requests++;
    return files.getRange(...args);
  };
  counted.size = (...args) => files.size(...args);
  const store = new ZipStore(counted, KEY);
  await store.size("/a");
  const range = { suffixLength: 1 };
  const steps: [StoreKey, number][] = [
    ["/a", 1],
    ["/a", 0],
    ["/b", 1],
    ["/b", 0],
    ["/a", 1],
    ["/a", 0],
    ["/b", 1],
  ];
  for (const [i, [key, count]] of steps.entries()) {
    requests = 0;
    assertEquals(await store.getRange(key, range), new Uint8Array(1));
    assertEquals(requests, count, `step ${i}`);
  }
});

Deno.test("ZipStore reads the last one of entries with one name", async () => {
  const store = new ZipStore(
    inMemory(makeArchive([
      { name: "c/0", content: utf8("first") },
      { name: "c/1", content: utf8("other") },
      { name: "c/0", content: utf8("second"), isDeflated: true },
    ])),
    KEY,
  );
  assertEquals(await store.get("/c/0"), utf8("second"));
  assertEquals(await Array.fromAsync(store.list()), ["/c/0", "/c/1"]);
  assertEquals((await store.describe()).replaced, 1);
});

Deno.test("ZipStore refuses entries that are not what the directory says, and others are read", async () => {
  const bytes = new Uint8Array(5000).fill(7);
  const isDeflated = true;
  const listing = (listed: NonNullable<ArchiveEntry["listed"]>) => ({ listed });
  const deflated = (listed: NonNullable<ArchiveEntry["listed"]>) => ({
    isDeflated,
    listed,
  });
  const cases: [
    message: string,
    entry: Partial<ArchiveEntry>,
    isDamage?: false,
  ][] = [
    ["has the CRC-32", listing({ checksum: 1 })],
    ["directory says 00000001: it was changed", deflated({ checksum: 1 })],
    [
      "is stored as it is, with 5000 bytes of 5001",
      listing({ size: 5001 }),
    ],
    ["bytes that are longer than 4999 bytes", deflated({ size: 4999 })],
    ["bytes that are 5000 bytes of 5001", deflated({ size: 5001 })],
    [
      "deflated bytes, which cannot be those of 1099511627776 bytes",
      { ...deflated({ size: 2 ** 40 }), isZip64: true },
    ],
    ["has deflated bytes that ", deflated({ storedSize: 10 })],
    ["has deflated bytes that cannot be inflated", { method: 8 }],
    [
      'Entry "c/0" of archive "/x.zarr.zip" is encrypted, which is not supported: unpack the archive, and pack it by zip -0',
      { flags: 1 },
      false,
    ],
    ["is compressed by zstd (method 93)", { method: 93 }, false],
    ["is compressed by method 77", { method: 77 }, false],
    ["is a patch of another file", { flags: 32 }, false],
  ];
  for (const [message, entry, isDamage = true] of cases) {
    const archive = makeArchive([
      { name: "c/0", content: bytes, ...entry },
      { name: "c/1", content: CONTENT },
    ]);
    for (
      const files of [inMemory(archive), withoutVersions(inMemory(archive))]
    ) {
      const store = new ZipStore(files, KEY);
      const reads = [
        () => store.get("/c/0"),
        async () => await readAll(await store.stream("/c/0")),
        ...entry.isDeflated || entry.method
          ? [() => store.getRange("/c/0", { offset: 0, length: 5000 })]
          : [],
      ];
      for (const read of reads) {
        const error = await assertRejects(read, Error, message);
        assertEquals(error instanceof DamageError, isDamage, message);
        if (error instanceof DamageError) assertEquals(error.key, "/c/0");
      }
      assertEquals(await store.get("/c/1"), CONTENT);
    }
  }
});

Deno.test("ZipStore refuses values above a limit by their declared size", async () => {
  const entry = { name: "c/0", content: new Uint8Array(100) };
  for (const isDeflated of [false, true]) {
    const store = new ZipStore(
      inMemory(makeArchive([{ ...entry, isDeflated }])),
      KEY,
    );
    await assertRejects(() => store.get("/c/0", { limit: 99 }), SizeLimitError);
    assertEquals((await store.get("/c/0", { limit: 100 }))?.length, 100);
  }
});

Deno.test("ZipStore describes itself by the archive and the path", () => {
  const files = new MemoryStore();
  const text = 'ZipStore("/x.zarr.zip" of MemoryStore(0)';
  assertEquals(String(new ZipStore(files, KEY)), `${text})`);
  assertEquals(
    String(new ZipStore(files, KEY, { path: "a" })),
    `${text}, "a")`,
  );
});

Deno.test("ZipStore finds the folder of the node", async () => {
  const cases: [
    names: string[],
    path: string | undefined,
    folder: string,
    nodes?: string[],
  ][] = [
    [["zarr.json", "c/0"], undefined, ""],
    [["zarr.json", "0/zarr.json"], "0", "0"],
    [["x.zarr/zarr.json", "x.zarr/0/zarr.json"], undefined, "x.zarr", [
      "x.zarr",
    ]],
    [["x.zarr/zarr.json", "x.zarr/0/zarr.json"], "0", "x.zarr/0", ["x.zarr"]],
    [["x.zarr/zarr.json", "x.zarr/0/zarr.json"], "x.zarr/0", "x.zarr/0", [
      "x.zarr",
    ]],
    [["x.zarr/.zgroup", "README", "docs/a"], undefined, "x.zarr", ["x.zarr"]],
    [["x.zarr/.zarray", "__MACOSX/.zarray"], undefined, "x.zarr", ["x.zarr"]],
    [["a/zarr.json", "b/zarr.json"], undefined, "", ["a", "b"]],
    [["a/zarr.json", "b/zarr.json"], "b", "b", ["a", "b"]],
    [["a/b/zarr.json"], undefined, ""],
    [["a/b/zarr.json"], "a/b", "a/b"],
    [["x.zarr/", "x.zarr/zarr.json"], undefined, "x.zarr", ["x.zarr"]],
    [["c/0"], undefined, ""],
    [[], undefined, ""],
  ];
  for (const [names, path, folder, nodes = []] of cases) {
    const content = CONTENT;
    const archive = makeArchive(names.map((name) => ({ name, content })));
    const store = new ZipStore(inMemory(archive), KEY, { path });
    const found = await store.describe();
    assertEquals([found.folder, found.nodes], [folder, nodes], `${names}`);
    const start = folder === "" ? "" : `${folder}/`;
    assertEquals(
      await Array.fromAsync(store.list()),
      names.filter((name) => name.startsWith(start) && !name.endsWith("/"))
        .map((name): StoreKey => `/${name.slice(start.length)}`),
    );
  }
});

Deno.test("ZipStore decodes names as other programs do", async () => {
  const named = (bytes: number[], flags: number) => {
    const text = String.fromCharCode(...bytes.map((_, i) => 97 + i));
    const made = makeArchive([{ name: text, content: CONTENT, flags }]);
    for (const at of [30, made.length - 22 - bytes.length]) made.set(bytes, at);
    return made;
  };
  const cases: [bytes: number[], flags: number, name: string][] = [
    [[0xc3, 0xa9], 1 << 11, "é"],
    [[0xc3, 0xa9], 0, "é"],
    [[0xe9, 0x2d], 0, "é-"],
    [[0xef, 0xbb, 0xbf, 0x61], 1 << 11, "\ufeffa"],
  ];
  for (const [bytes, flags, name] of cases) {
    const store = new ZipStore(inMemory(named(bytes, flags)), KEY);
    assertEquals(await Array.fromAsync(store.list()), [`/${name}`]);
    assertEquals(await store.get(`/${name}`), CONTENT);
  }
});

Deno.test("ZipStore takes names from the extra field of Info-ZIP if it is of the name in the header", async () => {
  const name = utf8("c/0");
  for (const isOfName of [true, false]) {
    const extra = new Uint8Array([
      ...[0x75, 0x70, 9, 0, 1, 0, 0, 0, 0],
      ...utf8("c/é"),
    ]);
    new DataView(extra.buffer).setUint32(
      5,
      crc32(isOfName ? name : utf8("c/1")),
      true,
    );
    const archive = makeArchive([
      {
        name: "c/0",
        content: CONTENT,
        localExtra: 6,
        centralExtra: extra.length,
      },
    ]);
    archive.set(extra, archive.length - 22 - extra.length);
    const store = new ZipStore(inMemory(archive), KEY);
    const key: StoreKey = isOfName ? "/c/é" : "/c/0";
    assertEquals(await Array.fromAsync(store.list()), [key]);
    assertEquals(await store.get(key), CONTENT);
  }
});

Deno.test("ZipStore tells what an archive is", async () => {
  const store = new ZipStore(
    inMemory(makeArchive([
      { name: "zarr.json", content: CONTENT },
      { name: "c/", content: new Uint8Array() },
      { name: "c/0", content: CONTENT, isDeflated: true },
      { name: "c/1", content: CONTENT, flags: 1 },
      { name: "../c/2", content: CONTENT },
    ], { comment: '{"ome": {"version": "0.5"}}\0' })),
    KEY,
  );
  const { size, comment, digest, ...found } = await store.describe();
  assert(size > 100);
  assertEquals(digest.length, 32);
  assertEquals(comment, '{"ome": {"version": "0.5"}}\0');
  assertEquals(found, {
    key: KEY,
    folder: "",
    nodes: [],
    entries: 4,
    deflated: 1,
    unreadable: 1,
    unnamed: 1,
    replaced: 0,
    omeVersion: "0.5",
    problems: [
      "has 1 deflated entry, where its comment announces the variant that RFC-9 of NGFF recommends",
    ],
  });
  for (const comment of ["", "text", "{}", '{"ome": {"version": 5}}', "null"]) {
    const other = new ZipStore(inMemory(makeArchive([], { comment })), KEY);
    assertEquals((await other.describe()).omeVersion, undefined);
  }
});

Deno.test("ZipStore refuses what is no archive, and wrong arguments", async () => {
  const store = new ZipStore(new MemoryStore(), KEY);
  await assertRejects(
    () => store.get("/zarr.json"),
    RangeError,
    'There is no archive "/x.zarr.zip" of MemoryStore(0)',
  );
  const text = new ZipStore(inMemory(utf8("text")), KEY);
  await assertRejects(
    () => text.get("/zarr.json"),
    DamageError,
    "it is not a zip",
  );
  const backslashed = makeArchive([{ name: "a\\zarr.json", content: CONTENT }]);
  await assertRejects(
    () => new ZipStore(inMemory(backslashed), KEY).get("/zarr.json"),
    RangeError,
    "with a backslash",
  );
  assertThrows(
    () => new ZipStore(new MemoryStore(), KEY, { path: "../a" }),
    RangeError,
  );
  assertThrows(
    () => new ZipStore(new MemoryStore(), KEY, { folow: true } as object),
    TypeError,
    'expected "follow"',
  );
  assertThrows(() => new ZipStore("x.zip" as unknown as Store, KEY), TypeError);
  assertThrows(
    () => new ZipStore(new MemoryStore(), "x.zip" as StoreKey),
    RangeError,
  );
});

Deno.test("ZipStore reads one state of an archive, and follows another one on demand", async () => {
  const archives = ["old", "new"].map((text) =>
    makeArchive([
      { name: "zarr.json", content: utf8(text) },
      { name: "c/0", content: utf8(`${text} chunk`), localExtra: 9 },
      { name: "c/1", content: utf8(`${text} chunk`), isDeflated: true },
    ])
  );
  for (const follow of [false, true]) {
    for (const key of ["/zarr.json", "/c/0", "/c/1"] as const) {
      const files = inMemory(archives[0]!);
      const store = new ZipStore(files, KEY, { follow });
      assertEquals(await store.get("/zarr.json"), utf8("old"));
      const version = await store.read(
        [key],
        (values) => Promise.resolve(values.version(key)!),
      );
      const stream = await store.stream("/c/0");
      await files.set(KEY, archives[1]!);
      const range = { offset: 0, length: 3 };
      assertEquals(await store.readOf(version, key, range), undefined);
      assertEquals(
        await store.readOf(version, key, { offset: 0, length: 0 }),
        undefined,
      );
      const read = () => store.getRange(key, range);
      if (follow) assertEquals(await read(), utf8("new"));
      else {
        await assertRejects(
          read,
          Error,
          'Archive "/x.zarr.zip" of MemoryStore(1) was changed after it was opened: open it again',
        );
      }
      await assertRejects(() => readAll(stream), Error, "changed");
      version.release();
    }
  }
});
