/** `verify` finds the same by any number of threads. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import {
  type Finding,
  repair,
  type Verification,
  verify,
  type VerifyOptions,
} from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  MemoryStore,
  parseShardLayout,
  type Store,
} from "../../mod.ts";
import { ThreadPool } from "../../zarrita.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { copyInto } from "../support/in_parts.ts";
import {
  countedPool,
  STARTED,
  startProgramOf,
} from "../threads/counted_pool.ts";
import { CODECS } from "./checksummed.ts";
import { DAMAGES, example } from "./damages.ts";

/** The length of an inner chunk in bytes. */
const CHUNK = 32 * 1024;
const PER_SHARD = 6;
const SHARDS = 4;

type Encode = (bytes: Uint8Array) => Uint8Array;

/** The codecs of arrays, and what encodes a chunk. */
const FORMATS: Readonly<Record<string, { codecs: unknown[]; encode: Encode }>> =
  {
    gzip: {
      codecs: ["bytes", level1("gzip")],
      encode: (bytes) => gzipSync(bytes, { level: 1 }),
    },
    zlib: {
      codecs: ["bytes", level1("numcodecs.zlib")],
      encode: (bytes) => deflateSync(bytes, { level: 1 }),
    },
    zstd: {
      codecs: ["bytes", level1("zstd")],
      encode: (bytes) => zstdCompressSync(bytes),
    },
    // The registry of the caller has it.
    inverted: {
      codecs: ["bytes", "inverted"],
      encode: (bytes) => bytes.map((byte) => 255 - byte),
    },
    unknown: {
      codecs: ["bytes", "of another program"],
      encode: (bytes) => bytes,
    },
    // An unknown codec that is only reached once another one has decoded.
    beneath: {
      codecs: ["of another program", "bytes", level1("gzip")],
      encode: (bytes) => gzipSync(bytes, { level: 1 }),
    },
  };

function level1(name: string) {
  const checksum = name === "zstd" ? { checksum: false } : {};
  return { name, configuration: { level: 1, ...checksum } };
}

const REGISTRY: NonNullable<VerifyOptions["codecs"]> = {
  get: (name) =>
    name === "inverted"
      ? () => ({
        fromConfig: () => ({
          decode(bytes: Uint8Array) {
            if (bytes[0] === 0) throw new Error("The first byte is 0");
            return bytes.map((byte) => 255 - byte);
          },
        }),
      })
      : CODECS.get(name),
};

/** The elements of an inner chunk, which are not 255 at the start. */
function elementsOf(number: number): Uint8Array {
  return Uint8Array.from({ length: CHUNK }, (_, i) => (i * number) & 127);
}

/** The damages of inner chunks, by their numbers in an array. */
const BROKEN: Readonly<Record<number, Encode>> = {
  2: (bytes) => bytes.map((byte, i) => i < 12 ? 0 : byte),
  3: (bytes) => bytes.subarray(0, bytes.length >> 1),
  9: (bytes) => bytes.subarray(0, 1),
  22: (bytes) => bytes.map((byte, i) => i < 12 ? 0 : byte),
};

/** A group of arrays in shards, and in chunks, some of which are damaged. */
async function damagedGroup(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.set("/zarr.json", encodeJson(groupMetadata()));
  for (const [name, { codecs, encode }] of Object.entries(FORMATS)) {
    const encoded = Array.from({ length: PER_SHARD * SHARDS }, (_, number) => {
      // One chunk has too few elements, which no codec notices.
      const elements = elementsOf(number + 1).subarray(number === 14 ? 1 : 0);
      const bytes = new Uint8Array(encode(elements));
      return BROKEN[number]?.(bytes) ?? bytes;
    });
    const metadata = arrayMetadata({
      shape: [CHUNK * PER_SHARD * SHARDS],
      dataType: "uint8",
      shardShape: [CHUNK * PER_SHARD],
      chunkShape: [CHUNK],
      parts: ["", ".index"],
    });
    const [sharding] = metadata.codecs as unknown as {
      configuration: object;
    }[];
    const sharded = {
      ...metadata,
      codecs: [{
        ...sharding!,
        configuration: { ...sharding!.configuration, codecs },
      }],
    };
    const shards = await createArrayChunks(
      store,
      `sharded-${name}`,
      sharded as never,
    );
    const layout = parseShardLayout(sharded.codecs[0], [CHUNK * PER_SHARD]);
    for (let shard = 0; shard < SHARDS; shard++) {
      const chunks = encoded.slice(shard * PER_SHARD, (shard + 1) * PER_SHARD);
      await shards.set([shard], encodeShard(chunks, layout));
    }
    const plain = arrayMetadata({
      shape: [CHUNK * PER_SHARD * SHARDS],
      dataType: "uint8",
      chunkShape: [CHUNK],
    });
    const chunks = await createArrayChunks(store, `chunks-${name}`, {
      ...plain,
      codecs,
    } as never);
    for (const [i, chunk] of encoded.entries()) {
      if (i !== 7) await chunks.set([i], chunk);
    }
  }
  return store;
}

