/// <reference lib="dom" />
/**
 * A page that reads an array by threads, and prints what they have done. The query says
 * which `codec` the array has, and whether the `program` of the workers is that of the
 * package, or the module `threaded_worker.ts`.
 */
import { arrayMetadata, createArrayChunks, MemoryStore } from "../../mod.ts";
import {
  getSharded,
  registerCodecs,
  ThreadPool,
  withZarrParts,
} from "../../zarrita.ts";
import * as zarr from "zarrita";
import { registerMask } from "./mask_codec.ts";

registerCodecs(zarr);
registerMask(zarr.registry);

const query = new URLSearchParams(location.search);
const codec = query.get("codec")!;
const counts = { workers: 0, done: 0, failed: 0 };

globalThis.Worker = class extends Worker {
  constructor(...args: ConstructorParameters<typeof Worker>) {
    super(...args);
    counts.workers++;
    this.addEventListener("message", ({ data: { results = [] } }) => {
      for (const result of results) {
        if (result.failed === undefined) counts.done++;
        else counts.failed++;
      }
    });
  }
};

const createWorker = () =>
  new Worker(new URL("/threaded_worker.js", location.href), {
    type: "module",
  });

async function read(): Promise<object> {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [1024, 2048],
    dataType: "uint16",
    chunkShape: [256, 1024],
    shardShape: [512, 2048],
    fillValue: 3,
    codecs: [
      { name: "bytes", configuration: { endian: "little" } },
      {
        name: codec,
        configuration: codec === "mask"
          ? {}
          : codec === "zstd"
          ? { level: 1, checksum: false }
          : { level: 1 },
      },
    ],
  });
  await createArrayChunks(store, "", metadata);
  const array = await zarr.open(withZarrParts(store), { kind: "array" });
  const data = Uint16Array.from({ length: 700 * 2048 }, (_, i) => i * i >> 5);
  const rows = [zarr.slice(0, 700), null];
  await zarr.set(
    array as never,
    rows,
    { data, shape: [700, 2048], stride: [2048, 1] } as never,
  );
  const pool = new ThreadPool({
    threads: 2,
    timeout: 20_000,
    ...query.get("program") === "module" && { createWorker },
  });
  const whole = await getSharded(zarr, array as never, null, {
    threads: pool,
  }) as unknown as { data: Uint16Array };
  const same = await zarr.get(array as never) as { data: Uint16Array };
  pool[Symbol.dispose]();
  return {
    isSame: whole.data.length === same.data.length &&
      whole.data.every((element, i) => element === same.data[i]),
    isShared: typeof SharedArrayBuffer === "function" &&
      whole.data.buffer instanceof SharedArrayBuffer,
  };
}

let results: object;
try {
  results = await read();
} catch (error) {
  results = { error: (error as Error).message };
}
const isIsolated = crossOriginIsolated;
console.log(JSON.stringify({ ...results, ...counts, isIsolated }));
