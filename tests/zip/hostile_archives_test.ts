/** Archives whose records are damaged, contradict each other, or are unusual. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { DamageError, MemoryStore, type StoreKey } from "../../mod.ts";
import { storedEntries, wrongEntries } from "../../src/zip/mod.ts";
import { ZipStore } from "../../zip.ts";
import { utf8 } from "../support/documents.ts";
import { withoutVersions } from "../support/without_versions.ts";
import { makeArchive } from "./archives.ts";
import { type MadeEntry, makeZip } from "./make_zip.ts";

type MadeZip = NonNullable<Parameters<typeof makeZip>[1]>;

const BYTES = utf8("content");
const KEY = "/a.zip";

function open(file: Uint8Array): ZipStore {
  return new ZipStore(new MemoryStore([[KEY, file]]), KEY);
}

/** Opens a zip, and counts the bytes of each request. */
function openCounted(file: Uint8Array) {
  const requests: number[] = [];
  const store = withoutVersions(new MemoryStore([[KEY, file]]));
  store.getRange = (_, range) => {
    const bytes = "suffixLength" in range
      ? file.slice(-range.suffixLength)
      : file.slice(range.offset, range.offset + range.length);
    requests.push(bytes.length);
    return Promise.resolve(bytes);
  };
  store.size = () => Promise.resolve(file.length);
  return { zip: new ZipStore(store, KEY), requests };
}

Deno.test("storedEntries makes one request for a directory near the end, two for a longer one, and few for headers", async () => {
  const plain = Array.from({ length: 500 }, (_, i) => ({
    name: `c/${i}`,
    bytes: BYTES,
  }));
  const keys = plain.map(({ name }): StoreKey => `/${name}`);
  const requestsOf = async (entries: readonly MadeEntry[]) => {
    const { file, offsets } = makeZip(entries);
    const { zip, requests } = openCounted(file);
    const extents = await storedEntries(zip, keys.slice(0, entries.length));
    assertEquals(extents.map(({ extent }) => extent.offset), offsets);
    return requests;
  };
  assertEquals((await requestsOf(plain)).length, 1);
  const long = plain.map((entry) => ({ ...entry, centralExtra: 400 }));
  assertEquals((await requestsOf(long)).length, 2);
  // Headers with an extra field, of entries of 7, 40,000 and 30,000 bytes.
  const extra = plain.map((entry) => ({ ...entry, localExtra: 28 }));
  assertEquals((await requestsOf(extra)).length, 2);
  const large = extra.slice(0, 5)
    .map((entry) => ({ ...entry, bytes: new Uint8Array(40_000) }));
  assertEquals((await requestsOf(large)).slice(1), [33, 33, 33, 33, 33]);
  const wide = extra.slice(0, 80)
    .map((entry) => ({ ...entry, bytes: new Uint8Array(30_000) }));
  const parts = (await requestsOf(wide)).slice(1);
  assertEquals(parts.length, 3);
  assert(Math.max(...parts) <= 2 ** 20);
});

Deno.test("storedEntries refuses entries that are not in the file as they are, with the reason and a way out", async () => {
  const one = { name: "c/0", bytes: BYTES };
  const refused: [Partial<MadeEntry>[], string][] = [
    [
      [{ method: 8 }],
      'File "/a.zip" has the entry "c/0", which is compressed by deflate: unpack the file, and pack it by zip -0, since only bytes that are stored as they are can be inner chunks',
    ],
    [[{ method: 93 }], "which is compressed by zstd (method 93)"],
    [[{ flags: 1, method: 8 }], "which is encrypted: unpack"],
    [
      [{}, {}],
      "which is there twice: write the file again, with each entry once",
    ],
  ];
  for (const [entries, message] of refused) {
    const made = [
      ...entries.map((entry) => ({ ...one, ...entry })),
      { name: "other", bytes: BYTES },
    ];
    const zip = open(makeZip(made).file);
    await assertRejects(
      () => storedEntries(zip, ["/c/0"]),
      RangeError,
      message,
    );
    // Entries that nobody asks for may be anything.
    const [other] = await storedEntries(zip, ["/other"]);
    assertEquals(other!.extent.length, 7);
  }
});

