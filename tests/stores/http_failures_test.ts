import { assert, assertEquals, assertRejects } from "@std/assert";
import { HttpStore, type HttpStoreOptions } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { fakeClock } from "../support/fake_clock.ts";
import { readAll } from "./store_values.ts";

const VALUE = countingBytes(5000) as Uint8Array<ArrayBuffer>;

/** The behaviour of a server on one connection, after the head of the request has come. */
type Act = (connection: Deno.TcpConn) => Promise<void>;

/** Sends text and bytes. */
async function send(
  connection: Deno.TcpConn,
  head: string[],
  body: Uint8Array = new Uint8Array(),
): Promise<void> {
  const lines = [...head, "Connection: close", "", ""].join("\r\n");
  const writer = connection.writable.getWriter();
  await writer.write(new TextEncoder().encode(lines));
  await writer.write(body);
  writer.releaseLock();
}

const whole: Act = (connection) =>
  send(
    connection,
    ["HTTP/1.1 200 OK", `Content-Length: ${VALUE.length}`, 'ETag: "1"'],
    VALUE,
  );
const half = (etag: string): Act => (connection) =>
  send(
    connection,
    ["HTTP/1.1 200 OK", `Content-Length: ${VALUE.length}`, `ETag: "${etag}"`],
    VALUE.subarray(0, 2500),
  );
const status = (line: string, ...headers: string[]): Act => (connection) =>
  send(connection, [`HTTP/1.1 ${line}`, ...headers, "Content-Length: 0"]);
const reset: Act = () => Promise.resolve();
/** Lets the client wait in vain: its present or its next time-out is over. */
let endTimeout = () => {};
/** Sends a part of an answer, and then nothing until the client leaves. */
const stall = (before: Act): Act => async (connection) => {
  await before(connection);
  // The client mostly waits for the rest of the body by then.
  await new Promise((resolve) => setTimeout(resolve, 20));
  endTimeout();
  const rest = new Uint8Array(64);
  while (await connection.read(rest).catch(() => null) !== null);
};
const nothing: Act = () => Promise.resolve();
const garbage: Act = async (connection) => {
  await connection.write(new TextEncoder().encode("nonsense\r\n\r\n"));
};

/**
 * Replaces the timers of time-outs until it is disposed. One of them fires each time that
 * the server stalls, and no other one, however busy the machine is.
 */
function timeoutsAtStalls(timeout: number): Disposable {
  const { setTimeout, clearTimeout } = globalThis;
  const waiting = new Map<unknown, () => void>();
  let stalls = 0;
  const fire = () => {
    while (stalls > 0 && waiting.size > 0) {
      const [[id, run]] = waiting as unknown as [[unknown, () => void]];
      waiting.delete(id);
      stalls--;
      run();
    }
  };
  endTimeout = () => {
    stalls++;
    fire();
  };
  Object.assign(globalThis, {
    setTimeout(run: () => void, delay: number) {
      if (!(delay > timeout / 2)) return setTimeout(run, delay);
      const id = {};
      waiting.set(id, run);
      queueMicrotask(fire);
      return id;
    },
    clearTimeout(id: number) {
      if (!waiting.delete(id)) clearTimeout(id);
    },
  });
  return {
    [Symbol.dispose]: () =>
      void Object.assign(globalThis, { setTimeout, clearTimeout }),
  };
}

/** Runs a test with a server that does one thing after another, and the last one from then on. */
async function withServer(
  acts: readonly Act[],
  options: HttpStoreOptions,
  run: (store: HttpStore, requests: string[]) => Promise<void>,
): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: string[] = [];
  const served: Promise<void>[] = [];
  const serving = (async () => {
    for await (const connection of listener) {
      served.push((async () => {
        try {
          const head = new Uint8Array(4096);
          const length = await connection.read(head) ?? 0;
          const text = new TextDecoder().decode(head.subarray(0, length));
          const act = acts[Math.min(requests.length, acts.length - 1)]!;
          requests.push(text.split(" HTTP")[0]!);
          await act(connection);
        } catch {
          // The client has left.
        } finally {
          try {
            connection.close();
          } catch {
            // It is closed.
          }
        }
      })());
    }
  })();
  try {
    const url = `http://127.0.0.1:${listener.addr.port}`;
    const quick = { retryDelay: 1, timeout: 30_000, ...options };
    using _timeouts = timeoutsAtStalls(quick.timeout);
    await run(new HttpStore(url, quick), requests);
  } finally {
    listener.close();
    await serving;
    await Promise.all(served);
  }
}

