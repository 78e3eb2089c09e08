/** Memory is used again by later splits and joins, and never by two at once. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type EngineName, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { assertSameBytes, partsOf } from "./oracle.ts";
import { never, settle } from "./probes.ts";
import { greedyReader } from "./ways.ts";

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
