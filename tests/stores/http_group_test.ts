import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  type GroupValues,
  HttpStore,
  MemoryStore,
  type StoreKey,
  UnfinishedWriteError,
} from "../../mod.ts";
import { fakeClock } from "../support/fake_clock.ts";
import { observedBody, URL_ } from "./http_stub.ts";
import { serve, storeHandler } from "./loopback.ts";
import { readAll } from "./store_values.ts";

const DATA = "/c/0";
const INDEX = "/c/0.index";
const KEYS: StoreKey[] = [DATA, INDEX];

const NOW = Date.UTC(2026, 2, 1, 12, 0, 0);

/** A date in headers, some seconds from now. */
function at(seconds: number): string {
  return new Date(NOW + seconds * 1000).toUTCString();
}

const OLD = { "Last-Modified": at(-60), "Date": at(0) };

/** The headers with a part; those of the index may differ. */
interface Given {
  readonly name: string;
  readonly headers: Record<string, string>;
  readonly index?: Record<string, string>;
  readonly refusesHead?: boolean;
  /** The requests of one reading: D or I for the data or the index, small for HEAD. */
  readonly requests: string;
  /** The requests of a second reading, if they are others. */
  readonly later?: string;
}

const SERVERS: readonly Given[] = [
  { name: "dates", headers: OLD, requests: "DI" },
  {
    name: "dates and entity tags",
    headers: { ...OLD, ETag: '"69a2-64"' },
    requests: "DI",
  },
  {
    name: "an entity tag as of a multipart upload, but too short",
    headers: { ...OLD, ETag: `"${"0".repeat(31)}-2"` },
    requests: "DI",
  },
  {
    name: "an entity tag of a multipart upload",
    headers: { ...OLD, ETag: `"${"0".repeat(32)}-2"` },
    requests: "DI IDi",
  },
  {
    name: "dates that are old enough by a second",
    headers: { "Last-Modified": at(-3), "Date": at(0) },
    requests: "DI",
  },
  {
    name: "no date of the response",
    headers: { "Last-Modified": at(-60) },
    requests: "DI IDi",
    later: "IDi",
  },
  {
    name: "entity tags alone",
    headers: { ETag: '"1"' },
    requests: "DI IDi",
    later: "IDi",
  },
  {
    name: "weak entity tags",
    headers: { ETag: 'W/"1"', Date: at(0) },
    requests: "DI IDi",
  },
  {
    name: "no date of the response, and no HEAD",
    headers: { "Last-Modified": at(-60) },
    refusesHead: true,
    requests: "DI IDiI",
    later: "IDiI",
  },
  {
    name: "a date of modification that does not parse",
    headers: { "Last-Modified": "yesterday", "Date": at(0) },
    requests: "DI",
  },
  {
    name: "a date of modification of the index alone",
    headers: { Date: at(0) },
    index: OLD,
    requests: "DI IDi",
  },
  {
    name: "a date of modification in the future by a minute",
    headers: { "Last-Modified": at(60), "Date": at(0) },
    requests: "DI IDi",
  },
  { name: "nothing", headers: {}, requests: "DI" },
  {
    name: "a date of the response alone",
    headers: { Date: at(0) },
    requests: "DI",
  },
  {
    name: "a generation",
    headers: { "x-amz-meta-zarr-parts-generation": "a" },
    requests: "DI",
  },
  {
    name: "a generation of values that were just written",
    headers: {
      "x-amz-meta-zarr-parts-generation": "a",
      "Last-Modified": at(0),
      "Date": at(0),
    },
    requests: "DI",
  },
];

/** A store with two parts, and the requests that it gets as letters. */
function twoParts(
  { headers, index = headers, refusesHead }: Omit<Given, "name" | "requests">,
): { store: HttpStore; letters: () => string } {
  let letters = "";
  const store = new HttpStore(URL_, {
    fetch: (request) => {
      const letter = request.url.endsWith(INDEX) ? "I" : "D";
      const isHead = request.method === "HEAD";
      for (const name of request.headers.keys()) {
        assert(!/^if-/.test(name), name);
      }
      letters += isHead ? letter.toLowerCase() : letter;
      if (isHead && refusesHead) {
        return Promise.resolve(new Response(null, { status: 405 }));
      }
      return Promise.resolve(
        new Response(isHead ? null : letter, {
          headers: letter === "I" ? index : headers,
        }),
      );
    },
  });
  return {
    store,
    letters() {
      const found = letters;
      letters = "";
      return found;
    },
  };
}

