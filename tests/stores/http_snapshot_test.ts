import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  HttpStore,
  MemoryStore,
  type Snapshot,
  type StoreKey,
  type StoreVersion,
  UnfinishedWriteError,
} from "../../mod.ts";
import { fakeClock } from "../support/fake_clock.ts";
import { observedBody, URL_ } from "./http_stub.ts";
import { serve, storeHandler } from "./loopback.ts";
import { readAll } from "./store_values.ts";

const DATA = "/c/0";
const INDEX = "/c/0.index";
const KEYS: StoreKey[] = [DATA, INDEX];
const RANGE = { offset: 2, length: 3 };

/** A date in headers, some seconds from noon. */
function at(seconds: number): string {
  return new Date(Date.UTC(2026, 2, 1, 12, 0, seconds)).toUTCString();
}

type Sent = Record<string, string>;

const OLD: Sent = { "Last-Modified": at(-60), "Date": at(0) };
const NEW: Sent = { "Last-Modified": at(30), "Date": at(60) };
const TAG = "x-amz-meta-zarr-parts-generation";

/** Answers that come at once. */
function answering(
  answer: (request: Request, count: number) => Response,
  options = {},
): HttpStore {
  let count = 0;
  return new HttpStore(URL_, {
    fetch: (request) => Promise.resolve(answer(request, ++count)),
    ...options,
  });
}

const both = (values: Snapshot) =>
  Promise.all(KEYS.map((key) => values.read(key)));

/**
 * Servers, by the headers that they send: the requests of the first and of later readings
 * of two values, D or I for the data or the index, small for HEAD; and whether the version
 * that is read is lasting, if there is one, and its tag.
 */
const SERVERS: [
  name: string,
  headers: Sent,
  requests: string,
  later: string,
  isLasting?: boolean,
  tag?: string,
][] = [
  ["generations", { [TAG]: "g" }, "ID", "DI", true, "g"],
  [
    "generations of young values",
    { ...OLD, [TAG]: "g", Date: at(-60) },
    "ID",
    "DI",
    true,
    "g",
  ],
  ["nothing", {}, "ID", "DI"],
  ["its date alone", { Date: at(0) }, "ID", "DI"],
  [
    "a date that does not parse",
    { ...OLD, "Last-Modified": "yesterday" },
    "ID",
    "DI",
  ],
  ["entity tags", { ETag: '"1"' }, "IDi", "IDi", true, "1-"],
  ["weak entity tags", { ETag: 'W/"1-gzip"' }, "IDi", "IDi", true, "1-"],
  [
    "dates of modification",
    { "Last-Modified": at(0) },
    "IDi",
    "IDi",
    true,
    `-${Date.parse(at(0))}`,
  ],
  ["both dates", OLD, "IDi", "IDi", true, `-${Date.parse(at(-60))}`],
  [
    "dates that are just old enough",
    { ...OLD, Date: at(-58) },
    "IDi",
    "IDi",
    true,
    `-${Date.parse(at(-60))}`,
  ],
  ["young dates", { ...OLD, Date: at(-59) }, "IDIDi", "IDIDi", false],
  [
    "young dates beside entity tags",
    { ...OLD, Date: at(-59), ETag: '"1"' },
    "IDIDi",
    "IDIDi",
    false,
  ],
  ["dates of the future", { ...OLD, Date: at(-90) }, "IDi", "IDi", false],
];

for (const [name, headers, requests, later, isLasting, tag] of SERVERS) {
  Deno.test(`HttpStore.read asks a server that sends ${name} as often as needed`, async () => {
    using _clock = fakeClock();
    for (const refusesHead of [false, true]) {
      let letters = "";
      const store = answering((request) => {
        const letter = request.url.endsWith(INDEX) ? "I" : "D";
        const isHead = request.method === "HEAD";
        letters += isHead ? letter.toLowerCase() : letter;
        return isHead && refusesHead
          ? new Response(null, { status: 405 })
          : new Response(isHead ? null : letter, { headers });
      });
      for (let expected of [requests, later, later]) {
        const read = await store.read(KEYS, async (values) => ({
          text: (await both(values)).map((bytes) =>
            new TextDecoder().decode(bytes)
          ),
          version: values.version(DATA),
        }));
        assertEquals(read.text, ["D", "I"]);
        assertEquals(read.version?.isLasting, isLasting);
        assertEquals(read.version?.tag, tag);
        if (refusesHead) expected = expected.replace("i", "iI");
        assertEquals(letters, expected);
        letters = "";
      }
      // One value alone is not compared with anything.
      await store.read([DATA], (values) => values.read(DATA));
      assertEquals(letters, "D");
    }
  });
}

