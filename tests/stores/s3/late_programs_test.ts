import { assertEquals, assertRejects } from "@std/assert";
import {
  ConcatParts,
  recover,
  type Recovery,
  type Store,
  type StoreKey,
} from "../../../mod.ts";
import { S3Store } from "../../../s3.ts";
import { exclusively } from "../../../src/stores/locks.ts";
import { type Limits, SimulatedBucket } from "./simulated_bucket.ts";

const KEY = "/c/0";
const PARTS = new ConcatParts([{ keySuffix: "" }, {
  keySuffix: ".i",
  size: 3,
}]);
const chunkOf = (write: number) => new Uint8Array(9).fill(write);

/** Whether a program stops before a request, for a while or for ever. */
type Stop = (request: Request) => boolean;

const isJournal = ({ url }: Request) => url.includes(".zarr-parts-tmp-journal");
/** The last request of a write or of a recovery. */
const endsJournal: Stop = (request) =>
  isJournal(request) &&
  (request.method === "DELETE" || request.headers.has("if-match"));
/** The request that completes the last object of a chunk. */
const completesLast: Stop = ({ method, url }) =>
  method === "POST" && url.includes(".i?uploadId");
const deletesLast: Stop = ({ method, url }) =>
  method === "DELETE" && url.endsWith(`${KEY}.i`);
const completesFirst: Stop = ({ method, url }) =>
  method === "POST" && url.includes(`${KEY}?uploadId`);

/** A program that stops before some request until it is let go. */
function program(
  bucket: SimulatedBucket,
  stop: Stop = () => false,
  url = "s3://bucket",
): {
  store: Store;
  below: S3Store;
  stopped: Promise<void>;
  goOn(): void;
} {
  const stopped = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const below = new S3Store(url, {
    endpoint: "https://example.org",
    timeout: Infinity,
    async fetch(request) {
      const body = await request.bytes();
      if (stop(request)) {
        stopped.resolve();
        await free.promise;
      }
      return bucket.answer(request, body);
    },
  });
  return {
    store: PARTS.apply(below),
    below,
    stopped: stopped.promise,
    goOn: free.resolve,
  };
}

for (
  const [name, limits] of [
    ["", {}],
    [" in a service without conditional DELETE", {
      ignoresDeleteConditions: true,
    }],
  ] as [string, Limits][]
) {
  Deno.test(
    `S3Store.group: a program that ends a journal late ends no journal of others${name}`,
    {
      sanitizeOps: false, // Killed programs wait for ever.
      sanitizeResources: false,
    },
    async () => {
      const bucket = new SimulatedBucket(limits);
      await program(bucket).store.set!(KEY, chunkOf(1));
      const killed = program(bucket, completesFirst);
      killed.store.set!(KEY, chunkOf(2)).catch(() => {});
      await killed.stopped;
      const late = program(bucket, endsJournal);
      const recovery = recover(late.below);
      await late.stopped;
      await recover(program(bucket).below);
      const next = program(bucket, completesLast);
      next.store.set!(KEY, chunkOf(3)).catch(() => {});
      await next.stopped;
      late.goOn();
      await recovery;
      await recover(program(bucket).below);
      assertEquals(await program(bucket).store.get(KEY), chunkOf(3));
    },
  );
}

Deno.test("S3Store.group: a program that deletes late deletes no objects of others", async () => {
  const bucket = new SimulatedBucket();
  await program(bucket).store.set!(KEY, chunkOf(1));
  const late = program(bucket, deletesLast);
  const deletion = late.store.delete!(KEY);
  await late.stopped;
  await recover(program(bucket).below);
  assertEquals(await program(bucket).store.get(KEY), undefined);
  await program(bucket).store.set!(KEY, chunkOf(2));
  late.goOn();
  await deletion;
  assertEquals(await program(bucket).store.get(KEY), chunkOf(2));
});

Deno.test("S3Store.group: a program that completes uploads late changes nothing", async () => {
  const bucket = new SimulatedBucket();
  await program(bucket).store.set!(KEY, chunkOf(1));
  const late = program(bucket, completesLast);
  const writing = late.store.set!(KEY, chunkOf(2));
  await late.stopped;
  await program(bucket).store.set!(KEY, chunkOf(3));
  assertEquals(await program(bucket).store.get(KEY), chunkOf(3));
  late.goOn();
  await writing;
  assertEquals(await program(bucket).store.get(KEY), chunkOf(3));
  assertEquals(Array.from(bucket.objects.keys()), ["c/0", "c/0.i"]);
});

Deno.test("S3Store.group: a deletion under a lock does not remove what another program has stored meanwhile", async () => {
  const bucket = new SimulatedBucket();
  await program(bucket).store.set!(KEY, chunkOf(1));
  const seen: (number | undefined)[] = [];
  await exclusively(program(bucket).store, KEY, async (locked) => {
    const chunk = await locked.get(KEY);
    seen.push(chunk?.[0]);
    if (seen.length === 1) await program(bucket).store.set!(KEY, chunkOf(2));
    if (chunk?.[0] === 1) await locked.delete!(KEY);
  });
  assertEquals(seen, [1, 2]);
  assertEquals(await program(bucket).store.get(KEY), chunkOf(2));
});

