import { assert, assertEquals, assertRejects } from "@std/assert";
import { type ByteRange, HttpStore } from "../../mod.ts";
import { observedBody, stub, URL_ } from "./http_stub.ts";

const VALUE = new Uint8Array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
const MIDDLE = { offset: 2, length: 3 };

function partial(
  contentRange: string | undefined,
  body: BodyInit,
  headers: Record<string, string> = {},
): Response {
  return new Response(body, {
    status: 206,
    headers: {
      ...headers,
      ...contentRange !== undefined && { "Content-Range": contentRange },
    },
  });
}

Deno.test("HttpStore.getRange reads the end of an empty value as MinIO sends it", async () => {
  const { store } = stub(URL_, partial("bytes 0--1/0", ""));
  const bytes = await store.getRange("/k", { suffixLength: 3 });
  assertEquals(bytes, new Uint8Array());
  for (const wrong of ["bytes 0--1/3", "bytes 1--1/0", "bytes 0--2/0"]) {
    const { store } = stub(URL_, partial(wrong, ""));
    await assertRejects(() => store.getRange("/k", { suffixLength: 3 }), Error);
  }
});

Deno.test("HttpStore.getRange sends a valid Range header, and none for zero bytes", async () => {
  const most = Number.MAX_SAFE_INTEGER;
  for (
    const [range, header] of [
      [{ offset: 0, length: 1 }, "bytes=0-0"],
      [{ offset: 5, length: 2 }, "bytes=5-6"],
      [{ offset: 5, length: most }, `bytes=5-${most}`],
      [{ offset: most, length: most }, `bytes=${most}-${most}`],
      [{ offset: most - 1, length: 1 }, `bytes=${most - 1}-${most - 1}`],
      [{ suffixLength: 1 }, "bytes=-1"],
      [{ suffixLength: most }, `bytes=-${most}`],
    ] as const
  ) {
    const { store, requests } = stub(URL_, new Response(VALUE));
    await store.getRange("/k", range);
    assertEquals(requests.map(({ method }) => method), ["GET"]);
    assertEquals(requests[0]!.headers.get("range"), header);
  }
  for (const range of [{ offset: 3, length: 0 }, { suffixLength: 0 }]) {
    const size = { headers: { "Content-Length": "10" } };
    const { store, requests } = stub(URL_, new Response(null, size));
    assertEquals(await store.getRange("/k", range), new Uint8Array());
    assertEquals(requests.map(({ method }) => method), ["HEAD"]);
    assertEquals(requests[0]!.headers.get("range"), null);
  }
});

Deno.test("HttpStore.getRange rejects an invalid range before any request", async () => {
  const { store, requests } = stub(URL_);
  await assertRejects(
    () => store.getRange("/k", { offset: -1, length: 0 }),
    RangeError,
    "found -1",
  );
  assertEquals(requests, []);
});

Deno.test("HttpStore.getRange accepts exactly the requested range in Content-Range", async () => {
  for (
    const [range, contentRange] of [
      [MIDDLE, "bytes 2-4/10"],
      [MIDDLE, "bytes 2-4/*"],
      [MIDDLE, "BYTES 2-4/5"],
      [{ offset: 2, length: 99 }, "bytes 2-4/5"],
      [{ suffixLength: 3 }, "bytes 2-4/5"],
      [{ suffixLength: 99 }, "bytes 0-2/3"],
    ] as const
  ) {
    const { store } = stub(URL_, partial(contentRange, VALUE.slice(2, 5)));
    assertEquals(await store.getRange("/k", range), VALUE.slice(2, 5));
  }
});

