import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  arrayMetadata,
  type ArrayMetadataOptions,
  DefaultChunkKeyEncoding,
  encodeShard,
  encodeShardIndex,
  MetadataError,
  parseShardLayout,
  shardIndexSize,
  V2ChunkKeyEncoding,
} from "../../mod.ts";
import { zipContainer, type ZipOptions } from "../../zip.ts";
import { slowCoordinates } from "../shards/slow_shard.ts";
import { utf8 } from "../support/documents.ts";
import { parseSlowZip, type SlowZip } from "./slow_zip.ts";
import { runs, stride } from "../support/runs.ts";

const OPTIONS = {
  shape: [10, 7],
  dataType: "uint16",
  shardShape: [6, 6],
  chunkShape: [2, 3],
} as const;
const SIDECAR = { parts: ["", ".index"] } as const;

type Chunk = Uint8Array | undefined;

/** Encodes a shard as a zip, and returns what the slow parser finds, with the index. */
function zipOf(
  chunks: readonly Chunk[],
  { array = {}, shard = [0, 0], alignment = 1, ...options }: ZipOptions & {
    array?: Partial<ArrayMetadataOptions>;
    shard?: readonly number[];
    alignment?: number;
  } = {},
) {
  const metadata = arrayMetadata({ ...OPTIONS, ...array });
  const shardShape = array.shardShape ?? OPTIONS.shardShape;
  const layout = parseShardLayout(metadata.codecs[0], shardShape);
  const container = zipContainer(metadata, options)(shard);
  const bytes = encodeShard(chunks, layout, { container, alignment });
  const index = bytes.subarray(bytes.length - shardIndexSize(layout));
  const isBeside = array.parts !== undefined;
  const file = isBeside
    ? bytes.subarray(0, bytes.length - index.length)
    : bytes;
  return { file, index, layout, zip: parseSlowZip(file) };
}

/** Six inner chunks of two bytes, of which the third is absent. */
const CHUNKS: readonly Chunk[] = Array.from(
  { length: 6 },
  (_, i) => i === 2 ? undefined : new Uint8Array([i, 7]),
);

function namesOf({ entries }: SlowZip): string[] {
  return entries.map(({ name }) => name);
}

Deno.test("zipContainer stores each inner chunk as an entry, in any layout, and the index as comment or apart", () => {
  const chunk = fc.option(fc.uint8Array({ maxLength: 40 }), {
    nil: undefined,
    freq: 4,
  });
  const lengths = fc.array(fc.integer({ min: 1, max: 4 }), {
    maxLength: 4,
  });
  const named = fc.constantFrom<ZipOptions["names"]>(
    undefined,
    "v2",
    { name: "default", configuration: { separator: "." } },
    { name: "suffix", configuration: { suffix: ".bin" } },
    new DefaultChunkKeyEncoding("."),
    (coordinates) => `Größe ${coordinates.join("-")}/x`,
  );
  fc.assert(
    fc.property(
      lengths.chain((counts) =>
        fc.record({
          counts: fc.constant(counts),
          chunks: fc.array(chunk, {
            minLength: counts.reduce((product, n) => product * n, 1),
            maxLength: counts.reduce((product, n) => product * n, 1),
          }),
        })
      ),
      named,
      fc.constantFrom(undefined, "first" as const, "last" as const),
      fc.boolean(),
      fc.constantFrom(1, 2, 64),
      fc.constantFrom([], ["crc32c"]),
      ({ counts, chunks }, names, zarrJson, isBeside, alignment, codecs) => {
        const isFunction = typeof names === "function";
        const { zip, index, layout } = zipOf(chunks, {
          names,
          zarrJson: isFunction ? undefined : zarrJson,
          alignment,
          shard: counts.map(() => 0),
          array: {
            shape: counts,
            shardShape: counts,
            chunkShape: counts.map(() => 1),
            indexCodecs: codecs,
            ...isBeside && SIDECAR,
          },
        });
        const nameOf = (c: readonly number[]): string =>
          isFunction
            ? names(c)
            : names === "v2"
            ? (c.length === 0 ? "0" : c.join("."))
            : typeof names === "object" && "configuration" in names &&
                names.name === "suffix"
            ? [["c", ...c].join("/"), ".bin"].join("")
            : ["c", ...c].join(names === undefined ? "/" : ".");
        const expected = slowCoordinates(counts).flatMap((coordinates, place) =>
          chunks[place] === undefined
            ? []
            : [{ place, name: nameOf(coordinates), bytes: chunks[place] }]
        );
        const entries = [...zip.entries];
        if (!isFunction && zarrJson !== undefined) {
          const json = zarrJson === "first" ? entries.shift() : entries.pop();
          assertEquals(json!.name, "zarr.json");
        }
        assertEquals(
          entries.map(({ name, bytes }) => ({ name, bytes })),
          expected.map(({ name, bytes }) => ({ name, bytes })),
        );
        assertEquals(zip.comment, isBeside ? new Uint8Array() : index);
        const places = entries.map(({ offset, bytes }, i) => {
          assertEquals(offset % alignment, 0);
          return [
            expected[i]!.place,
            { offset, length: bytes.length },
          ] as const;
        });
        const byPlace = new Map(places);
        assertEquals(
          encodeShardIndex(chunks.map((_, i) => byPlace.get(i)), layout),
          index,
        );
      },
    ),
    { numRuns: runs(300) },
  );
});

