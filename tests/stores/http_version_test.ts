import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  HttpStore,
  MemoryStore,
  type StoreKey,
  type StoreVersion,
} from "../../mod.ts";
import { fakeClock } from "../support/fake_clock.ts";
import { observedBody, URL_ } from "./http_stub.ts";

const DATA = "/c/0";
const INDEX = "/c/0.index";
const KEYS: StoreKey[] = [DATA, INDEX];
const RANGE = { offset: 2, length: 3 };

/** A date in headers, some seconds after noon. */
function at(seconds: number): string {
  return new Date(Date.UTC(2026, 2, 1, 12, 0, seconds)).toUTCString();
}

type Sent = Record<string, string> | number;

/** A store whose requests are answered in this order, with headers or an error status. */
function answering(
  sent: readonly Sent[],
): { store: HttpStore; methods: string[] } {
  const methods: string[] = [];
  const store = new HttpStore(URL_, {
    fetch: ({ method, headers }) => {
      const given = sent[methods.push(method) - 1];
      if (given === undefined) return Promise.reject(new Error("None is left"));
      const status = typeof given === "number" ? given : 200;
      const found = typeof given === "number" ? {} : given;
      if (status === 416) {
        const range = { "Content-Range": "bytes */1" };
        return Promise.resolve(new Response(null, { status, headers: range }));
      }
      if (status !== 200 || method === "HEAD") {
        return Promise.resolve(new Response(null, { status, headers: found }));
      }
      return Promise.resolve(
        headers.has("range")
          ? new Response("234", {
            status: 206,
            headers: { "Content-Range": "bytes 2-4/10", ...found },
          })
          : new Response("0123456789", { headers: found }),
      );
    },
  });
  return { store, methods };
}

/** Reads the index, and returns the version of the data. */
function readIndex(store: HttpStore): Promise<StoreVersion> {
  return store.group(DATA, KEYS).read(async (values) => {
    await values.get(INDEX);
    return values.version(DATA)!;
  });
}

const OLD = { "Last-Modified": at(-60), "Date": at(0) };
const NEW = { "Last-Modified": at(30), "Date": at(60) };
const TAG = "x-amz-meta-zarr-parts-generation";
const MULTIPART = { ETag: `"${"0".repeat(32)}-2"` };

/** The headers with an index, with later ranges and `HEAD`, and whether each range is returned. */
const READINGS: readonly [
  name: string,
  index: Sent,
  sent: readonly Sent[],
  found: readonly boolean[],
][] = [
  ["dates", OLD, [OLD, OLD], [true, true]],
  ["later dates", OLD, [{ ...OLD, Date: at(900) }, OLD], [true, true]],
  ["the data replaced before", OLD, [NEW, OLD], [false]],
  ["the data replaced after", OLD, [OLD, NEW], [true, false]],
  ["the data removed before", OLD, [404], [false]],
  ["the data removed after", OLD, [OLD, 410], [true, false]],
  ["entity tags", { ...OLD, ETag: '"i"' }, [
    { ...OLD, ETag: '"a"' },
    { ...OLD, ETag: '"b"' },
    { ...OLD, ETag: '"a"' },
  ], [true, false, true]],
  ["a weak entity tag", OLD, [
    { ...OLD, ETag: 'W/"a"' },
    { ...OLD, ETag: '"a"' },
    { ...OLD, ETag: 'W/"b"' },
  ], [true, true, false]],
  ["an entity tag of a compressed value", OLD, [
    { ...OLD, ETag: '"a"' },
    { ...OLD, ETag: '"a-gzip"' },
    { ...OLD, ETag: 'W/"a;br"' },
    { ...OLD, ETag: '"agzip"' },
  ], [true, true, true, false]],
  ["another length", OLD, [
    OLD,
    { ...OLD, "Content-Range": "bytes 2-4/11" },
  ], [true, false]],
  ["generations", { [TAG]: "a" }, [
    { [TAG]: "a", ETag: '"1"' },
    { [TAG]: "a", ETag: '"2"' },
    { [TAG]: "b" },
    {},
  ], [true, true, false, false]],
  ["another generation", { [TAG]: "a" }, [{ [TAG]: "b" }], [false]],
  ["no generation of the data", { [TAG]: "a" }, [OLD], [false]],
  ["a generation of the data alone", OLD, [{ ...OLD, [TAG]: "a" }], [false]],
  // Nothing tells versions apart.
  ["nothing", {}, [{}, {}], [true, true]],
  ["nothing with the index", {}, [OLD, OLD, NEW], [true, true, false]],
  ["nothing with the data", OLD, [{}, {}], [true, true]],
  // The slower way: the index is asked for again.
  ["no Date", { ETag: '"i"' }, [
    { ETag: '"a"' },
    { ETag: '"i"' },
    { ETag: '"a"' },
    { ETag: '"b"' },
  ], [true, true, false]],
  ["an index replaced meanwhile", { ETag: '"i"' }, [
    { ETag: '"b"' },
    { ETag: '"j"' },
    { ETag: '"b"' },
    { ETag: '"j"' },
  ], [false, false]],
  ["an index removed meanwhile", { ETag: '"i"' }, [
    { ETag: '"b"' },
    404,
    404,
  ], [false]],
  ["an upload in pieces", OLD, [{ ...OLD, ...MULTIPART }, OLD], [true]],
  ["a date of the future", { ...OLD, "Last-Modified": at(60) }, [
    { ...OLD, "Last-Modified": at(60) },
    { ...OLD, "Last-Modified": at(60) },
  ], [true]],
  // Ranges past the end, where servers send no validators.
  ["a range past the end", { ETag: '"i"' }, [
    { ETag: '"a"' },
    { ETag: '"i"' },
    416,
    { ETag: '"b"' },
  ], [true, false]],
];