const RECOVERING: [name: string, acts: Act[], requests: number][] = [
  ["429", [status("429 Too Many Requests"), whole], 2],
  ["429 four times", [
    ...Array.from({ length: 4 }, () => status("429 Too Many Requests")),
    whole,
  ], 5],
  ["408, 425, 500, 502", [
    status("408 Request Timeout"),
    status("425 Too Early"),
    status("500 Internal Server Error"),
    status("502 Bad Gateway"),
    whole,
  ], 5],
  ["503 with Retry-After: 0", [
    status("503 Service Unavailable", "Retry-After: 0"),
    whole,
  ], 2],
  ["a Retry-After that is no time", [
    status("503 Service Unavailable", "Retry-After: soon"),
    whole,
  ], 2],
  ["a reset before the answer", [reset, whole], 2],
  ["an answer that is not HTTP", [garbage, whole], 2],
  ["half a body", [half("1"), whole], 2],
  // It is compared with the first one, and so requested once more.
  ["half a body of another version", [half("0"), whole], 3],
  ["half a body three times", [half("1"), half("1"), half("1"), whole], 4],
  ["a body that stalls", [stall(half("1")), whole], 2],
  [
    "a failing status, and then half a body",
    [status("500 Internal Server Error"), half("1"), reset, whole],
    4,
  ],
];

for (const [name, acts, requests] of RECOVERING) {
  Deno.test(`HttpStore.get requests a value again after ${name}`, () =>
    withServer(acts, {}, async (store, sent) => {
      assertEquals(await store.get("/k"), VALUE);
      assertEquals(sent, Array(requests).fill("GET /k"));
    }));
}

const FAILING: [
  name: string,
  acts: Act[],
  requests: number,
  message: string,
  options?: HttpStoreOptions,
][] = [
  ["400", [status("400 Bad Request")], 1, "found 400 Bad Request"],
  ["403", [status("403 Forbidden")], 1, "found 403 Forbidden"],
  ["501", [status("501 Not Implemented")], 1, "found 501 Not Implemented"],
  ["505", [status("505 HTTP Version Not Supported")], 1, "found 505"],
  [
    "503 all the time",
    [status("503 Service Unavailable")],
    5,
    "found 503 Service Unavailable, after 5 tries",
  ],
  [
    "503 with one retry",
    [status("503 Service Unavailable")],
    2,
    "after 2 tries",
    { retries: 1 },
  ],
  [
    "503 without retries",
    [status("503 Service Unavailable")],
    1,
    "found 503 Service Unavailable",
    { retries: 0 },
  ],
  [
    "a Retry-After of 61 seconds",
    [status("503 Service Unavailable", "Retry-After: 61")],
    1,
    "found 503",
  ],
  [
    "resets all the time",
    [reset],
    3,
    "the connection failed, after 3 tries",
    { retries: 2 },
  ],
  [
    "half a body all the time",
    [half("1")],
    2,
    "the connection failed, after 2 tries",
    { retries: 1 },
  ],
  ["a redirect loop", [status("302 Found", "Location: /k")], 21, "GET"],
  [
    "no answer at all",
    [status("503 Service Unavailable"), stall(nothing)],
    2,
    "the server was silent for 50000 ms, after 2 tries",
    { timeout: 50_000 },
  ],
  [
    "an answer of an object store",
    [(connection) =>
      send(
        connection,
        [
          "HTTP/1.1 403 Forbidden",
          "Content-Type: application/xml",
          "Content-Length: 76",
        ],
        new TextEncoder().encode(
          "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>    ",
        ),
      )],
    1,
    "found 403 Forbidden (AccessDenied: Access Denied)",
  ],
];

for (const [name, acts, requests, message, options = {}] of FAILING) {
  Deno.test(`HttpStore.get fails after ${name}`, () =>
    withServer(acts, options, async (store, sent) => {
      const error = await assertRejects(() => store.get("/k"), Error, message);
      assert(error.message.includes("http://127.0.0.1"), error.message);
      assertEquals(sent.length, requests);
    }));
}