Deno.test("zipContainer makes the same file every time, of 1980 unless a time is given", () => {
  const { file, zip } = zipOf(CHUNKS);
  assertEquals(zipOf(CHUNKS).file, file);
  assertEquals(zip.entries[0]!.modified, 0x00210000);
  const cases: [time: string, date: number, clock: number][] = [
    ["1980-01-01T00:00:00Z", 1 << 5 | 1, 0],
    [
      "2026-11-22T05:43:25Z",
      46 << 9 | 11 << 5 | 22,
      5 << 11 | 43 << 5 | 12,
    ],
    ["2107-12-31T23:59:59Z", 0xff9f, 0xbf7d],
  ];
  for (const [time, date, clock] of cases) {
    const { zip } = zipOf(CHUNKS, { modified: new Date(time) });
    for (const { modified } of zip.entries) {
      assertEquals(modified, date * 2 ** 16 + clock);
    }
  }
});

Deno.test("the zarr.json of zipContainer describes the shard alone, and ends where the array ends", () => {
  const shards: [number[], number[]][] = [
    [[0, 0], [6, 6]],
    [[0, 1], [6, 1]],
    [[1, 0], [4, 6]],
    [[1, 1], [4, 1]],
  ];
  for (const [shard, shape] of shards) {
    const { zip } = zipOf(CHUNKS, {
      shard,
      zarrJson: "first",
      names: new V2ChunkKeyEncoding("/"),
      array: {
        ...SIDECAR,
        codecs: ["zstd"],
        fillValue: 9,
        suffix: ".zip",
        dimensionNames: ["y", null],
        attributes: { unit: "m" },
      },
    });
    assertEquals(namesOf(zip), [
      "zarr.json",
      "0/0",
      "0/1",
      "1/1",
      "2/0",
      "2/1",
    ]);
    const document = JSON.parse(
      new TextDecoder().decode(zip.entries[0]!.bytes),
    );
    assertEquals(document, {
      zarr_format: 3,
      node_type: "array",
      shape,
      data_type: "uint16",
      chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 3] } },
      chunk_key_encoding: { name: "v2", configuration: { separator: "/" } },
      fill_value: 9,
      codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        { name: "zstd", configuration: { level: 0, checksum: false } },
      ],
      attributes: { unit: "m" },
      dimension_names: ["y", null],
    });
  }
});

