import { assertEquals, assertRejects } from "@std/assert";
import { Worker as NodeWorker } from "node:worker_threads";
import { poolAccess } from "../../src/threads/mod.ts";
import { WORKER_PROGRAM } from "../../src/threads/worker_program.ts";
import { ThreadPool, type ThreadPoolOptions } from "../../zarrita.ts";
import { STARTED, startProgramOf } from "./counted_pool.ts";

const FORMAT = {
  dataType: "uint8",
  elementSize: 1,
  shape: [4],
  codecs: [{ name: "bytes" }, { name: "zstd" }],
};

/** Encodes chunks in a pool, and decodes them again. */
async function assertWorks(pool: ThreadPool): Promise<void> {
  const chunks = Array.from({ length: 20 }, (_, i) => [i, 2, 3, 4]);
  await poolAccess.get(pool)!.use(async (threads) => {
    for (const chunk of chunks) {
      const elements = new Uint8Array(chunk);
      const encode = { kind: "encode", elements, strides: [1] } as const;
      const [bytes] = await threads.run(FORMAT, [encode], 2 ** 20);
      const decode = { kind: "decode", bytes: bytes as Uint8Array } as const;
      const [found] = await threads.run(FORMAT, [decode], 2 ** 20);
      assertEquals(found, { bytes: new Uint8Array(chunk), strides: [1] });
    }
  });
}

const SOURCE = new URL("../../worker/main.ts", import.meta.url);

const WORKERS: Record<string, ThreadPoolOptions["createWorker"]> = {
  "of this package": undefined,
  "with a module": () => new Worker(SOURCE, { type: "module" }),
  "of Node": () => new NodeWorker(WORKER_PROGRAM, { eval: true }),
};

for (const [what, createWorker] of Object.entries(WORKERS)) {
  Deno.test(`workers ${what} encode and decode`, async () => {
    using pool = new ThreadPool({ threads: 2, createWorker });
    await assertWorks(pool);
  });
}

/** What a worker does when it gets work, or before, and the error. */
const FAILURES: Record<string, [program: string, message: string]> = {
  "throws at work": [
    `${STARTED} onmessage = () => { throw new Error("Out of ink"); };`,
    "Out of ink",
  ],
  "throws later": [
    `${STARTED} onmessage = () => { setTimeout(() => { throw new Error("Out of ink"); }); };`,
    "Out of ink",
  ],
  "rejects a promise": [
    `${STARTED} onmessage = () => { Promise.reject(new Error("Out of ink")); };`,
    "Out of ink",
  ],
  "closes": [`${STARTED} onmessage = () => close();`, "There was no answer"],
  "never ends": [
    `${STARTED} onmessage = () => { for (;;); };`,
    "There was no answer",
  ],
  "throws at its start": ["throw new Error('Not today')", "Not today"],
  "is no JavaScript": ["this is no program", "must call runChunkWorker"],
  "does nothing": ["1;", "must call runChunkWorker"],
};

for (const [what, [program, message]] of Object.entries(FAILURES)) {
  Deno.test(`a pool rejects if the program of a worker ${what}`, async () => {
    // Long enough for a worker to start on a busy machine, where it should fail by itself.
    const isSilent = ["closes", "never ends", "does nothing"].includes(what);
    using pool = new ThreadPool({
      threads: 1,
      timeout: isSilent ? 1500 : 60_000,
      createWorker: () => startProgramOf(program),
    });
    await assertRejects(() => assertWorks(pool), Error, message);
  });
}

Deno.test("a pool rejects if the module of a worker is missing", async () => {
  const missing = new URL("./no_such_worker.ts", import.meta.url);
  const createWorker = () => new Worker(missing, { type: "module" });
  using pool = new ThreadPool({ threads: 1, createWorker });
  await assertRejects(
    () => assertWorks(pool),
    Error,
    "must call runChunkWorker",
  );
});