Deno.test("HttpStore waits as long as Retry-After says, and ends the waiting when the signal aborts", async () => {
  for (const isAborted of [false, true]) {
    using clock = fakeClock();
    const sent: number[] = [];
    const store = new HttpStore("https://example.org", {
      retryDelay: 0,
      fetch() {
        sent.push(clock.elapsed);
        const headers = { "Retry-After": "50" };
        return Promise.resolve(
          sent.length === 1
            ? new Response(null, { status: 503, headers })
            : new Response(VALUE),
        );
      },
    });
    const controller = new AbortController();
    const reason = new Error("No longer in view");
    const reading = store.get("/k", { signal: controller.signal });
    if (isAborted) {
      setTimeout(() => controller.abort(reason), 49_999);
      const error = await assertRejects(() => reading);
      assertEquals([error, sent, clock.elapsed], [reason, [0], 49_999]);
    } else assertEquals([await reading, sent], [VALUE, [0, 50_000]]);
  }
});

Deno.test("HttpStore.getRange requests a range again after half of it", () => {
  const part = (bytes: number): Act => (connection) =>
    send(connection, [
      "HTTP/1.1 206 Partial Content",
      "Content-Range: bytes 100-199/5000",
      "Content-Length: 100",
    ], VALUE.subarray(100, 100 + bytes));
  return withServer([part(50), part(100)], {}, async (store, sent) => {
    const range = { offset: 100, length: 100 };
    assertEquals(await store.getRange("/k", range), VALUE.slice(100, 200));
    assertEquals(sent.length, 2);
  });
});

Deno.test("HttpStore.stream requests no value again whose first bytes it has passed on", () =>
  withServer([half("1"), whole], {}, async (store, sent) => {
    const stream = await store.stream("/k");
    await assertRejects(() => readAll(stream!), Error, "the connection failed");
    assertEquals(sent.length, 1);
  }));

Deno.test("HttpStore.stream fails if the server stalls, and not if the reader does", async () => {
  using clock = fakeClock();
  let isFirst = true;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!isFirst) return new Promise(() => {});
      isFirst = false;
      controller.enqueue(VALUE.slice(0, 2500));
    },
  }, { highWaterMark: 0 });
  const store = new HttpStore("https://example.org", {
    timeout: 60,
    fetch: () => Promise.resolve(new Response(body)),
  });
  const reader = (await store.stream("/k"))!.getReader();
  assertEquals((await reader.read()).value?.length, 2500);
  await new Promise((resolve) => setTimeout(resolve, 150));
  const before = clock.elapsed;
  await assertRejects(
    async () => {
      while (!(await reader.read()).done);
    },
    Error,
    "the server was silent for 60 ms",
  );
  assertEquals(clock.elapsed - before, 60);
});

Deno.test("HttpStore.read reads values of one write again after half a body of another one", () => {
  const value = (etag: string, byte: number, bytes = 3000): Act =>
  (
    connection,
  ) =>
    send(connection, [
      "HTTP/1.1 200 OK",
      "Content-Length: 3000",
      `x-amz-meta-zarr-parts-generation: ${etag}`,
    ], new Uint8Array(bytes).fill(byte));
  // The first value breaks off; by then both have been replaced.
  return withServer([value("a", 1, 1000), value("b", 2)], {}, async (store) => {
    const bytes = await store.read(
      ["/c/0", "/c/0.index"],
      async (values) => [
        await values.read("/c/0"),
        await values.read("/c/0.index"),
      ],
    );
    assertEquals(bytes.map((value) => value?.[0]), [2, 2]);
  });
});

Deno.test("HttpStore opens no more connections at once than its option says", async () => {
  for (const connections of [1, 3]) {
    let open = 0;
    let most = 0;
    const store = new HttpStore("https://example.org", {
      connections,
      async fetch() {
        most = Math.max(most, ++open);
        await new Promise((resolve) => setTimeout(resolve, 1));
        const body = new ReadableStream({
          pull(controller) {
            controller.enqueue(new Uint8Array(8));
            controller.close();
            open--;
          },
        }, { highWaterMark: 0 });
        return new Response(body);
      },
    });
    const values = await Promise.all(
      Array.from({ length: 20 }, (_, i) => store.get(`/c/${i}`)),
    );
    assertEquals([values.length, most, open], [20, connections, 0]);
  }
});