for (const [name, index, sent, found] of READINGS) {
  Deno.test(`HttpStore.getRangeOf returns bytes of the value that the index belongs to: ${name}`, async () => {
    const { store, methods } = answering([index, ...sent]);
    const version = await readIndex(store);
    assertEquals(methods.length, 1);
    assertEquals(version.isLasting, true);
    const results: boolean[] = [];
    for (const _ of found) {
      const bytes = await store.getRangeOf(version, DATA, RANGE);
      results.push(bytes !== undefined);
      if (bytes) assertEquals(new TextDecoder().decode(bytes), "234");
    }
    assertEquals(results, found);
    assertEquals(methods.length, 1 + sent.length);
    version.release();
  });
}

Deno.test("HttpStore.getRangeOf compares with the value that the group has read", async () => {
  const { store } = answering([
    { ETag: '"a"' },
    { ETag: '"a"' },
    { ETag: '"b"' },
  ]);
  const version = await store.group(DATA, [DATA]).read(async (values) => {
    await values.getRange(DATA, { offset: 2, length: 3 });
    return values.version(DATA)!;
  });
  assertEquals((await store.getRangeOf(version, DATA, RANGE))?.length, 3);
  assertEquals(await store.getRangeOf(version, DATA, RANGE), undefined);
});

Deno.test("HttpStore.getRangeOf accepts the first value if the group has read nothing", async () => {
  const { store } = answering([{ ETag: '"a"' }, { ETag: '"a"' }, {
    ETag: '"b"',
  }]);
  const version = await store.group(DATA, KEYS).read((values) =>
    Promise.resolve(values.version(DATA)!)
  );
  assertEquals((await store.getRangeOf(version, DATA, RANGE))?.length, 3);
  assertEquals((await store.getRangeOf(version, DATA, RANGE))?.length, 3);
  assertEquals(await store.getRangeOf(version, DATA, RANGE), undefined);
});

Deno.test("HttpStore.getRangeOf returns undefined for a value of a group that was absent", async () => {
  const { store, methods } = answering([404, OLD]);
  const version = await readIndex(store);
  assertEquals(await store.getRangeOf(version, DATA, RANGE), undefined);
  assertEquals(methods, ["GET", "GET"]);
});

Deno.test("HttpStore.getRangeOf waits for an index that was just written, and has it read anew", async () => {
  using clock = fakeClock();
  const young = { "Last-Modified": at(0), "Date": at(2) };
  const { store, methods } = answering([
    young,
    young,
    young,
    { ...young, Date: at(3) },
    { ...young, Date: at(3) },
  ]);
  const version = await readIndex(store);
  assertEquals(await store.getRangeOf(version, DATA, RANGE), undefined);
  assertEquals(clock.elapsed, 1000);
  const later = await readIndex(store);
  assertEquals((await store.getRangeOf(later, DATA, RANGE))?.length, 3);
  assertEquals(methods, ["GET", "GET", "HEAD", "GET", "GET"]);
});

