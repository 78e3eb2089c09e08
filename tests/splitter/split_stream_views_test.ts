import { assertEquals } from "@std/assert";
import { type ByteReader, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { isWasmMemory } from "./stream_probes.ts";
import {
  assertSameBytes,
  cutSlowly,
  inPieces,
  joined,
  partsOf,
  WINDOW,
  withChecksum,
} from "./stream_support.ts";

const SIZES = [10, undefined, 70_000];
const CHUNK = noise(5.5 * WINDOW);
const OTHER = noise(CHUNK.length, 2);

/** Fills all memory it is given; its memory is what may escape. */
function greedyReader(bytes: Uint8Array): {
  reader: ByteReader;
  memories: Set<ArrayBufferLike>;
} {
  let offset = 0;
  const memories = new Set<ArrayBufferLike>();
  return {
    memories,
    reader: {
      read(memory) {
        memories.add(memory.buffer);
        if (offset >= bytes.length) return Promise.resolve(null);
        const piece = bytes.subarray(offset, offset += memory.length);
        memory.set(piece);
        return Promise.resolve(piece.length);
      },
    },
  };
}

/** Splits bytes to streams that keep every piece by reference. */
async function splitAndKeep(
  bytes: Uint8Array,
  options: Parameters<typeof splitStream>[3],
) {
  const kept: Uint8Array[][] = SIZES.map(() => []);
  const { reader, memories } = greedyReader(bytes);
  await splitStream(
    reader,
    partsOf(SIZES),
    ({ keySuffix }) => {
      const pieces = kept[Number(keySuffix.slice(1))]!;
      return new WritableStream({ write: (piece) => void pieces.push(piece) });
    },
    options,
  );
  return { kept, memories };
}

for (const engine of ENGINES) {
  Deno.test(`splitStream gives streams no view of memory that is used again, by engine ${engine}`, async () => {
    for (const chunkSize of [undefined, CHUNK.length]) {
      for (const crc32c of ["none", "compute"] as const) {
        const options = { engine, crc32c, chunkSize };
        const { kept, memories } = await splitAndKeep(CHUNK, options);
        // Other bytes go through the same memory.
        const other = await splitAndKeep(OTHER, options);
        const isWasm = engine !== "native" && crc32c === "compute";
        assertEquals(memories.size, 1);
        if (isWasm) assertEquals(other.memories, memories);
        const expected = cutSlowly(CHUNK, SIZES);
        for (const [part, pieces] of kept.entries()) {
          assertSameBytes(joined(pieces), expected[part]!);
          for (const { buffer } of pieces) {
            assertEquals(memories.has(buffer), false);
          }
        }
        const buffers = new Set(kept.flat().map(({ buffer }) => buffer));
        for (const buffer of buffers) {
          assertEquals(isWasmMemory(new Uint8Array(buffer)), false);
        }
      }
    }
  });
}

Deno.test("splitStream lends its own memory to a reader and to writers alike", async () => {
  const { reader, memories } = greedyReader(noise(3 * WINDOW));
  const written = new Set<ArrayBufferLike>();
  await splitStream(reader, partsOf([undefined]), () => ({
    write(bytes) {
      written.add(bytes.buffer);
      return Promise.resolve(bytes.length);
    },
    close: () => {},
  }), { engine: "wasm", crc32c: "compute" });
  assertEquals(written, memories);
  const [memory] = memories;
  assertEquals(isWasmMemory(new Uint8Array(memory!)), true);
});

for (const sizes of [[3, undefined, 3], [1, 2, undefined, 2, 1], [4, 4, 4]]) {
  Deno.test(`splitStream gives each stream of parts of sizes ${sizes.map(String)} bytes that it may transfer elsewhere`, async () => {
    for (const lengths of [[1], [5], [12], [9, 3]]) {
      for (const crc32c of ["none", "verify"] as const) {
        const chunk = withChecksum(noise(8));
        const written: number[] = [];
        await splitStream(
          ReadableStream.from(inPieces(chunk, lengths)),
          partsOf(sizes),
          () =>
            new WritableStream<Uint8Array<ArrayBuffer>>({
              write({ buffer, byteOffset, length }) {
                const moved = buffer.transfer();
                written.push(...new Uint8Array(moved, byteOffset, length));
              },
            }),
          { crc32c },
        );
        assertEquals(written, [...chunk]);
      }
    }
  });
}