Deno.test("S3Store.group: a deletion removes no equal objects of a write that came before its journal", async () => {
  const bucket = new SimulatedBucket();
  await program(bucket).store.set!(KEY, chunkOf(1));
  const late = program(
    bucket,
    (request) => isJournal(request) && request.method === "PUT",
  );
  const deletion = late.store.delete!(KEY);
  await late.stopped;
  const later = chunkOf(2);
  later.fill(1, 6); // the last object stays as it is
  await program(bucket).store.set!(KEY, later);
  late.goOn();
  await deletion;
  assertEquals(await program(bucket).store.get(KEY), later);
});

Deno.test("S3Store.group: a deletion under a lock keeps an object that was absent", async () => {
  const bucket = new SimulatedBucket();
  const { below } = program(bucket);
  const seen: (number | undefined)[] = [];
  await exclusively(below, KEY, async (locked) => {
    const value = await locked.get(KEY);
    seen.push(value?.[0]);
    if (value !== undefined) return;
    await program(bucket).below.set(KEY, chunkOf(1));
    await locked.delete!(KEY);
  });
  assertEquals(seen, [undefined, 1]);
  assertEquals(await below.get(KEY), chunkOf(1));
});

Deno.test("S3Store.group: a deletion beside a write removes all objects or none", async () => {
  for (const first of [chunkOf(1), undefined]) {
    const bucket = new SimulatedBucket();
    if (first) await program(bucket).store.set!(KEY, first);
    const writer = program(bucket, completesLast);
    const late = program(
      bucket,
      ({ method, url }) => method === "HEAD" && url.endsWith(KEY),
    );
    const deletion = late.store.delete!(KEY);
    await late.stopped;
    const writing = writer.store.set!(KEY, chunkOf(2));
    await writer.stopped;
    late.goOn();
    await deletion;
    writer.goOn();
    await writing;
    assertEquals(await program(bucket).store.get(KEY), chunkOf(2));
  }
});

Deno.test("S3Store.group finishes the write of a killed program before an update or a deletion", async () => {
  const cases: [
    change: (store: Store) => Promise<unknown>,
    after: Uint8Array | undefined,
  ][] = [
    [
      (store) =>
        exclusively(store, KEY, async (locked) => {
          const chunk = await locked.get(KEY);
          await locked.set!(KEY, chunk!.map((byte) => byte | 4));
        }),
      chunkOf(6),
    ],
    [(store) => store.delete!(KEY), undefined],
  ];
  for (const [change, after] of cases) {
    const bucket = new SimulatedBucket();
    await program(bucket).store.set!(KEY, chunkOf(1));
    const killed = program(bucket, completesLast);
    const writing = killed.store.set!(KEY, chunkOf(2));
    await killed.stopped;
    await change(program(bucket).store);
    assertEquals(await program(bucket).store.get(KEY), after);
    killed.goOn();
    await writing;
    assertEquals(await program(bucket).store.get(KEY), after);
  }
});

Deno.test("S3Store.group makes no update twice that others have changed before its lost answer was repeated", async () => {
  const add = (store: Store) =>
    exclusively(store, KEY, async (locked) => {
      const chunk = (await locked.get(KEY))!;
      await locked.set!(KEY, chunk.map((byte) => byte + 1));
    });
  for (const isOfOne of [true, false]) {
    const lostOnes: Stop[] = isOfOne
      ? [({ method, headers }) => method === "PUT" && headers.has("if-match")]
      : [
        (request) => isJournal(request) && request.method === "PUT",
        completesFirst,
        completesLast,
      ];
    for (const isLost of lostOnes) {
      for (const others of [1, 3]) {
        const bucket = new SimulatedBucket();
        const open = (): Store => {
          const { store, below } = program(bucket);
          return isOfOne ? below : store;
        };
        await open().set!(KEY, chunkOf(0));
        let losses = 0;
        const below = new S3Store("s3://bucket", {
          endpoint: "https://example.org",
          retryDelay: 0,
          async fetch(request) {
            const answer = bucket.answer(request, await request.bytes());
            if (!isLost(request) || losses++ > 0) return answer;
            for (let i = 0; i < others; i++) await add(open());
            throw new TypeError("The connection is lost");
          },
        });
        await add(isOfOne ? below : PARTS.apply(below));
        assertEquals(await open().get(KEY), chunkOf(1 + others));
      }
    }
  }
});

Deno.test("S3Store.group keeps the uploads of a write that fails after it was committed", async () => {
  const bucket = new SimulatedBucket();
  await program(bucket).store.set!(KEY, chunkOf(1));
  const failing = PARTS.apply(
    new S3Store("s3://bucket", {
      endpoint: "https://example.org",
      async fetch(request) {
        const body = await request.bytes();
        return completesLast(request)
          ? new Response(null, { status: 403 })
          : bucket.answer(request, body);
      },
    }),
  );
  await assertRejects(() => failing.set(KEY, chunkOf(2)), Error, "found 403");
  const { written } = await recover(program(bucket).below);
  assertEquals(written, [KEY]);
  assertEquals(await program(bucket).store.get(KEY), chunkOf(2));
});

