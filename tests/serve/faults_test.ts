import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { serve } from "../stores/loopback.ts";
import { createHandler, type ServedForm } from "../../src/serve/mod.ts";
import {
  bytesOf,
  CHUNK,
  createInParts,
  served,
  storeInParts,
} from "./serving.ts";
import { LARGEST_PIECE, LargeStore } from "./large_store.ts";

const PATH = "/dem/c/2/1";

/** All ways to ask for a value. */
const REQUESTS: RequestInit[] = [
  {},
  { method: "HEAD" },
  { headers: { range: "bytes=0-9" } },
  { headers: { range: "bytes=100-199" } },
  { headers: { range: "bytes=-5" } },
  { headers: { range: "bytes=5000-" } },
  { headers: { "if-none-match": '"x"' } },
  { headers: { "if-match": '"x"' } },
];

Deno.test("createHandler answers damage with 502 and its reason, however it is asked", async () => {
  const damages: [
    name: string,
    damage: (store: MemoryStore) => Promise<unknown>,
    reason: RegExp,
  ][] = [
    [
      "a missing part",
      (store) => store.delete("/dem/c/2/1.shard.index"),
      /damaged: .*index/,
    ],
    [
      "a missing body",
      (store) => store.delete("/dem/c/2/1.shard"),
      /damaged: /,
    ],
    [
      "a short header",
      (store) => store.set("/dem/c/2/1.shard.header", new Uint8Array(63)),
      /63 bytes long/,
    ],
    [
      "a long index",
      (store) => store.set("/dem/c/2/1.shard.index", new Uint8Array(37)),
      /37 bytes long/,
    ],
    [
      "an invalid document",
      (store) => store.set("/dem/zarr.json", new Uint8Array([123])),
      /metadata is invalid/,
    ],
  ];
  for (const [name, damage, reason] of damages) {
    const store = await storeInParts();
    await damage(store);
    for (const init of REQUESTS) {
      const get = served(store);
      const response = await get(PATH, init);
      const message = `${name}, ${JSON.stringify(init)}`;
      assertEquals(response.status, 502, message);
      assertEquals(response.headers.get("cache-control"), "no-store");
      assertEquals(response.headers.has("etag"), false);
      const text = await response.text();
      if (init.method !== "HEAD") assertMatch(text, reason, message);
      assertEquals(/\bat .*:\d+/.test(text), false, text);
      assertEquals(get.errors.length, 1, message);
    }
  }
});

Deno.test("createHandler finds damage of a chunk whose version it keeps", async () => {
  const store = await storeInParts();
  const get = served(store);
  assertEquals(await bytesOf(await get(PATH)), CHUNK);
  await store.delete("/dem/c/2/1.shard.index");
  for (const init of [REQUESTS[0]!, REQUESTS[1]!, REQUESTS[4]!]) {
    const response = await get(PATH, init);
    assertEquals(response.status, 502, JSON.stringify(init));
    await response.body?.cancel();
  }
  await store.delete("/dem/c/2/1.shard");
  await store.delete("/dem/c/2/1.shard.header");
  const absent = await get(PATH);
  assertEquals(absent.status, 404);
  await absent.body?.cancel();
});

/** A store whose every operation is replaced. */
function storeThat<T>(act: () => Promise<T>): Store {
  const fail = () => act() as Promise<never>;
  return { get: fail, getRange: fail, size: fail, stream: fail };
}

Deno.test("createHandler answers 502 if the store fails, and tells no paths", async () => {
  const failure = new Error("Cannot GET https://internal/secret?key=1");
  const store = storeThat(() => Promise.reject(failure));
  for (const form of ["plain", "inner chunks", "stored"] as ServedForm[]) {
    const get = served(store, { form });
    for (const path of [PATH, "/zarr.json", "/readme.txt"]) {
      const response = await get(path);
      assertEquals(response.status, 502);
      assertEquals(
        await response.text(),
        "The store behind this server failed\n",
      );
    }
    assertEquals(get.errors, [failure, failure, failure]);
  }
});

Deno.test("createHandler answers 502 if the store stalls", async () => {
  const store = storeThat(() => new Promise(() => {}));
  for (const form of ["plain", "stored"] as ServedForm[]) {
    const get = served(store, { form, timeout: 20 });
    const response = await get(PATH);
    assertEquals(response.status, 502);
    assertMatch(await response.text(), /did not answer in time/);
    assertEquals(get.errors.length, 1);
  }
});

