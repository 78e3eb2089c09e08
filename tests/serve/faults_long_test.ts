import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import fc from "fast-check";
import {
  ChecksumError,
  createArrayChunks,
  DamageError,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  PartSizeError,
  PendingWriteError,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { createHandler, type ServedForm } from "../../serve.ts";
import { isSameBytes } from "../../src/runtime/mod.ts";
import { storeOf } from "../../src/stores/mod.ts";
import { serve } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { LARGEST_PIECE, LargeStore } from "./large_store.ts";
import {
  bytesOf,
  CHUNK,
  createInParts,
  makeOld,
  served,
  storeInParts,
} from "./serving.ts";

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

/** A store whose every operation is replaced. */
function storeThat<T>(act: () => Promise<T>): Store {
  const fail = () => act() as Promise<never>;
  return { get: fail, getRange: fail, size: fail, stream: fail };
}

/** What no answer may hold: part of each path and URL of the server. */
const SECRET = "top-secret";

/** Places of a machine, as errors name them. */
const PLACES: readonly string[] = [
  `/srv/${SECRET}/data.zarr`,
  `C:\\${SECRET}\\data.zarr`,
  `\\\\server\\${SECRET}`,
  `file:///${SECRET}/data.zarr`,
  `https://user:${SECRET}@host/data.zarr?token=${SECRET}`,
  `FileSystemStore(${SECRET})`,
  `S3Store(s3://${SECRET}/data)`,
  `../${SECRET}`,
];

/** Errors that a store may throw about a place. */
const ERRORS: readonly ((place: string, cause?: Error) => unknown)[] = [
  (place, cause) => new Error(`Cannot read ${place}`, { cause }),
  (place, cause) => new TypeError(`Not in "${place}"`, { cause }),
  (place, cause) => new RangeError(`Key ${place}`, { cause }),
  (place) => new Deno.errors.PermissionDenied(`EACCES: open '${place}'`),
  (place) => new Deno.errors.NotADirectory(`${place}: not a directory`),
  (place) => Object.assign(new Error(`${place}: EIO`), { code: "EIO" }),
  (place, cause) => new DamageError(`${place} is short`, { cause }),
  (place) => new DamageError(`Part "${place}" is short`, { key: "/dem/c/2/1" }),
  (place) => new PartSizeError(place, { key: PATH, expected: 1, actual: 2 }),
  (place) => new ChecksumError(place, { key: PATH, expected: 1, actual: 2 }),
  (place, cause) =>
    new MetadataError(`Expected a list (${place})`, "/shape", {
      document: "/dem/zarr.json",
      store: place,
      cause,
    }),
  (place, cause) => new PendingWriteError(place, { cause }),
  (place) => new DOMException(place, "TimeoutError"),
  (place) => new AggregateError([new Error(place)], place),
  (place) => place,
  () => undefined,
  () => null,
];

Deno.test("createHandler tells no path or URL of the server, whatever a store throws, and onError gets it", async () => {
  const message = fc.record({
    place: fc.constantFrom(...PLACES),
    error: fc.constantFrom(...ERRORS),
    cause: fc.constantFrom(...ERRORS),
    fails: fc.constantFrom("get", "getRange", "size", "stream", "all"),
    form: fc.constantFrom<ServedForm>("plain", "inner chunks", "stored"),
    path: fc.constantFrom(PATH, "/dem/zarr.json", "/zarr.json", "/x.txt"),
    method: fc.constantFrom("GET", "HEAD"),
    range: fc.constantFrom(undefined, "bytes=0-9", "bytes=-5"),
  });
  await fc.assert(
    fc.asyncProperty(message, async (given) => {
      const { place, fails, form, path, method, range } = given;
      const error = given.error(place, given.cause(place) as Error);
      const stored = await storeInParts();
      const fail = (name: string) =>
      // deno-lint-ignore no-explicit-any
      (...args: any[]) => {
        if (fails === name || fails === "all") return Promise.reject(error);
        // deno-lint-ignore no-explicit-any
        return (stored as any)[name](...args);
      };
      const store = {
        get: fail("get"),
        getRange: fail("getRange"),
        size: fail("size"),
        stream: fail("stream"),
      } as unknown as Store;
      const get = served(store, { form });
      const response = await get(path, {
        method,
        ...range && { headers: { range } },
      });
      const told = `${response.statusText} ${
        JSON.stringify([...response.headers])
      } ${await response.text()}`;
      assertEquals(told.includes(SECRET), false, told);
      if (response.status === 502) assertEquals(get.errors, [error]);
    }),
    { numRuns: 1500 },
  );
});

/** Changes of a folder, the status of the answer for the chunk, and the reason that it gives. */
const FAULTS: [
  name: string,
  change: (folder: string) => Promise<unknown>,
  status: number,
  reason?: RegExp,
][] = [
  [
    "a missing part",
    (folder) => Deno.remove(`${folder}/dem/c/2/1.shard.index`),
    502,
    /damaged: .*index/,
  ],
  [
    "a missing body",
    (folder) => Deno.remove(`${folder}/dem/c/2/1.shard`),
    502,
    /damaged: /,
  ],
  [
    "a short header",
    (folder) => Deno.truncate(`${folder}/dem/c/2/1.shard.header`, 63),
    502,
    /63 bytes long/,
  ],
  [
    "a long index",
    (folder) => Deno.truncate(`${folder}/dem/c/2/1.shard.index`, 37),
    502,
    /37 bytes long/,
  ],
  [
    "a bad document",
    (folder) => Deno.writeTextFile(`${folder}/dem/zarr.json`, "{"),
    502,
    /metadata is invalid/,
  ],
  [
    "a document that is too long",
    (folder) => Deno.truncate(`${folder}/dem/zarr.json`, 2 ** 30),
    502,
  ],
  [
    "a document that is no array",
    (folder) =>
      Deno.writeTextFile(`${folder}/dem/zarr.json`, '{"zarr_format":3}'),
    404,
  ],
  ["a folder in place of a part", async (folder) => {
    await Deno.remove(`${folder}/dem/c/2/1.shard`);
    await Deno.mkdir(`${folder}/dem/c/2/1.shard`);
  }, 404],
  ["a file in place of a folder", async (folder) => {
    await Deno.remove(`${folder}/dem/c/2`, { recursive: true });
    await Deno.writeTextFile(`${folder}/dem/c/2`, "");
  }, 404],
  ["a file in place of the root", async (folder) => {
    await Deno.remove(folder, { recursive: true });
    await Deno.writeTextFile(folder, "");
  }, 502],
  ["a link that leads out", async (folder) => {
    await Deno.remove(`${folder}/dem/c/2/1.shard`);
    await Deno.symlink("/etc/hostname", `${folder}/dem/c/2/1.shard`);
  }, 502],
  ["a link to itself", async (folder) => {
    await Deno.remove(`${folder}/dem/c/2/1.shard`);
    await Deno.symlink("1.shard", `${folder}/dem/c/2/1.shard`);
  }, 502],
];

for (const [name, change, status, reason = /^/] of FAULTS) {
  Deno.test(`createHandler answers ${status} for ${name}, however it is asked, with the reason and no path`, async () => {
    await inTempDir(async (folder) => {
      const root = `${folder}/${SECRET}`;
      const store = new FileSystemStore(root);
      await createInParts(store);
      await change(root);
      for (const init of REQUESTS) {
        const get = served(store);
        const response = await get(PATH, init);
        const message = JSON.stringify(init);
        assertEquals(response.status, status, message);
        assertEquals(response.headers.get("cache-control"), "no-store");
        assertEquals(response.headers.has("etag"), false);
        // Pages of other origins read errors, too.
        const origin = response.headers.get("access-control-allow-origin");
        assertEquals(origin, "*");
        const text = await response.text();
        if (init.method !== "HEAD") assertMatch(text, reason, message);
        const all = JSON.stringify([...response.headers]) + text;
        for (const part of [SECRET, folder, "/etc"]) {
          assertEquals(all.includes(part), false, all);
        }
        assertEquals(/\bat .*:\d+/.test(text), false, text);
        assertEquals(get.errors.length, status === 502 ? 1 : 0, message);
      }
    });
  });
}

Deno.test("createHandler answers all the same if onError throws", async () => {
  const store = storeThat(() => Promise.reject(new Error("Out of reach")));
  const onError = () => {
    throw new Error("The log is full");
  };
  assertEquals((await served(store, { onError })(PATH)).status, 502);
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
  const store = storeOf({
    // deno-lint-ignore require-await -- so that a failure is a rejection
    async read(...args) {
      if (fails) throw new Error("Out of reach");
      return stored.read(...args);
    },
    readOf: (...args) => stored.readOf(...args),
  }, () => "a store that fails at first");
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
  // The chunk changes before every other read of a version.
  const store = storeOf({
    read: (...args) => stored.read(...args),
    async readOf(...args) {
      if (reads++ % 2 === 0) {
        await chunks.set([2, 1], reads % 4 === 1 ? other : CHUNK);
      }
      return await stored.readOf(...args);
    },
  }, () => "a changing store");
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
    assert(
      store.bytesRead <= offset + LARGEST_PIECE,
      `${store.bytesRead} at ${offset}`,
    );
  }
  await reader.cancel();
  const { bytesRead: read } = store;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(store.bytesRead, read);
  // A range at the end takes no more than the range.
  const last = await get("/c/0", { headers: { range: "bytes=-2" } });
  assertEquals(
    last.headers.get("content-range"),
    `bytes ${10 * 2 ** 30 - 2}-${10 * 2 ** 30 - 1}/${10 * 2 ** 30}`,
  );
  assertEquals((await bytesOf(last)).length, 2);
  assertEquals(store.bytesRead, read + 2);
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
      timeout: 2000,
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

Deno.test("createHandler sends no fewer bytes than it announces of a store without versions", async () => {
  const large = new LargeStore(10 * 2 ** 20);
  const store: Store = {
    get: (key) => large.get(key),
    size: (key) => large.size(key),
    stream: (key) => large.stream(key),
    getRange: async (key, range) =>
      (await large.getRange(key, range))!.subarray(1),
  };
  const get = served(store, { form: "stored" });
  for (const range of ["bytes=0-9", "bytes=-10", "bytes=0-"]) {
    const response = await get("/c/0", { headers: { range } });
    assertEquals(response.status, 502);
    await response.body?.cancel();
  }
  assertEquals(get.errors.length, 3);
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
    const bytes = countingBytes(10_000_000);
    const store = new FileSystemStore(folder);
    const shape = [4000, 2500];
    const metadata = arrayMetadata({
      shape,
      chunk_grid: { name: "regular", configuration: { chunk_shape: shape } },
      storage_transformers: [
        concatParts({ key_suffix: ".a" }, { key_suffix: ".b", size: 100_000 }),
      ],
    });
    const chunks = await createArrayChunks(store, "", metadata);
    await chunks.set([0, 0], bytes);
    for (const isOld of [false, true]) {
      if (isOld) await makeOld(folder);
      const get = served(store);
      const range = { headers: { range: "bytes=99999-5000000" } };
      for (let tries = 1; tries <= 2; tries++) {
        assert(isSameBytes(await bytesOf(await get("/c/0/0")), bytes));
        const some = await bytesOf(await get("/c/0/0", range));
        assert(isSameBytes(some, bytes.subarray(99_999, 5_000_001)));
        const reader = (await get("/c/0/0")).body!.getReader();
        await reader.read();
        await reader.cancel();
      }
      assertEquals(get.errors, []);
    }
  });
});
