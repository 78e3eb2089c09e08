import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { DamageError, SizeLimitError, type StoreKey } from "../../mod.ts";
import { openZipFile } from "../../src/zip/zip_directory.ts";
import { ZipEntries } from "../../src/zip/zip_entries.ts";
import { utf8 } from "../support/documents.ts";
import { runs } from "../support/runs.ts";
import { type MadeEntry, makeZip } from "./make_zip.ts";

/** Opens a zip, and counts the bytes of each request. */
async function open(file: Uint8Array) {
  const requests: number[] = [];
  const values: Parameters<typeof openZipFile>[0] = {
    size: () => Promise.resolve(file.length),
    read(_, range) {
      const { offset, length } = "suffixLength" in range!
        ? {
          offset: Math.max(0, file.length - range.suffixLength),
          length: Math.min(file.length, range.suffixLength),
        }
        : range!;
      requests.push(length);
      const end = offset + length;
      assert(offset >= 0 && length >= 0 && end <= file.length);
      return Promise.resolve(file.subarray(offset, end));
    },
  };
  const opened = await openZipFile(values, "/a.zip");
  return { entries: await ZipEntries.open(opened!), requests };
}

const BYTES = utf8("content");

Deno.test("ZipEntries finds the bytes of stored entries, whatever lies around them", async () => {
  const names = fc.uniqueArray(
    fc.stringMatching(/^[a-zé]{1,9}(\/[a-z0-9]{1,5}){0,2}$/),
    { maxLength: 12 },
  );
  const size = fc.constantFrom(0, 0, 4, 28);
  const zips = names.chain((names) =>
    fc.record({
      entries: fc.tuple(...names.map((name) =>
        fc.record({
          name: fc.constant(name),
          bytes: fc.uint8Array({ maxLength: 30 }),
          gap: fc.constantFrom(0, 0, 1, 40, 70_000),
          localExtra: size,
          centralExtra: size,
          hasDescriptor: fc.boolean(),
          isZip64: fc.boolean(),
          flags: fc.constantFrom(0, 1 << 11),
          comment: fc.constantFrom("", "PK"),
        })
      )),
      comment: fc.constantFrom("", "PK\x05\x06", "a".repeat(65535)),
      isZip64: fc.boolean(),
    })
  );
  await fc.assert(
    fc.asyncProperty(zips, async ({ entries: made, ...options }) => {
      const { file, offsets } = makeZip(made, options);
      const { entries } = await open(file);
      const keys = made.map(({ name }): StoreKey => `/${name}`);
      assertEquals(
        await entries.extents(keys),
        made.map(({ bytes }, i) => ({
          offset: offsets[i]!,
          length: bytes.length,
        })),
      );
      for (const { name, bytes } of made) {
        assertEquals(await entries.get(`/${name}`), bytes);
      }
      assertEquals((await Array.fromAsync(entries.list())).sort(), keys.sort());
      assertEquals(await entries.get("/of no entry"), undefined);
    }),
    { numRuns: runs(100) },
  );
});

