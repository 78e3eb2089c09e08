import { assertEquals } from "@std/assert";
import { elementKind } from "./element_kinds.ts";
import type { Configuration } from "./packbits_oracle.ts";
import { chunkOf, packbits } from "./packbits_support.ts";

/** Worked out by hand from the document. */
const BY_HAND: [string, Configuration, (number | bigint)[], number[]][] = [
  ["uint8", { last_bit: 3 }, [1, 2, 3], [0x21, 0x03]],
  ["uint8", { last_bit: 3, padding_encoding: "first_byte" }, [1, 2, 3], [
    4,
    0x21,
    0x03,
  ]],
  ["uint8", { last_bit: 3, padding_encoding: "last_byte" }, [1, 2], [0x21, 0]],
  ["uint8", { last_bit: 3, padding_encoding: "last_byte" }, [1, 2, 3], [
    0x21,
    0x03,
    4,
  ]],
  ["int8", { last_bit: 1 }, [-2, -1, 0, 1], [0b01_00_11_10]],
  ["int16", { first_bit: 4, last_bit: 11 }, [0x120, -0x120], [0x12, 0xee]],
  ["int64", { first_bit: 62 }, [-(2n ** 62n), -(2n ** 63n)], [0b10_11]],
  ["uint16", {}, [0x1234, 0xabcd], [0x34, 0x12, 0xcd, 0xab]],
  ["uint16", { padding_encoding: "first_byte" }, [0x1234], [0, 0x34, 0x12]],
  ["uint32", { first_bit: null, last_bit: null }, [1], [1, 0, 0, 0]],
  ["uint32", { last_bit: 19 }, [0xfedcb, 0x12345], [
    0xcb,
    0xed,
    0x5f,
    0x34,
    0x12,
  ]],
];

for (const [dataType, configuration, values, bytes] of BY_HAND) {
  Deno.test(`packbits packs [${values}] as ${dataType} ${JSON.stringify(configuration)} into the bytes worked out by hand`, () => {
    const kind = elementKind(dataType);
    const shape = [values.length];
    const codec = packbits(dataType, shape, configuration);
    const data = kind.of(
      values.map((value) => BigInt.asUintN(kind.bits, BigInt(value))),
    );
    const decoded = codec.decode(Uint8Array.from(bytes));
    assertEquals(Array.from(codec.encode(chunkOf(data, shape))), bytes);
    assertEquals(decoded.data, data);
  });
}

Deno.test("packbits packs bool from the lowest bit on", () => {
  const bits = [1n, 0n, 0n, 1n, 0n, 0n, 1n, 0n, 0n, 1n];
  const codec = packbits("bool", [2, 5], { padding_encoding: "first_byte" });
  const chunk = chunkOf(elementKind("bool").of(bits), [2, 5]);
  assertEquals(Array.from(codec.encode(chunk)), [6, 0b0100_1001, 0b10]);
});

Deno.test("packbits drops the bits outside of first_bit to last_bit", () => {
  const codec = packbits("uint8", [3], { first_bit: 2, last_bit: 5 });
  const encoded = codec.encode(chunkOf(new Uint8Array([255, 0xc3, 4]), [3]));
  assertEquals(Array.from(encoded), [0x0f, 0x01]);
  assertEquals(codec.decode(encoded).data, new Uint8Array([0x3c, 0, 4]));
});

Deno.test("packbits packs no elements into no bytes, and a padding byte", () => {
  for (
    const [padding_encoding, bytes] of Object.entries({
      none: [],
      first_byte: [0],
      last_byte: [0],
    })
  ) {
    const codec = packbits("int16", [3, 0], { padding_encoding });
    const encoded = codec.encode(chunkOf(new Int16Array(0), [3, 0]));
    assertEquals(Array.from(encoded), bytes);
    assertEquals(codec.decode(encoded).data, new Int16Array(0));
  }
});

Deno.test("packbits computes the encoded size of any number of elements", () => {
  const sizes = [[0, 0], [1, 1], [2, 1], [3, 2], [8, 3], [
    2 ** 40,
    3 * 2 ** 37,
  ]];
  for (const [count, size] of sizes as [number, number][]) {
    for (const dataType of ["uint8", "float64"]) {
      const { bits } = elementKind(dataType);
      const packed = packbits(dataType, [1], { last_bit: 2 });
      assertEquals(packed.computeEncodedSize(count * bits / 8), size);
      const padded = packbits(dataType, [1], {
        padding_encoding: "last_byte",
        last_bit: 2,
      });
      assertEquals(padded.computeEncodedSize(count * bits / 8), size + 1);
    }
  }
});