Deno.test("HttpStore.getRange rejects a range other than the requested one", async () => {
  const wrong: [ByteRange, (string | undefined)[]][] = [
    [MIDDLE, [
      undefined,
      "",
      "2-4/10",
      "bytes=2-4/10",
      "bytes 2-4",
      "bytes 2-4/",
      "bytes 2-4/10, bytes 2-4/10",
      "bytes -4/10",
      "bytes */10",
      "items 2-4/10",
      "bytes 0-2/10",
      "bytes 1-4/10",
      "bytes 3-4/10",
      "bytes 2-3/10",
      "bytes 2-3/*",
      "bytes 2-5/10",
      "bytes 2-4/4",
      "bytes 2-4/2",
      "bytes 4-2/10",
      "bytes 0-9/10",
      "bytes 2-99999999999999999999/10",
    ]],
    [{ suffixLength: 3 }, [
      "bytes 7-9/*",
      "bytes 0-2/10",
      "bytes 6-9/10",
      "bytes 8-9/10",
      "bytes 7-9/11",
    ]],
    [{ offset: 8, length: 9 }, [
      "bytes 8-9/*",
      "bytes 8-8/10",
      "bytes 8-16/10",
    ]],
  ];
  for (const [range, contentRanges] of wrong) {
    for (const contentRange of contentRanges) {
      const body = observedBody();
      const { store } = stub(URL_, partial(contentRange, body.stream));
      const error = await assertRejects(
        () => store.getRange("/k", range),
        Error,
        `Expected ${URL_}/k to answer the range bytes=`,
      );
      assert(
        error.message.includes(
          `found status 206 with content-range ${
            JSON.stringify(contentRange ?? null)
          }`,
        ),
        error.message,
      );
      assertEquals(body.cancelled(), true, contentRange);
      assertEquals(body.pulls(), 0);
    }
  }
});

Deno.test("HttpStore.getRange rejects a compressed range of a value", async () => {
  const body = observedBody();
  const { store } = stub(
    URL_,
    partial("bytes 2-4/10", body.stream, { "Content-Encoding": "gzip" }),
  );
  await assertRejects(
    () => store.getRange("/k", MIDDLE),
    Error,
    'content-encoding "gzip"',
  );
  assertEquals(body.cancelled(), true);
  const { store: identity } = stub(
    URL_,
    partial("bytes 2-4/10", "abc", { "Content-Encoding": "identity" }),
  );
  assertEquals((await identity.getRange("/k", MIDDLE))?.length, 3);
});

Deno.test("HttpStore.getRange rejects a body longer or shorter than its Content-Range", async () => {
  for (const [length, found] of [[0, "0"], [2, "2"], [4, "more"]] as const) {
    const { store } = stub(
      URL_,
      partial("bytes 2-4/10", VALUE.slice(0, length)),
    );
    await assertRejects(
      () => store.getRange("/k", MIDDLE),
      Error,
      `Expected ${URL_}/k to send 3 bytes as its Content-Range says, found ${found}`,
    );
  }
  const endless = observedBody();
  const { store } = stub(URL_, partial("bytes 2-4/10", endless.stream));
  await assertRejects(() => store.getRange("/k", MIDDLE), Error, "found more");
  assertEquals(endless.cancelled(), true);
});

Deno.test("HttpStore.getRange stops reading at the end of the range if a server ignores ranges", async () => {
  const endless = observedBody(new Uint8Array([1, 2, 3, 4]));
  const { store } = stub(URL_, new Response(endless.stream));
  assertEquals(
    await store.getRange("/k", { offset: 6, length: 5 }),
    new Uint8Array([3, 4, 1, 2, 3]),
  );
  assertEquals(endless.cancelled(), true);
  assert(endless.pulls() <= 5, `${endless.pulls()} chunks were asked for`);
});

Deno.test("HttpStore.getRange returns no bytes if status 416 says that the range is past the end", async () => {
  const refusal = (contentRange?: string) =>
    new Response("no", {
      status: 416,
      headers: contentRange ? { "Content-Range": contentRange } : {},
    });
  const sized = (size: number) =>
    new Response(null, { headers: { "Content-Length": `${size}` } });
  for (
    const [range, ...answers] of [
      [{ offset: 10, length: 1 }, refusal("bytes */10")],
      [{ offset: 11, length: 1 }, refusal("bytes */10")],
      [{ suffixLength: 1 }, refusal("bytes */0")],
      [{ offset: 10, length: 1 }, refusal(), sized(10)],
      [{ offset: 10, length: 1 }, refusal("bytes */*"), sized(10)],
      [{ suffixLength: 1 }, refusal(), sized(0), sized(0)],
    ] as const
  ) {
    const { store, requests } = stub(URL_, ...answers);
    assertEquals(await store.getRange("/k", range), new Uint8Array());
    assertEquals(requests.length, answers.length);
  }
  for (
    const [range, ...answers] of [
      [{ offset: 9, length: 1 }, refusal("bytes */10")],
      [{ suffixLength: 1 }, refusal("bytes */10")],
      [{ offset: 9, length: 1 }, refusal(), sized(10)],
      [{ suffixLength: 1 }, refusal(), sized(10)],
    ] as const
  ) {
    const { store } = stub(URL_, ...answers);
    await assertRejects(
      () => store.getRange("/k", range),
      Error,
      `Expected ${URL_}/k to answer the range bytes=`,
    );
  }
  const { store } = stub(URL_, refusal(), new Response(null, { status: 404 }));
  assertEquals(await store.getRange("/k", MIDDLE), undefined);
});