Deno.test("zipContainer makes a zip of shards without inner chunks, and of shards inside shards", () => {
  const none = Array<undefined>(6).fill(undefined);
  assertEquals(zipOf(none, { array: SIDECAR }).file.length, 22);
  assertEquals(namesOf(zipOf(none, { zarrJson: "last" }).zip), ["zarr.json"]);

  const { codecs: [sharding] } = arrayMetadata({
    ...OPTIONS,
    shardShape: [2, 3],
    chunkShape: [1, 1],
  });
  const metadata = structuredClone(arrayMetadata(OPTIONS));
  const [outer] = metadata.codecs as unknown as [
    { configuration: { codecs: unknown[] } },
  ];
  outer.configuration.codecs = [sharding];
  const container = zipContainer(metadata, { zarrJson: "last" })([0, 0]);
  const layout = parseShardLayout(outer, [6, 6]);
  const { entries } = parseSlowZip(encodeShard(CHUNKS, layout, { container }));
  const document = JSON.parse(
    new TextDecoder().decode(entries.at(-1)!.bytes),
  );
  assertEquals(document.codecs, [sharding]);
});

Deno.test("zipContainer refuses arrays whose shards cannot be zip files, with the reason and a way out", () => {
  const of = (changes: Partial<ArrayMetadataOptions>) =>
    arrayMetadata({ ...OPTIONS, ...changes });
  const most = { dataType: "uint8", chunkShape: [1] } as const;
  const refused: [unknown, string][] = [
    [
      arrayMetadata({ ...OPTIONS, shardShape: undefined }),
      "the entries of a zip are the inner chunks of a shard",
    ],
    [of({ indexLocation: "start" }), 'set index_location to "end"'],
    [
      of({ parts: [".header:64", "", ".index"] }),
      'index of 100 bytes, found [".header:64", "", ".index:100"]: for example',
    ],
    [
      arrayMetadata({ ...most, shape: [4096], shardShape: [4096] }),
      "at most 65535 bytes, as it is the comment of the zip, found 65540 bytes",
    ],
  ];
  for (const [metadata, message] of refused) {
    assertThrows(() => zipContainer(metadata as never), RangeError, message);
  }
  // One inner chunk less fits, and the index may be in a part of its own.
  zipContainer(arrayMetadata({ ...most, shape: [9], shardShape: [4095] }));
  zipContainer(
    arrayMetadata({ ...most, ...SIDECAR, shape: [9], shardShape: [4096] }),
  );
  assertThrows(() => zipContainer({} as never), MetadataError);
  assertThrows(
    () => zipContainer(of({}), { names: "v4" }),
    MetadataError,
    'Unknown chunk key encoding "v4"',
  );
  assertThrows(
    () =>
      zipContainer(of({}), {
        zarrJson: "first",
        names: { name: "template", configuration: { format: "{0}.bin" } },
      }),
    MetadataError,
    "has no placeholder for dimension 1",
  );
});

Deno.test("zipContainer refuses options that are unknown, of a wrong type or out of range", () => {
  const metadata = arrayMetadata(OPTIONS);
  const wrong: [unknown, string][] = [
    [null, "Expected the options of zipContainer as an object, found null"],
    [{ name: "v2" }, 'Unknown option "name" of zipContainer; expected "names"'],
    [{ names: 1 }, 'Expected the option "names" to be a chunk key encoding'],
    [{ names: null }, "found null"],
    [{ zarrJson: true }, '"zarrJson" to be "first" or "last", found true'],
    [{ zarrJson: "first", names: () => "a" }, 'a function beside "zarrJson"'],
    [{ modified: 0 }, '"modified" to be a Date, found 0'],
  ];
  for (const [options, message] of wrong) {
    assertThrows(
      () => zipContainer(metadata, options as ZipOptions),
      TypeError,
      message,
    );
  }
  const times = [
    ["1979-12-31T23:59:59Z", "found 1979-12-31T23:59:59.000Z"],
    ["2108-01-01T00:00:00Z", "found 2108-01-01T00:00:00.000Z"],
    ["?", "found an invalid date"],
  ] as const;
  for (const [time, message] of times) {
    const options = { modified: new Date(time) };
    assertThrows(() => zipContainer(metadata, options), RangeError, message);
  }
});

