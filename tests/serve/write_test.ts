import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  type Store,
  type StoreOptions,
} from "../../mod.ts";
import { createHandler, type WriteOptions } from "../../serve.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { encodeJson } from "../support/documents.ts";
import { fakeClock } from "../support/fake_clock.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import {
  bytesOf,
  CHUNK,
  createInParts,
  HEADER_SIZE,
  served,
  storeInParts,
} from "./serving.ts";

const ALLOWED: WriteOptions = { authorize: () => true };
const PATH = "/dem/c/0/1";
const VALUE = countingBytes(500, 7) as Uint8Array<ArrayBuffer>;

/** A body that is a stream, and so has no announced length. */
function streamOf(
  bytes: Uint8Array,
  announced?: number,
): RequestInit {
  const body = new ReadableStream({
    start(controller) {
      for (let i = 0; i < bytes.length; i += 100) {
        controller.enqueue(bytes.slice(i, i + 100));
      }
      controller.close();
    },
  });
  const headers = announced === undefined
    ? undefined
    : { "content-length": `${announced}` };
  return { body, ...headers && { headers } };
}

Deno.test("createHandler stores a chunk in its parts, and deletes it", async () => {
  const store = await storeInParts();
  const request = served(store, { write: ALLOWED });
  for (const init of [{ body: VALUE }, streamOf(VALUE)]) {
    const created = await request(PATH, { method: "PUT", ...init });
    assertEquals(created.status, 201);
    const chunks = await openArrayChunks(store, "dem");
    assertEquals(await chunks.get([0, 1]), VALUE);
    assertEquals(
      await store.get("/dem/c/0/1.shard.header"),
      VALUE.slice(0, HEADER_SIZE),
    );
    const replaced = await request(PATH, {
      method: "PUT",
      body: CHUNK.slice(),
    });
    assertEquals(replaced.status, 204);
    assertEquals(await bytesOf(await request(PATH)), CHUNK);
    for (let i = 0; i < 2; i++) { // Deleting an absent value is no error.
      assertEquals((await request(PATH, { method: "DELETE" })).status, 204);
      const absent = await request(PATH);
      assertEquals(absent.status, 404);
      await absent.body?.cancel();
    }
    assertEquals(await store.get("/dem/c/0/1.shard"), undefined);
  }
  assertEquals(request.errors, []);
});

Deno.test("createHandler keeps the parts of an array whose document is written back", async () => {
  const store = await storeInParts();
  const before = await contentsOf(store);
  const request = served(store, { write: ALLOWED });
  const shown = await request("/dem/zarr.json");
  const text = (await shown.text()).replace("[10, 7]", "[10, 7]");
  const status = (await request("/dem/zarr.json", {
    method: "PUT",
    body: JSON.stringify({ ...JSON.parse(text), attributes: { unit: "m" } }),
  })).status;
  assertEquals(status, 204);
  const stored = JSON.parse(
    new TextDecoder().decode(await store.get("/dem/zarr.json")),
  );
  assertEquals(stored.attributes, { unit: "m" });
  assertEquals(stored.storage_transformers.length, 1);
  const again = await (await request("/dem/zarr.json")).json();
  assertEquals(again.attributes, { unit: "m" });
  assertEquals(Object.keys(await contentsOf(store)), Object.keys(before));
});

Deno.test("createHandler shows a document that was stored while an earlier one is read", async () => {
  const store = await storeInParts();
  const request = served(store, { write: ALLOWED });
  const shown = await served(store)("/dem/zarr.json");
  const document = { ...await shown.json(), attributes: { unit: "m" } };
  const stalled = Promise.withResolvers<void>();
  const get = store.get.bind(store);
  store.get = async (key, options) => {
    const bytes = await get(key, options);
    store.get = get;
    await stalled.promise;
    return bytes;
  };
  const earlier = request("/dem/zarr.json");
  const { status } = await request("/dem/zarr.json", {
    method: "PUT",
    body: JSON.stringify(document),
  });
  assertEquals(status, 204);
  const later = await (await request("/dem/zarr.json")).json();
  assertEquals(later.attributes, { unit: "m" });
  stalled.resolve();
  assertEquals((await (await earlier).json()).attributes, undefined);
  const last = await (await request("/dem/zarr.json")).json();
  assertEquals(last.attributes, { unit: "m" });
});

