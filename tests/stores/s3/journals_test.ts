/** Journals of buckets: programs that come late or fail, and what is left of killed ones. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  PendingWriteError,
  recover,
  type Recovery,
  type StoreKey,
  UnfinishedWriteError,
} from "../../../mod.ts";
import { S3Store } from "../../../s3.ts";
import { Chunk, KEY } from "./chunk.ts";
import {
  type Limits,
  shortTimers,
  SimulatedBucket,
} from "./simulated_bucket.ts";

const JOURNAL = "c/.zarr-parts-tmp-journal-0";

/** Whether a request is of a certain kind. */
type Kind = (request: Request) => boolean;

const isJournal: Kind = ({ url }) => url.includes("-journal-");
const putsJournal: Kind = (request) =>
  isJournal(request) && request.method === "PUT";
/** The last request of a write or of a recovery. */
const endsJournal: Kind = (request) =>
  isJournal(request) &&
  (request.method === "DELETE" || request.headers.has("if-match"));
const completesFirst: Kind = ({ method, url }) =>
  method === "POST" && url.includes(`${KEY}?uploadId`);
const completesLast: Kind = ({ method, url }) =>
  method === "POST" && url.includes(`${KEY}.i?uploadId`);
const deletesLast: Kind = ({ method, url }) =>
  method === "DELETE" && url.endsWith(`${KEY}.i`);
const looksAtFirst: Kind = ({ method, url }) =>
  method === "HEAD" && url.endsWith(KEY);

/** What is answered in place of the bucket; nothing if the connection is lost. */
type Refusal = Response | "lost" | undefined;
type Refuse = (
  request: Request,
  body: Uint8Array<ArrayBuffer>,
) => Refusal | Promise<Refusal>;

/** A program that uses the bucket, and gets other answers to some requests. */
function program(
  bucket: SimulatedBucket,
  refuse: Refuse = () => undefined,
): Chunk {
  const store = new S3Store("s3://bucket", {
    endpoint: "https://example.org",
    retryDelay: 0,
    async fetch(request) {
      const body = await request.bytes();
      const refusal = await refuse(request, body);
      if (refusal === "lost") throw new TypeError("The connection is lost");
      return refusal ?? bucket.answer(request, body);
    },
  });
  return new Chunk(store);
}

/** A program that stops before the first request of a kind until it is let go. */
function stopping(
  bucket: SimulatedBucket,
  stop: Kind,
  { url = "s3://bucket", key = KEY }: { url?: string; key?: StoreKey } = {},
): { chunk: Chunk; stopped: Promise<void>; goOn(): void } {
  const stopped = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const store = new S3Store(url, {
    endpoint: "https://example.org",
    async fetch(request) {
      const body = await request.bytes();
      if (stop(request)) {
        stopped.resolve();
        await free.promise;
      }
      return bucket.answer(request, body);
    },
  });
  const chunk = new Chunk(store, undefined, key);
  return { chunk, stopped: stopped.promise, goOn: free.resolve };
}

/** A bucket with a chunk. */
async function bucketOf(
  first: number | undefined,
  limits: Limits = {},
): Promise<SimulatedBucket> {
  const bucket = new SimulatedBucket(limits);
  if (first !== undefined) await program(bucket).write(first);
  return bucket;
}

const forbidden = () => new Response(null, { status: 403 });

/** A program whose requests of a kind are refused, after something has been done. */
function refusing(
  bucket: SimulatedBucket,
  kind: Kind,
  act: (request: Request) => void = () => {},
): Chunk {
  return program(bucket, (request) => {
    if (!kind(request)) return undefined;
    act(request);
    return forbidden();
  });
}

/** Leaves the journal of a write whose last upload is spoilt. */
async function leaveSpoilt(bucket: SimulatedBucket): Promise<void> {
  const killed = refusing(
    bucket,
    completesLast,
    (request) => bucket.cutOff(request),
  );
  await assertRejects(() => killed.write(2), PendingWriteError);
}

