import {
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import type { ChunkKeyEncoding } from "../../src/chunk_key_encoding/chunk_key_encoding.ts";
import { DefaultChunkKeyEncoding } from "../../src/chunk_key_encoding/default_chunk_key_encoding.ts";
import { SuffixChunkKeyEncoding } from "../../src/chunk_key_encoding/suffix_chunk_key_encoding.ts";
import { V2ChunkKeyEncoding } from "../../src/chunk_key_encoding/v2_chunk_key_encoding.ts";
import { ChunkKeyError } from "../../src/errors/metadata_error.ts";

const tiff = new SuffixChunkKeyEncoding(".tiff");
const zip = new SuffixChunkKeyEncoding(".shard.zip", new V2ChunkKeyEncoding());

/** A custom encoding: any text is the key of the chunk []. */
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

Deno.test("SuffixChunkKeyEncoding encodes and decodes the examples of the proposal", () => {
  assertStrictEquals(tiff.encode([1, 2]), "c/1/2.tiff");
  assertStrictEquals(zip.encode([1, 2]), "1.2.shard.zip");
  assertEquals(tiff.decode("c/1/2.tiff"), [1, 2]);
  assertEquals(zip.decode("1.2.shard.zip"), [1, 2]);
  assertStrictEquals(tiff.encode([]), "c.tiff");
  assertEquals(tiff.decode("c.tiff"), []);
});

Deno.test("SuffixChunkKeyEncoding passes the rank to its base encoding", () => {
  assertEquals(zip.decode("0.shard.zip"), [0]);
  assertEquals(zip.decode("0.shard.zip", 0), []);
  assertEquals(zip.decode("0.shard.zip", 1), [0]);
  assertStrictEquals(
    assertThrows(() => zip.decode("0.shard.zip", 2), ChunkKeyError).message,
    'Chunk key "0.shard.zip" has rank 1, expected rank 2 (before the suffix ".shard.zip")',
  );
  assertThrows(() => tiff.decode("c/1.tiff", -1), RangeError, "the rank");
});

Deno.test("SuffixChunkKeyEncoding accepts suffixes that look like coordinates or separators", () => {
  for (
    const [suffix, base, key] of [
      ["0", new V2ChunkKeyEncoding(), "1.20"],
      [".5", new V2ChunkKeyEncoding(), "1.2.5"],
      ["/7", new DefaultChunkKeyEncoding(), "c/1/2/7"],
      ["/c/0", new DefaultChunkKeyEncoding("."), "c.1.2/c/0"],
      [".", new V2ChunkKeyEncoding(), "1.2."],
      ["..", new V2ChunkKeyEncoding("/"), "1/2.."],
      [" ", new DefaultChunkKeyEncoding(), "c/1/2 "],
      ["/...", new DefaultChunkKeyEncoding(), "c/1/2/..."],
      ["/a/b.tif", new DefaultChunkKeyEncoding(), "c/1/2/a/b.tif"],
      ["-é-💾", new DefaultChunkKeyEncoding(), "c/1/2-é-💾"],
      ["zarr.json", new DefaultChunkKeyEncoding(), "c/1/2zarr.json"],
      ["/xzarr.json", new DefaultChunkKeyEncoding(), "c/1/2/xzarr.json"],
      ["/zarr.json/x", new DefaultChunkKeyEncoding(), "c/1/2/zarr.json/x"],
      [".zarray", new V2ChunkKeyEncoding(), "1.2.zarray"],
      ["__proto__", new V2ChunkKeyEncoding(), "1.2__proto__"],
    ] as const
  ) {
    const encoding = new SuffixChunkKeyEncoding(suffix, base);
    assertStrictEquals(encoding.encode([1, 2]), key);
    assertEquals(encoding.decode(key), [1, 2]);
  }
});

Deno.test("SuffixChunkKeyEncoding accepts an empty suffix", () => {
  const plain = new SuffixChunkKeyEncoding("");
  assertStrictEquals(plain.encode([1, 2]), "c/1/2");
  assertEquals(plain.decode("c/1/2"), [1, 2]);
  assertThrows(() => plain.decode("c/01"), ChunkKeyError, '"c/01"');
});

Deno.test("SuffixChunkKeyEncoding nests", () => {
  const nested = new SuffixChunkKeyEncoding(".gz", zip);
  assertStrictEquals(nested.encode([1, 2]), "1.2.shard.zip.gz");
  assertEquals(nested.decode("1.2.shard.zip.gz", 2), [1, 2]);
  assertEquals(nested.decode("0.shard.zip.gz", 0), []);
  const error = assertThrows(
    () => nested.decode("1.02.shard.zip.gz"),
    ChunkKeyError,
  );
  assertStrictEquals(error.key, "1.02.shard.zip.gz");
  assertStrictEquals(
    error.message,
    'Chunk key "1.02.shard.zip.gz" is not a key of the "v2" encoding: expected for each dimension a whole number from 0 to 9007199254740991 without leading zeros, and "." between them (before the suffix ".shard.zip") (before the suffix ".gz")',
  );
  assertStrictEquals(
    assertThrows(() => nested.decode("1.2.gz"), ChunkKeyError).message,
    'Chunk key "1.2.gz" does not end with the suffix ".shard.zip" (before the suffix ".gz")',
  );
});

Deno.test("SuffixChunkKeyEncoding.decode rejects keys that encode does not return", () => {
  for (
    const key of ["", "c/1", "c/1.TIFF", "c/1.tif", "c/1.tiff ", "c/1.tiff/"]
      .concat(["tiff", "c/1tiff", "c/1.tiff\n"])
  ) {
    const error = assertThrows(() => tiff.decode(key), ChunkKeyError);
    assertStrictEquals(error.key, key);
    assertStrictEquals(
      error.message,
      `Chunk key ${JSON.stringify(key)} does not end with the suffix ".tiff"`,
    );
  }
  for (
    const key of [".tiff", "c/.tiff", "c/01.tiff", "c/1/.tiff", "c/1.tiff.tiff"]
      .concat(["c/1..tiff", "c/9007199254740992.tiff", "1.tiff", "x.tiff"])
  ) {
    const error = assertThrows(() => tiff.decode(key), ChunkKeyError);
    assertStrictEquals(error.key, key);
    assertStrictEquals(
      error.problem,
      'is not a key of the "default" encoding: expected "c", and for each dimension "/" and a whole number from 0 to 9007199254740991 without leading zeros (before the suffix ".tiff")',
    );
  }
});

Deno.test("SuffixChunkKeyEncoding rejects the coordinates and keys that its base encoding refuses", () => {
  assertThrows(() => tiff.encode([-1]), RangeError, "found -1");
  assertThrows(
    () => tiff.encode([2 ** 53]),
    RangeError,
    "found 9007199254740992",
  );
  assertThrows(() => tiff.encode(["1" as unknown as number]), TypeError);
  assertStrictEquals(
    assertThrows(() => tiff.decode(5 as unknown as string), TypeError).message,
    "Expected a chunk key, found 5",
  );
});

Deno.test("SuffixChunkKeyEncoding rejects suffixes that make unsafe keys", () => {
  for (
    const [suffix, ending, problem] of [
      ["/", "0/", "holds an empty segment"],
      ["//x", "0//x", "holds an empty segment"],
      ["a//b", "0a//b", "holds an empty segment"],
      ["x/", "0x/", "holds an empty segment"],
      ["/.", "0/.", 'holds the segment "."'],
      ["/./x", "0/./x", 'holds the segment "."'],
      ["/..", "0/..", 'holds the segment ".."'],
      ["/../x", "0/../x", 'holds the segment ".."'],
      [
        "/../../../etc/passwd",
        "0/../../../etc/passwd",
        'holds the segment ".."',
      ],
      ["x/..", "0x/..", 'holds the segment ".."'],
      ["\\x", "0\\x", "holds a backslash"],
      ["\\..\\x", "0\\..\\x", "holds a backslash"],
      ["\u0000", "0\u0000", "holds a control character (U+0000)"],
      ["\n", "0\n", "holds a control character (U+000A)"],
      ["\u001f", "0\u001f", "holds a control character (U+001F)"],
      ["\u007f", "0\u007f", "holds a control character (U+007F)"],
      ["\u0085", "0\u0085", "holds a control character (U+0085)"],
      ["\ud800", "0\ud800", "holds half a surrogate pair (U+D800)"],
      ["x\udfff", "0x\udfff", "holds half a surrogate pair (U+DFFF)"],
      ["/zarr.json", "0/zarr.json", "is that of a metadata document"],
      ["/x/zarr.json", "0/x/zarr.json", "is that of a metadata document"],
      ["/.zarray", "0/.zarray", "is that of a metadata document"],
      ["/.zgroup", "0/.zgroup", "is that of a metadata document"],
      ["/.zattrs", "0/.zattrs", "is that of a metadata document"],
      ["/.zmetadata", "0/.zmetadata", "is that of a metadata document"],
    ] as const
  ) {
    for (
      const base of [undefined, new V2ChunkKeyEncoding("/"), fixed("a")]
    ) {
      assertStrictEquals(
        assertThrows(() => new SuffixChunkKeyEncoding(suffix, base), RangeError)
          .message,
        `Suffix ${
          JSON.stringify(suffix)
        } cannot be used, since a key that ends in ${
          JSON.stringify(ending)
        } ${problem}; expected a suffix such as ".tiff"`,
      );
    }
  }
});

Deno.test("SuffixChunkKeyEncoding rejects nested suffixes that together make unsafe keys", () => {
  for (
    const [inner, outer, ending] of [
      ["/zarr", ".json", "0/zarr.json"],
      ["/x", "/zarr.json", "0/x/zarr.json"],
      ["/...", "/", "0/.../"],
      ["/.zarr", "ay", "0/.zarray"],
    ] as const
  ) {
    for (const innermost of [undefined, fixed("a")]) {
      const base = new SuffixChunkKeyEncoding(inner, innermost);
      assertThrows(
        () => new SuffixChunkKeyEncoding(outer, base),
        RangeError,
        `a key that ends in "${ending}" `,
      );
    }
  }
  const base = new SuffixChunkKeyEncoding("/a");
  assertStrictEquals(
    new SuffixChunkKeyEncoding("zarr.json", base).encode([0]),
    "c/0/azarr.json",
  );
});

Deno.test("SuffixChunkKeyEncoding checks every key of a custom base encoding", () => {
  const onZarr = new SuffixChunkKeyEncoding(".json", fixed("zarr"));
  assertStrictEquals(
    assertThrows(() => onZarr.encode([]), RangeError).message,
    'Chunk key "zarr.json" is that of a metadata document; expected names joined by "/"',
  );
  const error = assertThrows(() => onZarr.decode("zarr.json"), ChunkKeyError);
  assertStrictEquals(
    error.message,
    'Chunk key "zarr.json" is that of a metadata document; expected names joined by "/"',
  );
  assertStrictEquals(error.key, "zarr.json");

  const nested = new SuffixChunkKeyEncoding(
    "n",
    new SuffixChunkKeyEncoding(".jso", fixed("zarr")),
  );
  assertThrows(() => nested.encode([]), RangeError, '"zarr.json"');
  const climbing = new SuffixChunkKeyEncoding(".", fixed("."));
  assertThrows(() => climbing.encode([]), RangeError, 'the segment ".."');

  const safe = new SuffixChunkKeyEncoding(".tiff", fixed("zarr"));
  assertStrictEquals(safe.encode([]), "zarr.tiff");
  assertEquals(safe.decode("zarr.tiff"), []);
});

Deno.test("SuffixChunkKeyEncoding.decode keeps the cause of the base encoding's error and rethrows other errors", () => {
  const cause = new Error("why");
  const failing = (error: Error) =>
    new SuffixChunkKeyEncoding(".x", {
      ...fixed("a"),
      decode() {
        throw error;
      },
    });
  const error = assertThrows(
    () => failing(new ChunkKeyError("a", "is odd", { cause })).decode("a.x"),
    ChunkKeyError,
  );
  assertStrictEquals(error.cause, cause);
  assertStrictEquals(
    error.message,
    'Chunk key "a.x" is odd (before the suffix ".x")',
  );
  const other = new EvalError("other");
  assertStrictEquals(
    assertThrows(() => failing(other).decode("a.x"), EvalError),
    other,
  );
});

Deno.test("SuffixChunkKeyEncoding rejects arguments of another type", () => {
  for (const suffix of [undefined, null, 1, [".tiff"], {}]) {
    assertThrows(
      () => new SuffixChunkKeyEncoding(suffix as string),
      TypeError,
      "Expected a suffix, found ",
    );
  }
  for (const base of ["v2", null, { name: "v2" }, 1]) {
    assertThrows(
      () =>
        new SuffixChunkKeyEncoding(".x", base as unknown as ChunkKeyEncoding),
      TypeError,
      "Expected a chunk key encoding as base, found ",
    );
  }
});

Deno.test("SuffixChunkKeyEncoding accepts 32 nested encodings and no more", () => {
  let nested: ChunkKeyEncoding = new V2ChunkKeyEncoding();
  for (let depth = 1; depth < 32; depth++) {
    nested = new SuffixChunkKeyEncoding("x", nested);
  }
  assertStrictEquals(nested.encode([1]), `1${"x".repeat(31)}`);
  assertEquals(nested.decode(`1${"x".repeat(31)}`), [1]);
  assertStrictEquals(
    assertThrows(() => new SuffixChunkKeyEncoding("x", nested), RangeError)
      .message,
    "Expected at most 32 nested chunk key encodings, found 33",
  );
});

Deno.test("SuffixChunkKeyEncoding.toJSON always writes the base encoding", () => {
  assertEquals(tiff.name, "suffix");
  assertEquals(tiff.suffix, ".tiff");
  assertInstanceOf(tiff.baseEncoding, DefaultChunkKeyEncoding);
  assertEquals(tiff.toJSON(), {
    name: "suffix",
    configuration: {
      suffix: ".tiff",
      base_encoding: { name: "default", configuration: { separator: "/" } },
    },
  });
  assertEquals(
    new SuffixChunkKeyEncoding(".x", new DefaultChunkKeyEncoding(".")).toJSON(),
    {
      name: "suffix",
      configuration: {
        suffix: ".x",
        base_encoding: { name: "default", configuration: { separator: "." } },
      },
    },
  );
  assertEquals(new SuffixChunkKeyEncoding(".gz", zip).toJSON(), {
    name: "suffix",
    configuration: {
      suffix: ".gz",
      base_encoding: {
        name: "suffix",
        configuration: {
          suffix: ".shard.zip",
          base_encoding: { name: "v2", configuration: { separator: "." } },
        },
      },
    },
  });
});