Deno.test("createHandler takes the body of a PUT with any timeout", async () => {
  for (const timeout of [2 ** 31, Infinity]) {
    const request = served(await storeInParts(), { write: ALLOWED, timeout });
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.enqueue(VALUE);
        controller.close();
      },
    });
    const { status } = await request(PATH, { method: "PUT", body });
    assertEquals(status, 201);
  }
});

Deno.test("createHandler answers 502 if the store stalls before, in or after the body of a PUT", async () => {
  using _clock = fakeClock();
  for (const pulls of [0, 1, 5]) {
    const stored = new MemoryStore();
    const store: Store = {
      get: (key) => stored.get(key),
      stream: (key) => stored.stream(key),
      delete: (key) => stored.delete(key),
      async set(_, value) {
        const reader = (value as ReadableStream<Uint8Array>).getReader();
        for (let i = 0; i < pulls; i++) await reader.read();
        await new Promise(() => {});
      },
    };
    const request = served(store, {
      form: "stored",
      write: { ...ALLOWED, timeout: 300 },
    });
    let isCancelled = false;
    let sent = 0;
    const body = new ReadableStream({
      async pull(controller) {
        // All pauses of the client together are longer than the time-out.
        await new Promise((resolve) => setTimeout(resolve, 70));
        if (sent++ < 4) controller.enqueue(VALUE);
        else controller.close();
      },
      cancel() {
        isCancelled = true;
      },
    }, { highWaterMark: 0 });
    const response = await request(PATH, { method: "PUT", body });
    assertEquals(response.status, 502);
    assertStringIncludes(await response.text(), "did not answer in time");
    assertEquals(sent, pulls);
    assertEquals(isCancelled, pulls < 5);
    assertEquals(request.errors.length, 1);
  }
});

Deno.test("createHandler gives the store longer to write than to read, and ends a write that takes longer", async () => {
  using _clock = fakeClock();
  for (const method of ["PUT", "DELETE"]) {
    for (const isLong of [false, true]) {
      const stored = await storeInParts();
      const wait = () =>
        new Promise<void>((resolve) => setTimeout(resolve, 80));
      const store: Store = {
        get: (key) => stored.get(key),
        async set() {
          await wait();
        },
        async delete() {
          await wait();
        },
      };
      const request = served(store, {
        form: "stored",
        timeout: 20,
        write: { ...ALLOWED, timeout: isLong ? 10_000 : 20 },
      });
      const response = await request("/c/0", {
        method,
        ...method === "PUT" && { body: VALUE },
      });
      assertEquals(response.status < 300, isLong, method);
      await response.body?.cancel();
      await wait();
    }
  }
});

Deno.test("createHandler refuses what it may not write, and changes nothing", async () => {
  const store = await storeInParts();
  const before = await contentsOf(store);
  const limit = 1000;
  const etag = (await served(store)("/dem/c/2/1")).headers.get("etag")!;
  const cases: [path: string, init: RequestInit, status: number][] = [
    [PATH, { body: new Uint8Array(limit + 1) }, 413],
    [PATH, streamOf(new Uint8Array(limit + 1)), 413],
    [PATH, streamOf(new Uint8Array(10), limit + 1), 413],
    [PATH, streamOf(new Uint8Array(200), 201), 400],
    [PATH, streamOf(new Uint8Array(200), 199), 400],
    // The header and the index take 100 bytes.
    [PATH, { body: new Uint8Array(99) }, 400],
    [PATH, streamOf(new Uint8Array(99)), 400],
    ["/dem/c/3/0", { body: VALUE }, 400],
    ["/dem//c/0/0", { body: VALUE }, 400],
    ["/dem/zarr.json", { body: "{" }, 400],
    ["/dem/.zarr-parts-tmp-x", { body: VALUE }, 404],
    [
      PATH,
      { body: VALUE, headers: { "content-range": "bytes 0-499/500" } },
      400,
    ],
    [PATH, { body: VALUE, headers: { "content-encoding": "gzip" } }, 415],
    [PATH, { body: VALUE, headers: { "if-match": "*" } }, 412],
    ["/dem/c/2/1", { body: VALUE, headers: { "if-none-match": "*" } }, 412],
    ["/dem/c/2/1", { body: VALUE, headers: { "if-match": '"x"' } }, 412],
    ["/dem/c/2/1", { body: VALUE, headers: { "if-none-match": etag } }, 412],
  ];
  const request = served(store, { write: { ...ALLOWED, limit } });
  for (const [path, init, status] of cases) {
    const response = await request(path, { method: "PUT", ...init });
    const message = `${path} ${JSON.stringify(init.headers)}`;
    assertEquals(response.status, status, message);
    assertEquals(response.headers.get("cache-control"), "no-store", message);
    await response.body?.cancel();
    assertEquals(await contentsOf(store), before, message);
  }
  assertEquals(request.errors, []);
  const allowed = await request("/dem/c/2/1", {
    method: "PUT",
    body: new Uint8Array(limit),
    headers: { "if-match": etag },
  });
  assertEquals(allowed.status, 204);
});

