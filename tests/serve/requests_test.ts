import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { convert } from "../../jobs.ts";
import {
  FileSystemStore,
  HttpStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { createHandler, type HandlerOptions } from "../../serve.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { encodeJson } from "../support/documents.ts";
import { bytesOf, CHUNK, createInParts, makeOld, served } from "./serving.ts";

registerCodecs(zarr);

/** A store over HTTP, and the requests that it has sent. */
interface Counted {
  readonly store: HttpStore;
  readonly requests: string[];
}

/** Serves a folder, whose files are old, as a web server does. */
function overHttp(folder: string): Counted {
  const origin = createHandler(new FileSystemStore(folder), { form: "stored" });
  return through(origin);
}

/** A store that reads through a handler. */
function through(handler: (request: Request) => Promise<Response>): Counted {
  const requests: string[] = [];
  const store = new HttpStore("http://localhost", {
    async fetch(request) {
      const { method, url, headers } = request;
      const range = headers.get("range");
      const path = new URL(url).pathname;
      requests.push([method, path, ...range ? [range] : []].join(" "));
      const response = await handler(request);
      response.headers.set("date", new Date().toUTCString());
      return response;
    },
  });
  return { store, requests };
}

/** Runs a test with a handler over HTTP over a folder with the array `dem`. */
async function withChunk(
  run: (served: ReturnType<typeof serving>) => Promise<void>,
  options: HandlerOptions = {},
): Promise<void> {
  await inTempDir(async (folder) => {
    await createInParts(new FileSystemStore(folder));
    await makeOld(folder);
    await run(serving(overHttp(folder), options));
  });
}

function serving({ store, requests }: Counted, options: HandlerOptions) {
  const get = served(store, options);
  /** Asks for the chunk, and returns the requests that were sent for it. */
  return async (
    init: RequestInit,
    status: number,
    body?: Uint8Array,
    path = "/dem/c/2/1",
  ) => {
    requests.length = 0;
    const response = await get(path, init);
    assertEquals(response.status, status);
    if (body) assertEquals(await bytesOf(response), body);
    else await response.body?.cancel();
    return requests.toSorted();
  };
}

const range = (range: string): RequestInit => ({ headers: { range } });

Deno.test("createHandler reads a chunk of a young file with the last part first again, and its document once", async () => {
  await withChunk(async (ask) => {
    assertEquals(await ask({}, 200, CHUNK), [
      "GET /dem/c/2/1.shard bytes=0-1048768",
      "GET /dem/c/2/1.shard bytes=0-1048768",
      "GET /dem/c/2/1.shard.header",
      "GET /dem/c/2/1.shard.header",
      "GET /dem/c/2/1.shard.index",
      "GET /dem/c/2/1.shard.index",
      "GET /dem/zarr.json",
      "HEAD /dem/c/2/1.shard.index",
      "HEAD /dem/c/2/1.shard.index",
    ]);
    assertEquals(await ask({}, 200, CHUNK), [
      "GET /dem/c/2/1.shard bytes=0-899",
      "GET /dem/c/2/1.shard.header bytes=0-63",
      "GET /dem/c/2/1.shard.index bytes=0-35",
    ]);
  });
});

Deno.test("createHandler reads a range by one request once it knows the chunk", async () => {
  await withChunk(async (ask) => {
    // A suffix range is one of the store, too.
    assertEquals(await ask(range("bytes=-20"), 206, CHUNK.slice(-20)), [
      "GET /dem/c/2/1.shard.index",
      "GET /dem/zarr.json",
      "HEAD /dem/c/2/1.shard",
      "HEAD /dem/c/2/1.shard.header",
      "HEAD /dem/c/2/1.shard.index",
    ]);
    const cases: [string, Uint8Array, string][] = [
      ["bytes=100-199", CHUNK.slice(100, 200), ".shard bytes=36-135"],
      ["bytes=-20", CHUNK.slice(-20), ".shard.index bytes=16-35"],
      ["bytes=0-9", CHUNK.slice(0, 10), ".shard.header bytes=0-9"],
      ["bytes=964-", CHUNK.slice(964), ".shard.index bytes=0-35"],
    ];
    for (const [header, bytes, request] of cases) {
      assertEquals(await ask(range(header), 206, bytes), [
        `GET /dem/c/2/1${request}`,
      ]);
    }
    assertEquals(await ask({ method: "HEAD" }, 200), [
      "HEAD /dem/c/2/1.shard.index",
    ]);
    assertEquals(await ask(range("bytes=1000-"), 416), [
      "HEAD /dem/c/2/1.shard.index",
    ]);
  });
});

Deno.test("createHandler reads a chunk of one object by one request", async () => {
  await withChunk(async (ask) => {
    for (const header of ["bytes=-20", "bytes=880-899"]) {
      const bytes = CHUNK.slice(944, 964);
      const path = "/dem/c/2/1.shard";
      assertEquals(await ask(range(header), 206, bytes, path), [
        `GET /dem/c/2/1.shard ${header}`,
      ]);
    }
  }, { form: "stored" });
});

Deno.test("createHandler asks for a document once, however many clients wait for it", async () => {
  await inTempDir(async (folder) => {
    await createInParts(new FileSystemStore(folder));
    await makeOld(folder);
    const { store, requests } = overHttp(folder);
    const get = served(store);
    const paths = ["/dem/zarr.json", "/dem/c/0/0", "/dem/c/0/1"];
    const responses = await Promise.all(paths.map((path) => get(path)));
    assertEquals(responses.map(({ status }) => status), [200, 404, 404]);
    for (const { body } of responses) await body?.cancel();
    const documents = requests.filter((each) => each.includes("zarr.json"));
    assertEquals(documents, ["GET /dem/zarr.json"]);
  });
});

Deno.test("createHandler sees a document that changes, once it has been kept for long enough", async () => {
  const store = new MemoryStore();
  await createInParts(store);
  const get = served(store, { keep: { seconds: 0.05 } });
  assertEquals(await bytesOf(await get("/dem/c/2/1")), CHUNK);
  const document = JSON.parse(
    new TextDecoder().decode(await store.get("/dem/zarr.json")),
  );
  // The parts of the chunk have other keys now.
  document.chunk_key_encoding.configuration.suffix = ".bin";
  await store.set(
    "/dem/zarr.json",
    encodeJson(document),
  );
  await new Promise((resolve) => setTimeout(resolve, 60));
  const absent = await get("/dem/c/2/1");
  assertEquals(absent.status, 404);
  await absent.body?.cancel();
});

Deno.test("reading an array through createHandler takes at most one more request for each shard", async () => {
  await inTempDir(async (folder) => {
    const source = new FileSystemStore("tests/fixtures/dem.zarr");
    await convert(source, new FileSystemStore(folder), {
      suffix: ".shard",
      parts: ["", ".index"],
    });
    await makeOld(folder);

    const read = async (store: Store) => {
      const array = await zarr.open(withZarrParts(store), { kind: "array" });
      return (await zarr.get(array)).data;
    };
    const alone = overHttp(folder);
    const expected = await read(alone.store);

    const behind = overHttp(folder);
    const front = through(createHandler(behind.store));
    assertEquals(await read(front.store), expected);
    const shards = 12;
    const counts =
      `${alone.requests.length} alone, ${front.requests.length} to the handler, ${behind.requests.length} behind it`;
    assert(alone.requests.length > shards, counts);
    assert(behind.requests.length <= alone.requests.length + shards, counts);
  });
});
