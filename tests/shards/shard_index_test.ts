import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import {
  ChecksumError,
  createArrayChunks,
  decodeShardIndex,
  encodeShardIndex,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  parseShardLayout,
  readShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../../mod.ts";
import { concatParts } from "../support/metadata.ts";
import { logged } from "../support/observed_store.ts";
import { indexesOf, layouts, layoutsOf } from "./arbitraries.ts";
import {
  slowCrc32c,
  slowEntries,
  slowIndexBytes,
  slowIndexSize,
  storedEntries,
} from "./slow_shard.ts";

/** A layout and an index for it. */
const indexes = layouts.chain((layout) =>
  fc.record({ layout: fc.constant(layout), index: indexesOf(layout) })
);

Deno.test("encodeShardIndex agrees with BigInt arithmetic, byte by byte", () => {
  fc.assert(
    fc.property(indexes, ({ layout, index }) => {
      const bytes = encodeShardIndex(index, layout);
      assertEquals(bytes, slowIndexBytes(storedEntries(index), layout));
      assertEquals(slowEntries(bytes, layout), storedEntries(index));
    }),
    { numRuns: 500 },
  );
});

Deno.test("decodeShardIndex is the inverse of encodeShardIndex", () => {
  fc.assert(
    fc.property(indexes, ({ layout, index }) => {
      const bytes = encodeShardIndex(index, layout);
      assertEquals(decodeShardIndex(bytes, layout), index);
    }),
    { numRuns: 500 },
  );
});

Deno.test("decodeShardIndex reads bytes written by BigInt arithmetic, and does not change them", () => {
  fc.assert(
    fc.property(indexes, ({ layout, index }) => {
      const bytes = slowIndexBytes(storedEntries(index), layout);
      const before = bytes.slice();
      assertEquals(decodeShardIndex(bytes, layout), index);
      assertEquals(bytes, before);
    }),
    { numRuns: 500 },
  );
});

Deno.test("decodeShardIndex reads a view at any offset in its buffer", () => {
  fc.assert(
    fc.property(indexes, fc.nat(17), ({ layout, index }, byteOffset) => {
      const bytes = slowIndexBytes(storedEntries(index), layout);
      const buffer = new Uint8Array(byteOffset + bytes.length + 5).fill(0xa5);
      buffer.set(bytes, byteOffset);
      const view = buffer.subarray(byteOffset, byteOffset + bytes.length);
      assertEquals(decodeShardIndex(view, layout), index);
    }),
  );
});

Deno.test("decodeShardIndex reads a view at each unaligned offset, with and without a checksum", () => {
  for (const layout of layoutsOf(2)) {
    const index = [undefined, { offset: 0x0102030405, length: 6 }];
    const bytes = encodeShardIndex(index, layout);
    for (const byteOffset of [1, 3, 5, 7, 9]) {
      const buffer = new Uint8Array(byteOffset + bytes.length + 1).fill(0xff);
      buffer.set(bytes, byteOffset);
      const view = buffer.subarray(byteOffset, byteOffset + bytes.length);
      assertEquals(decodeShardIndex(view, layout), index);
    }
  }
});

Deno.test("shardIndexSize is the length of every index of the layout", () => {
  fc.assert(
    fc.property(indexes, ({ layout, index }) => {
      const size = slowIndexSize(layout);
      assertEquals(shardIndexSize(layout), size);
      assertEquals(encodeShardIndex(index, layout).length, size);
    }),
  );
});

Deno.test("encodeShardIndex writes these bytes, as the document of sharding_indexed says", () => {
  const index = [{ offset: 0x0102, length: 0x0304 }, undefined];
  const layout = {
    chunksPerShard: [2],
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: false,
  } as const;
  const absent = Array(16).fill(255);
  assertEquals(
    [...encodeShardIndex(index, layout)],
    [2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, ...absent],
  );
  assertEquals(
    [...encodeShardIndex(index, { ...layout, indexEndian: "big" })],
    [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, ...absent],
  );
  // RFC 3720 has the CRC32C of 32 bytes of 255: 62a8ab43.
  assertEquals(
    [...encodeShardIndex([undefined, undefined], {
      ...layout,
      indexEndian: "big",
      indexHasChecksum: true,
    })],
    [...absent, ...absent, 0x43, 0xab, 0xa8, 0x62],
  );
});

Deno.test("encodeShardIndex writes the same index for both index locations", () => {
  const index = [{ offset: 20, length: 1 }];
  const [start, , , , end] = layoutsOf(1);
  assertEquals(start!.indexLocation, "start");
  assertEquals(end!.indexLocation, "end");
  assertEquals(encodeShardIndex(index, start!), encodeShardIndex(index, end!));
});

Deno.test("decodeShardIndex distinguishes an empty inner chunk from an absent one", () => {
  for (const layout of layoutsOf(3)) {
    const index = [
      { offset: 0, length: 0 },
      undefined,
      { offset: 7, length: 0 },
    ];
    const bytes = encodeShardIndex(index, layout);
    assertEquals(decodeShardIndex(bytes, layout), index);
  }
});

/** The same bytes with one bit changed. */
function withFlippedBit(bytes: Uint8Array, bit: number): Uint8Array {
  const flipped = bytes.slice();
  flipped[bit >> 3]! ^= 1 << (bit & 7);
  return flipped;
}

/** Refuses bytes for their checksum, with all that the error must say. */
function assertChecksumError(bytes: Uint8Array, layout: ShardLayout): void {
  const error = assertThrows(
    () => decodeShardIndex(bytes, layout, "/c/0/1"),
    ChecksumError,
    'The index of "/c/0/1" has the CRC32C 0x',
  );
  const [stored] = new Uint32Array(bytes.slice(-4).buffer);
  const actual = Number(slowCrc32c(bytes.subarray(0, -4)));
  const { key, expected } = error;
  assertEquals(
    { key, expected, actual: error.actual },
    { key: "/c/0/1", expected: stored, actual },
  );
  for (const checksum of [stored!, actual]) {
    const hexadecimal = checksum.toString(16).padStart(8, "0");
    assertStringIncludes(error.message, `0x${hexadecimal}`);
  }
}

Deno.test("decodeShardIndex rejects every index with one flipped bit, with both checksums and the key", () => {
  const index = [{ offset: 64, length: 1000 }, undefined];
  let flips = 0;
  for (const layout of layoutsOf(2).filter((it) => it.indexHasChecksum)) {
    const bytes = encodeShardIndex(index, layout);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      assertChecksumError(withFlippedBit(bytes, bit), layout);
      flips++;
    }
  }
  assertEquals(flips, 4 * 8 * 36);
});

