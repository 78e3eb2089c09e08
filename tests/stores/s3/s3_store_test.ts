import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  ConcatParts,
  openArrayChunks,
  recover,
  type StoreKey,
} from "../../../mod.ts";
import { S3Store, type S3StoreOptions } from "../../../s3.ts";
import { countingBytes } from "../../support/bytes.ts";
import { testStore } from "../conformance.ts";
import { listed, streamOf } from "../store_values.ts";
import { Chunk, KEY } from "./chunk.ts";
import {
  type Limits,
  shortTimers,
  SimulatedBucket,
} from "./simulated_bucket.ts";

const MIB = 2 ** 20;
const PIECE = 5 * MIB;

function open(
  limits: Limits = {},
  options: S3StoreOptions = {},
  prefix = "a b/x.zarr",
): { store: S3Store; bucket: SimulatedBucket; requests: string[] } {
  const bucket = new SimulatedBucket(limits);
  const requests: string[] = [];
  const store = new S3Store(`s3://bucket/${prefix}`, {
    endpoint: "https://example.org",
    async fetch(request) {
      const { search, pathname } = new URL(request.url);
      const name = pathname.includes("-journal-") ? " journal" : "";
      const query = search && ` ${search.slice(1).split(/[=&]/)[0]}`;
      requests.push(request.method + name + query);
      return bucket.answer(request, await request.bytes());
    },
    ...options,
  });
  return { store, bucket, requests };
}

for (const page of [1000, 1]) {
  testStore(`S3Store with pages of ${page}`, () => {
    const { store, bucket } = open({ page });
    return Promise.resolve({
      store,
      fill: (key: StoreKey, bytes: Uint8Array) => {
        bucket.answer(
          new Request(`https://example.org/bucket/a%20b/x.zarr${key}`, {
            method: "PUT",
          }),
          bytes as Uint8Array<ArrayBuffer>,
        );
        return Promise.resolve();
      },
    });
  }, { hasWriter: true });
}

Deno.test("S3Store finds the URL of a bucket", async () => {
  const aws = "s3.us-east-1.amazonaws.com";
  const local = { endpoint: "http://127.0.0.1:9000/" };
  const hosted = { endpoint: "https://example.org", pathStyle: false };
  const cases: [string, S3StoreOptions, string][] = [
    ["s3://bucket", {}, `https://bucket.${aws}/k`],
    [
      "s3://bucket/",
      { region: "eu-west-1" },
      "https://bucket.s3.eu-west-1.amazonaws.com/k",
    ],
    ["s3://bucket/a//b+c d/", {}, `https://bucket.${aws}/a/b%2Bc%20d/k`],
    ["s3://a.b/c", {}, `https://${aws}/a.b/c/k`],
    ["s3://bucket/c", { pathStyle: true }, `https://${aws}/bucket/c/k`],
    ["s3://bucket/c", local, "http://127.0.0.1:9000/bucket/c/k"],
    ["s3://bucket/c", hosted, "https://bucket.example.org/c/k"],
  ];
  for (const [url, options, expected] of cases) {
    let found = "";
    const store = new S3Store(url, {
      ...options,
      fetch: (request) => {
        found = request.url;
        return Promise.resolve(new Response("x"));
      },
    });
    await store.get("/k");
    assertEquals(found, expected);
  }
  for (const url of ["bucket", "s3:bucket", "https://bucket", "s3://b?x", ""]) {
    assertThrows(() => new S3Store(url), TypeError);
  }
  const url = new URL("s3://bucket/a b/ü");
  assertEquals(String(new S3Store(url)), "S3Store(s3://bucket/a b/ü)");
  for (const pieceSize of [0, 5 * MIB - 1, 5 * MIB + 0.5, NaN]) {
    assertThrows(() => new S3Store("s3://b", { pieceSize }), RangeError);
  }
});