Deno.test("S3Store.group runs an update again if the object has changed before its upload is complete", async () => {
  const bucket = new SimulatedBucket();
  const { below } = program(bucket);
  await below.set(KEY, chunkOf(1));
  let runs = 0;
  await exclusively(below, KEY, async (locked) => {
    const [first] = (await locked.get(KEY))!;
    if (runs++ === 0) await program(bucket).below.set(KEY, chunkOf(2));
    // Long enough for an upload of several pieces.
    await locked.set!(KEY, new Uint8Array(2 ** 23).fill(first! | 4));
  });
  assertEquals(runs, 2);
  assertEquals((await below.get(KEY))?.[0], 6);
  assertEquals(bucket.uploads.size, 0);
});

Deno.test("recover with dryRun reports the journals of a bucket and changes nothing", async () => {
  const cases: [
    begin: (store: Store) => Promise<unknown>,
    stop: Stop,
    after: Uint8Array | undefined,
    expected: Pick<Recovery, "written" | "deleted">,
  ][] = [
    [
      (store) => store.set!(KEY, chunkOf(2)),
      completesFirst,
      chunkOf(2),
      { written: [KEY], deleted: [] },
    ],
    [
      (store) => store.delete!(KEY),
      deletesLast,
      undefined,
      { written: [], deleted: [KEY] },
    ],
  ];
  for (const [begin, stop, after, expected] of cases) {
    const bucket = new SimulatedBucket();
    await program(bucket).store.set!(KEY, chunkOf(1));
    const late = program(bucket, stop);
    const work = begin(late.store);
    await late.stopped;
    const changes: string[] = [];
    const { below } = program(bucket, ({ method }) => {
      if (method !== "GET" && method !== "HEAD") changes.push(method);
      return false;
    });
    const objects = new Map(bucket.objects);
    const { written, deleted } = await recover(below, { dryRun: true });
    assertEquals({ written, deleted }, expected);
    assertEquals(changes, []);
    assertEquals(bucket.objects, objects);
    const recovery = await recover(below);
    assertEquals(recovery.written, expected.written);
    assertEquals(recovery.deleted, expected.deleted);
    assertEquals(await program(bucket).store.get(KEY), after);
    late.goOn();
    await work;
  }
});

Deno.test("recover reports no chunk that keeps the write of another program", async () => {
  for (const dryRun of [true, false]) {
    const bucket = new SimulatedBucket();
    await program(bucket).store.set!(KEY, chunkOf(1));
    let hasJournal = false;
    const late = program(bucket, (request) => {
      const isStopped = hasJournal && request.method === "HEAD";
      hasJournal ||= isJournal(request) && request.method === "PUT";
      return isStopped;
    });
    let runs = 0;
    const update = exclusively(late.store, KEY, async (locked) => {
      const chunk = await locked.get(KEY);
      if (runs++ === 0) await program(bucket).store.set!(KEY, chunkOf(2));
      await locked.set!(KEY, chunk!.map((byte) => byte | 4));
    });
    await late.stopped;
    const { written } = await recover(program(bucket).below, { dryRun });
    assertEquals(written, []);
    assertEquals(await program(bucket).store.get(KEY), chunkOf(2));
    late.goOn();
    await update;
    assertEquals(await program(bucket).store.get(KEY), chunkOf(6));
    assertEquals(runs, 2);
  }
});

for (
  const [of, at] of [["s3://bucket/a", "s3://bucket"], [
    "s3://bucket",
    "s3://bucket/a",
  ]] as const
) {
  const keyIn = (url: string): StoreKey =>
    url.endsWith("/a") ? KEY : `/a${KEY}`;

  Deno.test(`S3Store.group finishes writes of ${of} at ${at}`, async () => {
    const bucket = new SimulatedBucket();
    await program(bucket, undefined, of).store.set!(keyIn(of), chunkOf(1));
    const killed = program(bucket, completesLast, of);
    const writing = killed.store.set!(keyIn(of), chunkOf(2));
    await killed.stopped;
    const recovering = program(bucket, undefined, at);
    const { written } = await recover(recovering.below);
    assertEquals(written, [keyIn(at)]);
    assertEquals(await recovering.store.get(keyIn(at)), chunkOf(2));

    const late = program(bucket, completesFirst, of);
    const lateWriting = late.store.set!(keyIn(of), chunkOf(3));
    await late.stopped;
    const next = program(bucket, completesLast, at);
    const nextWriting = next.store.set!(keyIn(at), chunkOf(4));
    await next.stopped;
    late.goOn();
    await lateWriting;
    next.goOn();
    await nextWriting;
    killed.goOn();
    await writing;
    assertEquals(await recovering.store.get(keyIn(at)), chunkOf(4));
    assertEquals(Array.from(bucket.objects.keys()), ["a/c/0", "a/c/0.i"]);
  });
}
