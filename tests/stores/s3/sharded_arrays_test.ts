/** Sharded arrays in buckets, which other programs change while they are open. */
import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  openArrayChunks,
  PendingWriteError,
  recover,
  UnfinishedWriteError,
} from "../../../mod.ts";
import { S3Store } from "../../../s3.ts";
import { setSharded, withZarrParts } from "../../../zarrita.ts";
import { arrayMetadata, concatParts } from "../../support/metadata.ts";
import { shortTimers, SimulatedBucket } from "./simulated_bucket.ts";

const METADATA = arrayMetadata({
  shape: [8],
  chunk_grid: { name: "regular", configuration: { chunk_shape: [8] } },
  codecs: [{
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [4],
      codecs: [{ name: "bytes" }],
      index_codecs: [{ name: "bytes", configuration: { endian: "little" } }, {
        name: "crc32c",
      }],
    },
  }],
  storage_transformers: [
    concatParts({ key_suffix: "" }, { key_suffix: ".index", size: 36 }),
  ],
});

const FIRST = [1, 1, 1, 1, 0, 0, 0, 0];
const BOTH = [1, 1, 1, 1, 2, 2, 2, 2];

function storeOf(
  bucket: SimulatedBucket,
  isLost: (request: Request) => boolean = () => false,
): S3Store {
  return new S3Store("s3://bucket", {
    endpoint: "https://example.org",
    retryDelay: 0,
    async fetch(request) {
      const body = await request.bytes();
      if (isLost(request)) throw new TypeError("The connection is lost");
      return bucket.answer(request, body);
    },
  });
}

async function openArray(store: S3Store) {
  const array = await zarr.open.v3(withZarrParts(store), { kind: "array" });
  return array as zarr.Array<"uint8", zarr.Readable>;
}

/** Sets elements up to a certain one to a value. */
async function setValues(
  store: S3Store,
  start: number,
  end: number,
  value: number,
): Promise<void> {
  const array = await openArray(store);
  await setSharded(zarr, array, [zarr.slice(start, end)], value);
}

async function valuesOf(array: zarr.Array<"uint8", zarr.Readable>) {
  return [...(await zarr.get(array)).data];
}

Deno.test("zarr.get of a bucket sees inner chunks that were added later", async () => {
  const bucket = new SimulatedBucket();
  await createArrayChunks(storeOf(bucket), "", METADATA);
  const reader = await openArray(storeOf(bucket));
  assertEquals(await valuesOf(reader), Array(8).fill(0));
  await setValues(storeOf(bucket), 0, 4, 1);
  assertEquals(await valuesOf(reader), FIRST);
  await setValues(storeOf(bucket), 4, 8, 2);
  assertEquals(await valuesOf(reader), BOTH);
});

Deno.test("zarr.get of a shard that a killed program has left throws an UnfinishedWriteError", async () => {
  using _timers = shortTimers();
  for (const isOpen of [true, false]) {
    const bucket = new SimulatedBucket();
    await createArrayChunks(storeOf(bucket), "", METADATA);
    await setValues(storeOf(bucket), 0, 4, 1);
    const reader = await openArray(storeOf(bucket));
    if (isOpen) assertEquals(await valuesOf(reader), FIRST);
    const killed = storeOf(
      bucket,
      ({ method, url }) => method === "POST" && url.includes(".index?uploadId"),
    );
    await assertRejects(() => setValues(killed, 4, 8, 2), PendingWriteError);
    await assertRejects(() => valuesOf(reader), UnfinishedWriteError);
    const chunks = await openArrayChunks(storeOf(bucket));
    await assertRejects(() => chunks.get([0]), UnfinishedWriteError);
    await recover(storeOf(bucket));
    assertEquals(await valuesOf(reader), BOTH);
  }
});

Deno.test("setSharded of a whole shard in two parts takes the requests of the protocol", async () => {
  const bucket = new SimulatedBucket();
  const requests: string[] = [];
  const note = ({ method, url }: Request) => {
    const { pathname } = new URL(url);
    requests.push(`${method} ${pathname.replace(/^.*\//, "")}`);
    return false;
  };
  await createArrayChunks(storeOf(bucket), "", METADATA);
  const array = await openArray(storeOf(bucket, note));
  assertEquals(requests, ["GET zarr.json"]);
  const counts: number[] = [];
  for (const value of [1, 2, 3]) {
    requests.length = 0;
    await setSharded(zarr, array, [null], value);
    // The document is compared with the one that the array was opened from.
    assertEquals(requests.shift(), "GET zarr.json");
    counts.push(requests.length);
  }
  // The first write asks by six requests which conditions the service heeds.
  assertEquals(counts, [6 + 11, 12, 12]);
  assertEquals(await valuesOf(array), Array(8).fill(3));
});
