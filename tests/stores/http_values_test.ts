/** Ranges and sizes over HTTP, from servers good and bad. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type ByteRange, HttpStore } from "../../mod.ts";
import { observedBody, stub, URL_ } from "./http_stub.ts";

const VALUE = new Uint8Array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
const MIDDLE = { offset: 2, length: 3 };
const MOST = Number.MAX_SAFE_INTEGER;

/** A response, of status 200 if there is no other. */
function answer(
  body: BodyInit | null,
  status = 200,
  headers: Record<string, string | undefined> = {},
): Response {
  const given = Object.entries(headers).filter(([, value]) =>
    value !== undefined
  );
  return new Response(body, { status, headers: given as [string, string][] });
}

const partial = (
  range: string | undefined,
  body: BodyInit,
  encoding?: string,
) =>
  answer(body, 206, { "Content-Range": range, "Content-Encoding": encoding });
const refusal = (range?: string) =>
  answer("no", 416, { "Content-Range": range });
const sized = (size: number) =>
  answer(null, 200, { "Content-Length": `${size}` });

Deno.test("HttpStore.getRange sends a valid Range header, and none for zero bytes", async () => {
  for (
    const [range, header] of [
      [{ offset: 0, length: 1 }, "bytes=0-0"],
      [{ offset: 5, length: 2 }, "bytes=5-6"],
      [{ offset: 5, length: MOST }, `bytes=5-${MOST}`],
      [{ offset: MOST, length: MOST }, `bytes=${MOST}-${MOST}`],
      [{ suffixLength: MOST }, `bytes=-${MOST}`],
      [{ offset: 3, length: 0 }, null],
      [{ suffixLength: 0 }, null],
    ] as const
  ) {
    const response = header === null ? sized(10) : answer(VALUE);
    const { store, requests } = stub(URL_, response);
    await store.getRange("/k", range);
    assertEquals(
      requests.map(({ method, headers }) => [method, headers.get("range")]),
      [[header === null ? "HEAD" : "GET", header]],
    );
  }
});

Deno.test("HttpStore.getRange accepts exactly the requested range in Content-Range", async () => {
  const END = { offset: 8, length: 9 };
  const LAST = { suffixLength: 3 };
  const cases: [ByteRange, isRight: boolean, (string | undefined)[]][] = [
    [MIDDLE, true, ["bytes 2-4/10", "bytes 2-4/*", "BYTES 2-4/5"]],
    [{ offset: 2, length: 99 }, true, ["bytes 2-4/5"]],
    [LAST, true, ["bytes 2-4/5"]],
    [{ suffixLength: 99 }, true, ["bytes 0-2/3"]],
    [MIDDLE, false, [undefined, "", "2-4/10", "bytes=2-4/10", "bytes 2-4"]],
    [MIDDLE, false, [
      "bytes 2-4/",
      "bytes 2-4/10, bytes 2-4/10",
      "bytes -4/10",
    ]],
    [MIDDLE, false, [
      "bytes */10",
      "items 2-4/10",
      "bytes 0-2/10",
      "bytes 1-4/10",
    ]],
    [MIDDLE, false, [
      "bytes 3-4/10",
      "bytes 2-3/10",
      "bytes 2-3/*",
      "bytes 2-5/10",
    ]],
    [MIDDLE, false, [
      "bytes 2-4/4",
      "bytes 2-4/2",
      "bytes 4-2/10",
      "bytes 0-9/10",
    ]],
    [MIDDLE, false, ["bytes 2-99999999999999999999/10"]],
    [LAST, false, [
      "bytes 7-9/*",
      "bytes 0-2/10",
      "bytes 6-9/10",
      "bytes 8-9/10",
    ]],
    [LAST, false, [
      "bytes 7-9/11",
      "bytes 0--1/3",
      "bytes 1--1/0",
      "bytes 0--2/0",
    ]],
    [END, false, ["bytes 8-9/*", "bytes 8-8/10", "bytes 8-16/10"]],
  ];
  for (const [range, isRight, contentRanges] of cases) {
    for (const contentRange of contentRanges) {
      const body = observedBody(VALUE.slice(2, 5), 1);
      const { store } = stub(URL_, partial(contentRange, body.stream));
      const read = () => store.getRange("/k", range);
      if (isRight) {
        assertEquals(await read(), VALUE.slice(2, 5));
        continue;
      }
      const { message } = await assertRejects(read, Error);
      for (const part of [`${URL_}/k`, "status 206", contentRange ?? "null"]) {
        assert(message.includes(part), message);
      }
      assertEquals([body.cancelled(), body.pulls()], [true, 0], contentRange);
    }
  }
});

