/** The memory that bytes pass through, and how much of it there is. */
import { assert, assertEquals } from "@std/assert";
import { concatStream, type SplitOptions, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import {
  assertSameBytes,
  cutSlowly,
  inPieces,
  joined,
  partsOf,
  placeOf,
  type Sizes,
  WINDOW,
  withChecksum,
} from "./oracle.ts";
import { greedyReader } from "./ways.ts";
import { isWasmMemory } from "./probes.ts";

const SIZES = [10, undefined, 70_000];
const CHUNK = noise(5.5 * WINDOW);
const OTHER = noise(CHUNK.length, 2);

/** Splits bytes from a reader to streams that keep every piece without a copy. */
async function splitAndKeep(bytes: Uint8Array, options: SplitOptions) {
  const kept: Uint8Array[][] = SIZES.map(() => []);
  const memories = new Set<ArrayBufferLike>();
  await splitStream(
    greedyReader(bytes, memories),
    partsOf(SIZES),
    (part) =>
      new WritableStream({
        write: (piece) => void kept[placeOf(part)]!.push(piece),
      }),
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
        // Other bytes pass through the same memory.
        await splitAndKeep(OTHER, options);
        // Four windows, and one more for the bytes that are held back.
        assert(memories.size <= 5, `${memories.size} memories`);
        const expected = cutSlowly(CHUNK, SIZES);
        for (const [part, pieces] of kept.entries()) {
          assertSameBytes(joined(pieces), expected[part]!);
          for (const { buffer } of pieces) assert(!memories.has(buffer));
        }
        for (const buffer of new Set(kept.flat().map(({ buffer }) => buffer))) {
          assert(!isWasmMemory(new Uint8Array(buffer)));
        }
      }
    }
  });

  Deno.test(`splitStream leaves bytes as they are until a slow writer has taken them, by engine ${engine}`, async () => {
    for (const crc32c of ["none", "compute"] as const) {
      const written: Uint8Array[] = [];
      const reader = greedyReader(CHUNK, new Set());
      await splitStream(reader, partsOf([undefined, 99]), () => ({
        async write(bytes) {
          const before = bytes.slice();
          await new Promise((resolve) => setTimeout(resolve, 1));
          assertSameBytes(bytes, before, "Bytes changed while written");
          written.push(before);
          return bytes.length;
        },
        close: () => {},
      }), { engine, crc32c });
      assertSameBytes(joined(written), CHUNK);
    }
  });

  Deno.test(`concatStream gives pieces with memory of their own, by engine ${engine}`, async () => {
    const parts = [noise(1.5 * WINDOW), noise(300_000, 2)];
    for (const crc32c of ["none", "compute"] as const) {
      const stream = concatStream(
        partsOf([undefined, undefined]),
        (part) => greedyReader(parts[placeOf(part)]!, new Set()),
        { engine, crc32c },
      );
      const pieces = await Array.fromAsync(stream);
      assertSameBytes(joined(pieces), joined(parts));
      const buffers = new Set(pieces.map(({ buffer }) => buffer));
      assertEquals(buffers.size, pieces.length);
      for (const piece of pieces) assert(!isWasmMemory(piece));
    }
  });
}

const TRANSFERRED: Sizes[] = [
  ...[[3, undefined, 3], [1, 2, undefined, 2, 1], [4, 4, 4], [0, 12, 0]],
  ...[[undefined, 11], [undefined, 12], [11, undefined]],
];

for (const sizes of TRANSFERRED) {
  Deno.test(`splitStream gives streams of parts of sizes ${sizes.map(String)} bytes that each may transfer`, async () => {
    const chunk = withChecksum(noise(8));
    for (const lengths of [[1], [5], [12], [9, 3], [4, 8]]) {
      for (const crc32c of ["none", "compute", "verify"] as const) {
        for (const engine of ENGINES) {
          for (const chunkSize of [undefined, 12]) {
            for (const isReader of [false, true]) {
              const written: number[][] = sizes.map(() => []);
              const source = isReader
                ? greedyReader(chunk, new Set())
                : ReadableStream.from(inPieces(chunk, lengths));
              await splitStream(
                source,
                partsOf(sizes),
                (part) =>
                  new WritableStream<Uint8Array<ArrayBuffer>>({
                    write({ buffer, byteOffset, length }) {
                      const moved = buffer.transfer();
                      const bytes = new Uint8Array(moved, byteOffset, length);
                      written[placeOf(part)]!.push(...bytes);
                    },
                  }),
                { crc32c, engine, chunkSize },
              );
              assertEquals(
                written,
                cutSlowly(chunk, sizes).map((part) => [...part]),
              );
            }
          }
        }
      }
    }
  });
}