Deno.test("S3Store signs each request by the present credentials, and none without", async () => {
  const seen: (string | null)[][] = [];
  const options: S3StoreOptions = {
    fetch: ({ headers }) => {
      seen.push([
        headers.get("authorization")?.replace(/, Signature.*/, "") ?? null,
        headers.get("x-amz-security-token"),
      ]);
      return Promise.resolve(new Response("x"));
    },
  };
  await new S3Store("s3://bucket", options).get("/k");
  let calls = 0;
  const store = new S3Store("s3://bucket", {
    ...options,
    region: "eu-west-1",
    credentials: () => ({
      accessKeyId: `key${++calls}`,
      secretAccessKey: "secret",
      sessionToken: `token${calls}`,
    }),
  });
  await store.get("/k");
  await store.get("/k");
  const date = new Date().toISOString().slice(0, 10).replaceAll("-", "");
  const signed = (call: number) => [
    `AWS4-HMAC-SHA256 Credential=key${call}/${date}/eu-west-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token`,
    `token${call}`,
  ];
  assertEquals(seen, [[null, null], signed(1), signed(2)]);
});

Deno.test("S3Store.set sends short values in one request and others in pieces", async () => {
  const pieces = (count: number) => [
    "POST uploads",
    ...Array(count).fill("PUT partNumber"),
    "POST uploadId",
    "HEAD",
  ];
  const value = countingBytes(11 * MIB);
  const cases: [Uint8Array | ReadableStream<Uint8Array>, number, string[]][] = [
    [value, 11 * MIB, ["PUT"]],
    [streamOf(), 0, ["PUT"]],
    [streamOf(value.subarray(0, PIECE - 1)), PIECE - 1, ["PUT"]],
    [streamOf(value.subarray(0, PIECE)), PIECE, pieces(1)],
    [streamOf(value.subarray(0, PIECE + 1)), PIECE + 1, pieces(2)],
    [streamOf(value.subarray(0, 3), value.subarray(3)), 11 * MIB, pieces(3)],
  ];
  for (const [given, length, expected] of cases) {
    const { store, requests, bucket } = open({}, { pieceSize: PIECE });
    await store.set("/k", given);
    assertEquals(requests, expected);
    assertEquals(bucket.uploads.size, 0);
    assertEquals(await store.size("/k"), length);
    const bytes = await store.getRange("/k", { offset: 2, length });
    assertEquals(bytes, value.subarray(2, length));
  }
});

Deno.test("S3Store.set gives up an upload that fails", async () => {
  const { store, bucket } = open({}, { pieceSize: PIECE });
  const failure = new Error("The source is gone");
  let pulls = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (pulls++ > 1) throw failure;
      controller.enqueue(new Uint8Array(PIECE));
    },
  });
  const error = await assertRejects(() => store.set("/k", stream));
  assertEquals(error, failure);
  assertEquals([bucket.uploads.size, bucket.objects.size], [0, 0]);
});

Deno.test("S3Store.list leaves out journals and keys of no store, and decodes all others", async () => {
  const { store, bucket } = open({ page: 2 }, {}, "");
  const keys = ["a/0", "a b/+%&<>é😀", "c/0.tiff", "a/b//c", "folder/"];
  for (const key of [...keys, "a/.zarr-parts-tmp-journal-1"]) {
    const bytes = new Uint8Array();
    bucket.objects.set(key, { bytes, etag: '"1"', metadata: {} });
  }
  assertEquals(await listed(store), ["/a b/+%&<>é😀", "/a/0", "/c/0.tiff"]);
  const answers: [string, StoreKey[] | undefined][] = [
    [
      "<ListBucketResult><Contents><Key>a+b%20&amp;&lt;&gt;&quot;&apos;&#38;&#x01F600;&constructor;&#x110000;</Key></Contents></ListBucketResult>",
      ["/a+b%20&<>\"'&😀&constructor;&#x110000;"],
    ],
    ["<html></html>", undefined],
    ["", undefined],
    [
      "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
      undefined,
    ],
  ];
  for (const [answer, expected] of answers) {
    const store = new S3Store("s3://bucket", {
      fetch: () => Promise.resolve(new Response(answer)),
    });
    if (expected) assertEquals(await listed(store), expected);
    else await assertRejects(() => listed(store), Error, "ListBucketResult");
  }
});