Deno.test("HttpStore.getRange reads the end of an empty value as MinIO sends it", async () => {
  const { store } = stub(URL_, partial("bytes 0--1/0", ""));
  assertEquals(
    await store.getRange("/k", { suffixLength: 3 }),
    new Uint8Array(),
  );
});

Deno.test("HttpStore.getRange rejects a compressed range of a value", async () => {
  const body = observedBody();
  const { store } = stub(URL_, partial("bytes 2-4/10", body.stream, "gzip"));
  await assertRejects(() => store.getRange("/k", MIDDLE), Error, "gzip");
  assertEquals(body.cancelled(), true);
  const { store: plain } = stub(
    URL_,
    partial("bytes 2-4/10", "abc", "identity"),
  );
  assertEquals((await plain.getRange("/k", MIDDLE))?.length, 3);
});

Deno.test("HttpStore.getRange rejects a body longer or shorter than its Content-Range", async () => {
  const endless = observedBody();
  for (
    const [body, found] of [
      ["", "0"],
      ["23", "2"],
      ["2345", "more"],
      [endless.stream, "more"],
    ] as const
  ) {
    const { store } = stub(URL_, partial("bytes 2-4/10", body));
    const { message } = await assertRejects(
      () => store.getRange("/k", MIDDLE),
      Error,
    );
    assert(message.endsWith(`found ${found}`), message);
  }
  assertEquals(endless.cancelled(), true);
});

Deno.test("HttpStore.getRange stops reading at the end of the range if a server ignores ranges", async () => {
  const endless = observedBody(new Uint8Array([1, 2, 3, 4]));
  const { store } = stub(URL_, answer(endless.stream));
  assertEquals(
    await store.getRange("/k", { offset: 6, length: 5 }),
    new Uint8Array([3, 4, 1, 2, 3]),
  );
  assertEquals(endless.cancelled(), true);
  assert(endless.pulls() <= 5, `${endless.pulls()} pieces were asked for`);
});

Deno.test("HttpStore.getRange returns no bytes if status 416 is right about the value", async () => {
  const LAST = { suffixLength: 1 };
  const cases: [ByteRange, length: number | undefined, ...Response[]][] = [
    [{ offset: 10, length: 1 }, 0, refusal("bytes */10"), sized(10)],
    [{ offset: 11, length: 1 }, 0, refusal(), sized(10)],
    [LAST, 0, refusal("bytes */0"), sized(0), refusal("bytes */0")],
    [LAST, 0, refusal(), sized(0), sized(0)],
    [{ offset: 9, length: 1 }, undefined, refusal("bytes */9"), sized(10)],
    [LAST, undefined, refusal(), sized(10)],
  ];
  for (const [range, length, ...answers] of cases) {
    const { store, requests } = stub(URL_, ...answers);
    const read = () => store.getRange("/k", range);
    if (length === undefined) {
      await assertRejects(read, Error, "found status 416");
    } else assertEquals((await read())?.length, length);
    assertEquals(requests.length, answers.length);
  }
  const { store } = stub(URL_, refusal(), answer(null, 404));
  assertEquals(await store.getRange("/k", MIDDLE), undefined);
});