Deno.test("createHandler answers 409 to a PUT where files can hold no value, whoever writes beside it", async () => {
  await inTempDir(async (folder) => {
    const root = `${folder}/secret`;
    const store = new FileSystemStore(root);
    await createInParts(store);
    const before = await contentsOf(store);
    const below = ["x", "x/y", "c/0"].flatMap((rest) =>
      ["/zarr.json", "/dem/zarr.json", "/dem/c/2/1.shard"].map((file) =>
        `${file}/${rest}`
      )
    );
    const long = "a".repeat(300);
    const paths = ["/dem", ...below, `/${long}`, `/dem/${long}/x`];
    for (const form of ["plain", "stored"] as const) {
      const request = served(store, { form, write: ALLOWED });
      const inits = [{ body: VALUE }, { body: new Uint8Array() }];
      const folders = form === "stored" ? ["/dem/c", "/dem/c/2"] : [];
      for (const path of [...paths, ...folders]) {
        const answers = await Promise.all([
          ...inits.map((init) => request(path, { method: "PUT", ...init })),
          request(path, { method: "PUT", ...streamOf(VALUE) }),
        ]);
        for (const answer of answers) {
          assertEquals(answer.status, 409, path);
          assertEquals(
            await answer.text(),
            `The store can hold no value under ${path}: the key is that of a folder, lies below that of a file, or is too long\n`,
          );
        }
        const isBelow = below.includes(path);
        const removal = await request(path, { method: "DELETE" });
        assertEquals(removal.status, isBelow ? 204 : 404, path);
        await removal.body?.cancel();
        const read = await request(path);
        assertEquals(read.status, 404, path);
        await read.body?.cancel();
        assertEquals(await contentsOf(store), before, path);
      }
      assertEquals(request.errors, []);
    }
  });
});

Deno.test("createHandler answers 409 to a chunk of which one part would lie below another", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    const metadata = arrayMetadata({
      storage_transformers: [
        concatParts({ key_suffix: "/data" }, { key_suffix: "", size: 4 }),
      ],
    });
    await createArrayChunks(store, "dem", metadata);
    const before = await contentsOf(store);
    const request = served(store, { write: ALLOWED });
    for (const init of [{ body: VALUE }, streamOf(VALUE)]) {
      const answer = await request(PATH, { method: "PUT", ...init });
      assertEquals(answer.status, 409);
      await answer.body?.cancel();
    }
    assertEquals(await contentsOf(store), before);
    assertEquals(request.errors, []);
  });
});

/** A body that comes in two pieces, with a pause between. */
function slowStreamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  const pieces = [bytes.slice(0, 70), bytes.slice(70)];
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece);
      else controller.close();
    },
  });
}

