import {
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import {
  type ChunkKeyEncoding,
  ChunkKeyError,
  DefaultChunkKeyEncoding,
  FanoutChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  TemplateChunkKeyEncoding,
  V2ChunkKeyEncoding,
} from "../../mod.ts";

const MAX = Number.MAX_SAFE_INTEGER;
const slashed = new DefaultChunkKeyEncoding();
const dotted = new DefaultChunkKeyEncoding(".");
const v2 = new V2ChunkKeyEncoding();
const v2Slashed = new V2ChunkKeyEncoding("/");
const fanout = new FanoutChunkKeyEncoding();
const tiff = new SuffixChunkKeyEncoding(".tiff");
const zip = new SuffixChunkKeyEncoding(".shard.zip", v2);
const all: ChunkKeyEncoding[] = [slashed, dotted, v2, v2Slashed, fanout, tiff];

function suffixed(suffix: string, base?: ChunkKeyEncoding) {
  return new SuffixChunkKeyEncoding(suffix, base);
}

/** A custom encoding: the text is the key of the chunk []. */
function fixed(text: string): ChunkKeyEncoding {
  return {
    name: "fixed",
    encode: () => text,
    decode(key) {
      if (key !== text) throw new ChunkKeyError(key, `is not ${text}`);
      return [];
    },
    toJSON: () => ({ name: "fixed" }),
  };
}

const KEYS: [ChunkKeyEncoding, number[], string][] = [
  // The examples of the specifications.
  [slashed, [1, 23, 45], "c/1/23/45"],
  [dotted, [1, 23, 45], "c.1.23.45"],
  [slashed, [], "c"],
  [dotted, [], "c"],
  [v2, [1, 23, 45], "1.23.45"],
  [v2Slashed, [1, 23, 45], "1/23/45"],
  [v2, [0], "0"],
  [tiff, [1, 2], "c/1/2.tiff"],
  [tiff, [], "c.tiff"],
  [zip, [1, 2], "1.2.shard.zip"],
  [fanout, [], "c"],
  [fanout, [0], "c/0/000"],
  [fanout, [12], "c/0/012"],
  [fanout, [1234567], "c/2/001/234/567"],
  [
    fanout,
    [1234, 5, 0, 6789012],
    "c/1/001/234/0/005/0/000/2/006/789/012",
  ],
  // Powers of the number of entries in a folder.
  [new FanoutChunkKeyEncoding(100), [99], "c/0/99"],
  [new FanoutChunkKeyEncoding(100), [100], "c/1/01/00"],
  [new FanoutChunkKeyEncoding(100), [10000], "c/2/01/00/00"],
  [new FanoutChunkKeyEncoding(100), [MAX], "c/7/90/07/19/92/54/74/09/91"],
  [fanout, [999], "c/0/999"],
  [fanout, [1000], "c/1/001/000"],
  [fanout, [MAX], "c/5/009/007/199/254/740/991"],
  [new FanoutChunkKeyEncoding(MAX), [0], "c/0/000000000000000"],
  // Suffixes that look like coordinates or separators.
  [suffixed("0", v2), [1, 2], "1.20"],
  [suffixed(".5", v2), [1, 2], "1.2.5"],
  [suffixed("/7"), [1, 2], "c/1/2/7"],
  [suffixed("/c/0", dotted), [1, 2], "c.1.2/c/0"],
  [suffixed("..", v2Slashed), [1, 2], "1/2.."],
  [suffixed("/..."), [1, 2], "c/1/2/..."],
  [suffixed("-é-💾"), [1, 2], "c/1/2-é-💾"],
  [suffixed("zarr.json"), [1, 2], "c/1/2zarr.json"],
  [suffixed("/zarr.json/x"), [1, 2], "c/1/2/zarr.json/x"],
  [suffixed("__proto__", v2), [1, 2], "1.2__proto__"],
  [suffixed(""), [1, 2], "c/1/2"],
  [suffixed(".gz", zip), [1, 2], "1.2.shard.zip.gz"],
  [suffixed(".gz", fanout), [1234], "c/1/001/234.gz"],
  [suffixed(".x", fixed("a")), [], "a.x"],
  [
    suffixed("0.tif", new TemplateChunkKeyEncoding("x{0}")),
    [1],
    "x10.tif",
  ],
  // Many dimensions.
  [dotted, Array(1000).fill(7), `c${".7".repeat(1000)}`],
];

Deno.test("ChunkKeyEncoding encodes and decodes the keys of chunks", () => {
  for (const [encoding, chunk, key] of KEYS) {
    assertStrictEquals(encoding.encode(chunk), key);
    assertEquals(encoding.decode(key), chunk);
    assertEquals(encoding.decode(key, chunk.length), chunk);
  }
  for (const encoding of [...all, zip]) {
    assertStrictEquals(encoding.encode([-0]), encoding.encode([0]));
    const key = encoding.encode([1, 2]);
    for (const rank of [0, 1, 3]) {
      const decode = () => encoding.decode(key, rank);
      const error = assertThrows(decode, ChunkKeyError, "has rank 2");
      assertStrictEquals(error.key, key);
    }
  }
});

Deno.test("V2ChunkKeyEncoding.decode uses the rank to distinguish the chunk of no dimensions from chunk 0", () => {
  for (const encoding of [v2, v2Slashed]) {
    assertStrictEquals(encoding.encode([]), "0");
    assertEquals(encoding.decode("0"), [0]);
    assertEquals(encoding.decode("0", 0), []);
    assertEquals(encoding.decode("0", 1), [0]);
    for (const key of ["1", "0.0", "0/0", "", "00"]) {
      assertThrows(() => encoding.decode(key, 0), ChunkKeyError);
    }
  }
  assertEquals(zip.decode("0.shard.zip"), [0]);
  assertEquals(zip.decode("0.shard.zip", 0), []);
  assertEquals(suffixed(".gz", zip).decode("0.shard.zip.gz", 0), []);
});

Deno.test("ChunkKeyEncoding.encode rejects what is not a list of whole numbers from 0 to 2^53-1", () => {
  for (const encoding of all) {
    for (
      const number of [-1, 0.5, 1 - 2 ** -53, NaN, Infinity, -Infinity]
        .concat([-MAX, MAX + 1, 1e21, Number.MIN_VALUE])
    ) {
      assertThrows(() => encoding.encode([number]), RangeError, "dimension 0");
      assertThrows(
        () => encoding.encode([0, number]),
        RangeError,
        "dimension 1",
      );
    }
    for (
      const wrong of ["1", "/../x", 1n, null, undefined, true, [1]]
        .concat([new Number(1), { valueOf: () => 1 }] as never) as never[]
    ) {
      assertThrows(() => encoding.encode([wrong]), TypeError, "dimension 0");
    }
    // deno-lint-ignore no-sparse-arrays
    assertThrows(() => encoding.encode([0, , 1] as number[]), TypeError);
    for (
      const wrong of [undefined, null, "12", 1, { length: 1, 0: 1 }, new Set()]
    ) {
      assertThrows(() => encoding.encode(wrong as never), TypeError, "a list");
    }
  }
});

Deno.test("ChunkKeyEncoding.decode rejects invalid ranks and values other than strings", () => {
  for (const encoding of all) {
    const key = encoding.encode([1]);
    for (const rank of [-1, 0.5, NaN, Infinity, MAX + 1]) {
      assertThrows(() => encoding.decode(key, rank), RangeError, "the rank");
    }
    for (const rank of ["1", 1n, null, {}] as never[]) {
      assertThrows(() => encoding.decode(key, rank), TypeError, "the rank");
    }
    for (const wrong of [5, undefined, null, ["c"], new String("c")]) {
      assertThrows(() => encoding.decode(wrong as never), TypeError, "a chunk");
    }
  }
  slashed.decode("c").push(1);
  assertEquals(slashed.decode("c"), []); // A new list each time.
});

Deno.test("chunk key encodings reject arguments of other types and values", () => {
  for (const Encoding of [DefaultChunkKeyEncoding, V2ChunkKeyEncoding]) {
    for (const separator of ["", "|", "//", "\\", "c", "0"]) {
      assertThrows(() => new Encoding(separator as "/"), RangeError);
    }
    for (const separator of [null, 1, {}, ["/"]]) {
      assertThrows(() => new Encoding(separator as never), TypeError);
    }
  }
  for (const suffix of [undefined, null, 1, [".tiff"], {}]) {
    assertThrows(() => suffixed(suffix as never), TypeError);
  }
  for (const base of ["v2", null, { name: "v2" }, 1]) {
    assertThrows(() => suffixed(".x", base as never), TypeError);
  }
  suffixed("x".repeat(1024));
  assertThrows(() => suffixed("x".repeat(1025)), RangeError);
  for (const maxChildren of [99, 0, -1000, 100.5, MAX + 1, NaN]) {
    assertThrows(() => new FanoutChunkKeyEncoding(maxChildren), RangeError);
  }
  for (const maxChildren of ["1000", null, []] as never[]) {
    assertThrows(() => new FanoutChunkKeyEncoding(maxChildren), TypeError);
  }
});

Deno.test("SuffixChunkKeyEncoding rejects suffixes that make unsafe keys, alone and together", () => {
  for (
    const suffix of ["/", "//x", "a//b", "x/", "/.", "/./x", "/..", "/../x"]
      .concat(["/../../../etc/passwd", "x/..", "\\x", "\\..\\x", "\u0000"])
      .concat(["\n", "\u001f", "\u007f", "\u0085", "\ud800", "x\udfff"])
      .concat(["/zarr.json", "/x/zarr.json", "/.zarray", "/.zgroup"])
      .concat(["/.zattrs", "/.zmetadata"])
  ) {
    for (const base of [undefined, v2Slashed, fixed("a")]) {
      assertThrows(() => suffixed(suffix, base), RangeError, "cannot be used");
    }
  }
  for (
    const [inner, outer] of [["/zarr", ".json"], ["/x", "/zarr.json"]]
      .concat([["/...", "/"], ["/.zarr", "ay"]]) as [string, string][]
  ) {
    for (const innermost of [undefined, fixed("a")]) {
      const base = suffixed(inner, innermost);
      assertThrows(() => suffixed(outer, base), RangeError, "cannot be used");
    }
  }
  const three = suffixed(".jso", suffixed("/zarr"));
  assertThrows(() => suffixed("n", three), RangeError, "cannot be used");
});

Deno.test("SuffixChunkKeyEncoding checks every key of a custom base encoding", () => {
  for (
    const [encoding, key] of [
      [suffixed(".json", fixed("zarr")), "zarr.json"],
      [suffixed("n", suffixed(".jso", fixed("zarr"))), "zarr.json"],
      [suffixed(".", fixed(".")), ".."],
      [suffixed(".json", new TemplateChunkKeyEncoding("{0}/zarr")), ""],
    ] as const
  ) {
    assertThrows(() => encoding.encode([0]), RangeError, "expected names");
    if (key === "") continue;
    const error = assertThrows(() => encoding.decode(key), ChunkKeyError);
    assertStrictEquals(error.key, key);
  }
  assertStrictEquals(suffixed(".tiff", fixed("zarr")).encode([]), "zarr.tiff");
});

Deno.test("ChunkKeyError has the whole key, also where the message shortens it", () => {
  const key = `c/${"1/".repeat(1000)}`;
  const error = assertThrows(() => slashed.decode(key), ChunkKeyError);
  assertInstanceOf(error, SyntaxError);
  assertEquals([error.name, error.key], ["ChunkKeyError", key]);
  assertEquals(error.message.length < 400, true);
});

const WHOLE = "a whole number from 0 to 9007199254740991";

Deno.test("the errors of chunk key encodings say what was wrong and what would be right", () => {
  const template = new TemplateChunkKeyEncoding("{*}.x", "_");
  const pair = new TemplateChunkKeyEncoding("{0:02}{1:03}");
  for (
    const [run, message] of [
      [
        () => slashed.encode([0, -1]),
        `Expected the coordinate of dimension 1 to be ${WHOLE}, found -1`,
      ],
      [
        () => slashed.encode("12" as never),
        'Expected a list of coordinates, found "12"',
      ],
      [
        () => slashed.decode("c/01"),
        `Chunk key "c/01" is not a key of the "default" encoding: expected "c", and for each dimension "/" and ${WHOLE} without leading zeros`,
      ],
      [
        () => slashed.decode("c/1/2", 3),
        'Chunk key "c/1/2" has rank 2, expected rank 3',
      ],
      [
        () => slashed.decode("c", -1),
        `Expected the rank to be ${WHOLE}, found -1`,
      ],
      [() => slashed.decode(5 as never), "Expected a chunk key, found 5"],
      [
        () => new DefaultChunkKeyEncoding("-" as "/"),
        'Expected the separator "/" or ".", found "-"',
      ],
      [
        () => suffixed(".gz", zip).decode("1.02.shard.zip.gz"),
        `Chunk key "1.02.shard.zip.gz" is not a key of the "v2" encoding: expected for each dimension ${WHOLE} without leading zeros, and "." between them (before the suffix ".shard.zip") (before the suffix ".gz")`,
      ],
      [
        () => zip.decode("1.2"),
        'Chunk key "1.2" does not end with the suffix ".shard.zip"',
      ],
      [
        () => suffixed("/../x"),
        'Suffix "/../x" cannot be used, since a key that ends in "0/../x" holds the segment ".."; expected a suffix such as ".tiff"',
      ],
      [
        () => suffixed(".json", fixed("zarr")).encode([]),
        'Chunk key "zarr.json" is that of a metadata document; expected names joined by "/"',
      ],
      [
        () => new FanoutChunkKeyEncoding(99),
        "Expected the greatest number of entries in a folder to be a whole number from 100 to 9007199254740991, found 99",
      ],
      [
        () => fanout.decode("c/0"),
        'Chunk key "c/0" is not a key of the "fanout" encoding: expected "c", and for each dimension the number of names minus one, and names of 3 digits, as few as possible',
      ],
      [
        () => template.decode("1"),
        'Chunk key "1" is not a key of the format "{*}.x" with the separator "_"',
      ],
      [
        () => pair.encode([100, 999]),
        "Expected the coordinate of dimension 0 to fit into {0:02}, which stands beside another placeholder, found 100",
      ],
      [
        () => new TemplateChunkKeyEncoding("{0*-1+47}").encode([48]),
        `Expected the coordinate of dimension 0 to have ${WHOLE} by {0*-1+47}, found 48, which has -1`,
      ],
      [
        () => new TemplateChunkKeyEncoding("{0}").encode([1, 2]),
        'Format "{0}" has no placeholder for dimension 1, where the only coordinate is 0 then, found 2; expected a placeholder for each dimension with several chunks, such as "{1}"',
      ],
      [
        () => new TemplateChunkKeyEncoding("{0}{1}"),
        'Format "{0}{1}" could give two chunks one key, since {1} follows other digits directly; expected a character other than a digit before it, or widths such as "{0:04}"',
      ],
      [
        () => new TemplateChunkKeyEncoding("{0}/"),
        'Format "{0}/" cannot be used, since the key "0/" holds an empty segment',
      ],
    ] as [() => unknown, string][]
  ) assertStrictEquals(assertThrows(run, Error).message, message);
});