Deno.test("HttpStore.size returns the Content-Length of HEAD, or requests the first byte", async () => {
  const length = (text: string) =>
    answer(null, 200, { "Content-Length": text });
  const heads: [() => Response, size?: number][] = [
    [() => length("1"), 1],
    [() => length("123456789012"), 123456789012],
    [() => answer(null)],
    [() => length("-1")],
    [() => length("1e3")],
    [() => length("9".repeat(20))],
    [() =>
      answer(null, 200, { "Content-Length": "3", "Content-Encoding": "gzip" })],
    // The length of an empty value, but some servers send it for any value.
    [() => length("0")],
    [() => answer(null, 403)],
    [() => answer(null, 405)],
    [() => answer(null, 501)],
  ];
  for (const [head, size] of heads) {
    const { store, requests } = stub(
      URL_,
      head(),
      partial("bytes 0-0/10", "x"),
    );
    assertEquals(await store.size("/k"), size ?? 10);
    const sent = requests.map((
      { method, headers },
    ) => [method, headers.get("range")]);
    const byte = size === undefined ? [["GET", "bytes=0-0"]] : [];
    assertEquals(sent, [["HEAD", null], ...byte]);
  }
  const whole = observedBody();
  const counted = observedBody(new Uint8Array(7), 3);
  for (
    const [response, size] of [
      [refusal(), 0],
      [refusal("bytes */0"), 0],
      [answer(whole.stream, 200, { "Content-Length": "8" }), 8],
      [answer(counted.stream), 21],
      [answer(null), 0],
    ] as const
  ) {
    const { store } = stub(URL_, answer(null), response);
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
    const range = { "Content-Range": contentRange };
    const { store } = stub(
      URL_,
      answer(null),
      answer(body.stream, status, range),
    );
    const found = `found status ${status} with content-range ${
      JSON.stringify(contentRange ?? null)
    }`;
    await assertRejects(() => store.size("/k"), Error, found);
    assertEquals(body.cancelled(), true);
  }
});

/** Ways to ask for a value whose end must be found. */
const TO_THE_END: ((store: HttpStore) => Promise<unknown>)[] = [
  (store) => store.size("/k"),
  (store) => store.getRange("/k", { suffixLength: 3 }),
];

Deno.test("HttpStore requests a whole value again if its decoding is uncertain", async () => {
  for (const [i, read] of TO_THE_END.entries()) {
    const body = observedBody();
    const encoded = { "Content-Length": "3", "Content-Encoding": "br" };
    const { store, requests } = stub(
      URL_,
      ...i === 0 ? [answer(null)] : [],
      answer(body.stream, 200, encoded),
      answer(VALUE, 200, { "Content-Encoding": "br" }),
    );
    assertEquals(await read(store), i === 0 ? 10 : VALUE.slice(7));
    assertEquals(body.cancelled(), true);
    assertEquals(requests.at(-1)!.headers.get("range"), null);
  }
});

Deno.test("HttpStore reads a body of 1 GiB to find its end, and longer ones only if a length is known", async () => {
  const piece = new Uint8Array(2 ** 24);
  const bodies: [
    pieces: number,
    headers: Record<string, string>,
    fails: boolean,
  ][] = [
    [64, {}, false],
    [65, { "Content-Length": `${65 * 2 ** 24}` }, false],
    [Infinity, {}, true],
    [Infinity, { "Content-Encoding": "gzip" }, true],
  ];
  for (const read of TO_THE_END) {
    for (const [pieces, headers, fails] of bodies) {
      const sent: ReturnType<typeof observedBody>[] = [];
      const store = new HttpStore(URL_, {
        retries: 0,
        fetch({ method }) {
          if (method === "HEAD") return Promise.resolve(new Response());
          sent.push(observedBody(piece, pieces));
          return Promise.resolve(
            new Response(sent.at(-1)!.stream, { headers }),
          );
        },
      });
      if (fails) {
        await assertRejects(() => read(store), Error, "to tell its length");
        const { pulls, cancelled } = sent.at(-1)!;
        assert(
          cancelled() && pulls() <= 66,
          `${pulls()} pieces were asked for`,
        );
        continue;
      }
      const found = await read(store);
      if (typeof found === "number") assertEquals(found, pieces * 2 ** 24);
      else assertEquals(found, new Uint8Array(3));
    }
  }
});
