import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  type ChunkKeyEncoding,
  DefaultChunkKeyEncoding,
  MetadataError,
  SuffixChunkKeyEncoding,
  V2ChunkKeyEncoding,
} from "../../mod.ts";
import { assertPartKeys, flatParts } from "../../src/concat_parts/mod.ts";
import { runs } from "../support/runs.ts";

const DEFAULT = new DefaultChunkKeyEncoding();

function parts(...keySuffixes: string[]): { keySuffix: string }[] {
  return keySuffixes.map((keySuffix) => ({ keySuffix }));
}

function assertKeys(
  transformers: Parameters<typeof flatParts>[0],
  encoding: ChunkKeyEncoding | Parameters<typeof assertPartKeys>[1],
  rank: number,
): void {
  assertPartKeys(flatParts(transformers), encoding, rank);
}

Deno.test("assertPartKeys refuses a part of chunk 1 at the key of chunk 10", () => {
  const error = assertThrows(
    () => assertKeys([parts("", "0")], DEFAULT, 2),
    MetadataError,
    'Two parts could be stored under the key "c/1/10", with the suffixes "" and "0"',
  );
  assertEquals(error.path, "/0/configuration/parts/1/key_suffix");
  assertThrows(
    () => assertKeys([parts(".x0", ".y", "5.y")], DEFAULT, 1),
    MetadataError,
  );
  assertThrows(
    () => assertKeys([parts("7", "")], new V2ChunkKeyEncoding(), 3),
    MetadataError,
  );
});

Deno.test("assertPartKeys depends on the chunk key encoding", () => {
  const tiff = new SuffixChunkKeyEncoding(".tiff");
  assertKeys([parts("", "0")], tiff, 2);
  assertThrows(
    () => assertKeys([parts("", "0")], new SuffixChunkKeyEncoding("0"), 2),
    MetadataError,
    "Two parts could be stored",
  );
  assertKeys([parts("", "5.tiff")], tiff, 2);
});

Deno.test("assertPartKeys refuses invalid part keys and those of metadata documents", () => {
  for (const suffix of ["/zarr.json", "/x/zarr.json", "/.zarray", "/.zattrs"]) {
    assertThrows(
      () => assertKeys([parts("", suffix)], DEFAULT, 1),
      MetadataError,
      "is that of a metadata document",
    );
  }
  assertThrows(
    () => assertKeys([parts(".json")], new SuffixChunkKeyEncoding("/zarr"), 1),
    MetadataError,
    'The part key "c/0/zarr.json" is that of a metadata document',
  );
  for (const [outer, inner] of [["/.", ""], ["/.", "./x"]] as const) {
    assertThrows(
      () => assertKeys([parts(outer), parts(inner)], DEFAULT, 1),
      MetadataError,
      "holds the segment",
    );
  }
  assertKeys([parts("zarr.json")], DEFAULT, 1);
});

Deno.test("assertPartKeys refuses more than 256 parts before it compares them", () => {
  const many = parts(...Array.from({ length: 100 }, (_, i) => `.${i}.`));
  assertKeys([many], DEFAULT, 1);
  const error = assertThrows(
    () => assertKeys(new Array(1000).fill(many), DEFAULT, 1),
    MetadataError,
    "A chunk would be stored in 10000 parts, where at most 256 are supported",
  );
  assertEquals(error.path, "/1");
});

Deno.test("assertPartKeys refuses more than 32 storage transformers", () => {
  const one = parts(".x");
  const skipped = new Array(10_000).fill(undefined);
  assertKeys([...skipped, ...new Array(32).fill(one)], DEFAULT, 1);
  assertThrows(
    () => assertKeys(new Array(33).fill(one), DEFAULT, 1),
    MetadataError,
    "by 33 storage transformers, where at most 32 are supported",
  );
});

/** The oracle: compares all part keys of many chunks. */
function collides(
  suffixes: string[],
  encoding: ChunkKeyEncoding,
  rank: number,
): boolean {
  const seen = new Set<string>();
  const highest = rank === 1 ? 1200 : 120;
  const grid = rank === 0 ? [[]] : Array.from(
    { length: highest },
    (_, i) => [...new Array(rank - 1).fill(1), i],
  );
  for (const coordinates of grid) {
    for (const suffix of suffixes) {
      const key = encoding.encode(coordinates) + suffix;
      if (seen.has(key)) return true;
      seen.add(key);
    }
  }
  return false;
}

Deno.test("assertPartKeys agrees with comparing all part keys of many chunks", () => {
  const suffix = fc.string({
    unit: fc.constantFrom("0", "1", "a", "."),
    maxLength: 2,
  });
  fc.assert(
    fc.property(
      fc.uniqueArray(suffix, { minLength: 1, maxLength: 4 }),
      fc.option(suffix, { nil: "" }),
      fc.constantFrom(
        DEFAULT,
        new DefaultChunkKeyEncoding("."),
        new V2ChunkKeyEncoding(),
        new V2ChunkKeyEncoding("/"),
      ),
      fc.integer({ min: 0, max: 2 }),
      (keySuffixes, extension, base, rank) => {
        const encoding = new SuffixChunkKeyEncoding(extension, base);
        const check = () => assertKeys([parts(...keySuffixes)], encoding, rank);
        if (collides(keySuffixes, encoding, rank)) {
          assertThrows(
            check,
            MetadataError,
          );
        } else check();
      },
    ),
    { numRuns: runs(2000) },
  );
});

Deno.test("assertPartKeys rethrows errors of a decoder other than SyntaxError", () => {
  const broken = {
    encode: () => "k",
    decode: () => {
      throw new TypeError("A bug");
    },
  };
  assertThrows(
    () => assertKeys([parts("", "x")], broken, 1),
    TypeError,
    "A bug",
  );
});
