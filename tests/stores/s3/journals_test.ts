/** Journals of buckets that cannot be carried out, and what is left of killed programs. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  ConcatParts,
  createArrayChunks,
  openArrayChunks,
  PendingWriteError,
  recover,
  type Store,
  UnfinishedWriteError,
} from "../../../mod.ts";
import { S3Store } from "../../../s3.ts";
import { exclusively } from "../../../src/stores/locks.ts";
import { setSharded, withZarrParts } from "../../../zarrita.ts";
import { arrayMetadata, concatParts } from "../../support/metadata.ts";
import { shortTimers, SimulatedBucket } from "./simulated_bucket.ts";

const KEY = "/c/0";
const JOURNAL = "c/.zarr-parts-tmp-journal-0";
const PARTS = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".i",
  size: 3,
}]);
const chunkOf = (write: number) => new Uint8Array(9).fill(write);

type Refuse = (request: Request) => Response | "lost" | undefined;

/** A program whose requests some refusals meet. */
function program(
  bucket: SimulatedBucket,
  refuse: Refuse = () => undefined,
): { store: Store; below: S3Store } {
  const below = new S3Store("s3://bucket", {
    endpoint: "https://example.org",
    retryDelay: 0,
    async fetch(request) {
      const body = await request.bytes();
      const refusal = refuse(request);
      if (refusal === "lost") throw new TypeError("The connection is lost");
      return refusal ?? bucket.answer(request, body);
    },
  });
  return { store: PARTS.apply(below), below };
}

const forbidden = () => new Response(null, { status: 403 });
const isCompletion = ({ method, url }: Request, suffix = "") =>
  method === "POST" && url.includes(`${KEY}${suffix}?uploadId`);
const isJournal = ({ url }: Request) => url.includes("-journal-");
const update = (store: Store, bit: number) =>
  exclusively(store, KEY, async (locked) => {
    const chunk = (await locked.get(KEY))!;
    await locked.set!(KEY, chunk.map((byte) => byte | bit));
  });

Deno.test("S3Store.group undoes a write that fails once it has begun, or throws a PendingWriteError", async () => {
  using _timers = shortTimers();
  // From the request on for which this holds, the credentials have expired.
  const cases: [
    begins: (request: Request) => boolean,
    lasting: boolean,
    after: number,
    isPending: boolean,
  ][] = [
    // The journal is refused: nothing has begun.
    [
      (request) => isJournal(request) && request.method === "PUT",
      true,
      1,
      false,
    ],
    // Only the completion of the first object is refused: the write is undone.
    [(request) => isCompletion(request), false, 1, false],
    // Nothing can be undone.
    [(request) => isCompletion(request), true, 2, true],
    // The first object is in place.
    [(request) => isCompletion(request, ".i"), false, 2, true],
    [(request) => isCompletion(request, ".i"), true, 2, true],
  ];
  for (const [begins, isLasting, after, isPending] of cases) {
    for (const change of ["set", "update"] as const) {
      const bucket = new SimulatedBucket();
      await program(bucket).store.set!(KEY, chunkOf(1));
      let hasBegun = false;
      const { store, below } = program(bucket, (request) => {
        if (begins(request)) hasBegun = true;
        const isRefused = hasBegun && (isLasting || begins(request));
        return isRefused ? forbidden() : undefined;
      });
      await below.set("/probe", chunkOf(0)); // No request is refused yet.
      const error = await assertRejects(
        () => change === "set" ? store.set!(KEY, chunkOf(2)) : update(store, 3),
        Error,
        "found 403",
      );
      assertEquals(error instanceof PendingWriteError, isPending);
      if (isPending) assertEquals((error as PendingWriteError).key, KEY);
      else assertEquals(bucket.objects.has(JOURNAL), false);
      await recover(program(bucket).below);
      const expected = after === 1 ? 1 : change === "set" ? 2 : 3;
      assertEquals(await program(bucket).store.get(KEY), chunkOf(expected));
    }
  }
});

Deno.test("S3Store.group has stored a chunk whose journal alone cannot be ended", async () => {
  using _timers = shortTimers();
  const bucket = new SimulatedBucket();
  await program(bucket).store.set!(KEY, chunkOf(1));
  const { store } = program(
    bucket,
    (request) =>
      isJournal(request) && request.method === "DELETE"
        ? forbidden()
        : undefined,
  );
  await store.set!(KEY, chunkOf(2));
  assertEquals(await store.get(KEY), chunkOf(2));
  // A full write takes the place of the journal, and an update has to end it.
  await store.set!(KEY, chunkOf(3));
  assertEquals(await store.get(KEY), chunkOf(3));
  await assertRejects(() => update(store, 4), Error, "found 403");
  await program(bucket).store.set!(KEY, chunkOf(4));
  assertEquals(await program(bucket).store.get(KEY), chunkOf(4));
  assertEquals(bucket.objects.has(JOURNAL), false);
});

