import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { createArrayChunks, MemoryStore } from "../../mod.ts";
import { chooseStandardLibrary } from "../../tools/standard_library.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { countingBytes } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";

const EDGE = fileURLToPath(import.meta.resolve("../../examples/edge.ts"));
const CHUNK = countingBytes(1000);

/** Creates an array in parts with one chunk, (2, 1). */
async function storeInParts(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const chunks = await createArrayChunks(
    store,
    "dem.zarr",
    arrayMetadata({
      chunk_key_encoding: {
        name: "suffix",
        configuration: { suffix: ".shard" },
      },
      storage_transformers: [
        concatParts({ key_suffix: ".header", size: 64 }, { key_suffix: "" }, {
          key_suffix: ".index",
          size: 36,
        }),
      ],
    }),
  );
  await chunks.set([2, 1], CHUNK);
  return store;
}

/** Runs a test against the edge function, which reads from a server for `store`. */
async function withEdgeFunction(
  store: MemoryStore,
  test: (url: string) => Promise<void>,
): Promise<void> {
  const { run } = await chooseStandardLibrary();
  const backing = serve(storeHandler(store));
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  listener.close();
  const stop = new AbortController();
  const serving = run(
    [
      "serve",
      "--allow-net",
      "--host",
      "127.0.0.1",
      "--port",
      `${port}`,
      EDGE,
      `${backing.url}/dem.zarr`,
    ],
    { output: "piped", signal: stop.signal },
  );
  try {
    const url = `http://127.0.0.1:${port}`;
    await answered(url, serving);
    await test(url);
  } finally {
    stop.abort();
    await serving;
    await backing.close();
  }
}

/** Waits until a server answers; rejects with its output if it exits. */
async function answered(
  url: string,
  serving: Promise<{ output: string }>,
): Promise<void> {
  const ended = serving.then(({ output }) => {
    throw new Error(`The server ended: ${output}`);
  });
  for (;;) {
    const asked = fetch(url).then((response) => response.body?.cancel());
    try {
      return await Promise.race([asked, ended]);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // Not "connection refused".
      await Promise.race([
        new Promise((resolve) => setTimeout(resolve, 50)),
        ended,
      ]);
    }
  }
}

Deno.test("the edge function serves chunks in parts as a whole, and ranges of them", async () => {
  await withEdgeFunction(await storeInParts(), async (url) => {
    const chunk = `${url}/c/2/1`;
    const ask = async (path: string, range?: string, method = "GET") => {
      const response = await fetch(path, {
        method,
        headers: range ? { range } : {},
      });
      return {
        status: response.status,
        length: response.headers.get("content-length"),
        range: response.headers.get("content-range"),
        body: await response.bytes() as Uint8Array,
      };
    };
    const whole = { status: 200, length: "1000", range: null, body: CHUNK };
    const part = (start: number, end: number) => ({
      status: 206,
      length: `${end - start}`,
      range: `bytes ${start}-${end - 1}/1000`,
      body: CHUNK.slice(start, end),
    });
    assertEquals(await ask(chunk), whole);
    assertEquals(await ask(chunk, undefined, "HEAD"), {
      ...whole,
      body: new Uint8Array(0),
    });
    assertEquals(await ask(chunk, "bytes=0-0"), part(0, 1));
    assertEquals(await ask(chunk, "bytes=60-69"), part(60, 70));
    assertEquals(await ask(chunk, "bytes=10-989"), part(10, 990));
    assertEquals(await ask(chunk, "bytes=900-"), part(900, 1000));
    assertEquals(await ask(chunk, "bytes=-36"), part(964, 1000));
    assertEquals(await ask(chunk, "bytes=-37"), part(963, 1000));
    assertEquals(await ask(chunk, "bytes=990-2000"), part(990, 1000));
    // Several ranges, and other units, are answered with the whole chunk.
    assertEquals(await ask(chunk, "bytes=0-1,5-6"), whole);
    assertEquals(await ask(chunk, "lines=0-1"), whole);
    const unsatisfiable = await ask(chunk, "bytes=1000-");
    assertEquals([unsatisfiable.status, unsatisfiable.range], [
      416,
      "bytes */1000",
    ]);
    for (
      const path of [
        "/c/0/0",
        "/c/2/1.shard",
        "/c/9/9",
        "/c/02/1",
        "/zarr.json",
        "/",
      ]
    ) {
      assertEquals((await ask(url + path)).status, 404, path);
    }
    assertEquals((await ask(chunk, undefined, "PUT")).status, 405);
  });
});

Deno.test("the edge function answers 502 while the array cannot be read, and opens it later", async () => {
  const store = new MemoryStore();
  await withEdgeFunction(store, async (url) => {
    const response = await fetch(`${url}/c/2/1`);
    assertEquals(response.status, 502);
    assertStringIncludes(await response.text(), "cannot be read");
    const inParts = await storeInParts();
    for await (const key of inParts.list()) {
      await store.set(key, (await inParts.get(key))!);
    }
    const second = await fetch(`${url}/c/2/1`);
    assertEquals(new Uint8Array(await second.arrayBuffer()), CHUNK);
  });
});