Deno.test("ZipStore finds files that were cut, joined or damaged", async () => {
  const two: MadeEntry[] = [
    { name: "c/0", bytes: BYTES },
    { name: "c/1", bytes: BYTES },
  ];
  const whole = makeZip(two).file;
  const headerAt = 30 + 3 + 7;
  const zipOf = (end: NonNullable<MadeZip["end"]>, isZip64 = false) =>
    makeZip(two, { end, isZip64 }).file;
  /** The second entry, as the directory lists it. */
  const listing = (listed: NonNullable<MadeEntry["listed"]>, place = 1) =>
    makeZip(two.with(place, { ...two[place]!, listed })).file;
  const noZip = "does not end with the last record of a zip";
  const noFit = "which does not fit the ";
  const volumes = "is one of several volumes";
  const damaged: [what: string, message: string, Uint8Array][] = [
    ["no bytes", noZip, new Uint8Array()],
    ["no zip", noZip, utf8("text".repeat(100))],
    ["bytes after the zip", noZip, Uint8Array.of(...whole, 1)],
    [
      "bytes before the zip",
      "has 3 bytes before the zip, which its offsets do not count: remove them",
      Uint8Array.of(0, 0, 0, ...whole),
    ],
    ["a start that is missing", "it was cut", whole.subarray(5)],
    [
      "a middle that is missing",
      "98 bytes from 80 on, where its last records start at 158: it was cut",
      Uint8Array.of(...whole.subarray(0, 20), ...whole.subarray(40)),
    ],
    ["another count", "record says 1", zipOf({ count: 1, onDisk: 1 })],
    ["a count of more entries", `${noFit}3 entries`, zipOf({ count: 3 })],
    ["a count of fewer entries", `${noFit}0 entries`, zipOf({ count: 0 })],
    ["another count in zip64", "record says 1", zipOf({ count: 1 }, true)],
    ["volumes", volumes, zipOf({ disk: 1 })],
    ["a volume with some entries", volumes, zipOf({ onDisk: 1 })],
    ["the same in zip64", volumes, zipOf({ onDisk: 1 }, true)],
    ["volumes in zip64", volumes, zipOf({ disk: 1 }, true)],
    [
      "records of zip64 that are missing",
      "lacks the records of zip64, which it refers to",
      zipOf({ count: 0xffff }),
    ],
    [
      "a zip64 record elsewhere",
      "has no record of zip64 at 178, where it should be",
      Uint8Array.of(0, ...zipOf({}, true)),
    ],
    [
      "a comment like an end",
      "has several records that could be the last one",
      makeZip(two, { comment: `PK\x05\x06${"\0".repeat(18)}` }).file,
    ],
    [
      "a comment in an entry that reaches outside",
      "has a directory that ends within an entry",
      changed(whole, 2 * headerAt + 32, 200),
    ],
    [
      "no entry in the directory",
      "has no entry at byte 0 of its directory",
      changed(whole, 2 * headerAt, 0),
    ],
    [
      "entries that overlap",
      'an entry "c/0" of 8 bytes at 0, which overlaps the entry "c/1" at 40',
      listing({ size: 8, storedSize: 8 }, 0),
    ],
    [
      "an entry that overlaps the directory",
      'an entry "c/1" of 8 bytes at 40, which overlaps the directory at 80',
      listing({ size: 8, storedSize: 8 }),
    ],
    ["two entries at one place", "overlaps the entry", listing({ offset: 0 })],
    [
      "an entry after the directory",
      "overlaps the directory at 80",
      listing({ offset: 1000 }),
    ],
    [
      "a number above 2^53−1",
      "the size 9007199254740992, where 2^53−1 is the most",
      makeZip([{ ...two[0]!, isZip64: true, listed: { size: 2 ** 53 } }]).file,
    ],
    [
      "a number that zip64 lacks",
      'lacks a number of zip64 for its entry "c/0"',
      makeZip([{ ...two[0]!, listed: { offset: 0xffffffff } }]).file,
    ],
  ];
  for (const [what, message, file] of damaged) {
    const error = await assertRejects(
      () => open(file).describe(),
      DamageError,
    );
    assert(
      error.message.startsWith('File "/a.zip"') &&
        error.message.includes(message),
      `${what}: ${error.message}`,
    );
    assertEquals(error.key, "/a.zip");
  }
});

function changed(bytes: Uint8Array, at: number, byte: number): Uint8Array {
  return bytes.with(at, byte);
}

Deno.test("ZipStore reads no directory of more than 1 GiB", async () => {
  const length = 2 ** 30 + 1;
  let read = 0;
  const zip = new ZipStore({
    get: () => Promise.reject(new Error("A range is enough")),
    size: () => Promise.resolve(length + 22),
    getRange(_, range) {
      const bytes = new Uint8Array(
        "suffixLength" in range ? range.suffixLength : range.length,
      );
      read += bytes.length;
      const end = new DataView(bytes.buffer, bytes.length - 22);
      end.setUint32(0, 0x06054b50, true);
      for (const at of [8, 10]) end.setUint16(at, 60_000, true);
      end.setUint32(12, length, true);
      return Promise.resolve(bytes);
    },
  }, KEY);
  await assertRejects(
    () => zip.describe(),
    DamageError,
    "has a directory of 1073741825 bytes, more than the 1073741824 that can be read",
  );
  assert(read < 2 ** 20);
});

