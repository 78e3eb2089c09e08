import { assertEquals, assertRejects } from "@std/assert";
import { concatStream, FileSystemStore } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { sourceOf, SOURCES } from "./stream_kinds.ts";
import {
  instancesInUse,
  isWasmMemory,
  probedSource,
  settle,
} from "./stream_probes.ts";
import {
  assertSameBytes,
  cutSlowly,
  inPieces,
  joined,
  partsOf,
  slowReport,
  WINDOW,
  withChecksum,
} from "./stream_support.ts";

Deno.test("concatStream joins twenty chunks at once, read and stored, and gives the pool its memory back", async () => {
  assertEquals(instancesInUse(), 0);
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(`${folder}/store`);
    await Promise.all(Array.from({ length: 20 }, async (_, i) => {
      const engine = i < 12 ? "wasm" : ENGINES[i % 3]!;
      const chunk = withChecksum(noise(300_000 + 1000 * i, i + 1));
      const sizes = [100, chunk.length - 70_104, 70_000, 4];
      const parts = cutSlowly(chunk, sizes).map((part) => part.slice());
      const from = SOURCES[i % SOURCES.length]!;
      const reports: unknown[] = [];
      const stream = concatStream(
        partsOf([100, undefined, undefined, 4]),
        ({ keySuffix }) => {
          const part = parts[Number(keySuffix.slice(1))]!;
          return sourceOf(from, part, [100_000, 65_537], folder);
        },
        {
          engine,
          crc32c: i % 2 === 0 ? "verify" : "compute",
          onReport: (report) => reports.push(report),
        },
      );
      // More are stored than there are instances.
      const isStored = i < 12;
      if (isStored) await store.set(`/${i}`, stream);
      const whole = isStored
        ? await Deno.readFile(`${folder}/store/${i}`)
        : joined(await Array.fromAsync(stream));
      assertSameBytes(whole, chunk, `chunk ${i}`);
      assertEquals(reports, [slowReport(parts, true)]);
    }));
  });
  await settle();
  assertEquals(instancesInUse(), 0);
});

Deno.test("concatStream gives the pool its memory back if it cannot be stored", async () => {
  for (const at of [0, 3]) {
    for (const count of [1, 10]) {
      await inTempDir(async (folder) => {
        const store = new FileSystemStore(folder);
        await Promise.all(Array.from({ length: count }, async (_, i) => {
          const pieces = inPieces(noise(10), [2]);
          const stream = concatStream(
            partsOf([undefined]),
            () =>
              probedSource("reader", pieces, (piece) => {
                if (piece === at) throw new Error("Line cut");
              }).source,
            { engine: "wasm", crc32c: "compute" },
          );
          await assertRejects(() => store.set(`/${i}`, stream));
        }));
      });
      await settle();
      assertEquals(instancesInUse(), 0);
    }
  }
});

for (const engine of ENGINES) {
  Deno.test(`concatStream gives pieces with memory of their own, by engine ${engine}`, async () => {
    const parts = [noise(1.5 * WINDOW), noise(300_000, 2)];
    const memories: ArrayBufferLike[] = [];
    const stream = concatStream(partsOf([undefined, undefined]), (part) => {
      const bytes = parts[Number(part.keySuffix.slice(1))]!;
      let offset = 0;
      return {
        read(memory) {
          memories.push(memory.buffer);
          if (offset >= bytes.length) return Promise.resolve(null);
          const piece = bytes.subarray(offset, offset += memory.length);
          memory.set(piece);
          return Promise.resolve(piece.length);
        },
      };
    }, { engine, crc32c: "compute" });
    const pieces = await Array.fromAsync(stream);
    assertSameBytes(joined(pieces), joined(parts));
    const buffers = new Set(pieces.map(({ buffer }) => buffer));
    assertEquals(buffers.size, pieces.length);
    for (const piece of pieces) assertEquals(isWasmMemory(piece), false);
    assertEquals(instancesInUse(), 0);
  });
}
