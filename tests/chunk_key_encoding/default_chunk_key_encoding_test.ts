import {
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { DefaultChunkKeyEncoding } from "../../src/chunk_key_encoding/default_chunk_key_encoding.ts";
import { ChunkKeyError } from "../../src/errors/metadata_error.ts";

const slashed = new DefaultChunkKeyEncoding();
const dotted = new DefaultChunkKeyEncoding(".");
const MAX = Number.MAX_SAFE_INTEGER;

Deno.test("DefaultChunkKeyEncoding encodes and decodes the examples of the specification", () => {
  assertStrictEquals(slashed.encode([1, 23, 45]), "c/1/23/45");
  assertStrictEquals(dotted.encode([1, 23, 45]), "c.1.23.45");
  assertEquals(slashed.decode("c/1/23/45"), [1, 23, 45]);
  assertEquals(dotted.decode("c.1.23.45"), [1, 23, 45]);
  for (const encoding of [slashed, dotted]) {
    assertStrictEquals(encoding.encode([]), "c");
    assertEquals(encoding.decode("c"), []);
    assertEquals(encoding.decode("c", 0), []);
  }
});

Deno.test("DefaultChunkKeyEncoding encodes and decodes coordinates around each power of ten", () => {
  for (
    const number of [0, 1, 9, 10, 99, 100, 254, 255, 256, 257, 999, 1000]
      .concat([2 ** 31 - 1, 2 ** 31, 2 ** 32, 1e15, MAX - 1, MAX])
  ) {
    assertStrictEquals(
      slashed.encode([number, 0, number]),
      `c/${number}/0/${number}`,
    );
    assertEquals(slashed.decode(`c/${number}/0/${number}`), [
      number,
      0,
      number,
    ]);
    assertEquals(dotted.decode(`c.${number}`), [number]);
  }
});

Deno.test("DefaultChunkKeyEncoding.encode treats -0 as 0", () => {
  assertStrictEquals(slashed.encode([-0, -0]), "c/0/0");
});

Deno.test("DefaultChunkKeyEncoding.encode accepts many dimensions", () => {
  const chunk = Array.from({ length: 1000 }, (_, dimension) => dimension);
  assertEquals(slashed.decode(slashed.encode(chunk), 1000), chunk);
});

Deno.test("DefaultChunkKeyEncoding.encode rejects numbers other than whole ones from 0 to 2^53-1", () => {
  for (
    const number of [-1, 0.5, 1 - 2 ** -53, NaN, Infinity, -Infinity]
      .concat([-MAX, MAX + 1, 1e21, Number.MIN_VALUE])
  ) {
    const error = assertThrows(() => slashed.encode([0, number]), RangeError);
    assertStrictEquals(
      error.message,
      `Expected the coordinate of dimension 1 to be a whole number from 0 to 9007199254740991, found ${number}`,
    );
    assertThrows(() => dotted.encode([number]), RangeError, "of dimension 0");
  }
});

Deno.test("DefaultChunkKeyEncoding.encode rejects coordinates that are not numbers", () => {
  for (
    const [wrong, found] of [
      ["1", '"1"'],
      ["/../x", '"/../x"'],
      [1n, "1n"],
      [null, "null"],
      [undefined, "undefined"],
      [true, "true"],
      [[1], "[1]"],
      [new Number(1), "an object without members"],
      [{ valueOf: () => 1 }, 'an object with the members "valueOf"'],
    ] as [number, string][]
  ) {
    const error = assertThrows(() => slashed.encode([wrong]), TypeError);
    assertStrictEquals(
      error.message,
      `Expected the coordinate of dimension 0 to be a whole number from 0 to 9007199254740991, found ${found}`,
    );
  }
  // deno-lint-ignore no-sparse-arrays
  assertThrows(() => slashed.encode([0, , 1] as number[]), TypeError);
});

Deno.test("DefaultChunkKeyEncoding.encode rejects values other than arrays", () => {
  for (
    const wrong of [undefined, null, "12", 1, { length: 1, 0: 1 }, new Set([1])]
  ) {
    assertThrows(
      () => slashed.encode(wrong as unknown as number[]),
      TypeError,
      "Expected a list of coordinates, found ",
    );
  }
});

Deno.test("DefaultChunkKeyEncoding.decode rejects keys that encode does not return", () => {
  for (
    const rest of ["/", "/01", "/00", "/-1", "/+1", "/-0", "/1e3", "/ 1", "/1 "]
      .concat(["//1", "/1/", "/1//2", "/1.5", "/0x1", "/1_0", "/1n", "/NaN"])
      .concat(["1", "/a", "/٣", "/１", "/1\n", "/\u00001", "/1/c", "/:", "/1:"])
      .concat(["/9007199254740992", "/9007199254740993", "/99999999999999999"])
      .concat([`/${"9".repeat(400)}`, `/1/${2 ** 53}/1`, "\\1", "0", "c/1"])
  ) {
    const key = `c${rest}`;
    const error = assertThrows(() => slashed.decode(key), ChunkKeyError);
    assertStrictEquals(error.key, key);
    assertStringIncludes(
      error.message,
      `is not a key of the "default" encoding: expected "c", and for each dimension "/" and a whole number from 0 to 9007199254740991 without leading zeros`,
    );
    assertThrows(
      () => dotted.decode(key.replaceAll("/", ".").replace("1.5", "1/5")),
      ChunkKeyError,
      'for each dimension "."',
    );
  }
  for (const key of ["", "/c/1", "C/1", "d/1", " c/1", "1/2", "/1", "zarr"]) {
    const error = assertThrows(() => slashed.decode(key), ChunkKeyError);
    assertStrictEquals(error.key, key);
    assertThrows(() => dotted.decode(key), ChunkKeyError);
  }
});

Deno.test("DefaultChunkKeyEncoding.decode rejects the other separator", () => {
  assertThrows(() => slashed.decode("c.1"), ChunkKeyError);
  assertThrows(() => slashed.decode("c/1.2"), ChunkKeyError);
  assertThrows(() => dotted.decode("c/1"), ChunkKeyError);
  assertThrows(() => dotted.decode("c.1/2"), ChunkKeyError);
});

Deno.test("DefaultChunkKeyEncoding.decode rejects another rank", () => {
  assertEquals(slashed.decode("c/1/2", 2), [1, 2]);
  for (
    const [key, found, rank] of [["c/1/2", 2, 1], ["c/1/2", 2, 3], [
      "c/0",
      1,
      0,
    ], ["c", 0, 1]] as const
  ) {
    const error = assertThrows(() => slashed.decode(key, rank), ChunkKeyError);
    assertStrictEquals(
      error.message,
      `Chunk key "${key}" has rank ${found}, expected rank ${rank}`,
    );
    assertStrictEquals(error.key, key);
  }
});

Deno.test("DefaultChunkKeyEncoding.decode rejects an invalid rank", () => {
  for (const rank of [-1, 0.5, NaN, Infinity, MAX + 1]) {
    assertStrictEquals(
      assertThrows(() => slashed.decode("c/1", rank), RangeError).message,
      `Expected the rank to be a whole number from 0 to 9007199254740991, found ${rank}`,
    );
  }
  for (const rank of ["1", 1n, null, {}] as unknown as number[]) {
    assertThrows(
      () => slashed.decode("c/1", rank),
      TypeError,
      "Expected the rank to be a whole number",
    );
  }
});

Deno.test("DefaultChunkKeyEncoding.decode rejects values other than strings", () => {
  for (
    const [key, found] of [
      [5, "5"],
      [undefined, "undefined"],
      [null, "null"],
      [["c"], '["c"]'],
    ] as [unknown, string][] as [string, string][]
  ) {
    assertStrictEquals(
      assertThrows(() => slashed.decode(key), TypeError).message,
      `Expected a chunk key, found ${found}`,
    );
  }
  assertThrows(
    () => slashed.decode(new String("c/1") as string),
    TypeError,
    "Expected a chunk key",
  );
});

Deno.test("DefaultChunkKeyEncoding.decode returns a new array each time", () => {
  slashed.decode("c").push(1);
  assertEquals(slashed.decode("c"), []);
});

Deno.test("DefaultChunkKeyEncoding rejects other separators", () => {
  for (const separator of ["", "|", "//", "\\", "c", "0"]) {
    const error = assertThrows(
      () => new DefaultChunkKeyEncoding(separator as "/"),
      RangeError,
    );
    assertStrictEquals(
      error.message,
      `Expected the separator "/" or ".", found ${JSON.stringify(separator)}`,
    );
  }
  for (const separator of [null, 1, {}, ["/"]]) {
    const make = () => new DefaultChunkKeyEncoding(separator as unknown as "/");
    assertThrows(make, TypeError, 'Expected the separator "/" or ".", found');
  }
});

Deno.test("DefaultChunkKeyEncoding.toJSON always writes the separator", () => {
  assertEquals(slashed.name, "default");
  assertEquals(slashed.separator, "/");
  assertEquals(JSON.parse(JSON.stringify([slashed, dotted])), [
    { name: "default", configuration: { separator: "/" } },
    { name: "default", configuration: { separator: "." } },
  ]);
});

Deno.test("ChunkKeyError keeps the whole key when the message shortens it", () => {
  const key = `c/${"1/".repeat(1000)}`;
  const error = assertThrows(() => slashed.decode(key), ChunkKeyError);
  assertInstanceOf(error, SyntaxError);
  assertStrictEquals(error.name, "ChunkKeyError");
  assertStrictEquals(error.key, key);
  assertStringIncludes(error.message, "(2002 characters)");
  assertStringIncludes(error.message, error.problem);
  const cause = new Error("why");
  assertStrictEquals(new ChunkKeyError("k", "is odd", { cause }).cause, cause);
  assertStrictEquals(
    new ChunkKeyError("k", "is odd").message,
    'Chunk key "k" is odd',
  );
});