Deno.test("ZipEntries makes one request for a directory near the end, two for a longer one, and few for headers", async () => {
  const plain = Array.from({ length: 500 }, (_, i) => ({
    name: `c/${i}`,
    bytes: BYTES,
  }));
  const keys = plain.map(({ name }): StoreKey => `/${name}`);
  const near = await open(makeZip(plain).file);
  await near.entries.extents(keys);
  assertEquals(near.requests.length, 1);

  const long = plain.map((entry) => ({ ...entry, centralExtra: 400 }));
  const far = await open(makeZip(long).file);
  await far.entries.extents(keys);
  assertEquals(far.requests.length, 2);
  const headers = plain.reduce((sum, { name }) => sum + 37 + name.length, 0);
  assertEquals(far.requests[1], makeZip(long).file.length - headers - 22);

  // Headers with an extra field, of entries of 7 bytes, and then of 40,000 bytes.
  const extra = plain.map((entry) => ({ ...entry, localExtra: 28 }));
  const close = await open(makeZip(extra).file);
  await close.entries.extents(keys);
  assertEquals(close.requests.length, 2);
  const large = extra.slice(0, 5)
    .map((entry) => ({ ...entry, bytes: new Uint8Array(40_000) }));
  const apart = await open(makeZip(large).file);
  await apart.entries.extents(keys.slice(0, 5));
  assertEquals(apart.requests.slice(1), [30 + 3, 33, 33, 33, 33]);

  // Headers that are close to each other, in more bytes than one request should read.
  const wide = extra.slice(0, 80)
    .map((entry) => ({ ...entry, bytes: new Uint8Array(30_000) }));
  const parts = await open(makeZip(wide).file);
  await parts.entries.extents(keys.slice(0, 80));
  assertEquals(parts.requests.slice(1).length, 3);
  assert(Math.max(...parts.requests.slice(1)) <= 2 ** 20);
});

Deno.test("ZipEntries lists no folders and no keys that leave the root, and refuses long values on demand", async () => {
  const names = ["c/", "c/0", "c/0/", "/rooted", "../up", "a\\b", "d"];
  const { file } = makeZip(names.map((name) => ({ name, bytes: BYTES })));
  const { entries } = await open(file);
  assertEquals(await Array.fromAsync(entries.list()), ["/c/0", "/d"]);
  assertEquals(await Array.fromAsync(entries.list("/c")), ["/c/0"]);
  assertEquals(await entries.get("/d", { limit: 7 }), BYTES);
  await assertRejects(() => entries.get("/d", { limit: 6 }), SizeLimitError);
  assertEquals(String(entries), 'zip "/a.zip"');
});

Deno.test("ZipEntries refuses entries that are no inner chunks as they are, with the reason and a way out", async () => {
  const one = { name: "c/0", bytes: BYTES };
  const refused: [Partial<MadeEntry>[], string][] = [
    [
      [{ method: 8 }],
      'File "/a.zip" has the entry "c/0" compressed by deflate: unpack the file, and pack it by zip -0, since only bytes that are stored as they are can be inner chunks',
    ],
    [[{ method: 93 }], "compressed by method 93"],
    [[{ flags: 1 }], 'has the entry "c/0" encrypted: unpack'],
    [[{ flags: 1, method: 8 }], "encrypted"],
    [
      [{}, {}],
      'has the entry "c/0" twice: write the file again, with each entry once',
    ],
  ];
  for (const [entries, message] of refused) {
    const made = [
      ...entries.map((entry) => ({ ...one, ...entry })),
      { name: "other", bytes: BYTES },
    ];
    const opened = await open(makeZip(made).file);
    await assertRejects(
      () => opened.entries.extents(["/c/0"]),
      RangeError,
      message,
    );
    // Entries that nobody asks for may be anything.
    assertEquals((await opened.entries.get("/other"))?.length, 7);
  }
});