Deno.test("HttpStore.read needs no sequence part where values carry generations", async () => {
  let requests = 0;
  const store = answering(() => {
    requests++;
    return new Response("x", { headers: { [TAG]: "g" } });
  });
  const keys: StoreKey[] = [DATA, "/c/0.header", INDEX];
  await store.read(
    keys,
    (values) => Promise.all([values.read(DATA), values.read("/c/0.header")]),
  );
  assertEquals(requests, 2);
});

Deno.test("HttpStore.read waits until the index is old enough, and not for one of the future", async () => {
  for (const [age, waits] of [[0, 2000], [1, 1000], [2, 0], [-1, 0]]) {
    using clock = fakeClock();
    const headers = { "Last-Modified": at(0), "Date": at(age!) };
    const store = answering(() => new Response("x", { headers }));
    await store.read(KEYS, both);
    // The order of requests takes turns of the event loop, too.
    assertEquals(Math.floor(clock.elapsed / 10) * 10, waits);
  }
});

Deno.test("HttpStore.readOf waits for an index that was just written, and has it read anew", async () => {
  using clock = fakeClock();
  const young = { "Last-Modified": at(0), "Date": at(1) };
  const { store, methods } = inOrder([young, young]);
  const version = await versionOf(store, INDEX);
  assertEquals(await store.readOf(version, DATA, RANGE), undefined);
  assertEquals(clock.elapsed, 1000);
  assertEquals(methods, ["GET", "GET"]);
});

Deno.test("HttpStore.read asks no cache while it waits for the sequence part", async () => {
  const caches: string[] = [];
  const store = answering(({ cache }) => {
    caches.push(cache);
    return new Response("x", { headers: { ETag: '"1"' } });
  });
  await store.read(KEYS, both);
  const isKnown = "cache" in Request.prototype;
  assertEquals(caches, Array(3).fill(isKnown ? "no-cache" : undefined));
});

Deno.test("HttpStore.read gives up on values that change all the time, and cancels their bodies", async () => {
  using _clock = fakeClock();
  const servers: ((i: number) => Sent)[] = [
    (i) => ({ ETag: `"${i}"` }),
    (i) => ({ "Last-Modified": at(-60 + 5 * i) }),
    (i) => ({ [TAG]: `${i}` }),
    (i): Sent => i % 2 ? {} : { [TAG]: "a" },
  ];
  for (const headersOf of servers) {
    const bodies: ReturnType<typeof observedBody>[] = [];
    const store = answering(({ method }, count) => {
      const body = observedBody();
      if (method !== "HEAD") bodies.push(body);
      const sent = method === "HEAD" ? null : body.stream;
      return new Response(sent, { headers: headersOf(count) });
    });
    const error = await assertRejects(
      () =>
        store.read(
          KEYS,
          (values) => Promise.all(KEYS.map((key) => values.stream(key))),
          { name: "/c/zero" },
        ),
      UnfinishedWriteError,
    );
    assertEquals(error.chunkKey, "/c/zero");
    assertEquals(bodies.length, 10);
    assert(bodies.every((body) => body.cancelled()));
  }
});

Deno.test("HttpStore.read tries three times if the same values alone are present", async () => {
  using _clock = fakeClock();
  for (
    const [presence, tries, outcome] of [
      ["00", 1, "absent"],
      ["10 10 10", 3, "incomplete"],
      ["01 01 01 11", 3, "incomplete"],
      ["10 11", 2, "present"],
      ["01 00", 2, "absent"],
      ["10 01 11", 3, "present"],
      // The values change, so that none of them is missing.
      ["10 01 10 01 11", 5, "present"],
      ["10 10 01 01 11", 5, "present"],
      ["10 20 10 20 11", 5, "present"],
      ["10 20 20 20", 4, "incomplete"],
    ] as const
  ) {
    const left = presence.split(" ");
    const store = answering(({ url }, count) => {
      const [data, index] = left[0]!;
      const write = url.endsWith(INDEX) ? index : data;
      if (count % 2 === 0) left.shift();
      return write === "0"
        ? new Response(null, { status: 404 })
        : new Response("x", { headers: { [TAG]: write! } });
    });
    let called = 0;
    const read = store.read(KEYS, async (values) => {
      called++;
      const present = (await both(values)).filter((value) => value).length;
      if (present === 1) throw new Error("incomplete");
      return present === 0 ? "absent" : "present";
    });
    assertEquals(await read.catch((error) => error.message), outcome);
    assertEquals(called, tries, presence);
  }
});

