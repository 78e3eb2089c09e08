/**
 * Writes and reads shards of zstd with a signal and threads, and verifies a damaged one. Prints
 * what `verify` finds, and the warnings of the runtime. The tests run this program in Deno
 * and, bundled, in Node, where threads have no zstd before version 22.
 */
import {
  arrayMetadata,
  createArrayChunks,
  MemoryStore,
} from "@zarr-parts/zarr-parts";
import { verify } from "@zarr-parts/zarr-parts/jobs";
import {
  getSharded,
  registerCodecs,
  setSharded,
  ThreadPool,
  withZarrParts,
} from "@zarr-parts/zarr-parts/zarrita";
import * as zarr from "zarrita";

const warnings: string[] = [];
const { process } = globalThis as unknown as {
  process: { on(event: "warning", listener: (warning: Error) => void): void };
};
process.on("warning", ({ name, message }) => {
  if (name !== "ExperimentalWarning") warnings.push(`${name}: ${message}`);
});

registerCodecs(zarr);
const store = new MemoryStore();
const metadata = arrayMetadata({
  shape: [256, 256],
  dataType: "int32",
  shardShape: [128, 128],
  chunkShape: [8, 8],
  codecs: ["zstd"],
  parts: ["", ".index"],
});
const chunks = await createArrayChunks(store, "", metadata);
const array = await zarr.open(withZarrParts(store), { kind: "array" });
if (!array.is("int32")) throw new Error(array.dtype);
const data = Int32Array.from({ length: 256 * 256 }, (_, i) => i);
const { signal } = new AbortController();
const pool = new ThreadPool(2);
for (const threads of [undefined, 0, 2, pool]) {
  const options = { threads, signal };
  const value = { data, shape: [256, 256], stride: [256, 1] };
  await setSharded(zarr, array, null, value, options);
  await setSharded(zarr, array, [zarr.slice(3, 200), null], 7, options);
  const read = await getSharded(zarr, array, null, options);
  if (read.data[200 * 256] !== 200 * 256) throw new Error("wrong elements");
}
const findingsOf = async () => {
  const { findings } = await verify(store, "", { deep: true });
  return findings.map(({ message }) => message);
};
const sound = await findingsOf();
const shard = (await chunks.get([0, 0]))!;
shard[9]! ^= 0xff;
await chunks.set([0, 0], shard);
const damaged = (await findingsOf()).length;
console.log(JSON.stringify({ sound, damaged, warnings }));
pool[Symbol.dispose]();