/** Puts an object into a bucket, past all programs. */
function plant(
  { objects }: SimulatedBucket,
  key: string,
  content: string | Uint8Array<ArrayBuffer>,
  more: { modified?: string } = {},
): void {
  const bytes = typeof content === "string"
    ? new TextEncoder().encode(content)
    : content;
  objects.set(key, { bytes, etag: '"v"', metadata: {}, ...more });
}

/** The journal of the chunk, as text. */
const journalIn = ({ objects }: SimulatedBucket) =>
  new TextDecoder().decode(objects.get(JOURNAL)!.bytes);

const check = () => {};
const keysOf = ({ objects }: SimulatedBucket) => [...objects.keys()].sort();

for (const ignoresDeleteConditions of [false, true]) {
  Deno.test(
    `S3Store: a program that ends a journal late ends no journal of others, ${
      ignoresDeleteConditions ? "without" : "with"
    } conditional DELETE`,
    {
      sanitizeOps: false, // Killed programs wait for ever.
      sanitizeResources: false,
    },
    async () => {
      const bucket = await bucketOf(1, { ignoresDeleteConditions });
      const killed = stopping(bucket, completesFirst);
      killed.chunk.write(2).catch(() => {});
      await killed.stopped;
      const late = stopping(bucket, endsJournal);
      const recovery = recover(late.chunk.store);
      await late.stopped;
      await recover(program(bucket).store);
      const next = stopping(bucket, completesLast);
      next.chunk.write(3).catch(() => {});
      await next.stopped;
      late.goOn();
      await recovery;
      await recover(program(bucket).store);
      assertEquals(await program(bucket).read(), 3);
    },
  );
}

Deno.test("S3Store: a program that comes late changes nothing", async () => {
  // What the late program does up to which request, what others do meanwhile, and what is left.
  const cases: [
    begin: (chunk: Chunk) => Promise<void>,
    stop: Kind,
    others: (chunk: Chunk) => Promise<unknown>,
    after: number | undefined,
  ][] = [
    [(late) => late.write(2), completesLast, (chunk) => chunk.write(3), 3],
    [
      (late) => late.write(2, check),
      completesLast,
      (chunk) => chunk.write(3, check),
      3,
    ],
    [
      (late) => late.delete(),
      deletesLast,
      async (chunk) => {
        await recover(chunk.store);
        assertEquals(await chunk.read(), undefined);
        await chunk.write(2);
      },
      2,
    ],
    [(late) => late.delete(), putsJournal, (chunk) => chunk.write(2), 2],
    // Equal objects of another write have the same ETags.
    [(late) => late.delete(), putsJournal, (chunk) => chunk.write(1), 1],
    // The next program finishes what the late one has begun.
    [
      (late) => late.write(2),
      completesLast,
      (chunk) => chunk.update((present) => present! | 4),
      6,
    ],
    [
      (late) => late.write(2),
      completesLast,
      (chunk) => chunk.delete(),
      undefined,
    ],
  ];
  for (const [begin, stop, others, after] of cases) {
    const bucket = await bucketOf(1);
    const late = stopping(bucket, stop);
    const work = begin(late.chunk);
    await late.stopped;
    await others(program(bucket));
    late.goOn();
    await work;
    assertEquals(await program(bucket).read(), after);
    const keys = after === undefined ? [] : ["c/0", "c/0.i"];
    assertEquals(keysOf(bucket), keys);
  }
});