Deno.test("S3Store.set refuses the key of a journal", async () => {
  const { store, requests } = open();
  const key = "/c/.zarr-parts-tmp-journal-0";
  await assertRejects(() => store.set(key, new Uint8Array(1)), RangeError);
  assertEquals(requests, []);
});

/** The requests for two objects: an upload for each, the journal, two completions with a look at each. */
const UPLOADS = [
  "POST uploads",
  "POST uploads",
  "PUT partNumber",
  "PUT partNumber",
];
const COMPLETIONS = [
  "POST uploadId",
  "HEAD",
  "POST uploadId",
  "HEAD",
];

Deno.test("S3Store writes chunks of several objects in as many requests as the protocol says", async () => {
  // Which requests the writing takes where the chunk is new, and where it is replaced.
  const checked = (...reads: string[]) => [
    ...UPLOADS,
    "PUT journal",
    "HEAD",
    ...reads,
    ...COMPLETIONS,
    "DELETE journal",
  ];
  for (const isChecked of [true, false]) {
    const { store, requests, bucket } = open();
    const chunk = new Chunk(store);
    const other = new Chunk(store, undefined, "/c/1");
    await other.write(1); // asks for the conditions
    const write = async (number: number) => {
      requests.length = 0;
      const pending = await store.prepare(chunk.keys, { name: KEY });
      const bytes = new TextEncoder().encode(`${number}`.padStart(8, "0"));
      await Promise.all(chunk.keys.map((key) => pending.set(key, bytes)));
      await pending.commit(
        // What the guard of a shard in two parts asks for.
        isChecked
          ? async (values) => {
            await values.size(chunk.keys[0]!);
            await values.read(chunk.keys[1]!);
          }
          : undefined,
      );
      return requests.slice();
    };
    const created = await write(1);
    const replaced = await write(2);
    assertEquals(await chunk.read(), 2);
    if (isChecked) {
      assertEquals(created, checked());
      assertEquals(replaced, checked("GET"));
      assertEquals([created.length, replaced.length], [11, 12]);
    } else {
      const counts = [created.length, replaced.length];
      assertEquals(counts, [11, 11]);
    }
    requests.length = 0;
    await chunk.read();
    assertEquals(requests, ["GET", "GET"]);
    await chunk.update((present) => present! + 1);
    // Two reads more, and the first object compared with what was read.
    assertEquals(requests.length, 2 + 2 + 11);
    assertEquals(bucket.uploads.size, 0);
    await chunk.delete();
    await other.delete();
    assertEquals(bucket.objects.size, 0);
  }
});

Deno.test("S3Store needs up to two requests more in a service without conditional DELETE", async () => {
  const { store, requests } = open({ ignoresDeleteConditions: true });
  const chunk = new Chunk(store);
  await new Chunk(store, undefined, "/c/1").write(1);
  const counts: number[] = [];
  for (const number of [1, 2, 3]) {
    requests.length = 0;
    await chunk.write(number, () => {});
    counts.push(requests.length);
  }
  // The check reads both objects: one request more than that of a shard.
  assertEquals(counts, [11, 11 + 2 + 2, 11 + 2 + 2]);
});

