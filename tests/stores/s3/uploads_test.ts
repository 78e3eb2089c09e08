import { assertEquals, assertRejects } from "@std/assert";
import { UnfinishedWriteError } from "../../../mod.ts";
import { S3Store, type S3StoreOptions } from "../../../s3.ts";
import { openBucket } from "../../../src/stores/s3/bucket.ts";
import { completeUpload, Upload } from "../../../src/stores/s3/uploads.ts";
import { countingBytes } from "../../support/bytes.ts";
import { streamOf } from "../store_values.ts";
import { Chunk } from "./chunk.ts";
import { shortTimers, SimulatedBucket } from "./simulated_bucket.ts";

const PIECE = 5 * 2 ** 20;

/** Answers a request in place of the bucket. */
type Answer = (
  request: Request,
  body: Uint8Array<ArrayBuffer>,
) => Promise<Response | undefined> | Response | undefined;

function open(answer: Answer = () => undefined) {
  const bucket = new SimulatedBucket();
  const options: S3StoreOptions = {
    endpoint: "https://example.org",
    pieceSize: PIECE,
    retryDelay: 0,
    async fetch(request) {
      const body = await request.bytes();
      return await answer(request, body) ?? bucket.answer(request, body);
    },
  };
  const { objects } = openBucket("s3://bucket", options);
  return { bucket, objects, store: new S3Store("s3://bucket", options) };
}

Deno.test("Upload doubles its pieces after each thousand, and sends few at the same time", async () => {
  let sending = 0;
  let most = 0;
  const lengths: number[] = [];
  const { bucket, objects } = open(async ({ url }, body) => {
    const number = new URL(url).searchParams.get("partNumber");
    if (number === null) return undefined;
    lengths[Number(number) - 1] = body.length;
    most = Math.max(most, ++sending);
    await new Promise((resolve) => setTimeout(resolve));
    sending--;
  });
  const upload = new Upload({ objects, pieceSize: 1 }, "/k", {});
  const bytes = countingBytes(1000 + 2000 + 4 + 3);
  await upload.write(bytes.subarray(0, 1001));
  await upload.write(bytes.subarray(1001));
  const spoilt = await completeUpload(objects, await upload.prepare());
  assertEquals(spoilt, undefined);
  assertEquals(lengths, [...Array(1000).fill(1), ...Array(1000).fill(2), 4, 3]);
  assertEquals(bucket.objects.get("k")?.bytes, bytes);
  assertEquals(most, 4);
});

Deno.test("Upload takes few bytes more once a piece has failed, and no more than it may", async () => {
  let failures = 0;
  const { bucket, objects } = open(({ url }) => {
    if (!url.includes("partNumber")) return undefined;
    failures++;
    return new Response(null, { status: 403 });
  });
  const upload = new Upload({ objects, pieceSize: 1 }, "/k", {});
  await assertRejects(
    async () => {
      for (let i = 0; i < 100; i++) {
        await upload.write(countingBytes(1));
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
    Error,
    "found 403",
  );
  assertEquals(failures, 4);
  await upload.abort();
  assertEquals(bucket.uploads.size, 0);
  const target = { objects, pieceSize: Infinity, longest: 9 };
  const short = new Upload(target, "/k", {});
  await short.write(countingBytes(9));
  await assertRejects(() => short.write(countingBytes(1)), RangeError, '"/k"');
});

Deno.test("S3Store stores the bytes that it was given, although their memory is used again", async () => {
  const { store, bucket } = open();
  for (const length of [100, PIECE]) {
    const memory = new Uint8Array(length);
    let count = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        memory.fill(++count);
        if (count <= 3) controller.enqueue(memory);
        else controller.close();
      },
    }, { highWaterMark: 0 });
    await store.set("/k", stream);
    const value = (await store.get("/k"))!;
    assertEquals([0, 1, 2].map((i) => value[i * length]), [1, 2, 3]);

    const pending = await store.prepare(["/c", "/c.i"]);
    await pending.set("/c", new Uint8Array(PIECE)); // Given again below.
    await pending.set("/c.i", memory.fill(4));
    const part = await pending.writer("/c");
    for (const byte of [5, 6]) {
      assertEquals(await part.write(memory.fill(byte)), length);
    }
    memory.fill(7);
    await part.close();
    await pending.commit();
    assertEquals((await store.get("/c.i"))?.[0], 4);
    const bytes = (await store.get("/c"))!;
    assertEquals([bytes[0], bytes[length], bytes.length], [5, 6, 2 * length]);
    assertEquals(bucket.uploads.size, 0);
  }
});

Deno.test("S3Store gives up its uploads if a chunk is not stored", async () => {
  const { store, bucket } = open();
  const chunk = new Chunk(store);
  await chunk.write(1);
  const refuse = () => {
    throw new RangeError("No");
  };
  await assertRejects(() => chunk.write(2, refuse), RangeError, "No");
  const pending = await store.prepare(chunk.keys);
  await pending.set(chunk.keys[0]!, new Uint8Array(PIECE));
  await assertRejects(() => pending.commit(), TypeError, chunk.keys[1]);
  await pending.abort(undefined);
  assertEquals(await chunk.read(), 1);
  assertEquals([bucket.uploads.size, bucket.objects.size], [0, 2]);
});

Deno.test("S3Store.set sends bytes again that a service has refused for a while", async () => {
  const statuses = [503, 429, 200];
  const bodies: Uint8Array[] = [];
  const { store } = open((_, body) => {
    bodies.push(body);
    return new Response(null, { status: statuses.shift()! });
  });
  const bytes = countingBytes(3);
  await store.set("/k", bytes);
  assertEquals(bodies, [bytes, bytes, bytes]);
});

Deno.test("S3Store.set tries again if the service fails after it has sent status 200", async () => {
  using _timers = shortTimers();
  const cases: [code: string, failures: number, error?: string][] = [
    ["InternalError", 4],
    ["InternalError", 5, "InternalError"],
    ["SlowDown", 4],
    ["InvalidPart", 1, "InvalidPart"],
  ];
  for (const [code, failures, error] of cases) {
    let count = 0;
    const { store, bucket } = open(({ method, url }) =>
      method === "POST" && url.includes("uploadId") && count++ < failures
        ? new Response(
          `<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>No</Message></Error>`,
        )
        : undefined
    );
    const set = () => store.set("/k", streamOf(new Uint8Array(PIECE)));
    if (error === undefined) await set();
    else await assertRejects(set, Error, error);
    const stored = error === undefined ? 1 : 0;
    assertEquals([bucket.uploads.size, bucket.objects.size], [0, stored]);
  }
});

Deno.test("S3Store.set stores a value whose last answer is lost, and so its upload unknown", async () => {
  using _timers = shortTimers(); // The completion may still be under way.
  for (const isReplaced of [false, true]) {
    let completions = 0;
    const { store, bucket } = open((request, body) => {
      const isLost = request.method === "POST" &&
        request.url.includes("uploadId") && completions++ === 0;
      if (!isLost) return undefined;
      bucket.answer(request, body);
      const object = bucket.objects.get("k")!;
      if (isReplaced) bucket.objects.set("k", { ...object, metadata: {} });
      throw new TypeError("The connection is lost");
    });
    const set = () => store.set("/k", streamOf(countingBytes(PIECE)));
    if (isReplaced) await assertRejects(set, UnfinishedWriteError);
    else await set();
    assertEquals(completions, 2);
    assertEquals((await store.get("/k"))?.length, PIECE);
  }
});