/** What a verification says, with the findings in the order in which it told them. */
async function told(
  store: Store,
  options: VerifyOptions,
): Promise<Verification & { told: Finding[] }> {
  const told: Finding[] = [];
  const result = await verify(store, "", {
    deep: true,
    onFinding: (finding) => told.push(finding),
    ...options,
  });
  return { ...result, told };
}

Deno.test("verify finds the same damage in chunks, in the same order, by any number of threads", async () => {
  const store = await damagedGroup();
  for (const codecs of [undefined, REGISTRY]) {
    const expected = await told(store, { codecs, threads: 0, concurrency: 1 });
    // Of gzip, zlib and zstd; of gzip beneath an unknown codec; of the codec of the caller.
    const broken = 3 * 5 + 4 + (codecs === undefined ? 0 : 5);
    const { counts, undecoded } = expected;
    assertEquals(counts["inner-chunk-decoding"], broken);
    assertEquals(counts["chunk-decoding"], broken);
    assertEquals(Object.values(undecoded).length, codecs ? 1 : 2);
    for (const [threads, concurrency] of [[0, 30], [2, 4], [3, 30]] as const) {
      const found = await told(store, { codecs, threads, concurrency });
      assertEquals(found, expected, `${threads} ${concurrency}`);
    }
    for (const size of [1, 3]) {
      const { threads, counts } = countedPool({ threads: size });
      using _ = threads;
      const found = await told(store, { codecs, threads });
      assertEquals(found, expected, `a pool of ${size}`);
      assertEquals(counts.workers, size);
      assert(counts.done > 100, `${counts.done}`);
      assert(counts.failures.length >= 2 * (3 * 5 + 4), `${counts.failures}`);
    }
  }
});

Deno.test("verify finds the same damage by threads in files, whose bytes go to the threads", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    await copyInto(store, await damagedGroup());
    const expected = await told(store, { threads: 0, concurrency: 1 });
    assert(expected.told.length > 30);
    // A cache keeps the bytes that it returns.
    const cached = new Map<string, Uint8Array | undefined>();
    const caching: Store = {
      get: (...args) => store.get(...args),
      async getRange(key, range, options) {
        const name = `${key} ${JSON.stringify(range)}`;
        if (!cached.has(name)) {
          cached.set(name, await store.getRange(key, range, options));
        }
        return cached.get(name);
      },
      size: (...args) => store.size(...args),
      list: (...args) => store.list(...args),
    };
    const { threads, counts } = countedPool({ threads: 2 });
    using _ = threads;
    for (const each of [store, caching, caching]) {
      assertEquals(await told(each, { threads }), expected);
    }
    assert(counts.done > 100);
    assert(cached.size > 100);
  });
});

Deno.test("verify and repair find each damage by threads as without", async () => {
  const sound = await example();
  const { threads } = countedPool({ threads: 2 });
  using _ = threads;
  assert(Object.keys(DAMAGES).length > 20);
  for (const [name, { damage }] of Object.entries(DAMAGES)) {
    const found: unknown[] = [];
    for (const option of [0, 2, threads]) {
      const store = new MemoryStore();
      for await (const key of sound.list()) {
        await store.set(key, (await sound.get(key))!);
      }
      await damage(store);
      const options = { codecs: CODECS, threads: option };
      const { unrepaired } = await repair(store, "", {
        deep: true,
        dryRun: true,
        ...options,
      });
      found.push([await told(store, options), unrepaired]);
    }
    assertEquals(found[1], found[0], name);
    assertEquals(found[2], found[0], name);
  }
});

/** An array of one shard, or of one chunk, with inner chunks of one kind. */
async function soundArray(
  chunkBytes: number,
  count: number,
  { codecs, encode }: (typeof FORMATS)[string] = FORMATS.gzip!,
): Promise<MemoryStore> {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [chunkBytes * count],
    dataType: "uint8",
    chunkShape: [chunkBytes],
  });
  const chunks = await createArrayChunks(store, "", {
    ...metadata,
    codecs,
  } as never);
  const bytes = encode(new Uint8Array(chunkBytes));
  for (let i = 0; i < count; i++) await chunks.set([i], bytes);
  return store;
}