Deno.test("createHandler reads again after a failure", async () => {
  const stored = await storeInParts();
  let fails = true;
  const store = new Proxy(stored, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (fails) throw new Error("Out of reach");
        return member.apply(target, args);
      };
    },
  });
  const get = served(store);
  const failed = await get(PATH);
  assertEquals(failed.status, 502);
  await failed.body?.cancel();
  fails = false;
  assertEquals(await bytesOf(await get(PATH)), CHUNK);
});

Deno.test("createHandler sends a chunk that changes meanwhile whole, old or new", async () => {
  const stored = new MemoryStore();
  const chunks = await createInParts(stored);
  const other = CHUNK.map((byte) => byte ^ 255);
  let reads = 0;
  const getRangeOf = stored.getRangeOf.bind(stored);
  // The chunk changes before every other read of a version.
  stored.getRangeOf = async (...args) => {
    if (reads++ % 2 === 0) {
      await chunks.set([2, 1], reads % 4 === 1 ? other : CHUNK);
    }
    return await getRangeOf(...args);
  };
  const store: Store = {
    get: (key, options) => stored.get(key, options),
    getRange: (key, range, options) => stored.getRange(key, range, options),
    size: (key) => stored.size(key),
    stream: (key) => stored.stream(key),
    group: (key, keys) => stored.group(key, keys),
    getRangeOf: (...args) => stored.getRangeOf(...args),
  };
  const get = served(store);
  await (await get(PATH)).body?.cancel();
  for (let i = 0; i < 10; i++) {
    const bytes = await bytesOf(await get(PATH));
    const expected = bytes[0] === CHUNK[0] ? CHUNK : other;
    assertEquals(bytes, expected);
  }
  assert(reads > 10);
});

Deno.test("createHandler streams a large value window by window, as the client takes it", async () => {
  const store = new LargeStore(10 * 2 ** 30);
  const get = served(store, { form: "stored" });
  const response = await get("/c/0");
  assertEquals(response.headers.get("content-length"), `${10 * 2 ** 30}`);
  const reader = response.body!.getReader();
  let offset = 0;
  for (let i = 0; i < 5; i++) {
    const { value } = await reader.read();
    assertEquals(value![0], LargeStore.byteAt(offset));
    offset += value!.length;
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert(store.read <= offset + LARGEST_PIECE, `${store.read} at ${offset}`);
  }
  await reader.cancel();
  const { read } = store;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(store.read, read);
  // A range at the end takes no more than the range.
  const last = await get("/c/0", { headers: { range: "bytes=-2" } });
  assertEquals(
    last.headers.get("content-range"),
    `bytes ${10 * 2 ** 30 - 2}-${10 * 2 ** 30 - 1}/${10 * 2 ** 30}`,
  );
  assertEquals((await bytesOf(last)).length, 2);
  assertEquals(store.read, read + 2);
  const long = await get("/c/0", { headers: { range: "bytes=5-20000000" } });
  const bytes = await bytesOf(long);
  assert(bytes.every((byte, i) => byte === LargeStore.byteAt(i + 5)));
  // The whole value is sent from its first byte, whatever range was asked for.
  const other = served(store, { form: "stored", keep: { seconds: 0 } });
  const headers = { range: "bytes=5-20000000", "if-range": '"x"' };
  const whole = await other("/c/0", { headers });
  assertEquals(whole.status, 200);
  const wholeReader = whole.body!.getReader();
  const { value: window } = await wholeReader.read();
  assertEquals(window!.slice(0, 3), new Uint8Array([0, 1, 2]));
  await wholeReader.cancel();
  assertEquals(get.errors, []);
});

Deno.test("createHandler ends the connection if the store fails, stalls or changes in the middle of a body", async () => {
  const size = 20 * 2 ** 20;
  for (const fault of ["fails", "stalls", "changes"] as const) {
    const store = new LargeStore(size);
    const errors: unknown[] = [];
    const server = serve(createHandler(store, {
      form: "stored",
      timeout: 100,
      onError: (error) => errors.push(error),
    }));
    try {
      const response = await fetch(`${server.url}/c/0`);
      assertEquals(response.status, 200);
      const reader = response.body!.getReader();
      await reader.read();
      store.fault = fault;
      await assertRejects(async () => {
        while (!(await reader.read()).done);
      }, Error);
      assertEquals(errors.length, 1, fault);
    } finally {
      await server.close();
    }
  }
});