const both = (values: GroupValues) =>
  Promise.all(KEYS.map((key) => values.get(key)));

for (const given of SERVERS) {
  Deno.test(`HttpStore.group reads two values once from a server that sends ${given.name}`, async () => {
    using _clock = fakeClock();
    const { store, letters } = twoParts(given);
    const { requests, later = requests } = given;
    for (const expected of [requests, later]) {
      const read = await store.group(DATA, KEYS).read(both);
      const text = read.map((bytes) => new TextDecoder().decode(bytes));
      assertEquals(text, ["D", "I"]);
      assertEquals(letters(), expected.replaceAll(" ", ""));
    }
    // One value alone is not compared with anything.
    await store.group(DATA, KEYS).read((values) => values.get(DATA));
    await store.group(DATA, [DATA]).read((values) => values.get(DATA));
    assertEquals(letters(), "DD");
  });
}

Deno.test("HttpStore.group waits until values that were just written are old enough", async () => {
  for (const [age, isMissing] of [[2, false], [1, true]] as const) {
    using clock = fakeClock();
    let elapsed = 0;
    let requests = 0;
    const store = new HttpStore(URL_, {
      fetch: () => {
        elapsed = Math.floor(clock.elapsed / 1000);
        if (++requests === 2 && isMissing) {
          return Promise.resolve(new Response(null, { status: 404 }));
        }
        const headers = { "Last-Modified": at(-age), "Date": at(elapsed) };
        return Promise.resolve(new Response("x", { headers }));
      },
    });
    await store.group(DATA, KEYS).read(both);
    assertEquals(elapsed, 3 - age);
    assertEquals(requests, isMissing ? 6 : 4);
  }
});

Deno.test("HttpStore.group refuses an answer of a cache that is older than the other value", async () => {
  using _clock = fakeClock(NOW);
  const written = { "Last-Modified": at(-3600) };
  const rewritten = { "Last-Modified": at(-60) };
  const fresh = { Date: at(0) };
  // Some caches keep the date of the server, and others replace it by their own.
  const kept = (age: number) => ({ Date: at(-age), Age: `${age}` });
  const replaced = (age: number) => ({ Date: at(0), Age: `${age}` });
  for (
    const [data, index, isRead] of [
      [{ ...rewritten, ...fresh }, { ...rewritten, ...fresh }, true],
      [{ ...rewritten, ...kept(57) }, { ...rewritten, ...fresh }, true],
      [{ ...rewritten, ...fresh }, { ...rewritten, ...kept(57) }, true],
      [{ ...rewritten, ...kept(57) }, { ...rewritten, ...kept(30) }, true],
      [{ ...written, ...kept(900) }, { ...written, ...kept(3590) }, true],
      [{ ...written, ...replaced(900) }, { ...written, ...fresh }, true],
      [{ ...written, ...fresh }, { ...written, ...replaced(3590) }, true],
      [{ ...written, ...kept(900) }, { ...rewritten, ...fresh }, false],
      [{ ...written, ...replaced(900) }, { ...rewritten, ...fresh }, false],
      [{ ...rewritten, ...fresh }, { ...written, ...kept(900) }, false],
      [{ ...rewritten, ...fresh }, { ...written, ...replaced(900) }, false],
    ] as const
  ) {
    const { store } = twoParts({ headers: data, index });
    const read = store.group(DATA, KEYS).read(both);
    const isUnfinished = (error: unknown) =>
      assert(error instanceof UnfinishedWriteError);
    assertEquals(
      await read.then(() => true, isUnfinished) ?? false,
      isRead,
      JSON.stringify([data, index]),
    );
  }
});