Deno.test("S3Store: a writer that has to check and takes too long is given up, and says so", async () => {
  using _timers = shortTimers();
  for (const others of ["write", "check", "update", "recover"] as const) {
    const bucket = await bucketOf(1);
    let hasJournal = false;
    const late = stopping(bucket, (request) => {
      const isStopped = hasJournal && looksAtFirst(request);
      hasJournal ||= putsJournal(request);
      return isStopped;
    });
    const writing = assertRejects(
      () => late.chunk.write(2, check),
      UnfinishedWriteError,
    );
    await late.stopped;
    const chunk = program(bucket);
    assertEquals(await chunk.read(), 1);
    if (others === "write") await chunk.write(1);
    if (others === "check") await chunk.write(1, check);
    if (others === "update") await chunk.update(() => 1);
    if (others === "recover") {
      assertEquals((await recover(chunk.store)).written, []);
      late.goOn();
      await writing;
    }
    late.goOn();
    await writing.catch((error) => {
      // Its write then counts as one before that of the other program.
      if (others === "recover") throw error;
    });
    assertEquals(await chunk.read(), 1);
    assertEquals(bucket.uploads.size, 0);
    assertEquals(keysOf(bucket), ["c/0", "c/0.i"]);
  }
});

Deno.test("S3Store: a checked write that begins to be completed while others give it up is finished by them", async () => {
  using _timers = shortTimers();
  const bucket = await bucketOf(1);
  const waits = Promise.withResolvers<void>();
  const givenUp = Promise.withResolvers<void>();
  const failing = program(bucket, async (request) => {
    if (completesLast(request)) return forbidden();
    if (!completesFirst(request)) return undefined;
    waits.resolve();
    await givenUp.promise;
    return undefined;
  });
  const writing = assertRejects(
    () => failing.write(2, check),
    PendingWriteError,
  );
  const { store } = program(bucket, async ({ method, url }) => {
    if (method !== "DELETE" || !url.includes(`${KEY}?uploadId`)) return;
    givenUp.resolve();
    await writing;
  });
  await waits.promise;
  await recover(store);
  assertEquals(await program(bucket).read(), 2);
  assertEquals(keysOf(bucket), ["c/0", "c/0.i"]);
});

Deno.test("S3Store: a program that replaces a spoilt upload late replaces no journal of others", async () => {
  using _timers = shortTimers();
  const bucket = await bucketOf(1);
  await leaveSpoilt(bucket);
  const late = stopping(bucket, putsJournal);
  const recovery = recover(late.chunk.store);
  await late.stopped;
  await recover(program(bucket).store);
  const next = stopping(bucket, completesLast);
  const writing = next.chunk.write(3);
  await next.stopped;
  late.goOn();
  await recovery;
  await recover(program(bucket).store);
  assertEquals(await program(bucket).read(), 3);
  next.goOn();
  await writing;
  assertEquals(bucket.uploads.size, 0);
});

Deno.test("S3Store: a writer knows its own journal and its own objects again", async () => {
  using _timers = shortTimers();
  const changes: ((chunk: Chunk) => Promise<void>)[] = [
    (chunk) => chunk.write(2),
    (chunk) => chunk.write(2, check),
    (chunk) => chunk.update(() => 2),
  ];
  for (const change of changes) {
    // The answer that the journal is stored is lost.
    let bucket = await bucketOf(1);
    const requests: string[] = [];
    const lossy = program(bucket, (request, body) => {
      requests.push(request.method);
      const isLost = putsJournal(request) && request.url.endsWith(JOURNAL) &&
        !bucket.objects.has(JOURNAL);
      if (!isLost) return undefined;
      bucket.answer(request, body);
      return "lost";
    });
    await new Chunk(lossy.store, undefined, "/c/1").write(0);
    requests.length = 0;
    await change(lossy);
    assertEquals(await program(bucket).read(), 2);
    const posts = requests.filter((method) => method === "POST").length;
    assertEquals(posts, 4); // Two uploads begun, and two completed.
    // Another program finishes the write between two looks of the writer. It cannot finish
    // one that has to be checked.
    if (change === changes[1]) continue;
    bucket = await bucketOf(1);
    const others = program(bucket);
    let hasCompleted = false;
    const slow = program(bucket, async (request) => {
      if (completesFirst(request)) {
        hasCompleted = true;
        return new Response("<CompleteMultipartUploadResult/>");
      }
      if (hasCompleted && isJournal(request)) await others.update(() => 2);
      return undefined;
    });
    await change(slow);
    assertEquals(await program(bucket).read(), 2);
  }
});