Deno.test("ZipEntries finds files that were cut, joined or damaged", async () => {
  const two: MadeEntry[] = [
    { name: "c/0", bytes: BYTES },
    { name: "c/1", bytes: BYTES },
  ];
  const whole = makeZip(two).file;
  const headerAt = 30 + 3 + 7;
  const cut = "does not end with the last record of a zip";
  const damaged: [string, Uint8Array, string][] = [
    ["no bytes", new Uint8Array(), cut],
    ["no zip", utf8("text".repeat(100)), cut],
    ["bytes after the zip", Uint8Array.of(...whole, 0), cut],
    [
      "bytes before the zip",
      Uint8Array.of(0, 0, 0, ...whole),
      "has 3 bytes before the zip, which its offsets do not count: remove them, or run zip -A",
    ],
    ["a start that is missing", whole.subarray(5), "it was cut"],
    [
      "a middle that is missing",
      Uint8Array.of(...whole.subarray(0, 20), ...whole.subarray(40)),
      "has a directory of 98 bytes from 80 on, where its last records start at 158: it was cut, or changed after it was written",
    ],
    [
      "another count",
      makeZip(two, { end: { count: 1, onDisk: 1 } }).file,
      "has 2 entries in its directory, where its last record says 1",
    ],
    [
      "a count of more entries than fit",
      makeZip(two, { end: { count: 3 } }).file,
      "has a directory of 98 bytes, which does not fit the 3 entries of its last record",
    ],
    [
      "a count of fewer entries than such a directory has",
      makeZip(two, { end: { count: 0 } }).file,
      "which does not fit the 0 entries",
    ],
    [
      "another count in zip64",
      makeZip(two, { end: { count: 1 }, isZip64: true }).file,
      "where its last record says 1",
    ],
    ["volumes", makeZip(two, { end: { disk: 1 } }).file, "one of several"],
    [
      "a volume with some entries",
      makeZip(two, { end: { onDisk: 1 } }).file,
      "one of several volumes",
    ],
    [
      "a volume with some entries in zip64",
      makeZip(two, { end: { onDisk: 1 }, isZip64: true }).file,
      "one of several volumes",
    ],
    [
      "volumes in zip64",
      makeZip(two, { end: { disk: 1 }, isZip64: true }).file,
      "one of several volumes",
    ],
    [
      "records of zip64 that are missing",
      makeZip(two, { end: { count: 0xffff } }).file,
      "lacks the records of zip64, which it refers to",
    ],
    [
      "a zip64 record elsewhere",
      Uint8Array.of(0, ...makeZip(two, { isZip64: true }).file),
      "has no record of zip64 at 178, where it should be",
    ],
    [
      "a comment like an end",
      makeZip(two, { comment: `PK\x05\x06${"\0".repeat(18)}` }).file,
      "has several records that could be the last one",
    ],
    [
      "a comment in an entry that reaches outside",
      changed(whole, 2 * headerAt + 32, 200),
      "has a directory that ends within an entry",
    ],
    [
      "no entry in the directory",
      changed(whole, 2 * headerAt, 0),
      "has no entry at byte 0 of its directory",
    ],
    [
      "entries that overlap",
      makeZip([
        { ...two[0]!, listed: { size: 8, storedSize: 8 } },
        two[1]!,
      ]).file,
      'has an entry "c/0" of 8 bytes at 0, which overlaps the entry "c/1" at 40',
    ],
    [
      "an entry that overlaps the directory",
      makeZip([two[0]!, { ...two[1]!, listed: { size: 8, storedSize: 8 } }])
        .file,
      'has an entry "c/1" of 8 bytes at 40, which overlaps the directory at 80',
    ],
    [
      "two entries at one place",
      makeZip([two[0]!, { ...two[1]!, listed: { offset: 0 } }]).file,
      "which overlaps the entry",
    ],
    [
      "an entry after the directory",
      makeZip([two[0]!, { ...two[1]!, listed: { offset: 1000 } }]).file,
      "which overlaps the directory at 80",
    ],
    [
      "a number above 2^53−1",
      makeZip([{ ...two[0]!, isZip64: true, listed: { size: 2 ** 53 } }]).file,
      "holds the offset or the size 9007199254740992, where 2^53−1 is the most",
    ],
    [
      "a number that zip64 lacks",
      makeZip([{ ...two[0]!, listed: { offset: 0xffffffff } }]).file,
      'lacks a number of zip64 for its entry "c/0"',
    ],
  ];
  for (const [what, file, message] of damaged) {
    const error = await assertRejects(() => open(file), DamageError);
    assert(
      error.message.startsWith('File "/a.zip"') &&
        error.message.includes(message),
      `${what}: ${error.message}`,
    );
    assertEquals(error.key, "/a.zip");
  }
});