Deno.test("HttpStore.read passes on an error of the task only if the values are of one write", async () => {
  using _clock = fakeClock();
  const damage = new Error("The checksum is wrong");
  for (
    const [generations, failures, result] of [
      ["aa", 1, damage],
      ["abbb", 1, "read"],
      ["abbb", 2, damage],
      ["abbccc", 2, "read"],
      ["ababababab", 5, new UnfinishedWriteError(DATA)],
    ] as const
  ) {
    const store = answering((_, count) =>
      new Response("x", { headers: { [TAG]: generations[count - 1]! } })
    );
    let called = 0;
    const read = store.read(KEYS, async (values) => {
      await both(values);
      if (++called <= failures) throw damage;
      return "read";
    });
    assertEquals(String(await read.catch((error) => error)), String(result));
    assertEquals(called, generations.length / 2);
  }
});

Deno.test("HttpStore.read repeats no task whose request failed", async () => {
  let requests = 0;
  const store = answering((_, count) => {
    requests = count;
    return new Response(null, { status: count === 2 ? 503 : 200 });
  }, { retries: 0 });
  await assertRejects(() => store.read(KEYS, both), Error, "found 503");
  assertEquals(requests, 2);
});

Deno.test("HttpStore.read cancels what a failed task has requested", async () => {
  const data = observedBody();
  const late = Promise.withResolvers<Response>();
  const headers = { [TAG]: "a" };
  const store = new HttpStore(URL_, {
    fetch: ({ url }) => {
      if (url.endsWith(".late")) return late.promise;
      const body = url.endsWith(INDEX) ? "no index" : data.stream;
      return Promise.resolve(new Response(body, { headers }));
    },
  });
  const failure = new Error("The index is damaged");
  let pending: Promise<unknown> | undefined;
  let again: Promise<unknown> | undefined;
  const error = await assertRejects(() =>
    store.read([DATA, "/c/0.late", INDEX], async (values) => {
      await values.stream(DATA);
      pending = values.read("/c/0.late");
      pending.catch(() => {});
      again = new Promise((resolve) => setTimeout(resolve, 10))
        .then(() => values.read(DATA));
      again.catch(() => {});
      await values.read(INDEX);
      throw failure;
    })
  );
  assertStrictEquals(error, failure);
  assertEquals(data.cancelled(), true);
  assertStrictEquals(await assertRejects(() => pending!), failure);
  const body = observedBody();
  late.resolve(new Response(body.stream));
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(body.cancelled(), true);
  assertStrictEquals(await assertRejects(() => again!), failure);
});

Deno.test("HttpStore.read rejects with the reason of the signal, also between two tries", async () => {
  for (const requestsBefore of [0, 1, 2, 4]) {
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("No longer in view");
    let requests = 0;
    const store = answering((_, count) => {
      requests = count;
      if (count === requestsBefore) {
        setTimeout(() => controller.abort(reason), 1);
      }
      return new Response("x", { headers: { [TAG]: `${count}` } });
    });
    if (requestsBefore === 0) controller.abort(reason);
    const read = () => store.read(KEYS, both, { signal });
    assertStrictEquals(await assertRejects(read), reason);
    assert(requests <= requestsBefore + 2, `${requests}`);
  }
});

Deno.test("HttpStore.read returns streams that are read after the check, of ranges too", async () => {
  const bytes = new Uint8Array(300_000).map((_, i) => i);
  const memory = new MemoryStore([[DATA, bytes], [INDEX, bytes]]);
  const { url, close } = serve(storeHandler(memory));
  const range = { offset: 70_000, length: 200_000 };
  const nothing = { offset: 300_000, length: 1 };
  const streams = await new HttpStore(url).read(KEYS, (values) =>
    Promise.all([
      ...KEYS.map((key) => values.stream(key)),
      values.stream(DATA, range),
      values.stream(DATA, { suffixLength: 10 }),
      values.stream(DATA, nothing),
    ]));
  const expected = [
    bytes,
    bytes,
    bytes.slice(70_000, 270_000),
    bytes.slice(-10),
    new Uint8Array(),
  ];
  for (const [i, stream] of streams.entries()) {
    assertEquals(await readAll(stream), expected[i]);
  }
  await close();
});