Deno.test("HttpStore.group gives up on values that change all the time", async () => {
  using _clock = fakeClock();
  for (
    const headersOf of [
      (i: number) => ({ ETag: `"${i}"` }),
      (i: number) => ({ "Last-Modified": at(-60 + 5 * i), "ETag": `"${i}"` }),
      (i: number) => ({ "x-amz-meta-zarr-parts-generation": `${i}` }),
      (i: number): Record<string, string> =>
        i % 2 ? {} : { "x-amz-meta-zarr-parts-generation": "a" },
    ]
  ) {
    const bodies: ReturnType<typeof observedBody>[] = [];
    const store = new HttpStore(URL_, {
      fetch: ({ method }) => {
        const body = observedBody();
        const headers = headersOf(bodies.length);
        if (method === "HEAD") bodies.push({ ...body, cancelled: () => true });
        else bodies.push(body);
        const sent = method === "HEAD" ? null : body.stream;
        return Promise.resolve(new Response(sent, { headers }));
      },
    });
    const error = await assertRejects(
      () =>
        store.group(DATA, KEYS).read((values) =>
          Promise.all(KEYS.map((key) => values.stream(key)))
        ),
      UnfinishedWriteError,
    );
    assertEquals(error.chunkKey, DATA);
    assert(bodies.length >= 10 && bodies.length <= 20, `${bodies.length}`);
    assert(bodies.every((body) => body.cancelled()));
  }
});

Deno.test("HttpStore.group tries three times if the same values alone are present", async () => {
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
    const left = presence.replaceAll(" ", "").split("");
    let requests = 0;
    const store = new HttpStore(URL_, {
      fetch: (request) => {
        requests++;
        const [data, index] = left;
        const isIndex = request.url.endsWith(INDEX);
        const isPresent = isIndex ? index : data;
        if (requests % 2 === 0) left.splice(0, 2);
        return Promise.resolve(
          isPresent !== "0"
            ? new Response("x", { headers: { ...OLD, ETag: `"${isPresent}"` } })
            : new Response(null, { status: 404 }),
        );
      },
    });
    const read = store.group(DATA, KEYS).read(async (values) => {
      const present = (await both(values)).filter((value) => value).length;
      if (present === 1) throw new Error("incomplete");
      return present === 0 ? "absent" : "present";
    });
    assertEquals(await read.catch((error) => error.message), outcome);
    assertEquals(requests, 2 * tries, presence);
  }
});

Deno.test("HttpStore.group passes on an error of the task only if the values are of one write", async () => {
  using _clock = fakeClock();
  const damage = new Error("The checksum is wrong");
  for (
    const [generations, failures, calls, result] of [
      ["aa", 1, 1, damage],
      ["abbb", 1, 2, "read"],
      ["abbb", 2, 2, damage],
      ["abbccc", 2, 3, "read"],
      ["ababababab", 5, 5, new UnfinishedWriteError(DATA)],
    ] as const
  ) {
    let requests = 0;
    let called = 0;
    const store = new HttpStore(URL_, {
      fetch: () => {
        const tag = generations[requests++]!;
        const headers = { "x-amz-meta-zarr-parts-generation": tag };
        return Promise.resolve(new Response("x", { headers }));
      },
    });
    const read = store.group(DATA, KEYS).read(async (values) => {
      await both(values);
      if (++called <= failures) throw damage;
      return "read";
    });
    assertEquals(String(await read.catch((error) => error)), String(result));
    assertEquals([called, requests], [calls, generations.length]);
  }
});

Deno.test("HttpStore.group repeats no task whose request failed", async () => {
  let requests = 0;
  const store = new HttpStore(URL_, {
    retries: 0,
    fetch: () =>
      Promise.resolve(
        new Response(null, { status: ++requests === 2 ? 503 : 200 }),
      ),
  });
  await assertRejects(
    () => store.group(DATA, KEYS).read(both),
    Error,
    "found 503",
  );
  assertEquals(requests, 2);
});