Deno.test("HttpStore.size returns the Content-Length of HEAD", async () => {
  for (const [length, size] of [["1", 1], ["123456789012", 123456789012]]) {
    const headers = { "Content-Length": `${length}` };
    const { store, requests } = stub(URL_, new Response(null, { headers }));
    assertEquals(await store.size("/k"), size as number);
    assertEquals(requests.map(({ method }) => method), ["HEAD"]);
  }
});

Deno.test("HttpStore.size requests the first byte if HEAD has no Content-Length", async () => {
  const heads = () => [
    new Response(null),
    new Response(null, { headers: { "Content-Length": "-1" } }),
    new Response(null, { headers: { "Content-Length": "1e3" } }),
    new Response(null, { headers: { "Content-Length": "9".repeat(20) } }),
    new Response(null, {
      headers: { "Content-Length": "3", "Content-Encoding": "gzip" },
    }),
    // The length of an empty value, but some servers send it for any value.
    new Response(null, { headers: { "Content-Length": "0" } }),
    new Response(null, { status: 403 }),
    new Response(null, { status: 405 }),
    new Response(null, { status: 501 }),
  ];
  for (const head of heads()) {
    const { store, requests } = stub(URL_, head, partial("bytes 0-0/10", "x"));
    assertEquals(await store.size("/k"), 10);
    assertEquals(
      requests.map(({ method, headers }) => [method, headers.get("range")]),
      [["HEAD", null], ["GET", "bytes=0-0"]],
    );
  }
  const refusal = observedBody();
  const { store } = stub(
    URL_,
    new Response(refusal.stream, { status: 405 }),
    partial("bytes 0-0/10", "x"),
  );
  assertEquals(await store.size("/k"), 10);
  assertEquals(refusal.cancelled(), true);
  const whole = observedBody();
  const counted = observedBody(new Uint8Array(7), 3);
  for (
    const [answer, size] of [
      [new Response("", { status: 416 }), 0],
      [
        new Response("", {
          status: 416,
          headers: { "Content-Range": "bytes */0" },
        }),
        0,
      ],
      [new Response(whole.stream, { headers: { "Content-Length": "8" } }), 8],
      [new Response(counted.stream), 21],
      [new Response(null), 0],
      [new Response(null, { status: 404 }), undefined],
    ] as const
  ) {
    const { store } = stub(URL_, new Response(null), answer);
    assertEquals(await store.size("/k"), size);
  }
  assertEquals([whole.cancelled(), whole.pulls()], [true, 0]);
});

Deno.test("HttpStore.size rejects responses without a size", async () => {
  for (
    const [status, contentRange] of [
      [206, "bytes 0-0/*"],
      [206, "bytes 0-1/10"],
      [206, "bytes 1-1/10"],
      [206, undefined],
      [416, "bytes */10"],
    ] as const
  ) {
    const body = observedBody();
    const { store } = stub(
      URL_,
      new Response(null),
      new Response(body.stream, {
        status,
        headers: contentRange ? { "Content-Range": contentRange } : {},
      }),
    );
    await assertRejects(
      () => store.size("/k"),
      Error,
      `Expected ${URL_}/k to answer the range bytes=0-0, found status ${status} with content-range ${
        JSON.stringify(contentRange ?? null)
      }`,
    );
    assertEquals(body.cancelled(), true);
  }
});