Deno.test("HttpStore.getRangeOf ends the download of another value", async () => {
  const body = observedBody();
  let requests = 0;
  const store = new HttpStore(URL_, {
    fetch: () =>
      Promise.resolve(
        ++requests < 3
          ? new Response("0123456789", { headers: { ETag: '"a"' } })
          : new Response(body.stream, { headers: { ETag: '"b"' } }),
      ),
  });
  const version = await store.group(DATA, [DATA]).read(async (values) => {
    await values.get(DATA);
    return values.version(DATA)!;
  });
  assertEquals((await store.getRangeOf(version, DATA, RANGE))?.length, 3);
  assertEquals(await store.getRangeOf(version, DATA, RANGE), undefined);
  assertEquals([body.pulls(), body.cancelled()], [0, true]);
});

Deno.test("HttpStore.getRangeOf compares the value for a range of no bytes", async () => {
  const nothing = { offset: 2, length: 0 };
  const length = { "Content-Length": "10" };
  const { store, methods } = answering([
    { ETag: '"a"' },
    { ETag: '"a"', ...length },
    { ETag: '"b"', ...length },
    405,
    { ETag: '"a"', "Content-Range": "bytes 0-0/10" },
  ]);
  const version = await store.group(DATA, [DATA]).read(async (values) => {
    await values.get(DATA);
    return values.version(DATA)!;
  });
  const read = () => store.getRangeOf(version, DATA, nothing);
  assertEquals(await read(), new Uint8Array());
  assertEquals(await read(), undefined);
  // HEAD is refused, which tells nothing about the value.
  assertEquals(await read(), new Uint8Array());
  assertEquals(methods, ["GET", "HEAD", "HEAD", "HEAD", "GET"]);
});

Deno.test("HttpStore tells a tag of a version that no later version has", async () => {
  const youngest = { "Last-Modified": at(-3), "Date": at(0) };
  const cases: [sent: Record<string, string>, tag: string | undefined][] = [
    [{ [TAG]: "g1", ...NEW }, "g1"],
    [{ ETag: '"a"' }, "a-"],
    [{ ETag: 'W/"a-gzip"' }, "a-"],
    [{ ETag: '"a"', ...OLD }, `a-${Date.parse(at(-60))}`],
    [OLD, `-${Date.parse(at(-60))}`],
    [{ ...OLD, "Last-Modified": at(-4) }, `-${Date.parse(at(-4))}`],
    [youngest, `-${Date.parse(at(-3))}`],
    [{ ...youngest, "Last-Modified": at(-2) }, undefined],
    [{ ETag: '"a"', ...youngest, "Last-Modified": at(-2) }, undefined],
    [{}, undefined],
  ];
  for (const [sent, tag] of cases) {
    const { store } = answering([sent]);
    const version = await store.group(DATA, [DATA]).read(async (values) => {
      await values.get(DATA);
      return values.version(DATA)!;
    });
    assertEquals(version.tag, tag, JSON.stringify(sent));
  }
});

Deno.test("HttpStore.getRangeOf refuses versions of other keys and stores, and bad arguments", async () => {
  const { store } = answering([OLD, OLD]);
  const version = await readIndex(store);
  assertEquals(await store.getRangeOf(version, INDEX, RANGE), undefined);
  const memory = new MemoryStore([[DATA, new Uint8Array(9)]]);
  const other = await memory.group(DATA, [DATA]).read((values) =>
    Promise.resolve(values.version(DATA)!)
  );
  assertEquals(await store.getRangeOf(other, DATA, RANGE), undefined);
  await assertRejects(
    () => store.getRangeOf(version, DATA, { offset: -1, length: 1 }),
    RangeError,
  );
  await assertRejects(
    () => store.getRangeOf(version, "c/0" as StoreKey, RANGE),
    RangeError,
  );
});

Deno.test("HttpStore.getRangeOf lets readers at the same time complete one version", async () => {
  const etags = ['"i"', '"a"', '"b"', '"i"', '"i"'];
  let requests = 0;
  const store = new HttpStore(URL_, {
    fetch: () =>
      Promise.resolve(
        new Response("0123456789", { headers: { ETag: etags[requests++]! } }),
      ),
  });
  const version = await readIndex(store);
  const both = await Promise.all([
    store.getRangeOf(version, DATA, RANGE),
    store.getRangeOf(version, DATA, RANGE),
  ]);
  assertEquals(both.filter((bytes) => bytes !== undefined).length, 1);
  assert(requests <= 5);
});