Deno.test("HttpStore.group cancels what a failed task has requested", async () => {
  const data = observedBody();
  let late: ((response: Response) => void) | undefined;
  const store = new HttpStore(URL_, {
    fetch: (request) => {
      if (request.url.endsWith(INDEX)) {
        return Promise.resolve(new Response("no index", { headers: OLD }));
      }
      if (request.url.endsWith(".late")) {
        return new Promise((resolve) => late = resolve);
      }
      return Promise.resolve(new Response(data.stream, { headers: OLD }));
    },
  });
  const keys: StoreKey[] = [DATA, "/c/0.late", INDEX];
  const failure = new Error("The index is damaged");
  let again: Promise<unknown> | undefined;
  let pending: Promise<unknown> | undefined;
  const error = await assertRejects(() =>
    store.group(DATA, keys).read(async (values) => {
      await values.stream(DATA);
      pending = values.get("/c/0.late");
      pending.catch(() => {});
      again = Promise.resolve().then(() =>
        new Promise((resolve) => setTimeout(resolve, 10))
      ).then(() => values.get(DATA));
      again.catch(() => {});
      await values.get(INDEX);
      throw failure;
    })
  );
  assertStrictEquals(error, failure);
  assertEquals(data.cancelled(), true);
  const body = observedBody();
  late!(new Response(body.stream));
  assertStrictEquals(await assertRejects(() => pending!), failure);
  assertEquals(body.cancelled(), true);
  assertStrictEquals(await assertRejects(() => again!), failure);
});

Deno.test("HttpStore.group ends the download of one value when another is damaged", async () => {
  let sent = 0;
  const over = Promise.withResolvers<void>();
  let pulled: Promise<void> | undefined;
  const { url, close } = serve(({ url }) => {
    if (url.endsWith(INDEX)) return new Response("too long");
    return new Response(
      new ReadableStream({
        pull(controller) {
          sent++;
          controller.enqueue(new Uint8Array(64 * 1024));
          return pulled = new Promise((resolve) => setTimeout(resolve, 1));
        },
        cancel: () => over.resolve(),
      }),
    );
  });
  await assertRejects(() =>
    new HttpStore(url).group(DATA, KEYS).read((values) =>
      Promise.all([values.get(DATA), values.get(INDEX, { limit: 1 })])
    )
  );
  await over.promise;
  await pulled;
  assert(sent < 1000);
  await close();
});

Deno.test("HttpStore.group rejects with the reason of the signal, also between two tries", async () => {
  for (const requestsBefore of [0, 1, 2]) {
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("No longer in view");
    let requests = 0;
    const store = new HttpStore(URL_, {
      fetch: () => {
        if (++requests === requestsBefore) {
          setTimeout(() => controller.abort(reason), 1);
        }
        const headers = { "Last-Modified": at(0), "Date": at(0) };
        return Promise.resolve(new Response("x", { headers }));
      },
    });
    if (requestsBefore === 0) controller.abort(reason);
    assertStrictEquals(
      await assertRejects(() => store.group(DATA, KEYS).read(both, { signal })),
      reason,
    );
    assert(requests <= requestsBefore + 2);
  }
});

Deno.test("HttpStore.group refuses keys outside of the group, and keys that are none", async () => {
  const { store, letters } = twoParts({ headers: OLD });
  const range = { offset: 0, length: 1 };
  for (
    const read of [
      (values: GroupValues) => values.get("/c/1"),
      (values: GroupValues) => values.getRange("/c/1", range),
      (values: GroupValues) => values.stream("/c/1"),
      (values: GroupValues) => values.size("/c/1"),
      (values: GroupValues) => Promise.resolve(values.version("/c/1")),
    ]
  ) {
    await assertRejects(
      () => store.group(DATA, KEYS).read<unknown>(read),
      RangeError,
      'found "/c/1"',
    );
  }
  await assertRejects(
    () =>
      store.group(DATA, KEYS).read((values) =>
        values.getRange(DATA, { offset: -1, length: 1 })
      ),
    RangeError,
  );
  assertEquals(letters(), "");
  for (const bad of ["c/0", "/c//0"] as StoreKey[]) {
    try {
      store.group(bad, [bad]);
      assert(false);
    } catch (error) {
      assert(error instanceof RangeError);
    }
  }
});

Deno.test("HttpStore.group returns streams that are read after the check", async () => {
  const bytes = new Uint8Array(300_000).fill(7);
  const { url, close } = serve(
    storeHandler(new MemoryStore([[DATA, bytes], [INDEX, bytes]])),
  );
  const streams = await new HttpStore(url).group(DATA, KEYS).read((values) =>
    Promise.all(KEYS.map((key) => values.stream(key)))
  );
  for (const stream of streams) assertEquals(await readAll(stream!), bytes);
  await close();
});