Deno.test("S3Store.group throws a PendingWriteError for a deletion that has begun", async () => {
  const bucket = new SimulatedBucket();
  await program(bucket).store.set!(KEY, chunkOf(1));
  const { store } = program(
    bucket,
    ({ method, url }) =>
      method === "DELETE" && url.endsWith(`${KEY}.i`) ? forbidden() : undefined,
  );
  await assertRejects(() => store.delete!(KEY), PendingWriteError, "403");
  const { deleted } = await recover(program(bucket).below);
  assertEquals(deleted, [KEY]);
  assertEquals(bucket.objects.size, 0);
});

Deno.test("S3Store.group keeps a write whose connection is lost from appearing later", async () => {
  using _timers = shortTimers();
  // The journal is stored, and all answers from then on are lost.
  const bucket = new SimulatedBucket();
  await program(bucket).store.set!(KEY, chunkOf(1));
  let isLost = false;
  const { store } = program(bucket, (request) => {
    isLost ||= isJournal(request) && request.method === "PUT";
    return isLost ? "lost" : undefined;
  });
  await assertRejects(() => store.set!(KEY, chunkOf(2)), PendingWriteError);
  // The connection is lost for one request alone.
  let isOnce = false;
  const again = program(bucket, (request) => {
    const isCommit = isJournal(request) && request.method === "PUT";
    isOnce ||= isCommit;
    return isCommit ? "lost" : undefined;
  });
  const error = await assertRejects(() => again.store.set!(KEY, chunkOf(3)));
  assert(isOnce && !(error instanceof PendingWriteError), String(error));
  assertEquals(await program(bucket).store.get(KEY), chunkOf(1));
});

Deno.test("S3Store.group: a full write and a deletion take the place of any journal", async () => {
  const texts = [
    "",
    "not a journal",
    "null",
    "[]",
    '{"journal":2}',
    '{"journal":2,"generation":"g","key":"0","base":"*","first":{},"others":[]}',
    '{"generation":"g","key":"0","base":"*","uploads":[]}', // an earlier format
    '{"journal":3,"generation":"g","key":"0"}',
  ];
  for (const text of texts) {
    for (const isDeletion of [false, true]) {
      const bucket = new SimulatedBucket();
      const { store, below } = program(bucket);
      await store.set!(KEY, chunkOf(1));
      const bytes = new TextEncoder().encode(text);
      bucket.objects.set(JOURNAL, { bytes, etag: '"j"', metadata: {} });
      assertEquals(await store.get(KEY), chunkOf(1));
      // The objects of two writes, which the journal would explain.
      const other = bucket.objects.get("c/0.i")!;
      bucket.objects.delete("c/0.i");
      await assertRejects(() => store.get(KEY), Error, "write the whole chunk");
      await assertRejects(() => recover(below), Error, JOURNAL);
      assertEquals(bucket.objects.has(JOURNAL), true);
      bucket.objects.set("c/0.i", other);
      if (isDeletion) await store.delete!(KEY);
      else await store.set!(KEY, chunkOf(2));
      const after = isDeletion ? undefined : chunkOf(2);
      assertEquals(await store.get(KEY), after);
      assertEquals(bucket.objects.has(JOURNAL), false);
    }
  }
});

Deno.test("S3Store.group: a full write takes the place of a journal that cannot be carried out", async () => {
  using _timers = shortTimers();
  const long = new ConcatParts([{ keySuffix: "" }, {
    keySuffix: ".i",
    size: 2 ** 19 + 1,
  }]);
  const value = (write: number) => new Uint8Array(2 ** 19 + 9).fill(write);
  const bucket = new SimulatedBucket();
  const open = (refuse?: Refuse) => long.apply(program(bucket, refuse).below);
  await open().set(KEY, value(1));
  const killed = open((request) => {
    if (!isCompletion(request, ".i")) return;
    bucket.cutOff(request);
    return forbidden();
  });
  await assertRejects(() => killed.set(KEY, value(2)), PendingWriteError);
  // The bytes of its last object are gone, and the upload is spoilt.
  for (const key of bucket.objects.keys()) {
    if (/tmp-(?!journal)/.test(key)) bucket.objects.delete(key);
  }
  await assertRejects(() => open().get(KEY), UnfinishedWriteError);
  await assertRejects(() => recover(program(bucket).below));
  await open().set(KEY, value(3));
  assertEquals(await open().get(KEY), value(3));
  assertEquals(bucket.uploads.size, 0);
  assertEquals([...bucket.objects.keys()].toSorted(), ["c/0", "c/0.i"]);
});

Deno.test("S3Store.group refuses objects of two writes that no journal explains", async () => {
  using _timers = shortTimers();
  const bucket = new SimulatedBucket();
  const { store } = program(bucket);
  await store.set!(KEY, chunkOf(1));
  const earlier = bucket.objects.get("c/0.i")!;
  await store.set!(KEY, chunkOf(2));
  bucket.objects.set("c/0.i", earlier);
  await assertRejects(() => store.get(KEY), UnfinishedWriteError);
});

