import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  FileSystemStore,
  HttpStore,
  MemoryStore,
  MetadataError,
  openArrayChunks,
  plainView,
  SizeLimitError,
  type Store,
} from "../../mod.ts";
import { backendOf } from "../../src/stores/mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { observedBody, stub, URL_ } from "./http_stub.ts";
import { serve, storeHandler } from "./loopback.ts";
import { inTempDir } from "./temp_dir.ts";

const VALUE = countingBytes(100_000);
const LENGTH = VALUE.length;

/** Reads a value with limits around its length. */
async function assertLimits(
  read: (limit: number | undefined) => Promise<Uint8Array | undefined>,
  size: number | undefined,
): Promise<void> {
  for (const limit of [undefined, LENGTH, LENGTH + 1, 2 ** 53 - 1]) {
    assertEquals(await read(limit), VALUE);
  }
  for (const limit of [0, 1, LENGTH - 1]) {
    const error = await assertRejects(() => read(limit), SizeLimitError);
    assertEquals([error.key, error.limit, error.size], ["/k", limit, size]);
  }
}

Deno.test("each store refuses a value that is longer than limit", async () => {
  const memory = new MemoryStore([["/k", VALUE]]);
  const blob = new Blob([VALUE as Uint8Array<ArrayBuffer>]);
  const plain = serve(storeHandler(memory));
  const compressed = serve(() =>
    new Response(blob.stream().pipeThrough(new CompressionStream("gzip")), {
      headers: { "Content-Encoding": "gzip" },
    })
  );
  // A store that ignores the option.
  const foreign: Store = { get: () => Promise.resolve(VALUE) };
  await inTempDir(async (folder) => {
    await Deno.writeFile(`${folder}/k`, VALUE);
    const cases: [Store, size: number | undefined][] = [
      [memory, LENGTH],
      [new FileSystemStore(folder), LENGTH],
      [backendOf(foreign), LENGTH],
      [new HttpStore(plain.url), LENGTH],
      [new HttpStore(compressed.url), undefined], // By its decoded length.
    ];
    for (const [store, size] of cases) {
      await assertLimits(
        (limit) => store.get("/k", limit === undefined ? {} : { limit }),
        size,
      );
    }
  });
  await plain.close();
  await compressed.close();
  const nothing = backendOf({ get: () => Promise.resolve(undefined) });
  assertEquals(await nothing.get("/k", { limit: 0 }), undefined);
});

Deno.test("HttpStore.get stops reading at limit whatever Content-Length says", async () => {
  const headers: [string, HeadersInit, number][] = [
    ["no length", {}, 4],
    ["a length that is too low", { "Content-Length": "3" }, 4],
    ["a length that is right for the limit", { "Content-Length": "12" }, 4],
    ["no number", { "Content-Length": "many" }, 4],
    ["a length above the limit", { "Content-Length": "13" }, 0],
  ];
  for (const [name, init, pulls] of headers) {
    const body = observedBody(new Uint8Array([1, 2, 3, 4]));
    const { store } = stub(URL_, new Response(body.stream, { headers: init }));
    await assertRejects(
      () => store.get("/k", { limit: 12 }),
      SizeLimitError,
      'Expected at most 12 bytes of "/k", found',
    );
    assertEquals([body.pulls(), body.cancelled()], [pulls, true], name);
  }
});

Deno.test("HttpStore.get stops reading at limit where a server sends Content-Length beside chunks", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const answering = (async () => {
    using connection = await listener.accept();
    await connection.read(new Uint8Array(4096));
    const answer =
      "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n0123456789abc\r\n0\r\n\r\n";
    await connection.write(new TextEncoder().encode(answer));
  })();
  const store = new HttpStore(`http://127.0.0.1:${listener.addr.port}`);
  await assertRejects(
    () => store.get("/k", { limit: 12 }),
    SizeLimitError,
    'Expected at most 12 bytes of "/k", found',
  );
  await answering;
});

Deno.test("HttpStore reads a body at once, which is faster, where its length is certain", async () => {
  const { arrayBuffer } = Response.prototype;
  let count = 0;
  Response.prototype.arrayBuffer = function () {
    count++;
    return arrayBuffer.call(this);
  };
  const { url, close } = serve(storeHandler(new MemoryStore([["/k", VALUE]])));
  try {
    const store = new HttpStore(url);
    await store.getRange("/k", { offset: 7, length: 8 });
    assertEquals(count, 1);
    await store.get("/k", { limit: LENGTH });
    assertEquals(count, 2);
  } finally {
    Response.prototype.arrayBuffer = arrayBuffer;
    await close();
  }
});

Deno.test("HttpStore.get with a limit returns bytes that fill their memory", async () => {
  const piece = countingBytes(100);
  for (const times of [0, 1, 2, 700]) {
    for (const length of [undefined, 0, 1, 100 * times, 100 * times + 1]) {
      for (const limit of [100 * times, 100 * times + 1, 2 ** 53 - 1]) {
        const body = times === 0 ? null : observedBody(piece, times).stream;
        const headers: HeadersInit = length === undefined || length > limit
          ? {}
          : { "Content-Length": `${length}` };
        const { store } = stub(URL_, new Response(body, { headers }));
        const bytes = (await store.get("/k", { limit }))!;
        assertEquals(bytes.length, 100 * times);
        assertEquals(bytes.buffer.byteLength, bytes.length);
        assert(bytes.every((byte, i) => byte === piece[i % 100]));
      }
    }
  }
});

Deno.test("openArrayChunks and plainView stop reading a document that is too long", async () => {
  const limit = 16 * 1024 * 1024;
  const piece = new Uint8Array(1024 * 1024).fill(32);
  const readings: ((store: Store) => Promise<unknown>)[] = [
    (store) => openArrayChunks(store),
    (store) => plainView(store).get("/zarr.json"),
    (store) => plainView(store).get("/c/0"),
  ];
  for (const read of readings) {
    const body = observedBody(piece);
    const { store } = stub(URL_, new Response(body.stream));
    await assertRejects(
      () => read(store),
      MetadataError,
      `Expected a document of at most ${limit} bytes, found more (at /zarr.json in HttpStore`,
    );
    assertEquals(body.cancelled(), true);
    assertEquals(body.pulls(), limit / piece.length + 1);
  }
});
