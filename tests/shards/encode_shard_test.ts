import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { encodeShard, type ShardLayout } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { runs } from "../support/runs.ts";
import { layoutsOf, shardInputs } from "./arbitraries.ts";
import { ABSENT, slowEntries, slowIndexSize, slowShard } from "./slow_shard.ts";

const [AT_START] = layoutsOf(3);
const AT_END = layoutsOf(3).at(-1)!;

/** Decodes a shard, independently of `encodeShard`. */
function takeApart(shard: Uint8Array, layout: ShardLayout) {
  const size = slowIndexSize(layout);
  const [index, rest] = layout.indexLocation === "start"
    ? [shard.slice(0, size), shard.slice(size)]
    : [shard.slice(shard.length - size), shard.slice(0, shard.length - size)];
  const chunks = slowEntries(index, layout).map(([offset, length]) =>
    offset === ABSENT && length === ABSENT
      ? undefined
      : shard.slice(Number(offset), Number(offset + length))
  );
  return { chunks, rest };
}

Deno.test("encodeShard agrees with a shard built byte by byte", () => {
  fc.assert(
    fc.property(shardInputs, ({ layout, chunks, options }) => {
      assertEquals(
        encodeShard(chunks, layout, options),
        slowShard(chunks, layout, options).bytes,
      );
    }),
    { numRuns: runs(500) },
  );
});

Deno.test("encodeShard places each inner chunk at the offset of its entry, a multiple of the alignment, after the prefix", () => {
  fc.assert(
    fc.property(shardInputs, ({ layout, chunks, options }) => {
      const shard = encodeShard(chunks, layout, options);
      const found = takeApart(shard, layout);
      assertEquals(found.chunks, chunks);
      const { prefix = new Uint8Array(), alignment = 1 } = options;
      assertEquals(shard.slice(0, prefix.length), prefix);
      const size = slowIndexSize(layout);
      const index = layout.indexLocation === "start"
        ? shard.slice(0, size)
        : shard.slice(shard.length - size);
      for (const [offset] of slowEntries(index, layout)) {
        if (offset !== ABSENT) assertEquals(offset % BigInt(alignment), 0n);
      }
    }),
    { numRuns: runs(500) },
  );
});

Deno.test("encodeShard does not change its input, and returns memory of its own", () => {
  fc.assert(
    fc.property(shardInputs, ({ layout, chunks, options }) => {
      const before = structuredClone({ chunks, options });
      const shard = encodeShard(chunks, layout, options);
      assertEquals({ chunks, options }, before);
      shard.fill(0);
      assertEquals({ chunks, options }, before);
    }),
  );
});

Deno.test("encodeShard accepts views at any offset in their buffers", () => {
  const buffer = countingBytes(40);
  const views = [
    buffer.subarray(3, 9),
    buffer.subarray(39),
    buffer.subarray(4, 6),
  ];
  const prefix = buffer.subarray(20, 25);
  assertEquals(
    encodeShard(views, AT_END, { prefix }),
    encodeShard(views.map((view) => view.slice()), AT_END, {
      prefix: prefix.slice(),
    }),
  );
});

Deno.test("encodeShard makes a shard of absent inner chunks: the prefix and the index, whatever the alignment", () => {
  for (const layout of layoutsOf(2, 3)) {
    const absent = Array(6).fill(undefined);
    const size = slowIndexSize(layout);
    const shard = encodeShard(absent, layout, { alignment: 64 });
    assertEquals(shard.length, size);
    assertEquals(takeApart(shard, layout).chunks, absent);
    assertEquals(shard.slice(0, 96), new Uint8Array(96).fill(255));
    if (layout.indexLocation === "start") continue;
    const prefix = countingBytes(5);
    const prefixed = encodeShard(absent, layout, { prefix, alignment: 64 });
    assertEquals(prefixed, new Uint8Array([...prefix, ...shard]));
  }
});

Deno.test("encodeShard makes a shard without dimensions, of one inner chunk", () => {
  for (const layout of layoutsOf()) {
    for (const chunk of [countingBytes(9), new Uint8Array(), undefined]) {
      const shard = encodeShard([chunk], layout);
      const length = slowIndexSize(layout) + (chunk?.length ?? 0);
      assertEquals(shard.length, length);
      assertEquals(takeApart(shard, layout).chunks, [chunk]);
    }
    assertThrows(() => encodeShard([], layout), RangeError, "Expected 1 inner");
  }
});

Deno.test("encodeShard makes a shard of five dimensions, in the given order", () => {
  const chunks = Array.from({ length: 48 }, (_, i) => new Uint8Array([i]));
  for (const layout of layoutsOf(2, 1, 3, 2, 4)) {
    const { rest, chunks: found } = takeApart(
      encodeShard(chunks, layout),
      layout,
    );
    assertEquals(found, chunks);
    assertEquals(rest, Uint8Array.from(chunks.keys()));
  }
});

Deno.test("encodeShard aligns by powers of two and by other numbers, with zeros between inner chunks and none after", () => {
  const chunks = [countingBytes(5, 1), undefined, countingBytes(2, 9)];
  const five = [1, 2, 3, 4, 5];
  const offsets: [number, number[]][] = [
    [1, [...five, 9, 10]],
    [2, [...five, 0, 9, 10]],
    [3, [...five, 0, 9, 10]],
    [5, [...five, 9, 10]],
    [6, [...five, 0, 9, 10]],
    [8, [...five, 0, 0, 0, 9, 10]],
  ];
  for (const [alignment, expected] of offsets) {
    const { rest } = takeApart(
      encodeShard(chunks, AT_END, { alignment }),
      AT_END,
    );
    assertEquals([...rest], expected, `alignment ${alignment}`);
  }
});

Deno.test("encodeShard counts the alignment from the start of the shard, over a prefix and an index", () => {
  const chunks = [new Uint8Array([7]), undefined, undefined];
  const prefix = new Uint8Array([1, 2, 3]);
  const shard = encodeShard(chunks, AT_END, { prefix, alignment: 7 });
  assertEquals([...shard.slice(0, 8)], [1, 2, 3, 0, 0, 0, 0, 7]);
  // The index takes 48 bytes without a checksum.
  const started = encodeShard(chunks, AT_START!, { alignment: 7 });
  assertEquals([...started.slice(48)], [0, 7]);
});

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
