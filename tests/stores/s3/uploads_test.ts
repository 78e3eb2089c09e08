import { assertEquals, assertRejects } from "@std/assert";
import { S3Store } from "../../../s3.ts";
import { openBucket } from "../../../src/stores/s3/bucket.ts";
import { metadataOf } from "../../../src/stores/s3/objects.ts";
import { Upload } from "../../../src/stores/s3/uploads.ts";
import { countingBytes } from "../../support/bytes.ts";
import { shortTimers, SimulatedBucket } from "./simulated_bucket.ts";

const MIB = 2 ** 20;
const PIECE = 5 * MIB;

function open(
  answer?: (request: Request) => Response | undefined,
): { store: S3Store; bucket: SimulatedBucket } {
  const bucket = new SimulatedBucket();
  const store = new S3Store("s3://bucket", {
    endpoint: "https://example.org",
    pieceSize: PIECE,
    async fetch(request) {
      const body = await request.bytes();
      return answer?.(request) ?? bucket.answer(request, body);
    },
  });
  return { store, bucket };
}

Deno.test("Upload doubles its pieces after each thousand, and sends few at the same time", async () => {
  const simulated = new SimulatedBucket();
  let open = 0;
  let most = 0;
  const lengths: number[] = [];
  const bucket = openBucket("s3://bucket", {
    endpoint: "https://example.org",
    async fetch(request) {
      const body = await request.bytes();
      const number = new URL(request.url).searchParams.get("partNumber");
      if (number === null) return simulated.answer(request, body);
      lengths[Number(number) - 1] = body.length;
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve));
      open--;
      return simulated.answer(request, body);
    },
  });
  const upload = new Upload(
    { ...bucket, pieceSize: 1 },
    "/k",
    "g",
    metadataOf("g", false),
    {},
  );
  const bytes = countingBytes(1000 + 2000 + 4 + 3);
  await upload.write(bytes.subarray(0, 1001));
  await upload.write(bytes.subarray(1001));
  await upload.store();
  assertEquals(lengths, [
    ...new Array(1000).fill(1),
    ...new Array(1000).fill(2),
    4,
    3,
  ]);
  assertEquals(simulated.objects.get("k")?.bytes, bytes);
  assertEquals(most, 4);
});

Deno.test("Upload takes few bytes more once a piece has failed", async () => {
  const simulated = new SimulatedBucket();
  let failures = 0;
  const bucket = openBucket("s3://bucket", {
    endpoint: "https://example.org",
    async fetch(request) {
      const body = await request.bytes();
      if (!request.url.includes("partNumber")) {
        return simulated.answer(request, body);
      }
      failures++;
      return new Response(null, { status: 403 });
    },
  });
  const upload = new Upload({ ...bucket, pieceSize: 1 }, "/k", "g", {}, {});
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
  assertEquals(simulated.uploads.size, 0);
});

Deno.test("S3Store stores the bytes that it was given, although their memory is used again", async () => {
  const { store } = open();
  for (const length of [100, PIECE]) {
    const memory = new Uint8Array(length);
    let count = 0;
    await store.set(
      "/k",
      new ReadableStream<Uint8Array>({
        pull(controller) {
          memory.fill(++count);
          if (count <= 3) controller.enqueue(memory);
          else controller.close();
        },
      }, { highWaterMark: 0 }),
    );
    const value = (await store.get("/k"))!;
    assertEquals([0, 1, 2].map((i) => value[i * length]), [1, 2, 3]);

    const writer = await store.group("/c", ["/c", "/c.i"]).write!();
    memory.fill(4);
    await writer.set("/c.i", memory);
    const part = await writer.writer("/c");
    for (const byte of [5, 6]) {
      memory.fill(byte);
      assertEquals(await part.write(memory), length);
    }
    memory.fill(7);
    await part.close();
    await writer.close();
    assertEquals((await store.get("/c.i"))?.[0], 4);
    const bytes = (await store.get("/c"))!;
    assertEquals([bytes[0], bytes[length], bytes.length], [5, 6, 2 * length]);
  }
});

Deno.test("S3Store.group gives up the upload of a value that is given again", async () => {
  const { store, bucket } = open();
  const writer = await store.group("/c", ["/c", "/c.i"]).write!();
  await writer.set("/c", new Uint8Array(PIECE));
  await writer.set("/c.i", new Uint8Array(3));
  await writer.set("/c", countingBytes(PIECE));
  await writer.close();
  assertEquals(bucket.uploads.size, 0);
  assertEquals(await store.get("/c"), countingBytes(PIECE));
});

Deno.test("S3Store.set sends bytes again that a service has refused for a while", async () => {
  const statuses = [503, 429, 200];
  const bodies: Uint8Array[] = [];
  const store = new S3Store("s3://bucket", {
    endpoint: "https://example.org",
    retryDelay: 0,
    async fetch(request) {
      bodies.push(await request.bytes());
      return new Response(null, { status: statuses.shift()! });
    },
  });
  const bytes = countingBytes(3);
  await store.set("/k", bytes);
  assertEquals(bodies, [bytes, bytes, bytes]);
});

Deno.test("S3Store.set tries again if the service fails after it has sent status 200", async () => {
  using _timers = shortTimers();
  const cases: [code: string, failures: number, error?: string][] = [
    ["InternalError", 4],
    [
      "InternalError",
      5,
      "answered InternalError after status 200: No, after 5",
    ],
    ["SlowDown", 4],
    ["InvalidPart", 1, 'complete the upload of "/k": the bucket answered Inv'],
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
    const stream = new Blob([new Uint8Array(PIECE)]).stream();
    if (error === undefined) await store.set("/k", stream);
    else await assertRejects(() => store.set("/k", stream), Error, error);
    const stored = error === undefined ? 1 : 0;
    assertEquals([bucket.uploads.size, bucket.objects.size], [0, stored]);
  }
});