Deno.test("HttpStore.read returns a stream of a range that fails if more or fewer bytes come", async () => {
  for (const length of [2, 4]) {
    const headers = { "Content-Range": "bytes 2-4/10" };
    const body = new Uint8Array(length);
    const store = answering(() => new Response(body, { status: 206, headers }));
    const stream = await store.read(
      [DATA],
      (values) => values.stream(DATA, RANGE),
    );
    await assertRejects(
      () => readAll(stream),
      Error,
      `${URL_}/c/0 to send 3 bytes as its Content-Range says`,
    );
  }
});

/** A store whose requests are answered in this order, with headers or a status of absence or refusal. */
function inOrder(
  sent: readonly (Sent | number)[],
): { store: HttpStore; methods: string[] } {
  const methods: string[] = [];
  const store = answering(({ method, headers }) => {
    const given = sent[methods.push(method) - 1];
    assert(given !== undefined, "None is left");
    if (typeof given === "number") return new Response(null, { status: given });
    if (method === "HEAD") {
      return new Response(null, {
        headers: { "Content-Length": "10", ...given },
      });
    }
    return headers.has("range")
      ? new Response("234", {
        status: 206,
        headers: { "Content-Range": "bytes 2-4/10", ...given },
      })
      : new Response("0123456789", { headers: given });
  }, { retries: 0 });
  return { store, methods };
}

/** Reads values, and returns the version of the data. */
function versionOf(
  store: HttpStore,
  ...wanted: StoreKey[]
): Promise<StoreVersion> {
  return store.read(KEYS, async (values) => {
    for (const key of wanted) await values.read(key);
    return values.version(DATA)!;
  });
}

/**
 * What is read in a snapshot of data and index, the answers, and which ranges of the data
 * are returned afterwards. The first answers are those of the snapshot.
 */
const LATER: [
  name: string,
  wanted: StoreKey[],
  sent: (Sent | number)[],
  found: boolean[],
][] = [
  ["dates", [DATA], [OLD, OLD, { ...OLD, Date: at(900) }, NEW], [
    true,
    true,
    false,
  ]],
  ["a removed value", [DATA], [OLD, OLD, 404, 410], [true, false, false]],
  ["entity tags", [DATA], [{ ETag: '"a"' }, { ETag: '"a"' }, { ETag: '"b"' }, {
    ETag: '"a"',
  }], [true, false, true]],
  ["entity tags of compressed values", [DATA], [
    { ETag: '"a"' },
    { ETag: 'W/"a"' },
    { ETag: '"a-gzip"' },
    { ETag: 'W/"a;br"' },
    { ETag: '"agzip"' },
  ], [true, true, true, false]],
  ["equal tags of other dates", [DATA], [
    { ...OLD, ETag: '"a"' },
    { ...NEW, ETag: '"a"' },
  ], [false]],
  ["generations", [DATA], [
    { [TAG]: "a" },
    { [TAG]: "a", ETag: '"1"' },
    { [TAG]: "a", ETag: '"2"' },
    { [TAG]: "b" },
    {},
  ], [true, true, false, false]],
  // Nothing was read: the index is asked for, and stands for the data.
  ["generations, and nothing read", [], [{ [TAG]: "a" }, { [TAG]: "a" }, {
    [TAG]: "b",
  }], [true, false]],
  ["entity tags, and nothing read", [], [
    { ETag: '"i"' },
    { ETag: '"d"' },
    { ETag: '"i"' },
    { ETag: '"d"' },
    { ETag: '"e"' },
  ], [true, true, false]],
  // The index was read, but not the data: the first range is that of the same write.
  ["generations of the index", [INDEX], [{ [TAG]: "a" }, { [TAG]: "a" }, {
    [TAG]: "b",
  }], [true, false]],
  ["another generation than the index", [INDEX], [{ [TAG]: "a" }, {
    [TAG]: "b",
  }], [false]],
  ["a generation of the index alone", [INDEX], [{ [TAG]: "a" }, OLD], [false]],
  ["a generation of the data alone", [INDEX], [OLD, { ...OLD, [TAG]: "a" }], [
    false,
  ]],
  ["nothing with the index", [INDEX], [{}, OLD, OLD, NEW], [true, true, false]],
  ["nothing with the data", [INDEX], [OLD, {}, OLD, {}], [true, true]],
  ["an index that stays", [INDEX], [OLD, OLD, OLD, OLD, NEW], [
    true,
    true,
    false,
  ]],
  ["an index that is replaced", [INDEX], [
    { ETag: '"i"' },
    { ETag: '"b"' },
    { ETag: '"j"' },
    { ETag: '"b"' },
    { ETag: '"j"' },
  ], [false, false]],
  ["an index that is removed", [INDEX], [OLD, OLD, 404], [false]],
];

