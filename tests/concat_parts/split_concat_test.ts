/** Splitting and joining chunks in memory. */
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { ConcatParts, PartSizeError } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";

const SHARD = [
  { keySuffix: ".header", size: 64 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 1604 },
];

Deno.test("ConcatParts.split cuts at the declared sizes and copies nothing", () => {
  const chunk = countingBytes(64 + 1 + 1604);
  const [header, data, index] = new ConcatParts(SHARD).split(chunk);
  assertEquals(header, chunk.slice(0, 64));
  assertEquals(data, chunk.slice(64, 65));
  assertEquals(index, chunk.slice(65));
  for (const part of [header!, data!, index!]) {
    assertStrictEquals(part.buffer, chunk.buffer);
  }
});

Deno.test("ConcatParts.split cuts a view of larger memory within the view", () => {
  const memory = countingBytes(100);
  const parts = new ConcatParts([{ keySuffix: ".a", size: 2 }, {
    keySuffix: "",
  }]);
  assertEquals(parts.split(memory.subarray(10, 15)), [
    memory.slice(10, 12),
    memory.slice(12, 15),
  ]);
});

Deno.test("ConcatParts.split leaves the unsized part empty if no byte is left", () => {
  const lengths = new ConcatParts(SHARD).split(new Uint8Array(1668))
    .map((part) => part.length);
  assertEquals(lengths, [64, 0, 1604]);
});

Deno.test("ConcatParts.split refuses a chunk one byte too small for its sized parts", () => {
  const error = assertThrows(
    () => new ConcatParts(SHARD).split(new Uint8Array(1667)),
    PartSizeError,
    "Chunk is 1667 bytes long, where its sized parts take at least 1668",
  );
  assertEquals([error.key, error.expected, error.actual], ["", 1668, 1667]);
});

Deno.test("ConcatParts.split needs the exact length if all parts are sized", () => {
  const parts = new ConcatParts([
    { keySuffix: "", size: 3 },
    { keySuffix: ".b", size: 0 },
    { keySuffix: ".c", size: 2 },
  ]);
  assertEquals(parts.split(countingBytes(5)).map((part) => part.length), [
    3,
    0,
    2,
  ]);
  for (const length of [4, 6]) {
    assertThrows(
      () => parts.split(new Uint8Array(length)),
      PartSizeError,
      `Chunk is ${length} bytes long, where its sized parts take exactly 5`,
    );
  }
});

Deno.test("ConcatParts.split cannot cut between two unsized parts", () => {
  assertThrows(
    () =>
      new ConcatParts([{ keySuffix: ".a" }, { keySuffix: ".b" }])
        .split(new Uint8Array(2)),
    TypeError,
    'where the parts ".a" and ".b" begin: to write, at most one part may lack a size',
  );
});

Deno.test("ConcatParts.concat joins parts, also two unsized ones", () => {
  const parts = new ConcatParts([{ keySuffix: ".a" }, { keySuffix: ".b" }]);
  const first = countingBytes(3);
  const joined = parts.concat([first, countingBytes(2, 3)]);
  assertEquals(joined, countingBytes(5));
  first.fill(9);
  assertEquals(joined, countingBytes(5));
});

Deno.test("ConcatParts.concat refuses another number of parts and parts of other lengths", () => {
  const parts = new ConcatParts([{ keySuffix: "" }, {
    keySuffix: ".b",
    size: 2,
  }]);
  assertThrows(
    () => parts.concat([new Uint8Array(1)]),
    RangeError,
    "Expected the bytes of 2 parts, found 1",
  );
  for (const length of [1, 3]) {
    const error = assertThrows(
      () => parts.concat([new Uint8Array(9), new Uint8Array(length)]),
      PartSizeError,
      `Part ".b" is ${length} bytes long, where its size is 2`,
    );
    assertEquals([error.key, error.expected, error.actual], [".b", 2, length]);
  }
});

Deno.test("ConcatParts.split and concat refuse values that are not bytes", () => {
  const parts = new ConcatParts([{ keySuffix: "" }]);
  for (const wrong of [new ArrayBuffer(5), [1, 2], "abc", undefined]) {
    assertThrows(
      () => parts.split(wrong as never),
      TypeError,
      "Expected a chunk as Uint8Array, found",
    );
    assertThrows(
      () => parts.concat([wrong as never]),
      TypeError,
      "Expected a part as Uint8Array, found",
    );
  }
});