Deno.test("the containers of zipContainer are those of shards in the chunk grid", () => {
  const containerOf = zipContainer(arrayMetadata(OPTIONS));
  for (const shard of [[2, 0], [0, 2], [-1, 0], [0.5, 0], [0], [0, 0, 0]]) {
    assertThrows(
      () => containerOf(shard),
      RangeError,
      "in a chunk grid of [2, 2]",
    );
  }
});

Deno.test("the containers of zipContainer refuse names that entries cannot have, or that two would have", () => {
  const refused: [(chunk: readonly number[]) => unknown, string][] = [
    [() => "same", 'found "same" for [0, 0] and [0, 1]'],
    [() => "", 'The name "" of inner chunk [0, 0] holds an empty segment'],
    [() => "/a", "holds an empty segment"],
    [() => "a/../b", 'holds the segment ".."'],
    [() => "a\\b", "holds a backslash"],
    [() => "a\0", "holds a control character (U+0000)"],
    [() => "zarr.json", "is that of a metadata document"],
    [([, x]) => "é".repeat(32768) + x, "takes 65537 bytes, of at most 65535"],
  ];
  for (const [names, message] of refused) {
    assertThrows(
      () => zipOf(CHUNKS, { names: names as never }),
      RangeError,
      message,
    );
  }
  assertThrows(
    () => zipOf(CHUNKS, { names: (() => 7) as never }),
    TypeError,
    "Expected a name for inner chunk [0, 0], found 7",
  );
  // The longest name. An absent chunk has none.
  const longest = zipOf([...CHUNKS.slice(2, 4), ...Array(4)], {
    names: () => "a".repeat(65535),
  });
  assertEquals(longest.zip.entries[0]!.name.length, 65535);
});

Deno.test("zipContainer refuses an index as comment that holds the mark of the end of a zip", () => {
  // The mark as a number in little endian: the length of an inner chunk.
  const long = new Uint8Array(0x06054b50);
  const chunks = [long, ...Array<undefined>(5).fill(undefined)];
  const message =
    "The index of shard [0, 0] holds the bytes that mark the end of a zip, so it cannot be the comment of the zip";
  assertThrows(() => zipOf(chunks), RangeError, message);
  const metadata = arrayMetadata({ ...OPTIONS, ...SIDECAR });
  const layout = parseShardLayout(metadata.codecs[0], [6, 6]);
  const container = zipContainer(metadata)([0, 0]);
  assert(encodeShard(chunks, layout, { container }).length > long.length);
  // The end of central directory, too, is searched for the mark.
  const at = (offset: number) => {
    const container = zipContainer(arrayMetadata(OPTIONS))([0, 0]);
    container.before!(0, utf8("a"));
    const index = [{ offset: 35, length: 1 }, ...Array(5).fill(undefined)];
    return container.tail!(index, offset);
  };
  at(0x06054b4f);
  assertThrows(() => at(0x06054b50), RangeError, message);
});

// So many entries take seconds.
if (stride(2) === 1) {
  Deno.test("zipContainer writes zip64 from 65,535 entries on", () => {
    for (const count of [65_534, 65_535]) {
      const chunks = Array.from({ length: count }, () => new Uint8Array());
      const array = {
        ...SIDECAR,
        shape: [count],
        shardShape: [count],
        chunkShape: [1],
      };
      const { file, zip } = zipOf(chunks, { array, shard: [0] });
      assertEquals(zip.entries.length, count);
      const locator = new TextDecoder("latin1").decode(file.subarray(-42, -38));
      assertEquals(locator === "PK\x06\x07", count >= 65_535);
    }
  });
}