Deno.test("decodeShardIndex rejects one flipped bit in an index of any layout with a checksum", () => {
  fc.assert(
    fc.property(
      layouts.chain((layout) =>
        fc.tuple(
          fc.constant({ ...layout, indexHasChecksum: true }),
          indexesOf(layout),
        )
      ),
      fc.nat(),
      ([layout, index], bit) => {
        const bytes = encodeShardIndex(index, layout);
        assertChecksumError(
          withFlippedBit(bytes, bit % (8 * bytes.length)),
          layout,
        );
      },
    ),
  );
});

Deno.test("decodeShardIndex verifies the checksum before the numbers", () => {
  // With this bit the first offset is above 2^53−1.
  const [layout] = layoutsOf(1).filter((it) =>
    it.indexHasChecksum && it.indexEndian === "little"
  );
  const bytes = encodeShardIndex([{ offset: 0, length: 1 }], layout!);
  assertChecksumError(withFlippedBit(bytes, 63), layout!);
});

Deno.test("decodeShardIndex rejects a big-endian checksum", () => {
  for (const layout of layoutsOf(1).filter((it) => it.indexHasChecksum)) {
    const bytes = encodeShardIndex([{ offset: 1, length: 2 }], layout);
    bytes.subarray(-4).reverse();
    assertChecksumError(bytes, layout);
  }
});

Deno.test("decodeShardIndex names no key if none is given", () => {
  const [layout] = layoutsOf(1).filter((it) => it.indexHasChecksum);
  const error = assertThrows(
    () => decodeShardIndex(new Uint8Array(20), layout!),
    ChecksumError,
    "The index has the CRC32C 0x",
  );
  assertEquals([error.key, error.expected], ["", 0]);
});

Deno.test("decodeShardIndex reads flipped bits as they are if there is no checksum", () => {
  for (const layout of layoutsOf(1).filter((it) => !it.indexHasChecksum)) {
    const bytes = encodeShardIndex([{ offset: 0, length: 0 }], layout);
    const lowest = layout.indexEndian === "little" ? 0 : 7;
    assertEquals(
      decodeShardIndex(withFlippedBit(bytes, 8 * lowest), layout),
      [{ offset: 1, length: 0 }],
    );
  }
});

Deno.test("offsets in a shard's index count from the start of the joined shard, header included", async () => {
  const plain = new FileSystemStore(
    new URL("../fixtures/dem.zarr", import.meta.url),
  );
  const source = await openArrayChunks(plain);
  const layout = parseShardLayout(source.metadata.codecs[0], [128, 120]);
  const memory = new MemoryStore();
  await createArrayChunks(memory, "", {
    ...source.metadata,
    storage_transformers: [concatParts(
      { key_suffix: ".header", size: 64 },
      { key_suffix: "" },
      { key_suffix: ".index", size: shardIndexSize(layout) },
    )],
  });
  const { store, log } = logged(memory);
  const inParts = await openArrayChunks(store);

  let read = 0;
  for await (const coordinates of source.list()) {
    const shard = (await source.get(coordinates))!;
    await inParts.set(coordinates, shard);
    log.length = 0;
    const index = await readShardIndex(
      (range) => inParts.getRange(coordinates, range),
      layout,
    );
    assertEquals(log, [`get ${inParts.key(coordinates)}.index`]);
    for (const entry of index!) {
      if (entry === undefined) continue;
      const { offset, length } = entry;
      log.length = 0;
      assertEquals(
        await inParts.getRange(coordinates, entry),
        shard.slice(offset, offset + length),
      );
      // The first inner chunk begins in the header; no other touches it.
      const key = inParts.key(coordinates);
      assertEquals(
        log,
        offset < 64
          ? [`get ${key}.header`, `getRange ${key}`]
          : [`getRange ${key}`],
      );
      read++;
    }
  }
  assert(read > 100, `${read} inner chunks`);
});