Deno.test("createHandler lets one of several requests with the same condition change a value", async () => {
  const store = await storeInParts();
  const request = served(store, { write: ALLOWED });
  const send = (method: string, headers: HeadersInit, bytes?: Uint8Array) =>
    request(PATH, {
      method,
      headers,
      ...bytes && { body: slowStreamOf(bytes) },
    });
  const counterOf = (count: number) => {
    const bytes = new Uint8Array(200);
    new DataView(bytes.buffer).setUint32(80, count);
    return bytes;
  };
  const clients = Array.from({ length: 6 }, (_, i) => i);
  const created = await Promise.all(
    clients.map(async () => {
      const headers = { "if-none-match": "*" };
      return (await send("PUT", headers, counterOf(0))).status;
    }),
  );
  assertEquals(created.sort(), [201, 412, 412, 412, 412, 412]);

  const increment = async (): Promise<void> => {
    const response = await request(PATH);
    const bytes = await response.bytes();
    const count = new DataView(bytes.buffer).getUint32(80);
    const headers = { "if-match": response.headers.get("etag")! };
    const { status } = await send("PUT", headers, counterOf(count + 1));
    if (status === 412) await increment();
    else assertEquals(status, 204);
  };
  await Promise.all(clients.map(async () => {
    for (let i = 0; i < 5; i++) await increment();
  }));
  assertEquals(await bytesOf(await request(PATH)), counterOf(30));

  const etag = (await request(PATH)).headers.get("etag")!;
  const deleted = await Promise.all(
    clients.map(async () =>
      (await send("DELETE", { "if-match": etag })).status
    ),
  );
  assertEquals(deleted.sort(), [204, 412, 412, 412, 412, 412]);
  assertEquals(request.errors, []);
});

Deno.test("createHandler goes on after a write that has stalled", async () => {
  const store = await storeInParts();
  const request = served(store, { write: { ...ALLOWED, timeout: 500 } });
  const put = async (path: string) => {
    const response = await request(path, { method: "PUT", body: VALUE });
    await response.body?.cancel();
    return response.status;
  };
  const stalled = Promise.withResolvers<void>();
  const groupOf = store.group.bind(store);
  store.group = (key, keys) => {
    const group = groupOf(key, keys);
    const write = group.write!.bind(group);
    return Object.assign(group, {
      // A store that does not heed the signal of the write.
      async write({ signal: _, ...options }: StoreOptions = {}) {
        const writer = await write(options);
        const close = writer.close.bind(writer);
        writer.close = () => stalled.promise.then(close);
        return writer;
      },
    });
  };
  assertEquals(await put(PATH), 502);
  store.group = groupOf;
  // Others wait for the first, which may still change the value.
  assertEquals(await Promise.all([put(PATH), put(PATH)]), [502, 502]);
  assertEquals(await put("/dem/c/1/1"), 201);
  stalled.resolve();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(await Promise.all([put(PATH), put(PATH)]), [204, 204]);
});

Deno.test("createHandler asks whether a request may change a value", async () => {
  const store = await storeInParts();
  const before = await contentsOf(store);
  const failure = new Error("No such user");
  const asked: string[] = [];
  const request = served(store, {
    write: {
      authorize({ headers, method }, key) {
        asked.push(`${method} ${key}`);
        if (headers.get("authorization") === "broken") throw failure;
        return headers.get("authorization") === "Bearer 1";
      },
    },
  });
  for (const method of ["PUT", "DELETE"]) {
    for (const authorization of ["", "Bearer 2", "broken"]) {
      const response = await request("/dem/c/2/1", {
        method,
        headers: { authorization },
        ...method === "PUT" && { body: VALUE },
      });
      assertEquals(response.status, 403);
      await response.body?.cancel();
    }
  }
  assertEquals(await contentsOf(store), before);
  assertEquals(asked, [
    ...new Array(3).fill("PUT /dem/c/2/1"),
    ...new Array(3).fill("DELETE /dem/c/2/1"),
  ]);
  assertEquals(request.errors, [failure, failure]);
  const headers = { authorization: "Bearer 1" };
  const allowed = await request("/dem/c/2/1", { method: "DELETE", headers });
  assertEquals(allowed.status, 204);
});

