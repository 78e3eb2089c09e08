import {
  assertEquals,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { V2ChunkKeyEncoding } from "../../src/chunk_key_encoding/v2_chunk_key_encoding.ts";
import { ChunkKeyError } from "../../src/errors/metadata_error.ts";

const dotted = new V2ChunkKeyEncoding();
const slashed = new V2ChunkKeyEncoding("/");
const MAX = Number.MAX_SAFE_INTEGER;

Deno.test("V2ChunkKeyEncoding encodes and decodes the examples of the specification", () => {
  assertStrictEquals(dotted.encode([1, 23, 45]), "1.23.45");
  assertStrictEquals(slashed.encode([1, 23, 45]), "1/23/45");
  assertEquals(dotted.decode("1.23.45"), [1, 23, 45]);
  assertEquals(slashed.decode("1/23/45"), [1, 23, 45]);
});

Deno.test("V2ChunkKeyEncoding.decode uses the rank to distinguish the chunk of no dimensions from chunk 0", () => {
  for (const encoding of [dotted, slashed]) {
    assertStrictEquals(encoding.encode([]), "0");
    assertStrictEquals(encoding.encode([0]), "0");
    assertEquals(encoding.decode("0"), [0]);
    assertEquals(encoding.decode("0", 0), []);
    assertEquals(encoding.decode("0", 1), [0]);
    for (
      const [key, found, rank] of [["0", 1, 2], ["1", 1, 0]] as const
    ) {
      const error = assertThrows(
        () => encoding.decode(key, rank),
        ChunkKeyError,
      );
      assertStrictEquals(
        error.message,
        `Chunk key "${key}" has rank ${found}, expected rank ${rank}`,
      );
    }
  }
  assertThrows(() => dotted.decode("0.0", 0), ChunkKeyError, "has rank 2");
  assertThrows(() => dotted.decode("", 0), ChunkKeyError, "is not a key of");
  assertThrows(() => dotted.decode("00", 0), ChunkKeyError, "is not a key of");
});

Deno.test("V2ChunkKeyEncoding encodes and decodes coordinates around each power of ten", () => {
  for (
    const number of [0, 1, 9, 10, 255, 256, 257, 2 ** 31, 2 ** 32, MAX - 1, MAX]
  ) {
    assertStrictEquals(dotted.encode([number]), `${number}`);
    assertStrictEquals(
      dotted.encode([number, number]),
      `${number}.${number}`,
    );
    assertEquals(dotted.decode(`${number}.${number}`), [number, number]);
    assertEquals(slashed.decode(`${number}/0/${number}`), [number, 0, number]);
  }
  assertStrictEquals(dotted.encode([-0]), "0");
});

Deno.test("V2ChunkKeyEncoding.encode rejects invalid coordinates", () => {
  for (const number of [-1, 0.5, NaN, Infinity, MAX + 1]) {
    assertStrictEquals(
      assertThrows(() => dotted.encode([1, number]), RangeError).message,
      `Expected the coordinate of dimension 1 to be a whole number from 0 to 9007199254740991, found ${number}`,
    );
    assertThrows(() => dotted.encode([number]), RangeError, "of dimension 0");
  }
  for (const wrong of ["1", 1n, null, undefined] as unknown as number[]) {
    assertThrows(() => dotted.encode([wrong]), TypeError, "of dimension 0");
    assertThrows(() => dotted.encode([0, wrong]), TypeError, "of dimension 1");
  }
  assertThrows(
    () => dotted.encode("12" as unknown as number[]),
    TypeError,
    'Expected a list of coordinates, found "12"',
  );
});

Deno.test("V2ChunkKeyEncoding.decode rejects keys that encode does not return", () => {
  for (
    const key of ["", ".", "01", "00", "-1", "+1", "1e3", " 1", "1 ", "1..2"]
      .concat([".1", "1.", "1.01", "1/2", "a", "c", "c.1", "c/1", "٣", "1.\n"])
      .concat(["9007199254740992", "1.9007199254740993", "9".repeat(400)])
      .concat([
        ".zarray",
        ".zgroup",
        "zarr.json",
        "0.",
        ".0",
        "0.-0",
        "1:",
        "1.:",
      ])
  ) {
    const error = assertThrows(() => dotted.decode(key), ChunkKeyError);
    assertStrictEquals(error.key, key);
    assertStringIncludes(
      error.message,
      `is not a key of the "v2" encoding: expected for each dimension a whole number from 0 to 9007199254740991 without leading zeros, and "." between them`,
    );
  }
  for (const key of ["/1", "1/", "1//2", "1.2", "/"]) {
    assertThrows(() => slashed.decode(key), ChunkKeyError, '"/" between');
  }
});

Deno.test("V2ChunkKeyEncoding.decode rejects keys and ranks of another type", () => {
  assertStrictEquals(
    assertThrows(() => dotted.decode(0 as unknown as string), TypeError)
      .message,
    "Expected a chunk key, found 0",
  );
  assertThrows(() => dotted.decode("1", -1), RangeError, "Expected the rank");
  assertThrows(
    () => dotted.decode("0", "0" as unknown as number),
    TypeError,
    "Expected the rank",
  );
});

Deno.test("V2ChunkKeyEncoding rejects other separators", () => {
  assertStrictEquals(
    assertThrows(() => new V2ChunkKeyEncoding("-" as "/"), RangeError).message,
    'Expected the separator "/" or ".", found "-"',
  );
  assertStrictEquals(
    assertThrows(
      () => new V2ChunkKeyEncoding(null as unknown as "/"),
      TypeError,
    )
      .message,
    'Expected the separator "/" or ".", found null',
  );
});

Deno.test("V2ChunkKeyEncoding.toJSON always writes the separator", () => {
  assertEquals(dotted.name, "v2");
  assertEquals(dotted.separator, ".");
  assertEquals(JSON.parse(JSON.stringify([dotted, slashed])), [
    { name: "v2", configuration: { separator: "." } },
    { name: "v2", configuration: { separator: "/" } },
  ]);
});
