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
  // A view of larger memory.
  const chunk = countingBytes(2000).subarray(7, 7 + 64 + 1 + 1604);
  const [header, data, index] = new ConcatParts(SHARD).split(chunk);
  assertEquals(header, chunk.slice(0, 64));
  assertEquals(data, chunk.slice(64, 65));
  assertEquals(index, chunk.slice(65));
  for (const part of [header!, data!, index!]) {
    assertStrictEquals(part.buffer, chunk.buffer);
  }
});

Deno.test("ConcatParts.split refuses chunks that its parts do not allow, and two unsized parts", () => {
  const sized = [{ keySuffix: "", size: 3 }, { keySuffix: ".c", size: 2 }];
  const wrong = [
    [SHARD, 1667, "at least", 1668],
    [sized, 4, "exactly", 5],
    [sized, 6, "exactly", 5],
  ] as const;
  for (const [parts, length, most, expected] of wrong) {
    const error = assertThrows(
      () => new ConcatParts(parts).split(new Uint8Array(length)),
      PartSizeError,
      `Chunk is ${length} bytes long, where its sized parts take ${most} ${expected}`,
    );
    const { key, actual } = error;
    assertEquals([key, error.expected, actual], ["", expected, length]);
  }
  assertThrows(
    () =>
      new ConcatParts([{ keySuffix: ".a" }, { keySuffix: ".b" }])
        .split(new Uint8Array(2)),
    TypeError,
    'where the parts ".a" and ".b" begin: to write, at most one part may lack a size',
  );
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
