/** The memory that bytes pass through: who may use it, and how much there is. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type ByteReader,
  concatStream,
  type EngineName,
  FileSystemStore,
  type SplitOptions,
  splitStream,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inTempDir } from "../stores/temp_dir.ts";
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
import { isWasmMemory, never, settle } from "./probes.ts";
import { split, stepsOfSplit } from "./scenarios.ts";

const SIZES = [10, undefined, 70_000];
const CHUNK = noise(5.5 * WINDOW);
const OTHER = noise(CHUNK.length, 2);

/** A reader that fills all memory it is given, and notes whose memory that is. */
function greedyReader(
  bytes: Uint8Array,
  memories: Set<ArrayBufferLike>,
): ByteReader {
  let offset = 0;
  return {
    read(memory) {
      memories.add(memory.buffer);
      if (offset >= bytes.length) return Promise.resolve(null);
      const piece = bytes.subarray(offset, offset += memory.length);
      memory.set(piece);
      return Promise.resolve(piece.length);
    },
  };
}

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
        assert(memories.size <= 4, `${memories.size} memories`);
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

  Deno.test(`splitStream lends the memory of a reader to writers without a copy, by engine ${engine}`, async () => {
    for (const crc32c of ["none", "compute"] as const) {
      const memories = new Set<ArrayBufferLike>();
      const written = new Set<ArrayBufferLike>();
      const reader = greedyReader(CHUNK, memories);
      await splitStream(reader, partsOf([7, undefined]), () => ({
        write(bytes) {
          written.add(bytes.buffer);
          return Promise.resolve(bytes.length);
        },
        close: () => {},
      }), { engine, crc32c });
      assert(written.isSubsetOf(memories));
      if (engine !== "wasm" || crc32c === "none") continue;
      const [memory] = memories;
      assert(isWasmMemory(new Uint8Array(memory!)));
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

  Deno.test(`splitStream reads at most four windows ahead of a writer, by engine ${engine}`, async () => {
    for (const crc32c of ["none", "compute"] as const) {
      for (const tail of [0, 100_000]) {
        let written = 0;
        let read = 0;
        let most = 0;
        const total = 40 * WINDOW;
        await splitStream(
          {
            async read(memory) {
              if (read === total) return null;
              await Promise.resolve();
              const count = Math.min(memory.length, total - read);
              read += count;
              most = Math.max(most, read - written);
              return count;
            },
          },
          partsOf([undefined, tail]),
          () => ({
            async write({ length }) {
              await new Promise((resolve) => setTimeout(resolve, 0));
              written += length;
              return length;
            },
            close: () => {},
          }),
          { engine, crc32c },
        );
        assertEquals(written, total);
        assert(most <= 4 * WINDOW + tail + 65_536, `${most} bytes ahead`);
      }
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

/** The memory that a split of a short chunk reads into. */
async function memoryOf(engine: EngineName): Promise<ArrayBufferLike> {
  const memories = new Set<ArrayBufferLike>();
  await splitStream(
    greedyReader(noise(9), memories),
    partsOf([undefined, 4]),
    () => ({
      write: ({ length }) => Promise.resolve(length),
      close: () => {},
    }),
    { engine, crc32c: "compute" },
  );
  await settle();
  return [...memories][0]!;
}

/** More windows than are kept for later. */
const MANY = 20;

for (const engine of ENGINES) {
  Deno.test(`splitStream reads into the memory of earlier splits, also of those that failed or were aborted, by engine ${engine}`, async () => {
    const memories = new Set<ArrayBufferLike>();
    for (let i = 0; i < MANY; i++) memories.add(await memoryOf(engine));
    const scenario = {
      from: "reader",
      to: "writer",
      engine,
      isKnown: false,
    } as const;
    for (const { name, count } of await stepsOfSplit(scenario)) {
      for (const isAbort of [false, true]) {
        if (isAbort && name.startsWith("close")) continue;
        const controller = new AbortController();
        const options = { signal: controller.signal };
        const { splitting } = split({ ...scenario, options }, (step) => {
          if (step.name !== name || step.count !== count) return;
          if (!isAbort) throw new Error("Fault");
          controller.abort(new Error("Enough"));
        });
        await assertRejects(() => splitting);
        await settle();
        memories.add(await memoryOf(engine));
      }
    }
    assert(memories.size <= 8, `${memories.size} memories`);
    if (engine !== "wasm") return;
    for (const memory of memories) assert(isWasmMemory(new Uint8Array(memory)));
  });

  Deno.test(`concatStream that is stored reads into memory of earlier chunks, also of those that failed, by engine ${engine}`, async () => {
    await inTempDir(async (folder) => {
      const store = new FileSystemStore(folder);
      const memories = new Set<ArrayBufferLike>();
      for (let i = 0; i < MANY; i++) {
        let reads = 0;
        const stream = concatStream(partsOf([undefined]), () => ({
          read({ buffer, length }) {
            memories.add(buffer);
            if (reads++ < 2) return Promise.resolve(length);
            if (i % 2 === 0) throw new Error("Line cut");
            return Promise.resolve(null);
          },
        }), { engine, crc32c: "compute" });
        await store.set("/x", stream).catch(() => {});
        await settle();
      }
      assert(memories.size <= 8, `${memories.size} memories`);
      if (engine !== "wasm") return;
      for (const memory of memories) {
        assert(isWasmMemory(new Uint8Array(memory)));
      }
    });
  });

  Deno.test(`splitStream writes all that one read gave at once, also if the length is unknown, by engine ${engine}`, async () => {
    for (const crc32c of ["none", "compute", "verify"] as const) {
      for (const tail of [1, 1604, 65_536, WINDOW / 4]) {
        const chunk = withChecksum(CHUNK);
        const memories = new Set<ArrayBufferLike>();
        const reader = greedyReader(chunk, memories);
        let reads = 0;
        const written: Uint8Array[][] = [[], []];
        await splitStream(
          { read: (memory) => (reads++, reader.read(memory)) },
          partsOf([undefined, tail]),
          (part) => ({
            write(bytes) {
              written[placeOf(part)]!.push(bytes.slice());
              return Promise.resolve(bytes.length);
            },
            close: () => {},
          }),
          { engine, crc32c },
        );
        const [body, end] = written as [Uint8Array[], Uint8Array[]];
        assert(body.length <= reads, `${body.length} writes, ${reads} reads`);
        assert(end.length <= 2, `${end.length} writes of the last part`);
        assertSameBytes(joined([...body, ...end]), chunk);
      }
    }
  });
}

/** Operations that still use the memory of a split that has failed. */
const USERS = ["a read after an abort", "a read after a failure", "a write"];

for (const user of USERS) {
  for (const engine of ENGINES) {
    Deno.test(`splitStream keeps its memory from others while ${user} uses it, by engine ${engine}`, async () => {
      const error = new Error("Failed");
      const controller = new AbortController();
      const wait = Promise.withResolvers<void>();
      const used = Promise.withResolvers<Uint8Array>();
      let reads = 0;
      const splitting = splitStream(
        {
          async read(memory) {
            if (reads++ === 0) {
              memory.fill(1, 0, 9);
              return 9;
            }
            if (user === "a write") {
              await used.promise;
              throw error;
            }
            memory.fill(7);
            used.resolve(memory);
            await wait.promise;
            return null;
          },
        },
        partsOf([undefined]),
        () => ({
          async write(bytes) {
            if (user === "a write") {
              used.resolve(bytes);
              await wait.promise;
              return bytes.length;
            }
            await used.promise;
            if (user === "a read after an abort") controller.abort(error);
            else throw error;
            return never();
          },
          close: () => {},
        }),
        { engine, crc32c: "compute", signal: controller.signal },
      );
      assertEquals(await assertRejects(() => splitting), error);
      await settle();
      const memory = await used.promise;
      const before = memory.slice();
      // Others, more than there is memory kept for, use memory of their own.
      const others = await Promise.all(
        Array.from({ length: MANY }, () => memoryOf(engine)),
      );
      assert(!others.includes(memory.buffer));
      assertSameBytes(memory, before);
      wait.resolve();
      await settle();
    });
  }
}