Deno.test("ZipEntries reads no directory of more than 1 GiB", async () => {
  const length = 2 ** 30 + 1;
  const size = length + 22;
  let read = 0;
  const values: Parameters<typeof openZipFile>[0] = {
    size: () => Promise.resolve(size),
    read(_, range) {
      const bytes = new Uint8Array(
        "suffixLength" in range! ? range.suffixLength : range!.length,
      );
      read += bytes.length;
      const end = new DataView(bytes.buffer, bytes.length - 22);
      end.setUint32(0, 0x06054b50, true);
      for (const at of [8, 10]) end.setUint16(at, 60_000, true);
      end.setUint32(12, length, true);
      return Promise.resolve(bytes);
    },
  };
  const file = await openZipFile(values, "/a.zip");
  await assertRejects(
    () => ZipEntries.open(file!),
    DamageError,
    "has a directory of 1073741825 bytes, more than the 1073741824 that can be read",
  );
  assert(read < 2 ** 20);
});

Deno.test("ZipEntries finds local headers that contradict the directory", async () => {
  const entry = { name: "c/0", bytes: BYTES, localExtra: 8 };
  const { file } = makeZip([entry]);
  const damaged: [string, Uint8Array][] = [
    ["the signature", changed(file, 1, 0)],
    ["the method", changed(file, 8, 8)],
    ["the length of the name", changed(file, 26, 2)],
    ["the name", makeZip([{ ...entry, localName: "c/1" }]).file],
    ["an extra field that is longer than its room", changed(file, 28, 9)],
  ];
  for (const [what, changedFile] of damaged) {
    const { entries } = await open(changedFile);
    await assertRejects(
      () => entries.extents(["/c/0"]),
      DamageError,
      'File "/a.zip" has no header of the entry "c/0" at 0, the offset in its directory',
      what,
    );
  }
  const { entries } = await open(
    makeZip([{ name: "c/0", bytes: BYTES, listed: { size: 8 } }]).file,
  );
  await assertRejects(
    () => entries.extents(["/c/0"]),
    DamageError,
    'has an entry "c/0" that is stored as it is, with 7 bytes of 8',
  );
});

function changed(bytes: Uint8Array, at: number, byte: number): Uint8Array {
  return bytes.with(at, byte);
}

Deno.test("ZipEntries gives extents that lie in the file and do not overlap, or an error about damage, for any bytes", async () => {
  const made = Array.from({ length: 4 }, (_, i) => ({
    name: `c/${i}`,
    bytes: new Uint8Array(i * 3).fill(7),
    localExtra: i % 2 * 9,
    isZip64: i === 3,
    hasDescriptor: i === 1,
  }));
  const zips = [false, true].map((isZip64) => makeZip(made, { isZip64 }).file);
  const change = fc.record({
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    byte: fc.constantFrom(0, 1, 8, 0x7f, 0x80, 0xff, 0x50),
    removed: fc.constantFrom(0, 0, 0, 1, 7),
  });
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...zips),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async (file, changes) => {
        let bytes = file;
        for (const { at, byte, removed } of changes) {
          const place = Math.floor(at * bytes.length);
          bytes = bytes.with(place, byte);
          bytes = Uint8Array.of(
            ...bytes.subarray(0, place),
            ...bytes.subarray(place + removed),
          );
        }
        try {
          const { entries } = await open(bytes);
          const keys = await Array.fromAsync(entries.list());
          const extents = await entries.extents(keys);
          const inOrder = extents.map((extent) => extent!)
            .sort((a, b) => a.offset - b.offset);
          inOrder.reduce((end, { offset, length }) => {
            assert(offset >= end + 30 && offset + length <= bytes.length);
            return offset + length;
          }, 0);
        } catch (error) {
          // Others, such as those of DataView, would be mistakes of the parser.
          const isExpected = (error instanceof DamageError ||
            error instanceof RangeError) &&
            error.message.startsWith('File "/a.zip"');
          if (!isExpected) throw error;
          refused++;
        }
      },
    ),
    { numRuns: runs(3000) },
  );
  assert(refused > runs(500), `${refused} were refused`);
});
