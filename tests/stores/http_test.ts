import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { HttpStore } from "../../src/stores/http/http_store.ts";
import { MemoryStore } from "../../src/stores/memory_store.ts";
import type { StoreOptions } from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { testStore } from "./conformance.ts";
import { readAll } from "./store_values.ts";
import { observedBody, stub, URL_ } from "./http_stub.ts";
import { serve, storeHandler } from "./loopback.ts";

const READ_ONLY = { lacks: ["set", "delete", "list"] } as const;

testStore("HttpStore", () => {
  const behind = new MemoryStore();
  const { url, close } = serve(storeHandler(behind));
  return Promise.resolve({
    store: new HttpStore(url),
    fill: (key, bytes) => behind.set(key, bytes),
    close,
  });
}, READ_ONLY);

testStore("HttpStore of a server without ranges", () => {
  const behind = new MemoryStore();
  const handler = storeHandler(behind);
  const { url, close } = serve(({ url, method }) =>
    handler(new Request(url, { method }))
  );
  return Promise.resolve({
    store: new HttpStore(url),
    fill: (key, bytes) => behind.set(key, bytes),
    close,
  });
}, READ_ONLY);

/** Every way to read the key `/k`. */
const READINGS: readonly ((
  store: HttpStore,
  options?: StoreOptions,
) => Promise<unknown>)[] = [
  (store, options) => store.get("/k", options),
  (store, options) => store.stream("/k", options),
  (store, options) => store.size("/k", options),
  (store, options) => store.getRange("/k", { offset: 0, length: 9 }, options),
  (store, options) => store.getRange("/k", { offset: 0, length: 0 }, options),
  (store, options) => store.getRange("/k", { suffixLength: 9 }, options),
];

Deno.test("HttpStore encodes every name of a key below the base URL", async () => {
  const base = "https://example.org";
  for (
    const [root, url] of [
      [base, `${base}/c/0`],
      [`${base}/`, `${base}/c/0`],
      [`${base}/a.zarr`, `${base}/a.zarr/c/0`],
      [`${base}/a.zarr/`, `${base}/a.zarr/c/0`],
      [`${base}/a%20b/%C3%BC`, `${base}/a%20b/%C3%BC/c/0`],
      [`${base}/a b?t=1&u=%2F#part`, `${base}/a%20b/c/0?t=1&u=%2F`],
      [`${base}/x/../y`, `${base}/y/c/0`],
    ] as const
  ) {
    const { store, requests } = stub(root, new Response("x"));
    await store.get("/c/0");
    assertEquals(requests.map((request) => request.url), [url]);
  }
  for (
    const [key, path] of [
      ["/a b/c?d/e#f", "a%20b/c%3Fd/e%23f"],
      ["/%2e%2e/100%", "%252e%252e/100%25"],
      ["/ü/水/😀", "%C3%BC/%E6%B0%B4/%F0%9F%98%80"],
      ["/http://x", undefined],
      ["/c:/@/a&b=c;d,e+f", "c%3A/%40/a%26b%3Dc%3Bd%2Ce%2Bf"],
      ["/...", "..."],
    ] as const
  ) {
    const { store, requests } = stub(`${base}/r?q`, new Response("x"));
    if (path === undefined) {
      await assertRejects(() => store.get(key), RangeError, "an empty segment");
    } else {
      await store.get(key);
      assertEquals(requests[0]!.url, `${base}/r/${path}?q`);
    }
  }
});

Deno.test("HttpStore accepts only http and https URLs without password, which it does not show", () => {
  assertThrows(() => new HttpStore("data.zarr"), TypeError);
  for (
    const [url, found] of [
      ["ftp://h/", "ftp://h"],
      ["data:text/plain,x", "data:"],
      ["file:///x", "file:"],
      ["s3://b", "s3://b"],
      ["https://user:secret@example.org/a", "https://example.org"],
      ["https://user@example.org/a", "https://example.org"],
    ] as const
  ) {
    const { message } = assertThrows(() => new HttpStore(url), RangeError);
    assertStringIncludes(
      message,
      `Expected an http: or https: URL without password (use a header), found ${found}`,
    );
    assertEquals(/secret|user[:@]/.test(message), false);
  }
});

