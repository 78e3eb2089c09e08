// A program in strict TypeScript, for Node: writes an array, and reads it in several ways.
import { deepStrictEqual, rejects, strictEqual } from "node:assert";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ArrayChunks,
  arrayMetadata,
  createArrayChunks,
  DamageError,
  FileSystemStore,
  plainView,
  type StoreKey,
} from "@zarr-parts/zarr-parts";
import {
  convert,
  type Finding,
  inspect,
  verify,
} from "@zarr-parts/zarr-parts/jobs";
import { S3Store } from "@zarr-parts/zarr-parts/s3";
import { createHandler } from "@zarr-parts/zarr-parts/serve";
import { adoptTiffs, tiffContainer } from "@zarr-parts/zarr-parts/tiff";
import {
  getSharded,
  registerCodecs,
  setSharded,
  ThreadPool,
  withZarrParts,
} from "@zarr-parts/zarr-parts/zarrita";
import { adoptZip } from "@zarr-parts/zarr-parts/zip";
import * as zarr from "zarrita";

const folder = await mkdtemp(join(tmpdir(), "@zarr-parts/zarr-parts-"));
registerCodecs(zarr);
const files = new FileSystemStore(join(folder, "data"));
const metadata = arrayMetadata({
  shape: [64, 64],
  shardShape: [32, 32],
  chunkShape: [16, 16],
  dataType: "int32",
  codecs: ["zlib"],
  suffix: ".tiff",
  parts: ["", ".index"],
});
const chunks: ArrayChunks = await createArrayChunks(files, "", metadata);
const array = await zarr.open(withZarrParts(files), { kind: "array" });
if (!array.is("int32")) throw new Error(array.dtype);
const data = Int32Array.from({ length: 64 * 64 }, (_, i) => i);
await setSharded(zarr, array, null, {
  data,
  shape: [64, 64],
  stride: [64, 1],
}, { container: tiffContainer(metadata) });
using pool = new ThreadPool({ threads: 2 });
for (const threads of [1, 2, pool]) {
  const whole: { data: unknown } = await getSharded(zarr, array, null, {
    threads,
  });
  deepStrictEqual(whole.data, data);
}
const keys: StoreKey[] = [];
for await (const key of files.list("/c/")) keys.push(key);
strictEqual(keys.length, 8);
strictEqual(
  await chunks.get([5, 5]).catch((error) => error.name),
  "RangeError",
);
const { findings } = await verify(files, "", { deep: true });
deepStrictEqual(findings satisfies readonly Finding[], []);
const copy = new FileSystemStore(join(folder, "copy"));
strictEqual((await convert(files, copy, { plain: true })).isFinished, true);
strictEqual((await inspect(copy)).nodes.length, 1);
const answer = await createHandler(files)(new Request("http://x/zarr.json"));
strictEqual(answer.status, 200);
await files.set("/c/0/0.tiff.index", new Uint8Array(3));
await rejects(getSharded(zarr, array), DamageError);
console.log(
  typeof plainView,
  typeof S3Store,
  typeof adoptTiffs,
  typeof adoptZip,
);
await rm(folder, { recursive: true });
console.log("done");