Deno.test("S3Store refuses chunks of several objects if the service ignores conditions", async () => {
  for (
    const limits of [
      { ignoresPutConditions: true },
      { ignoresDeleteConditions: true },
    ]
  ) {
    const { store, bucket } = open(limits);
    const chunk = new Chunk(store);
    if (limits.ignoresPutConditions) {
      await assertRejects(() => chunk.write(1), TypeError);
      assertEquals([bucket.uploads.size, bucket.objects.size], [0, 0]);
    } else {
      for (let i = 0; i < 3; i++) await chunk.write(i);
      assertEquals(await chunk.read(), 2);
      assertEquals(await listed(store), [...chunk.keys]);
      assertEquals((await recover(store)).written, []);
    }
    await assertRejects(() => chunk.delete(), TypeError);
  }
});

Deno.test("S3Store asks once for the conditions that a service heeds", async () => {
  const { store, requests } = open();
  const keys: StoreKey[] = ["/c/0", "/c/1", "/c/2"];
  await Promise.all(
    keys.map((key) => new Chunk(store, undefined, key).write(1)),
  );
  // The probe takes six requests: three PUT, two DELETE and one HEAD.
  assertEquals(requests.length, 6 + 3 * 11);
});

Deno.test("S3Store reads objects that other programs have stored, unless two tags differ", async () => {
  using _timers = shortTimers();
  const { store, requests, bucket } = open({}, {}, "");
  const chunk = new Chunk(store);
  const bytesOf = (number: number) =>
    new TextEncoder().encode(`${number}`.padStart(8, "0"));
  for (const key of chunk.keys) await store.set(key, bytesOf(1));
  requests.length = 0;
  assertEquals(await chunk.read(), 1);
  assertEquals(requests, ["GET", "GET"]);
  // Another program has replaced one of the objects of a write.
  await chunk.write(2);
  await store.set("/c/0.i", bytesOf(2));
  requests.length = 0;
  assertEquals(await chunk.read(), 2);
  // Both objects, the journal, which is absent, and both objects again.
  assertEquals(requests.length, 5);
  await chunk.update((present) => present! + 1);
  assertEquals(await chunk.read(), 3);
  // Another program has copied an object of an earlier write.
  const earlier = bucket.objects.get("c/0.i")!;
  await chunk.write(4);
  bucket.objects.set("c/0.i", earlier);
  await assertRejects(() => chunk.read(), Error, "half written");
  await assertRejects(() => chunk.update(() => 5), Error, "half written");
  await chunk.write(6);
  assertEquals(await chunk.read(), 6);
});

Deno.test("S3Store says that a bucket does not exist", async () => {
  const store = new S3Store("s3://none", {
    fetch: () =>
      Promise.resolve(
        new Response(
          "<Error><Code>NoSuchBucket</Code><Message>No</Message></Error>",
          { status: 404, headers: { "content-type": "application/xml" } },
        ),
      ),
  });
  const bytes = countingBytes(9);
  const parts = new ConcatParts([{ keySuffix: "" }, {
    keySuffix: ".i",
    size: 2,
  }]);
  const operations: (() => Promise<unknown>)[] = [
    () => store.set("/k", bytes),
    () => new Chunk(store).write(1),
    () => store.update(["/k"], () => Promise.resolve([bytes])),
    () => store.get("/k"),
    () => store.getRange("/k", { suffixLength: 4 }),
    () => parts.apply(store).get("/k"),
    () => openArrayChunks(store, ""),
  ];
  for (const operation of operations) {
    await assertRejects(operation, Error, "(NoSuchBucket");
  }
  await assertRejects(() => listed(store), Error, "does not exist");
});

Deno.test("S3Store says that ETag must be exposed", async () => {
  const bucket = new SimulatedBucket();
  const store = new S3Store("s3://bucket", {
    endpoint: "https://example.org",
    async fetch(request) {
      const response = bucket.answer(request, await request.bytes());
      response.headers.delete("etag");
      return response;
    },
  });
  await store.set("/k", countingBytes(9));
  const operations: (() => Promise<unknown>)[] = [
    () => new Chunk(store).write(1),
    () => new Chunk(store, [""], "/k").update(() => 1),
  ];
  for (const operation of operations) {
    await assertRejects(operation, Error, "must be exposed");
  }
});
