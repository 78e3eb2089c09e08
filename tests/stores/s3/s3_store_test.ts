import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  ConcatParts,
  openArrayChunks,
  recover,
  type StoreKey,
} from "../../../mod.ts";
import { S3Store, type S3StoreOptions } from "../../../s3.ts";
import { exclusively } from "../../../src/stores/locks.ts";
import { countingBytes } from "../../support/bytes.ts";
import { testStore } from "../conformance.ts";
import { listed, streamOf } from "../store_values.ts";
import {
  type Limits,
  shortTimers,
  SimulatedBucket,
} from "./simulated_bucket.ts";

const MIB = 2 ** 20;

const PARTS = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".index",
  size: 2,
}]);

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
      const { search } = new URL(request.url);
      requests.push(
        `${request.method}${search && ` ${search.slice(1).split(/[=&]/)[0]}`}`,
      );
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
  });
}

testStore("parts in S3Store", () => {
  const { store } = open();
  const composed = PARTS.apply(store);
  return Promise.resolve({
    store: composed,
    fill: (key, bytes) => composed.set(key, bytes),
  });
}, { smallest: 2 });

Deno.test("S3Store finds the URL of a bucket", async () => {
  const cases: [string, S3StoreOptions, string][] = [
    ["s3://bucket", {}, "https://bucket.s3.us-east-1.amazonaws.com/k"],
    [
      "s3://bucket/",
      { region: "eu-west-1" },
      "https://bucket.s3.eu-west-1.amazonaws.com/k",
    ],
    [
      "s3://bucket/a//b+c d/",
      {},
      "https://bucket.s3.us-east-1.amazonaws.com/a/b%2Bc%20d/k",
    ],
    ["s3://a.b/c", {}, "https://s3.us-east-1.amazonaws.com/a.b/c/k"],
    [
      "s3://bucket/c",
      { pathStyle: true },
      "https://s3.us-east-1.amazonaws.com/bucket/c/k",
    ],
    [
      "s3://bucket/c",
      { endpoint: "http://127.0.0.1:9000/" },
      "http://127.0.0.1:9000/bucket/c/k",
    ],
    [
      "s3://bucket/c",
      { endpoint: "https://example.org", pathStyle: false },
      "https://bucket.example.org/c/k",
    ],
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
    assertThrows(() => new S3Store(url), TypeError, "s3://bucket/prefix");
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
  const pieceSize = 5 * MIB;
  const put = ["PUT"];
  const pieces = (count: number) => [
    "POST uploads",
    ...Array(count).fill("PUT partNumber"),
    "POST uploadId",
    "HEAD",
  ];
  const value = countingBytes(11 * MIB);
  const cases: [Uint8Array | ReadableStream<Uint8Array>, number, string[]][] = [
    [value, 11 * MIB, put],
    [streamOf(), 0, put],
    [streamOf(value.subarray(0, pieceSize - 1)), pieceSize - 1, put],
    [streamOf(value.subarray(0, pieceSize)), pieceSize, pieces(1)],
    [streamOf(value.subarray(0, pieceSize + 1)), pieceSize + 1, pieces(2)],
    [
      streamOf(value.subarray(0, 3), value.subarray(3)),
      11 * MIB,
      pieces(3),
    ],
  ];
  for (const [given, length, expected] of cases) {
    const { store, requests, bucket } = open({}, { pieceSize });
    await store.set("/k", given);
    assertEquals(requests, expected);
    assertEquals(bucket.uploads.size, 0);
    assertEquals(await store.size("/k"), length);
    const range = { offset: 2, length };
    const bytes = await store.getRange("/k", range);
    assertEquals(bytes, value.subarray(2, length));
  }
});

Deno.test("S3Store.set gives up an upload that fails", async () => {
  const pieceSize = 5 * MIB;
  const { store, bucket } = open({}, { pieceSize });
  const failure = new Error("The source is gone");
  let pulls = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (pulls++ > 1) throw failure;
      controller.enqueue(new Uint8Array(pieceSize));
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
    bucket.objects.set(key, {
      bytes: new Uint8Array(),
      etag: '"1"',
      metadata: {},
    });
  }
  assertEquals(
    await listed(store),
    ["/a b/+%&<>é😀", "/a/0", "/c/0.tiff"],
  );
});

Deno.test("S3Store.set refuses the key of a journal", async () => {
  const { store, requests } = open();
  await assertRejects(
    () => store.set("/c/.zarr-parts-tmp-journal-0", new Uint8Array(1)),
    RangeError,
    "such names are for temporary files",
  );
  assertEquals(requests, []);
});

Deno.test("S3Store writes chunks of several objects in as many requests as the protocol says", async () => {
  const { store, requests, bucket } = open();
  const composed = PARTS.apply(store);
  await composed.set("/c/0", countingBytes(9)); // asks for the conditions
  requests.length = 0;
  await composed.set("/c/0", countingBytes(11));
  // Per object: create, upload, complete, look. Then look at the first object and for
  // the journal, and store and end the journal.
  assertEquals(requests.length, 4 * 2 + 4);
  assertEquals(await composed.get("/c/0"), countingBytes(11));
  requests.length = 0;
  await composed.get("/c/0");
  assertEquals(requests, ["GET", "GET"]);
  assertEquals([bucket.uploads.size, bucket.objects.size], [0, 2]);
  await composed.delete("/c/0");
  assertEquals(bucket.objects.size, 0);
});