Deno.test("verify sends chunks of 32 KiB or more to threads, if they are compressed", async () => {
  const raw = { codecs: ["bytes"], encode: (bytes: Uint8Array) => bytes };
  for (
    const [bytes, format, jobs] of [
      [32 * 1024, FORMATS.gzip, 5],
      [32 * 1024 - 1, FORMATS.gzip, 0],
      [64 * 1024, raw, 0],
    ] as const
  ) {
    const store = await soundArray(bytes, 5, format);
    const { threads, counts } = countedPool({ threads: 2 });
    using _ = threads;
    const { isSound, chunks } = await verify(store, "", {
      deep: true,
      threads,
    });
    assertEquals([isSound, chunks, counts.done], [true, 5, jobs]);
    await verify(store, "", { threads });
    assertEquals(counts.jobs, jobs);
  }
});

Deno.test("verify starts threads of its own once 16 MiB are decoded, and ends them", async () => {
  const { Worker } = globalThis;
  const workers = new Set<Worker>();
  let started = 0;
  globalThis.Worker = class extends Worker {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      started++;
      workers.add(this);
    }
    override terminate() {
      super.terminate();
      workers.delete(this);
    }
  };
  try {
    for (const [count, threads] of [[16, 2], [24, 2], [24, 0]] as const) {
      started = 0;
      const store = await soundArray(2 ** 20, count);
      const { isSound } = await verify(store, "", { deep: true, threads });
      assertEquals(isSound, true);
      assertEquals(started, count === 24 ? threads : 0);
      assertEquals(workers.size, 0);
    }
  } finally {
    globalThis.Worker = Worker;
  }
});

Deno.test("verify decodes in the calling thread if no threads can be started", async () => {
  const store = await damagedGroup();
  const expected = await told(store, { threads: 0 });
  const { Worker } = globalThis;
  let asked = 0;
  globalThis.Worker = class {
    constructor() {
      asked++;
      throw new Error("No workers here");
    }
  } as never;
  try {
    using threads = new ThreadPool({ threads: 2 });
    assertEquals(await told(store, { threads }), expected);
    assert(asked > 0);
  } finally {
    globalThis.Worker = Worker;
  }
});

Deno.test("verify fails if a thread ends or its pool is disposed, also with keepGoing", async () => {
  const store = await soundArray(64 * 1024, 5);
  for (const keepGoing of [false, true]) {
    const { threads, counts } = countedPool(
      { threads: 2, timeout: 100 },
      () => startProgramOf(`${STARTED} close();`),
    );
    using _ = threads;
    const options = { deep: true, keepGoing, threads };
    await assertRejects(() => verify(store, "", options), Error, "100 ms");
    assert(counts.jobs > 0);
    threads[Symbol.dispose]();
    await assertRejects(
      () => verify(store, "", options),
      TypeError,
      "has been disposed",
    );
  }
});

Deno.test("verify by threads ends with its signal, and tells its progress", async () => {
  const store = await damagedGroup();
  const { threads, counts } = countedPool({ threads: 1 });
  using _ = threads;
  const controller = new AbortController();
  const reason = new Error("Enough");
  let [steps, most] = [0, 0];
  const error = await assertRejects(() =>
    verify(store, "", {
      deep: true,
      threads,
      signal: controller.signal,
      onProgress({ done, total }) {
        assertEquals([done, total], [++steps, 6 * (4 + 23)]);
        if (done === 5) controller.abort(reason);
        most = counts.jobs;
      },
    })
  );
  assertEquals(error, reason);
  assert(counts.jobs - most <= 4, `${most} of ${counts.jobs}`);
  const again = await told(store, { threads });
  assertEquals(again, await told(store, { threads: 0 }));
});

Deno.test("verify tells findings in the order of the chunks, if the first ones take longest", async () => {
  const store = await soundArray(1, 3000);
  for await (const key of store.list("/c")) {
    await store.set(key, new Uint8Array(1));
  }
  let isHeld = true;
  let release!: () => void;
  const held = new Promise<void>((resolve) => release = resolve);
  const slow: Store = {
    async get(...args) {
      if (args[0] === "/c/0" && isHeld) await held;
      return await store.get(...args);
    },
    list: (...args) => store.list(...args),
  };
  const order: number[] = [];
  const verifying = verify(slow, "", {
    deep: true,
    threads: 0,
    onProgress({ done }) {
      if (done !== 999) return;
      assertEquals(order, []);
      isHeld = false;
      release();
    },
    onFinding: ({ coordinates }) => order.push(coordinates![0]!),
  });
  const { counts } = await verifying;
  assertEquals(counts, { "chunk-decoding": 3000 });
  assertEquals(order, Array.from({ length: 3000 }, (_, i) => i));
});