Deno.test("HttpStore keeps its own copy of the URL and the headers", async () => {
  const url = new URL("https://example.org/a");
  const headers = new Headers({ "X-Token": "1", "Accept-Encoding": "br" });
  const requests: Request[] = [];
  const store = new HttpStore(url, {
    headers,
    fetch: (request) => {
      requests.push(request);
      return Promise.resolve(
        new Response(null, { headers: { "Content-Length": "5" } }),
      );
    },
  });
  url.pathname = "/b";
  headers.set("X-Token", "2");
  await store.get("/k");
  await store.getRange("/k", { offset: 0, length: 1 });
  await store.stream("/k");
  await store.size("/k");
  assertEquals(
    requests.map(({ method, url, headers }) => [
      method,
      url,
      headers.get("x-token"),
      headers.get("range"),
    ]),
    [
      ["GET", "https://example.org/a/k", "1", null],
      ["GET", "https://example.org/a/k", "1", "bytes=0-0"],
      ["GET", "https://example.org/a/k", "1", null],
      ["HEAD", "https://example.org/a/k", "1", null],
    ],
  );
  assertEquals(requests[3]!.headers.get("accept-encoding"), "identity");
});

Deno.test("HttpStore treats statuses 404 and 410 as absence and cancels the body", async () => {
  for (const status of [404, 410]) {
    for (const read of READINGS) {
      const body = observedBody();
      const { store } = stub(URL_, new Response(body.stream, { status }));
      assertEquals(await read(store), undefined);
      assertEquals(body.cancelled(), true);
    }
  }
});

Deno.test("HttpStore rejects other statuses, and names the URL and the status", async () => {
  for (const status of [201, 204, 206, 304, 400, 401, 403, 416, 500, 503]) {
    for (const read of READINGS) {
      const body = [204, 304].includes(status) ? undefined : observedBody();
      const { store } = stub(
        URL_,
        new Response(body?.stream ?? null, { status, statusText: "So so" }),
        new Response(null, { status, statusText: "So so" }),
      );
      const error = await assertRejects(() => read(store), Error, `${URL_}/k`);
      assertStringIncludes(error.message, String(status));
      assertEquals(body?.cancelled() ?? true, true);
    }
  }
  const { store } = stub(
    URL_,
    new Response(null, { status: 503, statusText: "Service Unavailable" }),
  );
  assertEquals(
    (await assertRejects(() => store.get("/k"), Error)).message,
    `Cannot GET ${URL_}/k: expected status 200, 404, 410, found 503 Service Unavailable`,
  );
});

Deno.test("HttpStore names the URL if the connection fails", async () => {
  const { url, close } = serve(() => new Response());
  await close();
  for (const read of READINGS) {
    const error = await assertRejects(
      () => read(new HttpStore(url, { retries: 0 })),
      Error,
      `${url}/k: the connection failed`,
    );
    assertInstanceOf(error.cause, TypeError);
  }
});

Deno.test("HttpStore tells a host without an address from one that refuses, in Deno and in Node", async () => {
  const { url, close } = serve(() => new Response());
  await close();
  const refused = new HttpStore(url, { retries: 0 });
  const { hostname, port } = new URL(url);
  await assertRejects(
    () => refused.get("/k"),
    Error,
    `/k: the connection failed: ${hostname} refused it at port ${port}, where `,
  );
  const deno = (text: string) =>
    new Error(
      `error sending request for url (https://a.test/dns error): ${text}`,
    );
  const node = (code: string) => Object.assign(new Error(code), { code });
  const cases: [Error | undefined, string][] = [
    [deno("client error (Connect): dns error: failed to lookup"), ": no addr"],
    [node("ENOTFOUND"), ": no address was found for the host a.test"],
    [deno("tcp connect error: Connection refused (os error 111)"), ": a.test "],
    [node("ECONNREFUSED"), ": a.test refused it at port 443, where no server"],
    [node("EHOSTUNREACH"), ": the host a.test cannot be reached"],
    [deno("received corrupt message of type InvalidContentType"), ": a.test d"],
    [node("ERR_SSL_WRONG_VERSION_NUMBER"), "a.test does not speak TLS, which"],
    [node("CERT_HAS_EXPIRED"), ": the certificate of a.test is not trusted"],
    [deno("connection closed before message completed"), "failed, after 2 t"],
    [undefined, "the connection failed, after 2 tries"],
  ];
  for (const [cause, expected] of cases) {
    const store = new HttpStore("https://a.test/", {
      retries: 1,
      retryDelay: 0,
      fetch: () => Promise.reject(new TypeError("fetch failed", { cause })),
    });
    await assertRejects(() => store.get("/k"), Error, expected);
  }
});