Deno.test("createHandler allows PUT and DELETE in preflights if it allows writing", async () => {
  const request = served(await storeInParts(), { write: ALLOWED });
  const { headers } = await request(PATH, { method: "OPTIONS" });
  assertEquals(headers.get("allow"), "GET, HEAD, OPTIONS, PUT, DELETE");
  assertStringIncludes(
    headers.get("access-control-allow-headers")!,
    "Authorization, Content-Type",
  );
});

Deno.test("createHandler stores inner chunks in their shard", async () => {
  const store = new MemoryStore();
  const document = {
    zarr_format: 3,
    node_type: "array",
    shape: [8],
    data_type: "uint8",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [8] } },
    chunk_key_encoding: { name: "suffix", configuration: { suffix: ".shard" } },
    fill_value: 0,
    codecs: [{
      name: "sharding_indexed",
      configuration: {
        chunk_shape: [2],
        codecs: [{ name: "bytes" }],
        index_codecs: [{ name: "bytes", configuration: { endian: "little" } }],
      },
    }],
  };
  const put = (path: string, body: BodyInit) =>
    request(path, { method: "PUT", body });
  const request = served(store, { form: "inner chunks", write: ALLOWED });
  await store.set(
    "/zarr.json",
    encodeJson(document),
  );
  for (const chunk of [1, 3]) {
    const status =
      (await put(`/c/${chunk}`, new Uint8Array(2).fill(chunk))).status;
    assertEquals(status, 201);
  }
  const shown = await (await request("/zarr.json")).json();
  assertEquals(shown.chunk_grid.configuration.chunk_shape, [2]);
  assertEquals(shown.codecs.map(({ name }: { name: string }) => name), [
    "bytes",
  ]);
  assertEquals(await bytesOf(await request("/c/3")), new Uint8Array([3, 3]));
  const range = await request("/c/1", { headers: { range: "bytes=-1" } });
  assertEquals(range.headers.get("content-range"), "bytes 1-1/2");
  assertEquals(await bytesOf(range), new Uint8Array([1]));
  const absent = await request("/c/2");
  assertEquals(absent.status, 404);
  await absent.body?.cancel();
  assertEquals((await store.get("/c/0.shard"))!.length, 4 + 4 * 16);
  assertEquals((await request("/c/1", { method: "DELETE" })).status, 204);
  assertEquals((await store.get("/c/0.shard"))!.length, 2 + 4 * 16);
});

Deno.test("createHandler allows writing to stores that can be changed", () => {
  const store = { get: () => Promise.resolve(undefined) };
  assertThrows(
    () => createHandler(store, { write: ALLOWED }),
    TypeError,
    'Expected a store with "set" and "delete" methods for the option write',
  );
});

Deno.test("createHandler refuses invalid options", () => {
  const cases: [unknown, typeof TypeError | typeof RangeError, string][] = [
    [
      { form: "raw" },
      RangeError,
      'Expected the option "form" to be "plain", "inner chunks" or "stored", found "raw"',
    ],
    [{ plain: true }, TypeError, 'Unknown option "plain"'],
    [
      { mount: "data" },
      RangeError,
      'Expected mount to be a path such as "/data"',
    ],
    [{ mount: "/a/../b" }, RangeError, "Expected mount"],
    [
      { timeout: -1 },
      RangeError,
      'Expected the option "timeout" to be a number of at least 0',
    ],
    [{ timeout: NaN }, RangeError, 'Expected the option "timeout"'],
    [
      { keep: { seconds: "1" } },
      TypeError,
      'Expected the option "keep.seconds"',
    ],
    [
      { keep: { versions: -1 } },
      RangeError,
      'Expected the option "keep.versions"',
    ],
    [
      { write: {} },
      TypeError,
      'Expected the option "write.authorize" to be a function',
    ],
    [
      { write: { ...ALLOWED, limit: -1 } },
      RangeError,
      'Expected the option "write.limit"',
    ],
  ];
  for (const [options, ErrorClass, message] of cases) {
    assertThrows(
      () => createHandler(new MemoryStore(), options as Record<string, never>),
      ErrorClass,
      message,
    );
  }
  assertThrows(
    () => createHandler("https://example.org" as never),
    TypeError,
    'use new HttpStore("https://example.org")',
  );
});