Deno.test("createHandler ends the connection if a stream of the store ends early or late", async () => {
  const size = 10 * 2 ** 20;
  for (const length of [size - 1, size, size + 1]) {
    const store: Store = Object.assign(new LargeStore(size), {
      streamRangeOf: () =>
        Promise.resolve(
          ReadableStream.from([
            new Uint8Array(2 ** 20),
            new Uint8Array(length - 2 ** 20),
          ]),
        ),
    });
    const get = served(store, { form: "stored" });
    await get("/c/0", { method: "HEAD" }); // Bytes of a known version are streamed.
    const response = await get("/c/0");
    if (length === size) {
      assertEquals((await bytesOf(response)).length, size);
      assertEquals(get.errors, []);
    } else {
      await assertRejects(() => response.bytes(), Error, "has changed");
      assertEquals(get.errors.length, 1);
    }
  }
});

Deno.test("createHandler sends no fewer bytes than it announces of a store without versions", async () => {
  const large = new LargeStore(10 * 2 ** 20);
  const store: Store = {
    get: () => large.get(),
    size: () => large.size(),
    stream: () => large.stream(),
    getRange: async (key, range) =>
      (await large.getRange(key, range)).subarray(1),
  };
  const get = served(store, { form: "stored" });
  for (const range of ["bytes=0-9", "bytes=-10", "bytes=0-"]) {
    const response = await get("/c/0", { headers: { range } });
    assertEquals(response.status, 502);
    await response.body?.cancel();
  }
  assertEquals(get.errors.length, 3);
});

Deno.test("createHandler stops reading once the client has left", async () => {
  const store = new LargeStore(2 ** 40);
  const errors: unknown[] = [];
  const server = serve(createHandler(store, {
    form: "stored",
    onError: (error) => errors.push(error),
  }));
  const leaving = new AbortController();
  const response = await fetch(`${server.url}/c/0`, { signal: leaving.signal });
  const reader = response.body!.getReader();
  await reader.read();
  leaving.abort();
  await reader.closed.catch(() => {});
  await server.close();
  const { read } = store;
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals(store.read, read);
  assertEquals(errors, []);
});

Deno.test("createHandler ends a store's operation once the client has left", async () => {
  const left = new Error("Left");
  const client = new AbortController();
  let reason: unknown;
  const store: Store = {
    get: (_key: StoreKey, options) =>
      new Promise(() => {
        options?.signal?.addEventListener("abort", () => {
          reason = options.signal!.reason;
        });
      }),
  };
  const errors: unknown[] = [];
  const handler = createHandler(store, {
    form: "stored",
    onError: (error) => errors.push(error),
  });
  const { signal } = client;
  const answer = handler(new Request("http://localhost/c/0", { signal }));
  client.abort(left);
  await answer;
  assertEquals(reason, left);
  assertEquals(errors, []);
});

Deno.test("createHandler streams long values from files, and closes the files", async () => {
  await inTempDir(async (folder) => {
    const bytes = countingBytes(300_000);
    const store = new FileSystemStore(folder);
    const metadata = arrayMetadata({
      storage_transformers: [
        concatParts({ key_suffix: ".a" }, { key_suffix: ".b", size: 100_000 }),
      ],
    });
    const chunks = await createArrayChunks(store, "", metadata);
    await chunks.set([0, 0], bytes);
    for (const isOld of [false, true]) {
      for (const part of isOld ? [".a", ".b"] : []) {
        await Deno.utime(`${folder}/c/0/0${part}`, 1e9, 1e9);
      }
      const get = served(store);
      for (const tries of [1, 2, 3]) {
        const whole = await get("/c/0/0");
        assertEquals(await bytesOf(whole), bytes, `${isOld}, ${tries}`);
        const range = "bytes=99999-200000";
        const some = await get("/c/0/0", { headers: { range } });
        assertEquals(await bytesOf(some), bytes.slice(99_999, 200_001));
        const left = await get("/c/0/0");
        const reader = left.body!.getReader();
        await reader.read();
        await reader.cancel();
      }
      // A chunk that is replaced is sent whole, as it was or as it is.
      const before = await get("/c/0/0");
      const other = bytes.map((byte) => byte ^ 255);
      await chunks.set([0, 0], other);
      assertEquals(await bytesOf(before), bytes);
      assertEquals(await bytesOf(await get("/c/0/0")), other);
      await chunks.set([0, 0], bytes);
      assertEquals(get.errors, []);
    }
  });
});