Deno.test("S3Store.update changes again what another program has changed meanwhile", async () => {
  for (const suffixes of [undefined, [""]]) {
    for (const result of [7, "delete"] as const) {
      const bucket = new SimulatedBucket();
      const open = () => new Chunk(program(bucket).store, suffixes);
      await open().write(1);
      const seen: (number | undefined)[] = [];
      const { store, keys } = open();
      await store.update(keys, async (values) => {
        const present = await open().numberIn(values);
        seen.push(present);
        if (seen.length === 1) await open().write(2);
        if (present === 2) return "keep";
        if (result === "delete") return result;
        return keys.map(() => new TextEncoder().encode("00000007"));
      }, { name: KEY });
      assertEquals(seen, [1, 2]);
      assertEquals(await open().read(), 2);
    }
  }
});

Deno.test("S3Store.update begins anew also if it has read some of the objects alone", async () => {
  const bucket = await bucketOf(1);
  const { store, keys } = program(bucket);
  const last = keys[1]!;
  const seen: number[] = [];
  await store.update(keys, async (values) => {
    const bytes = (await values.read(last))!;
    const number = Number(new TextDecoder().decode(bytes.subarray(0, 8)));
    if (seen.push(number) < 4) await program(bucket).write(number + 1);
    return keys.map(() => new TextEncoder().encode("00000009"));
  }, { name: KEY });
  assertEquals(seen, [1, 2, 3, 4]);
  assertEquals(await program(bucket).read(), 9);
});

Deno.test("S3Store checks an object again that another program has replaced meanwhile", async () => {
  const bucket = new SimulatedBucket();
  const open = () => new Chunk(program(bucket).store, [""]);
  await open().write(1);
  const seen: (number | undefined)[] = [];
  const { store, keys } = open();
  const pending = await store.prepare(keys);
  await pending.set(KEY, new TextEncoder().encode("00000003"));
  await pending.commit(async (values) => {
    seen.push(await open().numberIn(values));
    if (seen.length === 1) await open().write(2);
  });
  assertEquals(seen, [1, 2]);
  assertEquals(await open().read(), 3);
});

Deno.test("S3Store.update that others outrun again and again rejects with an UnfinishedWriteError", async () => {
  using _timers = shortTimers();
  for (const suffixes of [undefined, [""]]) {
    const bucket = new SimulatedBucket();
    const open = () => new Chunk(program(bucket).store, suffixes);
    await open().write(1);
    let number = 1;
    const { store, keys } = open();
    const updating = () =>
      store.update(keys, async (values) => {
        await open().numberIn(values);
        await open().write(++number);
        return keys.map(() => new Uint8Array(8));
      }, { name: KEY });
    await assertRejects(updating, UnfinishedWriteError, KEY);
    assertEquals(await open().read(), number);
  }
});

Deno.test("S3Store makes no update twice that others have changed before its lost answer was repeated", async () => {
  const add = (chunk: Chunk) => chunk.update((present) => present! + 1);
  const cases: [suffixes: string[] | undefined, isLost: Kind][] = [
    [
      [""],
      ({ method, headers }) => method === "PUT" && headers.has("if-match"),
    ],
    [undefined, putsJournal],
    [undefined, completesFirst],
    [undefined, completesLast],
  ];
  for (const [suffixes, isLost] of cases) {
    for (const others of [1, 3]) {
      const bucket = new SimulatedBucket();
      const open = () => new Chunk(program(bucket).store, suffixes);
      await open().write(0);
      let losses = 0;
      const store = new S3Store("s3://bucket", {
        endpoint: "https://example.org",
        retryDelay: 0,
        async fetch(request) {
          const answer = bucket.answer(request, await request.bytes());
          if (!isLost(request) || losses++ > 0) return answer;
          for (let i = 0; i < others; i++) await add(open());
          throw new TypeError("The connection is lost");
        },
      });
      await add(new Chunk(store, suffixes));
      assertEquals(await open().read(), 1 + others);
    }
  }
});

