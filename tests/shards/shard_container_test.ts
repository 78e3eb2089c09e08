import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  arrayMetadata,
  decodeShardIndex,
  encodeShard,
  parseShardLayout,
  type ShardContainer,
  type ShardIndex,
  type ShardLayout,
} from "../../mod.ts";
import { tiffContainer } from "../../tiff.ts";
import { layoutsOf } from "./arbitraries.ts";

const LAYOUT: ShardLayout = layoutsOf(3).find((layout) =>
  layout.indexLocation === "end" && !layout.indexHasChecksum
)!;
const CHUNKS = [new Uint8Array([1, 2]), undefined, new Uint8Array([3])];

/** Numbers as bytes, for containers that write the index in full. */
function bytesOf(...numbers: number[]): number[] {
  return numbers.flatMap((n) => [n >> 8, n & 255]);
}

function places(index: ShardIndex): number[] {
  return index.flatMap((entry) =>
    entry ? bytesOf(entry.offset, entry.length) : bytesOf(0xffff, 0xffff)
  );
}

Deno.test("encodeShard refuses what is no container, such as a function for many shards", () => {
  const metadata = arrayMetadata({
    shape: [32, 32],
    dataType: "uint8",
    shardShape: [32, 32],
    chunkShape: [16, 16],
  });
  for (
    const [container, message] of [
      [tiffContainer(metadata), "call it with the grid coordinates"],
      [() => ({}), "call it with the grid coordinates"],
      [null, "Expected the container of one shard"],
      ["tiff", "Expected the container of one shard"],
    ] as const
  ) {
    assertThrows(
      () =>
        encodeShard(CHUNKS, LAYOUT, {
          container: container as unknown as ShardContainer,
        }),
      TypeError,
      message,
    );
  }
  const layout = parseShardLayout(metadata.codecs[0], [32, 32]);
  const tiles = Array.from({ length: 4 }, () => new Uint8Array(256));
  const container = tiffContainer(metadata)([0, 0]);
  const shard = encodeShard(tiles, layout, { container });
  assertEquals([...shard.subarray(0, 4)], [0x49, 0x49, 42, 0]);
});

Deno.test("encodeShard puts the head, the bytes before inner chunks and the tail of a container in their places", () => {
  const member = fc.option(fc.uint8Array({ maxLength: 9 }), { nil: undefined });
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.uint8Array({ maxLength: 9 }), { nil: undefined }), {
        minLength: 1,
        maxLength: 6,
      }),
      fc.tuple(member, member, member),
      fc.constantFrom(1, 2, 8),
      (chunks, [head, before, tail], alignment) => {
        const layout = { ...LAYOUT, chunksPerShard: [chunks.length] };
        const container: ShardContainer = {
          ...head &&
            { head: (index) => Uint8Array.of(...head, ...places(index)) },
          ...before && {
            before: (place, chunk) =>
              Uint8Array.of(...before, place, chunk.length),
          },
          ...tail && {
            tail: (index, offset) =>
              Uint8Array.of(...tail, ...bytesOf(offset), ...places(index)),
          },
        };
        const shard = encodeShard(chunks, layout, { container, alignment });

        const index = decodeShardIndex(
          shard.subarray(-16 * chunks.length),
          layout,
        );
        // The slow way: one byte after another, by the index that was found.
        const expected: number[] = head ? [...head, ...places(index)] : [];
        chunks.forEach((chunk, place) => {
          if (chunk === undefined) return;
          const bytes = before ? [...before, place, chunk.length] : [];
          while ((expected.length + bytes.length) % alignment) expected.push(0);
          expected.push(...bytes);
          assertEquals(index[place]!.offset, expected.length);
          expected.push(...chunk);
        });
        if (tail) {
          const offset = expected.length;
          expected.push(...tail, ...bytesOf(offset), ...places(index));
        }
        assertEquals([...shard.subarray(0, -16 * chunks.length)], expected);
      },
    ),
  );
});

Deno.test("encodeShard refuses containers that do not fit", () => {
  let length = 4;
  const refused: [
    ShardContainer,
    typeof TypeError | typeof RangeError,
    string,
  ][] = [
    [
      { head: () => new Uint8Array(length++) },
      RangeError,
      "Expected a head of the container of 4 bytes, as many as it had first, found 5 bytes",
    ],
    [{ head: () => [1] as never }, TypeError, '"head" of the container'],
    [
      { before: () => "a" as never },
      TypeError,
      'Expected "before" of the container as Uint8Array, found "a"',
    ],
    [{ tail: () => null as never }, TypeError, "found null"],
  ];
  for (const [container, error, message] of refused) {
    assertThrows(
      () => encodeShard(CHUNKS, LAYOUT, { container }),
      error,
      message,
    );
  }
  assertThrows(
    () =>
      encodeShard(CHUNKS, LAYOUT, { container: {}, prefix: new Uint8Array() }),
    TypeError,
    "Expected a prefix or a container, found both",
  );
  for (const layout of layoutsOf(3)) {
    const encode = () => encodeShard(CHUNKS, layout, { container: {} });
    if (layout.indexLocation === "end") {
      assertEquals(encode(), encodeShard(CHUNKS, layout));
    } else {
      assertThrows(encode, RangeError, "found one with its index at the start");
    }
  }
});
