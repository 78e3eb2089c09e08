import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { elementBytes } from "../../src/codecs/element_bytes.ts";
import { runs } from "../support/runs.ts";
import { oracleEncode, oracleKept } from "./packbits_oracle.ts";
import { anyCase, chunkOf, packbits, strides } from "./packbits_support.ts";

Deno.test("packbits agrees with the oracle for any kind, shape and configuration", () => {
  fc.assert(
    fc.property(anyCase, ({ kind, shape, configuration, patterns }) => {
      const codec = packbits(kind.dataType, shape, configuration);
      const chunk = chunkOf(kind.of(patterns), shape);
      const encoded = codec.encode(chunk);
      assertEquals(
        Array.from(encoded),
        oracleEncode(patterns, kind, configuration),
      );
      assertEquals(kind.patternsOf(chunk.data), patterns, "kept as it was");
      const decoded = codec.decode(encoded);
      assertEquals(decoded.data.constructor, chunk.data.constructor);
      assertEquals(decoded.shape, shape);
      assertEquals(decoded.stride, chunk.stride);
      assertEquals(
        kind.patternsOf(decoded.data),
        oracleKept(patterns, kind, configuration),
      );
      assertEquals(
        Array.from(codec.encode(decoded)),
        Array.from(encoded),
        "what is kept is kept",
      );
    }),
    { numRuns: runs(1500) },
  );
});

Deno.test("packbits encodes elements by their strides", () => {
  const memory = fc
    .record({
      any: anyCase,
      order: fc.array(fc.nat()),
      gap: fc.integer({ min: 1, max: 3 }),
      before: fc.nat(3),
    })
    .filter(({ any }) => any.shape.length > 0);
  let gathered = 0;
  fc.assert(fc.property(memory, ({ any, order, gap, before }) => {
    const { kind, shape, configuration, patterns } = any;
    const dimensions = shape
      .map((_, i) => i)
      .sort((a, b) => (order[a] ?? 0) - (order[b] ?? 0));
    const stride = strides(shape, dimensions).map((step) => step * gap);
    // In memory: something else, the elements with something else after each, something else.
    const spread = Array<bigint>(before).fill(1n);
    for (const pattern of patterns) {
      spread.push(pattern, ...Array(gap - 1).fill(pattern === 0n ? 1n : 0n));
    }
    const all = kind.of([...spread, 1n, 0n]);
    const Class = all.constructor as new (
      buffer: ArrayBufferLike,
      byteOffset: number,
    ) => typeof all;
    const data = new Class(all.buffer, before * all.BYTES_PER_ELEMENT);
    const codec = packbits(kind.dataType, shape, configuration);
    assertEquals(
      Array.from(codec.encode({ data, shape, stride })),
      oracleEncode(patterns, kind, configuration),
    );
    const bytes = elementBytes({ data, shape, stride }, data.BYTES_PER_ELEMENT);
    if (bytes.buffer !== data.buffer) gathered++;
    else assertEquals(bytes.byteOffset, data.byteOffset);
  }));
  assert(gathered > 0, "no chunk had gaps");
});

Deno.test("packbits treats any byte other than 0 in a BoolArray as true, like zarrita", () => {
  const bytes = new Uint8Array([0, 1, 2, 128, 255, 0, 254, 0, 4]);
  const codec = packbits("bool", [9]);
  const encoded = codec.encode(chunkOf(new zarr.BoolArray(bytes.buffer), [9]));
  assertEquals(Array.from(encoded), [0b01011110, 1]);
  const { buffer } = codec.decode(encoded).data;
  assertEquals(Array.from(new Uint8Array(buffer)), [0, 1, 1, 1, 1, 0, 1, 0, 1]);
});