Deno.test("S3Store throws a PendingWriteError for a change that has begun, and recover finishes it", async () => {
  using _timers = shortTimers();
  const cases: [
    change: (chunk: Chunk) => Promise<void>,
    fails: Kind,
    isPending: boolean,
    after: number | undefined,
  ][] = [
    // The journal is refused: nothing has begun.
    [(chunk) => chunk.write(2), putsJournal, false, 1],
    [(chunk) => chunk.update(() => 2), putsJournal, false, 1],
    [(chunk) => chunk.write(2), completesFirst, true, 2],
    [(chunk) => chunk.write(2), completesLast, true, 2],
    [(chunk) => chunk.update(() => 2), completesLast, true, 2],
    // Whether the objects may be replaced is known to the writer alone.
    [(chunk) => chunk.write(2, check), completesFirst, true, 1],
    [(chunk) => chunk.write(2, check), completesLast, true, 2],
    [(chunk) => chunk.delete(), deletesLast, true, undefined],
  ];
  for (const [change, fails, isPending, after] of cases) {
    const bucket = await bucketOf(1);
    const failing = refusing(bucket, fails);
    const error = await assertRejects(() => change(failing), Error, "403");
    assertEquals(error instanceof PendingWriteError, isPending);
    if (isPending) assertEquals((error as PendingWriteError).key, KEY);
    await recover(program(bucket).store);
    assertEquals(await program(bucket).read(), after);
    assertEquals(bucket.objects.has(JOURNAL), false);
    assertEquals(bucket.uploads.size, 0);
  }
  // The request may have stored the journal.
  const bucket = await bucketOf(1);
  const lost = program(
    bucket,
    (request) => putsJournal(request) ? "lost" : undefined,
  );
  await assertRejects(() => lost.write(2), PendingWriteError);
});

Deno.test("S3Store has stored a chunk whose journal alone cannot be ended", async () => {
  const bucket = await bucketOf(1);
  const chunk = refusing(
    bucket,
    (request) => isJournal(request) && request.method === "DELETE",
  );
  await chunk.write(2);
  assertEquals(await chunk.read(), 2);
  // A full write takes the place of the journal, and an update has to end it.
  await chunk.write(3);
  assertEquals(await chunk.read(), 3);
  await assertRejects(() => chunk.update(() => 4), Error, "found 403");
  await program(bucket).write(4);
  assertEquals(await program(bucket).read(), 4);
  assertEquals(bucket.objects.has(JOURNAL), false);
});

/** Journals that cannot be understood, of which some are almost right. */
const UNKNOWN = [
  "",
  "not a journal",
  "null",
  "[]",
  '{"journal":3}',
  '{"journal":3,"generation":"g","key":"0","base":"*","first":{},"others":[]}',
  '{"journal":3,"generation":"g","key":"0","base":7,"first":{"key":"0","id":"u","pieces":[]},"others":[]}',
  '{"journal":3,"generation":"g","key":"0","base":"*","first":{"key":"0","id":"u","pieces":[{"number":"1","etag":"e"}]},"others":[]}',
  '{"journal":3,"generation":"g","key":"0","base":"*","first":{"key":"0","id":"u","pieces":[]},"others":[{"key":"0.i","id":"u","pieces":[],"source":{}}]}',
  '{"journal":3,"generation":"g","key":"0","removed":[{"key":"0"}]}',
  '{"generation":"g","key":"0","base":"*","uploads":[]}', // an early format
  '{"journal":4,"generation":"g","key":"0","isIdle":true}',
];