Deno.test("HttpStore requests a whole value again if its decoding is uncertain", async () => {
  for (const what of ["range", "size"]) {
    const body = observedBody();
    const { store, requests } = stub(
      URL_,
      ...what === "size" ? [new Response(null)] : [],
      new Response(body.stream, {
        headers: { "Content-Length": "3", "Content-Encoding": "br" },
      }),
      new Response(VALUE, { headers: { "Content-Encoding": "br" } }),
    );
    if (what === "size") assertEquals(await store.size("/k"), 10);
    else {
      assertEquals(await store.getRange("/k", MIDDLE), VALUE.slice(2, 5));
    }
    assertEquals(body.cancelled(), true);
    assertEquals(requests.at(-1)!.headers.get("range"), null);
  }
});

Deno.test("HttpStore.getRange says which body is shorter than its Content-Range", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const answering = (async () => {
    using connection = await listener.accept();
    await connection.read(new Uint8Array(4096));
    const answer = "HTTP/1.1 206 Partial Content\r\n" +
      "Content-Range: bytes 0-9/100\r\nContent-Length: 7\r\n" +
      "Connection: close\r\n\r\n1234567";
    await connection.write(new TextEncoder().encode(answer));
  })();
  const store = new HttpStore(`http://127.0.0.1:${listener.addr.port}`);
  await assertRejects(
    () => store.getRange("/k", { offset: 0, length: 10 }),
    Error,
    "as its Content-Range says, found 7",
  );
  await answering;
});

/** Ways to ask for a value whose end must be found. */
const TO_THE_END: [string, (store: HttpStore) => Promise<unknown>][] = [
  ["size", (store) => store.size("/k")],
  ["a suffix", (store) => store.getRange("/k", { suffixLength: 3 })],
];

Deno.test("HttpStore.size and suffixes fail if a server never ends its answer", async () => {
  for (const [name, read] of TO_THE_END) {
    for (const headers of [{}, { "Content-Encoding": "gzip" }]) {
      const piece = new Uint8Array(2 ** 20);
      const bodies: ReturnType<typeof observedBody>[] = [];
      const store = new HttpStore(URL_, {
        retries: 0,
        fetch({ method }) {
          if (method === "HEAD") return Promise.resolve(new Response());
          bodies.push(observedBody(piece));
          const { stream } = bodies.at(-1)!;
          return Promise.resolve(new Response(stream, { headers }));
        },
      });
      const { message } = await assertRejects(() => read(store), Error);
      assert(message.includes(`Expected ${URL_}/k to tell its length`), name);
      const { pulls, cancelled } = bodies.at(-1)!;
      assert(cancelled() && pulls() <= 1026, `${name}: ${pulls()}`);
    }
  }
});

Deno.test("HttpStore.size and suffixes read a body of 1 GiB without a length, and longer ones of a known length", async () => {
  const piece = new Uint8Array(2 ** 24);
  const cases: [pieces: number, headers: Record<string, string>][] = [
    [64, {}],
    [65, { "Content-Length": `${65 * 2 ** 24}` }],
  ];
  for (const [, read] of TO_THE_END) {
    for (const [pieces, headers] of cases) {
      const store = new HttpStore(URL_, {
        fetch: ({ method }) =>
          Promise.resolve(
            method === "HEAD"
              ? new Response()
              : new Response(observedBody(piece, pieces).stream, { headers }),
          ),
      });
      const found = await read(store);
      if (typeof found === "number") assertEquals(found, pieces * 2 ** 24);
      else assertEquals(found, new Uint8Array(3));
    }
  }
});

Deno.test("HttpStore.size and suffixes fail if a server sends less than a MiB within the time-out", async () => {
  const { now } = performance;
  for (const [name, read] of TO_THE_END) {
    for (const length of [2 ** 18 - 1, 2 ** 18]) {
      let time = 0;
      performance.now = () => time;
      try {
        const store = new HttpStore(URL_, {
          retries: 0,
          timeout: 1000,
          fetch({ method }) {
            const body = observedBody(new Uint8Array(length), 40);
            const timed = new TransformStream<Uint8Array, Uint8Array>({
              transform(piece, controller) {
                time += 250;
                controller.enqueue(piece);
              },
            });
            return Promise.resolve(
              method === "HEAD"
                ? new Response()
                : new Response(body.stream.pipeThrough(timed) as BodyInit),
            );
          },
        });
        const reading = read(store);
        if (length === 2 ** 18) await reading;
        else await assertRejects(() => reading, Error, "to end its body", name);
      } finally {
        performance.now = now;
      }
    }
  }
});