Deno.test("HttpStore lets the next request begin after absence, errors, and streams that nobody reads", async () => {
  let responses: (() => Response | Promise<Response>)[] = [];
  const store = new HttpStore("https://example.org", {
    connections: 1,
    retries: 0,
    fetch: () => Promise.resolve(responses.shift()!()),
  });
  const ok = () => new Response(VALUE);
  const streams: (ReadableStream<Uint8Array> | undefined)[] = [];
  const reads: [() => Response | Promise<Response>, () => Promise<unknown>][] =
    [
      [() => new Response("x", { status: 404 }), () => store.get("/k")],
      [() => new Response("x", { status: 400 }), () => store.get("/k")],
      [() => Promise.reject(new Error("offline")), () => store.get("/k")],
      [ok, () => store.get("/k", { limit: 10 })],
      [ok, () => store.size("/k")],
      [ok, () => store.getRange("/k", { offset: 0, length: 10 })],
      [ok, async () => streams.push(await store.stream("/k"))],
      [ok, async () => streams.push(await store.stream("/k"))],
    ];
  for (const [first, read] of reads) {
    responses = [first, ok, ok, ok];
    await read().catch(() => {});
    assertEquals(await store.get("/k"), VALUE);
  }
  for (const stream of streams) assertEquals(await readAll(stream), VALUE);
});

Deno.test("HttpStore cancels an answer that comes after the time-out", async () => {
  const late = Promise.withResolvers<Response>();
  const store = new HttpStore("https://example.org", {
    retries: 0,
    timeout: 1,
    fetch: () => late.promise,
  });
  await assertRejects(() => store.get("/k"), Error, "silent for 1 ms");
  const cancelled = Promise.withResolvers<void>();
  late.resolve(
    new Response(new ReadableStream({ cancel: () => cancelled.resolve() })),
  );
  await cancelled.promise;
});

Deno.test("HttpStore ends the waiting for a connection when the signal aborts", async () => {
  const controller = new AbortController();
  const reason = new Error("No longer in view");
  const requests: string[] = [];
  const store = new HttpStore("https://example.org", {
    connections: 1,
    fetch: ({ url, signal }) => {
      requests.push(url);
      return new Promise((_, reject) => {
        signal.onabort = () => reject(signal.reason);
      });
    },
  });
  const first = store.get("/1", { signal: controller.signal });
  const second = store.get("/2", { signal: controller.signal });
  setTimeout(() => controller.abort(reason), 10);
  assertEquals(await assertRejects(() => first), reason);
  assertEquals(await assertRejects(() => second), reason);
  assertEquals(requests, ["https://example.org/1"]);
});

Deno.test("HttpStore gives no connection to a request that was aborted while it waited", async () => {
  const controller = new AbortController();
  const answers: (() => void)[] = [];
  const store = new HttpStore("https://example.org", {
    connections: 1,
    fetch: () =>
      new Promise((resolve) => {
        answers.push(() => resolve(new Response(VALUE)));
      }),
  });
  const first = store.get("/1");
  const aborted = store.get("/2", { signal: controller.signal });
  const third = store.get("/3");
  await new Promise((resolve) => setTimeout(resolve, 10));
  controller.abort();
  await assertRejects(() => aborted);
  answers.shift()!();
  assertEquals(await first, VALUE);
  await new Promise((resolve) => setTimeout(resolve, 10));
  assertEquals(answers.length, 1);
  answers.shift()!();
  assertEquals(await third, VALUE);
});

Deno.test("HttpStore sends no request again for which the pause has left no time", async () => {
  let requests = 0;
  const store = new HttpStore("http://127.0.0.1/data", {
    retryDelay: 40,
    timeout: 30,
    fetch() {
      requests++;
      return Promise.reject(new TypeError("dns error"));
    },
  });
  const message = "no address was found for the host 127.0.0.1";
  await assertRejects(() => store.get("/k"), Error, message);
  assertEquals(requests, 1);
});