Deno.test("HttpStore passes the signal to every request", async () => {
  for (const read of READINGS) {
    const controller = new AbortController();
    const reason = new Error("enough");
    const requests: Request[] = [];
    const store = new HttpStore(URL_, {
      fetch: (request) => {
        requests.push(request);
        if (request.method === "HEAD") {
          return Promise.resolve(new Response(null, { status: 405 }));
        }
        return new Promise((_, reject) => {
          request.signal.onabort = () => reject(new Error("not this one"));
          controller.abort(reason);
        });
      },
    });
    assertStrictEquals(
      await assertRejects(() => read(store, { signal: controller.signal })),
      reason,
    );
    for (const { signal } of requests) assertEquals(signal.aborted, true);
  }
});

Deno.test("HttpStore treats a missing body as an empty value", async () => {
  const none = () => new Response(null);
  const { store } = stub(URL_, none(), none(), none());
  assertEquals(await store.get("/k"), new Uint8Array());
  assertEquals(await readAll(await store.stream("/k")), new Uint8Array());
  assertEquals(
    await store.getRange("/k", { suffixLength: 3 }),
    new Uint8Array(),
  );
});

Deno.test("HttpStore.stream requests data from the server only as it is read", async () => {
  const body = observedBody(new Uint8Array(9));
  const { store } = stub(URL_, new Response(body.stream));
  const stream = (await store.stream("/k"))!;
  assertEquals(body.pulls(), 0);
  const reader = stream.getReader();
  await reader.read();
  assertEquals(body.pulls(), 1);
  await reader.cancel();
  assertEquals(body.cancelled(), true);
});

Deno.test("HttpStore reads values that the server compresses", async () => {
  const value = countingBytes(5000);
  const { url, close } = serve(() =>
    new Response(
      new Blob([value as Uint8Array<ArrayBuffer>]).stream()
        .pipeThrough(new CompressionStream("gzip")),
      { headers: { "Content-Encoding": "gzip" } },
    )
  );
  const store = new HttpStore(url);
  assertEquals(await store.get("/k"), value);
  assertEquals(await store.size("/k"), value.length);
  assertEquals(
    await store.getRange("/k", { offset: 10, length: 9 }),
    value.slice(10, 19),
  );
  await close();
});

Deno.test("HttpStore refuses options that are unknown, out of range or of a wrong type", () => {
  const retries = 'Expected the option "retries" to be a number of at least 0';
  const timeout = 'Expected the option "timeout" to be a number above 0';
  const connections =
    'Expected the option "connections" to be a whole number from 1';
  const cases: [object, typeof RangeError | typeof TypeError, string][] = [
    [{ retries: -1 }, RangeError, `${retries}, found -1`],
    [{ retries: NaN }, RangeError, `${retries}, found NaN`],
    [{ retries: "3" }, TypeError, `${retries}, found "3"`],
    [{ retryDelay: -1 }, RangeError, 'Expected the option "retryDelay" to be'],
    [{ timeout: 0 }, RangeError, `${timeout}, found 0`],
    [{ timeout: NaN }, RangeError, `${timeout}, found NaN`],
    [{ connections: 0 }, RangeError, `${connections}, found 0`],
    [{ connections: -1 }, RangeError, `${connections}, found -1`],
    [
      { header: {} },
      TypeError,
      'option "header" of HttpStore; expected "headers"',
    ],
  ];
  for (const [options, ErrorClass, message] of cases) {
    assertThrows(() => new HttpStore("http://h", options), ErrorClass, message);
  }
  new HttpStore("http://h", { retries: 0, retryDelay: 0, timeout: Infinity });
});
