import { assertEquals, assertThrows } from "@std/assert";
import { encodeShard } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { layoutsOf } from "./arbitraries.ts";

const CHUNK = new Uint8Array([7]);
const CHUNKS = [CHUNK, undefined, CHUNK];

Deno.test("encodeShard rejects a number of inner chunks other than that of the layout", () => {
  for (const layout of layoutsOf(2, 3)) {
    for (const count of [0, 5, 7]) {
      for (const chunk of [CHUNK, undefined]) {
        assertThrows(
          () => encodeShard(Array(count).fill(chunk), layout),
          RangeError,
          `Expected 6 inner chunks, absent ones as undefined, found ${count}`,
        );
      }
    }
  }
});

Deno.test("encodeShard rejects an alignment that is not a whole number from 1", () => {
  const wrong = [0, -1, -8, 0.5, 1.5, NaN, Infinity, 2 ** 53];
  for (const layout of layoutsOf(3)) {
    for (const alignment of wrong) {
      assertThrows(
        () => encodeShard(CHUNKS, layout, { alignment }),
        RangeError,
        `Expected the option "alignment" to be a whole number of bytes from 1, found ${alignment}`,
      );
    }
  }
});

Deno.test("encodeShard rejects a prefix, from one byte on, where the index is at the start", () => {
  for (const layout of layoutsOf(3)) {
    const encode = (length: number) =>
      encodeShard(CHUNKS, layout, { prefix: countingBytes(length) });
    assertEquals(encode(0), encodeShard(CHUNKS, layout));
    if (layout.indexLocation === "end") {
      assertEquals(encode(1).length, encode(0).length + 1);
      continue;
    }
    for (const length of [1, 64]) {
      assertThrows(
        () => encode(length),
        RangeError,
        `A prefix of ${length} bytes would come before the index, which this shard has at its start`,
      );
    }
  }
});

Deno.test("encodeShard treats undefined options as absent", () => {
  for (const layout of layoutsOf(3)) {
    assertEquals(
      encodeShard(CHUNKS, layout, { prefix: undefined, alignment: undefined }),
      encodeShard(CHUNKS, layout),
    );
  }
});