Deno.test("S3Store refuses chunks of several objects if the service ignores conditions", async () => {
  for (
    const [limits, refusesWrites] of [
      [{ ignoresPutConditions: true }, true],
      [{ ignoresDeleteConditions: true }, false],
    ] as const
  ) {
    const { store, bucket } = open(limits);
    const composed = PARTS.apply(store);
    const writing = () => composed.set("/c/0", countingBytes(9));
    if (refusesWrites) {
      await assertRejects(
        writing,
        TypeError,
        "the service ignores If-None-Match",
      );
      assertEquals([bucket.uploads.size, bucket.objects.size], [0, 0]);
    } else {
      for (let i = 0; i < 3; i++) await writing();
      assertEquals(await composed.get("/c/0"), countingBytes(9));
      assertEquals(await listed(store), ["/c/0", "/c/0.index"]);
      assertEquals((await recover(store)).written, []);
    }
    await assertRejects(
      () => composed.delete("/c/0"),
      TypeError,
      "ignores If-",
    );
  }
});

Deno.test("S3Store reads chunks whose objects other programs have stored", async () => {
  const { store, requests } = open();
  await store.set("/c/0", new Uint8Array(7));
  await store.set("/c/0.index", new Uint8Array(2));
  requests.length = 0;
  assertEquals((await PARTS.apply(store).get("/c/0"))?.length, 9);
  assertEquals(requests, ["GET", "GET"]);
});

Deno.test("S3Store.set stores a value whose last answer is lost, and so its upload unknown", async () => {
  using _timers = shortTimers(); // The completion may still be under way.
  const pieceSize = 5 * MIB;
  for (const generation of [true, false]) {
    const bucket = new SimulatedBucket();
    let completions = 0;
    const store = new S3Store("s3://bucket", {
      endpoint: "https://example.org",
      pieceSize,
      retryDelay: 0,
      async fetch(request) {
        const response = bucket.answer(request, await request.bytes());
        const isLost = request.method === "POST" &&
          request.url.includes("uploadId") && completions++ === 0;
        if (!isLost) return response;
        if (!generation) {
          const object = bucket.objects.get("k")!;
          bucket.objects.set("k", { ...object, metadata: {} });
        }
        throw new TypeError("The connection is lost");
      },
    });
    const set = () => store.set("/k", streamOf(countingBytes(pieceSize)));
    if (generation) await set();
    else await assertRejects(set, Error, "another program has given it up");
    assertEquals(completions, 2);
    assertEquals((await store.get("/k"))?.length, pieceSize);
  }
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
  for (
    const operation of [
      () => store.set("/k", bytes),
      () => PARTS.apply(store).set("/k", bytes),
      () => exclusively(store, "/k", (locked) => locked.set!("/k", bytes)),
    ]
  ) await assertRejects(operation, Error, "404 (NoSuchBucket");
  for (
    const operation of [
      () => store.get("/k"),
      () => store.getRange("/k", { suffixLength: 4 }),
      () => PARTS.apply(store).get("/k"),
      () => openArrayChunks(store, ""),
    ]
  ) await assertRejects(operation, Error, "No Bucket (NoSuchBucket");
  await assertRejects(() => listed(store), Error, "does not exist");
});

Deno.test("S3Store.list refuses an answer that holds no keys, or not all", async () => {
  for (
    const answer of [
      "<html></html>",
      "",
      "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
    ]
  ) {
    const store = new S3Store("s3://bucket", {
      fetch: () => Promise.resolve(new Response(answer)),
    });
    await assertRejects(
      () => listed(store),
      Error,
      'Cannot list bucket "bucket": expected ListBucketResult',
    );
  }
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
  const bytes = countingBytes(9);
  await store.set("/k", bytes);
  for (
    const operation of [
      () => PARTS.apply(store).set("/c/0", bytes),
      () => exclusively(store, "/k", (locked) => locked.set!("/k", bytes)),
    ]
  ) await assertRejects(operation, Error, "must be exposed");
});

Deno.test("S3Store asks once for the conditions that a service heeds", async () => {
  const { store, requests } = open();
  const composed = PARTS.apply(store);
  await Promise.all(
    ["/c/0", "/c/1", "/c/2"].map((key) =>
      composed.set(key as StoreKey, countingBytes(9))
    ),
  );
  // The probe takes six requests: three PUT, two DELETE and one HEAD.
  assertEquals(requests.length, 6 + 3 * (4 * 2 + 4));
});

Deno.test("S3Store reads a chunk of which another program has replaced an object", async () => {
  const { store, requests } = open();
  const composed = PARTS.apply(store);
  await composed.set("/c/0", new Uint8Array(9).fill(1));
  await store.set("/c/0.index", new Uint8Array(2).fill(2));
  requests.length = 0;
  assertEquals(
    await composed.get("/c/0"),
    new Uint8Array([...new Array(7).fill(1), 2, 2]),
  );
  // Both objects, the journal, which is absent, and both objects again.
  assertEquals(requests.length, 5);
});

Deno.test("S3Store.list reads keys that the service has not encoded", async () => {
  const store = new S3Store("s3://bucket", {
    fetch: () =>
      Promise.resolve(
        new Response(
          "<ListBucketResult><Contents><Key>a+b%20&amp;&lt;&gt;&quot;&apos;&#38;&#x01F600;&constructor;&#x110000;</Key></Contents></ListBucketResult>",
        ),
      ),
  });
  assertEquals(await listed(store), [
    "/a+b%20&<>\"'&😀&constructor;&#x110000;",
  ]);
});
