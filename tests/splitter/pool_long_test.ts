/** Memory is used again by later splits and joins, and never by two at once. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  concatStream,
  type EngineName,
  FileSystemStore,
  splitStream,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import {
  assertSameBytes,
  joined,
  MOST_HELD,
  partsOf,
  placeOf,
  WINDOW,
  withChecksum,
} from "./oracle.ts";
import { isWasmMemory, never, settle } from "./probes.ts";
import { split, stepsOfSplit } from "./scenarios.ts";
import { greedyReader } from "./ways.ts";

const CHUNK = withChecksum(noise(5.5 * WINDOW));

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
      for (const tail of [1, 1604, 65_536, MOST_HELD]) {
        const memories = new Set<ArrayBufferLike>();
        const reader = greedyReader(CHUNK, memories);
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
        assertSameBytes(joined([...body, ...end]), CHUNK);
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