Deno.test("recover goes on after a journal of a bucket that it cannot carry out", async () => {
  using _timers = shortTimers();
  const bucket = new SimulatedBucket();
  for (const key of ["/c/0", "/c/1", "/c/2"] as const) {
    await program(bucket).store.set!(key, chunkOf(1));
    const { store } = program(
      bucket,
      ({ method, url }) =>
        method === "POST" && url.includes(".i?uploadId")
          ? forbidden()
          : undefined,
    );
    await assertRejects(() => store.set!(key, chunkOf(2)), PendingWriteError);
  }
  const foreign = { bytes: new Uint8Array(1), etag: '"j"', metadata: {} };
  bucket.objects.set(JOURNAL, foreign);
  bucket.objects.set(JOURNAL.replace(/0$/, "1"), foreign);
  await assertRejects(
    () => recover(program(bucket).below),
    AggregateError,
    "Cannot recover 2 chunks in s3://bucket: Expected a journal",
  );
  assertEquals(await program(bucket).store.get("/c/2"), chunkOf(2));
});

Deno.test("recover removes what killed programs have left in a bucket, unless it may be needed", async () => {
  const bucket = new SimulatedBucket();
  const put = (key: string, age: number) =>
    bucket.objects.set(key, {
      bytes: new Uint8Array(5),
      etag: '"e"',
      metadata: {},
      modified: new Date(Date.now() - age * 3_600_000).toISOString(),
    });
  put(".zarr-parts-tmp-probe-1", 0);
  put("c/.zarr-parts-tmp-1", 23);
  put("c/.zarr-parts-tmp-2", 25);
  put("c/0", 1000);
  const { below } = program(bucket);
  const dry = await recover(below, { dryRun: true });
  assertEquals(dry.temporary, { files: 2, bytes: 10 });
  assertEquals(bucket.objects.size, 4);
  assertEquals(await recover(below), dry);
  assertEquals([...bucket.objects.keys()], ["c/.zarr-parts-tmp-1", "c/0"]);
});

Deno.test("S3Store asks again for the conditions of a service if recover removes its probe", async () => {
  for (const steps of [1, 2, 3, 4, 5]) {
    const bucket = new SimulatedBucket();
    let requests = 0;
    const { store } = program(bucket, () => {
      if (++requests !== steps) return undefined;
      for (const key of bucket.objects.keys()) {
        if (key.includes("probe")) bucket.objects.delete(key);
      }
    });
    await store.set!(KEY, chunkOf(1));
    await store.delete!(KEY);
    assertEquals(bucket.objects.size, 0);
  }
});

const LENGTH = 36; // of an index with two inner chunks, with its checksum
const SHARDED = arrayMetadata({
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
    concatParts({ key_suffix: "" }, { key_suffix: ".index", size: LENGTH }),
  ],
});

/** Opens the array, whose first half is 1. */
async function openSharded(
  bucket: SimulatedBucket,
  refuse?: Refuse,
): Promise<zarr.Array<"uint8", zarr.Readable>> {
  const { below } = program(bucket, refuse);
  const array = await zarr.open.v3(withZarrParts(below), { kind: "array" });
  return array as zarr.Array<"uint8", zarr.Readable>;
}

/** Stores a value from a certain element on, up to another one. */
async function setValues(
  bucket: SimulatedBucket,
  [start, end]: [number, number],
  value: number,
  refuse?: Refuse,
): Promise<void> {
  const array = await openSharded(bucket, refuse);
  const selection = [zarr.slice(start, end)];
  await setSharded(zarr, array, selection, value);
}

async function valuesOf(array: zarr.Array<"uint8", zarr.Readable>) {
  return [...(await zarr.get(array)).data];
}

const FIRST = [1, 1, 1, 1, 0, 0, 0, 0];

Deno.test("zarr.get of a bucket sees inner chunks that were added later", async () => {
  const bucket = new SimulatedBucket();
  await createArrayChunks(program(bucket).below, "", SHARDED);
  const reader = await openSharded(bucket);
  assertEquals(await valuesOf(reader), Array(8).fill(0));
  await setValues(bucket, [0, 4], 1);
  assertEquals(await valuesOf(reader), FIRST);
  await setValues(bucket, [4, 8], 2);
  assertEquals(await valuesOf(reader), [1, 1, 1, 1, 2, 2, 2, 2]);
});

Deno.test("zarr.get of a shard that a killed program has left throws an UnfinishedWriteError", async () => {
  using _timers = shortTimers();
  for (const isOpen of [true, false]) {
    const bucket = new SimulatedBucket();
    await createArrayChunks(program(bucket).below, "", SHARDED);
    await setValues(bucket, [0, 4], 1);
    const reader = await openSharded(bucket);
    if (isOpen) assertEquals(await valuesOf(reader), FIRST);
    const kill = ({ method, url }: Request) =>
      method === "POST" && url.includes(".index?uploadId") ? "lost" : undefined;
    await assertRejects(
      () => setValues(bucket, [4, 8], 2, kill),
      PendingWriteError,
    );
    await assertRejects(() => valuesOf(reader), UnfinishedWriteError);
    const chunks = await openArrayChunks(program(bucket).below);
    await assertRejects(() => chunks.get([0]), UnfinishedWriteError);
    await recover(program(bucket).below);
    assertEquals(await valuesOf(reader), [1, 1, 1, 1, 2, 2, 2, 2]);
  }
});