for (const [name, wanted, sent, found] of LATER) {
  Deno.test(`HttpStore.readOf returns bytes of the version alone: ${name}`, async () => {
    const { store, methods } = inOrder(sent);
    const version = await versionOf(store, ...wanted);
    const results: boolean[] = [];
    for (const _ of found) {
      const bytes = await store.readOf(version, DATA, RANGE);
      results.push(bytes !== undefined);
      if (bytes) assertEquals(new TextDecoder().decode(bytes), "234");
    }
    assertEquals(results, found);
    assertEquals(methods.length, sent.length);
    version.release();
  });
}

Deno.test("HttpStore.readOf tells values of other lengths apart", async () => {
  const { store } = inOrder([OLD, OLD, {
    ...OLD,
    "Content-Range": "bytes 2-4/11",
  }]);
  const version = await store.read([DATA], async (values) => {
    await values.read(DATA, RANGE);
    assertEquals(await values.size(DATA), 10);
    return values.version(DATA)!;
  });
  assertEquals([version.size, version.modified], [10, Date.parse(at(-60))]);
  assertEquals((await store.readOf(version, DATA, RANGE))?.length, 3);
  assertEquals(await store.readOf(version, DATA, RANGE), undefined);
});

Deno.test("HttpStore.readOf tells no bytes past the end of another value for those of this one", async () => {
  const { store, methods } = inOrder([{ ETag: '"a"' }, 416, { ETag: '"b"' }]);
  const version = await versionOf(store, DATA);
  assertEquals(await store.readOf(version, DATA, RANGE), undefined);
  assertEquals(methods, ["GET", "GET", "HEAD"]);
});

Deno.test("HttpStore.readOf compares the value for a range of no bytes", async () => {
  const nothing = { offset: 2, length: 0 };
  const { store, methods } = inOrder([
    { ETag: '"a"' },
    { ETag: '"a"' },
    { ETag: '"b"' },
    405,
    { ETag: '"a"', "Content-Range": "bytes 0-0/10" },
  ]);
  const version = await versionOf(store, DATA);
  const read = () => store.readOf(version, DATA, nothing);
  assertEquals(await read(), new Uint8Array());
  assertEquals(await read(), undefined);
  // HEAD is refused, which tells nothing about the value.
  assertEquals(await read(), new Uint8Array());
  assertEquals(methods, ["GET", "HEAD", "HEAD", "HEAD", "GET"]);
});

Deno.test("HttpStore.readOf ends the download of another value", async () => {
  const body = observedBody();
  const store = answering((_, count) =>
    count < 2
      ? new Response("0123456789", { headers: { ETag: '"a"' } })
      : new Response(body.stream, { headers: { ETag: '"b"' } })
  );
  const version = await versionOf(store, DATA);
  assertEquals(await store.readOf(version, DATA, RANGE), undefined);
  assertEquals([body.pulls(), body.cancelled()], [0, true]);
});

Deno.test("HttpStore tells no version of an absent value, and reads none of other keys and stores", async () => {
  const { store } = inOrder([404, OLD, OLD]);
  assertEquals(await versionOf(store, DATA), undefined);
  const version = await versionOf(store, DATA);
  assertEquals(await store.readOf(version, INDEX, RANGE), undefined);
  const memory = new MemoryStore([[DATA, new Uint8Array(9)]]);
  const other = await memory.read(
    [DATA],
    (values) => Promise.resolve(values.version(DATA)!),
  );
  assertEquals(await store.readOf(other, DATA, RANGE), undefined);
});

Deno.test("HttpStore.readOf lets readers at the same time complete one version", async () => {
  const etags = ['"i"', '"a"', '"b"', '"i"', '"i"'];
  const store = answering((_, count) =>
    new Response("0123456789", { headers: { ETag: etags[count - 1]! } })
  );
  const version = await versionOf(store, INDEX);
  const read = await Promise.all([
    store.readOf(version, DATA, RANGE),
    store.readOf(version, DATA, RANGE),
  ]);
  assertEquals(read.filter((bytes) => bytes !== undefined).length, 1);
});
