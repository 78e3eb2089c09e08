/**
 * Reads an array by threads, prints what the threads have done, and does nothing more. The
 * tests run this program in Deno without permissions and, bundled, in Node, and see whether
 * it ends. The first argument says which threads it uses, the second one the codec.
 */
import { arrayMetadata, createArrayChunks, MemoryStore } from "../../mod.ts";
import {
  getSharded,
  registerCodecs,
  ThreadPool,
  withZarrParts,
} from "../../zarrita.ts";
import * as zarr from "zarrita";

interface AnyWorker {
  addEventListener?(type: string, listener: (event: unknown) => void): void;
  on?(type: string, listener: (value: unknown) => void): void;
}

interface Process {
  readonly argv: readonly string[];
  getBuiltinModule(name: string): { Worker: new (...args: never[]) => object };
}

// deno-lint-ignore no-process-global -- Deno has it, too
const process = (globalThis as unknown as { process: Process }).process;
const isNode = !("Deno" in globalThis);

const counts = { workers: 0, done: 0, failed: [] as string[] };

/** Counts what workers answer. */
function observe(worker: AnyWorker): void {
  counts.workers++;
  const count = (answer: { results?: unknown[] }) => {
    for (const result of answer.results ?? []) {
      const { failed } = result as { failed?: string };
      if (failed === undefined) counts.done++;
      else counts.failed.push(failed);
    }
  };
  if (isNode) worker.on!("message", count as (value: unknown) => void);
  else {
    worker.addEventListener!("message", (event) => {
      count((event as { data: object }).data);
    });
  }
}

const scope = isNode
  ? process.getBuiltinModule("node:worker_threads")
  : globalThis as unknown as { Worker: new (...args: never[]) => object };
const { Worker } = scope;
scope.Worker = class extends Worker {
  constructor(...args: never[]) {
    super(...args);
    observe(this as AnyWorker);
  }
};

const [mode = "", codec = ""] = process.argv.slice(2);
registerCodecs(zarr);
const store = new MemoryStore();
const shape = [16, 1024, 1024];
await createArrayChunks(
  store,
  "",
  arrayMetadata({
    shape,
    dataType: "uint8",
    chunkShape: [4, 1024, 1024],
    fillValue: 1,
    codecs: [{ name: "bytes" }, {
      name: codec,
      configuration: codec === "numcodecs.blosc"
        ? { cname: "lz4", clevel: 1, shuffle: 0, blocksize: 0 }
        : codec === "zstd"
        ? { level: 1, checksum: false }
        : { level: 1 },
    }],
  }),
);
const array = await zarr.open(withZarrParts(store), { kind: "array" });
await zarr.set(array as never, [zarr.slice(0, 12), null, null], 7 as never);

/** The sum of the elements that are read. */
async function read(
  threads: ThreadPool | number | undefined,
  signal?: AbortSignal,
) {
  const { data } = await getSharded(zarr, array as never, null, {
    threads,
    signal,
  }) as unknown as { data: Uint8Array };
  let sum = 0;
  for (const element of data) sum += element;
  return sum;
}

const results: Record<string, unknown> = {};
try {
  if (mode === "call") results.sum = await read(undefined);
  else if (mode === "number") results.sum = await read(2);
  else if (mode === "pool") results.sum = await read(new ThreadPool());
  else if (mode === "using") {
    const pool = new ThreadPool({ threads: 2 });
    results.sum = await read(pool);
    pool[Symbol.dispose]();
  } else if (mode === "aborted") {
    const controller = new AbortController();
    const reading = read(new ThreadPool(), controller.signal);
    controller.abort(new Error("Enough"));
    await reading;
  } else if (mode === "twice") {
    const pool = new ThreadPool({ threads: 2 });
    await read(pool);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    results.sum = await read(pool);
  } else if (mode === "unused") results.size = new ThreadPool().size > 0;
  else if (mode === "module") {
    const program = new URL("./threaded_worker.js", import.meta.url);
    const createWorker = () => new scope.Worker(...[program] as never[]);
    const pool = new ThreadPool({
      threads: 2,
      createWorker: createWorker as never,
    });
    results.sum = await read(pool);
  } else if (mode === "dead") {
    const pool = new ThreadPool({ threads: 1, createWorker: dying });
    results.sum = await read(pool);
  } else throw new Error(`Unknown mode ${mode}`);
} catch (error) {
  results.error = (error as Error).message;
}
console.log(JSON.stringify({ ...results, ...counts }));

/** A worker that ends its process or itself when it gets a chunk. */
function dying(): never {
  if (isNode) {
    const program = `const { parentPort } = require("node:worker_threads");
      parentPort.on("message", () => process.exit(3));
      parentPort.postMessage({ started: "zarr-parts 1" });`;
    return new scope.Worker(...[program, { eval: true }] as never[]) as never;
  }
  const program =
    `onmessage = () => setTimeout(() => { throw new Error("Gone"); }, 100);
    postMessage({ started: "zarr-parts 1" });`;
  const url = URL.createObjectURL(new Blob([program]));
  return new scope.Worker(...[url, { type: "module" }] as never[]) as never;
}