Deno.test("S3Store: a full write and a deletion take the place of any journal", async () => {
  for (const text of UNKNOWN) {
    for (const isDeletion of [false, true]) {
      const bucket = await bucketOf(1);
      const chunk = program(bucket);
      plant(bucket, JOURNAL, text);
      assertEquals(await chunk.read(), 1);
      // The objects of two writes, which the journal would explain.
      const other = bucket.objects.get("c/0.i")!;
      bucket.objects.delete("c/0.i");
      await assertRejects(() => chunk.read(), Error, "write the whole chunk");
      await assertRejects(() => recover(chunk.store), Error, JOURNAL);
      assertEquals(bucket.objects.has(JOURNAL), true);
      bucket.objects.set("c/0.i", other);
      if (isDeletion) await chunk.delete();
      else await chunk.write(2);
      assertEquals(await chunk.read(), isDeletion ? undefined : 2);
      assertEquals(bucket.objects.has(JOURNAL), false);
    }
  }
});

Deno.test("S3Store finishes the journals of earlier releases, also where uploads are spoilt", async () => {
  using _timers = shortTimers();
  for (const isKept of [true, false]) {
    const bucket = await bucketOf(1);
    await leaveSpoilt(bucket);
    // Version 2 kept the bytes of long objects in other objects.
    const document = JSON.parse(journalIn(bucket));
    const [last] = document.others;
    const kept = atob(last.source.base64);
    const from = ".zarr-parts-tmp-kept";
    if (isKept) plant(bucket, `c/${from}`, kept);
    last.source = { from, size: kept.length };
    document.journal = 2;
    plant(bucket, JOURNAL, JSON.stringify(document));
    const chunk = program(bucket);
    await assertRejects(() => chunk.read(), UnfinishedWriteError);
    if (isKept) {
      assertEquals((await recover(chunk.store)).written, [KEY]);
      assertEquals(await chunk.read(), 2);
    } else {
      // The journal cannot be carried out, and a full write takes its place.
      await assertRejects(() => recover(chunk.store), Error, "are gone");
      await assertRejects(() => chunk.update(() => 3), Error, "are gone");
      await chunk.write(3);
      assertEquals(await chunk.read(), 3);
    }
    assertEquals(bucket.uploads.size, 0);
    assertEquals(keysOf(bucket), ["c/0", "c/0.i"]);
  }
});

Deno.test("recover with dryRun reports the journals of a bucket and changes nothing", async () => {
  const cases: [
    begin: (chunk: Chunk) => Promise<unknown>,
    stop: Kind,
    after: number | undefined,
    expected: Pick<Recovery, "written" | "deleted">,
  ][] = [
    [
      (chunk) => chunk.write(2),
      completesFirst,
      2,
      { written: [KEY], deleted: [] },
    ],
    [
      (chunk) => chunk.write(2, check),
      completesLast,
      2,
      { written: [KEY], deleted: [] },
    ],
    [
      (chunk) => chunk.delete(),
      deletesLast,
      undefined,
      { written: [], deleted: [KEY] },
    ],
  ];
  for (const [begin, stop, after, expected] of cases) {
    const bucket = await bucketOf(1);
    const late = stopping(bucket, stop);
    const work = begin(late.chunk);
    await late.stopped;
    const changes: string[] = [];
    const { store } = program(bucket, ({ method }) => {
      if (method !== "GET" && method !== "HEAD") changes.push(method);
      return undefined;
    });
    const { written, deleted } = await recover(store, { dryRun: true });
    assertEquals({ written, deleted }, expected);
    assertEquals(changes, []);
    const recovery = await recover(store);
    assertEquals(recovery.written, expected.written);
    assertEquals(recovery.deleted, expected.deleted);
    assertEquals(await program(bucket).read(), after);
    late.goOn();
    await work;
  }
});