/** Changes of a local header, by whether readers refuse the entry, or only `verify` finds it. */
const HEADERS: [what: string, at: number, byte: number, isRead: boolean][] = [
  ["the signature", 1, 0, false],
  ["the method", 8, 8, false],
  ["the length of the name", 26, 2, false],
  ["the name", 30, 0x64, false],
  ["an extra field that is longer than its room", 28, 9, false],
  ["the CRC-32", 15, 99, true],
  ["the stored length", 18, 8, true],
  ["the length", 23, 1, true],
];

Deno.test("wrongEntries finds local headers that contradict the directory", async () => {
  const entry = { name: "c/0", bytes: BYTES, localExtra: 8 };
  const { file } = makeZip([entry, { name: "c/1", bytes: BYTES }]);
  const second = 30 + 3 + 8 + 7;
  assertEquals(await wrongHeaders(open(file)), []);
  for (const [what, at, byte, isRead] of HEADERS) {
    const zip = open(changed(file, at, byte));
    const problems = await wrongHeaders(zip);
    assertEquals(problems.map(({ key }) => key), ["/c/0"], what);
    if (isRead) assertEquals(await zip.get("/c/0"), BYTES);
    else {
      await assertRejects(() => zip.get("/c/0"), DamageError, "no header of");
    }
    assertEquals(await zip.get("/c/1"), BYTES);
  }
  // A bit of a name in the directory would make a chunk the fill value.
  const renamed = changed(file, second + 40 + 46 + 2, 0x31 ^ 2);
  const problems = await wrongHeaders(open(renamed));
  assertEquals(problems.length, 1);
  assertEquals(await open(renamed).get("/c/0"), undefined);
  // Numbers that follow the bytes are not in the header.
  const made = makeArchive([
    { name: "a", content: BYTES, hasDescriptor: true },
  ]);
  assertEquals(await wrongHeaders(open(made)), []);
});

function wrongHeaders(zip: ZipStore) {
  return Array.fromAsync(wrongEntries(zip, { withBytes: false }));
}

Deno.test("ZipStore reads entries that lie in another order than the directory lists them", async () => {
  const { file } = makeZip([
    { name: "c/0", bytes: BYTES },
    { name: "c/1", bytes: utf8("another") },
  ]);
  const [start, size] = [2 * (30 + 3 + 7), 46 + 3];
  const second = file.slice(start + size, start + 2 * size);
  file.copyWithin(start + size, start, start + size);
  file.set(second, start);
  const zip = open(file);
  assertEquals(await Array.fromAsync(zip.list()), ["/c/1", "/c/0"]);
  assertEquals(await zip.get("/c/0"), BYTES);
  assertEquals(await zip.get("/c/1"), utf8("another"));
});

/** Names as other programs write them, and the keys that they have. */
const NAMES: [names: string[], keys: string[]][] = [
  [["./", "./zarr.json", "././c/", "././c/0"], ["/zarr.json", "/c/0"]],
  [["/zarr.json", "//c/0", "/"], ["/zarr.json", "/c/0"]],
  [["C:/x/zarr.json"], ["/C:/x/zarr.json"]],
  [["C:/zarr.json", "C:/c/0"], ["/C:/zarr.json", "/C:/c/0"]],
  [["x/zarr.json", "C:/zarr.json"], ["/zarr.json"]],
  [["c/", "c/0", "c/0/", "../up", "d"], ["/c/0", "/d"]],
];

Deno.test("ZipStore reads names from the root of an archive, and shows no drive as a folder", async () => {
  for (const [names, keys] of NAMES) {
    const file = makeArchive(
      names.map((name) => ({ name, content: BYTES, localExtra: 4 })),
    );
    const zip = open(file);
    assertEquals(await Array.fromAsync(zip.list()), keys, `${names}`);
    for (const key of keys) {
      assertEquals(await zip.get(key as StoreKey), BYTES);
    }
  }
});

Deno.test("ZipStore reads archives that are filled up with zeros, as bsdtar writes them to a pipe", async () => {
  const entries = [{ name: "c/0", content: BYTES, hasDescriptor: true }];
  for (const isZip64 of [false, true]) {
    for (const comment of ["", "text", "text\0\0"]) {
      const file = makeArchive(entries, { isZip64, comment });
      for (const count of [0, 1, 21, 10_000, 90_000]) {
        const padded = new Uint8Array(file.length + count);
        padded.set(file);
        const zip = open(padded);
        assertEquals(await zip.get("/c/0"), BYTES);
        assertEquals((await zip.describe()).comment, comment);
      }
    }
  }
  const empty = new Uint8Array(10_240);
  empty.set(makeArchive([]));
  assertEquals((await open(empty).describe()).entries, 0);
});