Deno.test("recover goes on after a journal of a bucket that it cannot carry out", async () => {
  const bucket = new SimulatedBucket();
  for (const number of [0, 1, 2]) {
    const key: StoreKey = `/c/${number}`;
    const isLast: Kind = ({ method, url }) =>
      method === "POST" && url.includes(".i?uploadId");
    const { store } = refusing(bucket, isLast);
    const chunk = new Chunk(store, undefined, key);
    await assertRejects(() => chunk.write(2), PendingWriteError);
    const journal = JOURNAL.replace(/0$/, `${number}`);
    if (number < 2) plant(bucket, journal, "x");
  }
  const { store } = program(bucket);
  const error = await assertRejects(() => recover(store), AggregateError);
  assertEquals(error.errors.length, 2);
  assertEquals(await new Chunk(store, undefined, "/c/2").read(), 2);
});

for (
  const [kind, change] of Object.entries({
    "another chunk": (text: string) =>
      text.replace('"key":"0.i"', '"key":"1.i"'),
    "a document": (text: string) =>
      text.replace('"key":"0.i"', '"key":"../zarr.json"'),
    "the chunk of another journal": (text: string) =>
      text.replace(/"key":"0"(?=,"base")/, '"key":"9"'),
  })
) {
  Deno.test(`a planted journal of a bucket that names ${kind} is reported, and not followed`, async () => {
    const bucket = await bucketOf(1);
    const victims = ["c/1.i", "zarr.json"];
    for (const key of victims) plant(bucket, key, "x");
    const killed = refusing(bucket, completesLast);
    await assertRejects(() => killed.write(2), PendingWriteError);
    const text = journalIn(bucket);
    assertEquals(change(text) === text, false, text);
    plant(bucket, JOURNAL, change(text));
    const changes: string[] = [];
    const { store } = program(bucket, ({ method, url }) => {
      const isProbe = url.includes("-probe-");
      if (method !== "GET" && method !== "HEAD" && !isProbe) {
        changes.push(`${method} ${url}`);
      }
      return undefined;
    });
    await assertRejects(() => recover(store), Error, JOURNAL);
    assertEquals(changes, []);
    // A write of all objects takes the place of the journal.
    await new Chunk(store).write(3);
    assertEquals(await new Chunk(store).read(), 3);
    for (const key of victims) {
      assertEquals(bucket.objects.get(key)?.etag, '"v"');
    }
  });
}

Deno.test("recover removes what killed programs have left in a bucket, unless it may be needed", async () => {
  const bucket = new SimulatedBucket();
  const put = (key: string, age: number) => {
    const modified = new Date(Date.now() - age * 3_600_000).toISOString();
    plant(bucket, key, new Uint8Array(5), { modified });
  };
  put(".zarr-parts-tmp-probe-1", 25);
  put("c/.zarr-parts-tmp-1", 23);
  put("c/.zarr-parts-tmp-2", 25);
  put("c/0", 1000);
  const { store } = program(bucket);
  const dry = await recover(store, { dryRun: true });
  assertEquals(dry.temporary, { files: 2, bytes: 10 });
  assertEquals(bucket.objects.size, 4);
  assertEquals(await recover(store), dry);
  assertEquals(keysOf(bucket), ["c/.zarr-parts-tmp-1", "c/0"]);
});

Deno.test("S3Store finishes writes of stores with other prefixes", async () => {
  for (
    const [url, at] of [
      ["s3://bucket/a", "s3://bucket"],
      ["s3://bucket", "s3://bucket/a"],
    ] as const
  ) {
    const keyIn = (url: string): StoreKey =>
      url.endsWith("/a") ? KEY : `/a${KEY}`;
    const open = (url: string, stop: Kind = () => false) =>
      stopping(bucket, stop, { url, key: keyIn(url) });
    const bucket = new SimulatedBucket();
    await open(url).chunk.write(1);
    const killed = open(url, completesLast);
    const writing = killed.chunk.write(2);
    await killed.stopped;
    const { chunk } = open(at);
    const { written } = await recover(chunk.store);
    assertEquals(written, [keyIn(at)]);
    assertEquals(await chunk.read(), 2);
    killed.goOn();
    await writing;
    assertEquals(keysOf(bucket), ["a/c/0", "a/c/0.i"]);
    assertEquals(await chunk.read(), 2);
  }
});
