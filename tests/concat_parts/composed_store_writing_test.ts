import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  MemoryStore,
  type Part,
  PartSizeError,
  type Store,
} from "../../mod.ts";
import { toBytes } from "../../src/stores/stream.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { logged, observed } from "../support/observed_store.ts";

const PARTS: Part[] = [
  { keySuffix: ".header", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 2 },
];
const WRITE_ORDER = ["/c/0", "/c/0.header", "/c/0.index"];

/** Runs a test on an empty memory store and on an empty file store. */
function onWritableStores(
  name: string,
  test: (store: MemoryStore | FileSystemStore) => Promise<void>,
): void {
  Deno.test(`ConcatParts.apply: ${name}, in memory`, () =>
    test(new MemoryStore()));
  Deno.test(`ConcatParts.apply: ${name}, on files`, async () => {
    const root = await Deno.makeTempDir();
    try {
      await test(new FileSystemStore(root));
      // Not even a temporary file is left behind.
      for await (const entry of Deno.readDir(root)) {
        if (!entry.isDirectory) continue;
        for await (const file of Deno.readDir(`${root}/${entry.name}`)) {
          assert(/^\d/.test(file.name), `left behind: ${file.name}`);
        }
      }
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  });
}

onWritableStores(
  "set writes the unsized part, head parts, tail parts",
  async (stored) => {
    const { store, log } = logged(stored);
    await new ConcatParts(PARTS).apply(store).set!("/c/0", countingBytes(9));
    assertEquals(
      log.filter((line) => line.startsWith("set")),
      WRITE_ORDER.map((key) => `set ${key}`),
    );
    assertEquals(await contentsOf(stored), {
      "/c/0": [3, 4, 5, 6],
      "/c/0.header": [0, 1, 2],
      "/c/0.index": [7, 8],
    });
  },
);

onWritableStores(
  "set that does not fit asks the store for nothing",
  async (stored) => {
    const { store, log } = logged(stored);
    const composed = new ConcatParts(PARTS).apply(store);
    const error = await assertRejects(
      () => composed.set!("/c/0", countingBytes(4)),
      PartSizeError,
      'Chunk "/c/0" is 4 bytes long, where its sized parts take at least 5',
    );
    assertEquals([error.key, error.expected, error.actual], ["/c/0", 5, 4]);
    const unsplittable = new ConcatParts([{ keySuffix: ".a" }, {
      keySuffix: ".b",
    }]);
    await assertRejects(
      () => unsplittable.apply(store).set!("/c/0", countingBytes(9)),
      TypeError,
      "at most one part may lack a size",
    );
    assertEquals(log, []);
  },
);

const BEFORE = countingBytes(20, 100);

/** Stores that keep snapshots, and stores whose values must be read and set again. */
const RESTORING: Record<string, (keyof Store)[] | undefined> = {
  "by snapshots": undefined,
  "by setting it again": ["get", "set", "delete"],
};

for (const failing of WRITE_ORDER) {
  for (const operation of ["set", "delete"] as const) {
    for (const before of [BEFORE, undefined]) {
      for (const [how, methods] of Object.entries(RESTORING)) {
        const what = before === undefined ? "no chunk" : "the earlier chunk";
        onWritableStores(
          `${operation} that fails at ${failing} leaves ${what} ${how}`,
          async (stored) => {
            const parts = new ConcatParts(PARTS);
            await parts.apply(stored).set("/c/9", BEFORE);
            if (before) await parts.apply(stored).set("/c/0", before);
            const contents = await contentsOf(stored);
            let failures = 0;
            const failingStore = observed(stored, ({ method, key }) => {
              // Without snapshots, a key that fails for good cannot be restored.
              if (method !== operation || key !== failing) return;
              if (methods === undefined || failures === 0) {
                throw new Error(`Disk on fire, ${++failures}`);
              }
            }, methods);
            const composed = parts.apply(failingStore);
            await assertRejects(
              async () =>
                operation === "set"
                  ? await composed.set!("/c/0", countingBytes(9))
                  : await composed.delete!("/c/0"),
              Error,
              "Disk on fire, 1",
            );
            assertEquals(await contentsOf(stored), contents);
          },
        );
      }
    }
  }
}

Deno.test("ConcatParts.apply: set that can be neither finished nor undone says both", async () => {
  const memory = new MemoryStore();
  await new ConcatParts(PARTS).apply(memory).set("/c/0", BEFORE);
  let broken = false;
  const store = observed(memory, ({ method, key }) => {
    if (method !== "set") return;
    broken ||= key === "/c/0.header";
    if (broken) throw new Error(`No ${key}`);
  }, ["get", "set", "delete"]);
  const error = await assertRejects(
    () => new ConcatParts(PARTS).apply(store).set!("/c/0", countingBytes(9)),
    AggregateError,
    'Chunk "/c/0" could not be changed, and not be put back as it was either',
  );
  assertStrictEquals(error.errors[0].message, "No /c/0.header");
  assertStrictEquals(error.errors[1] instanceof Error, true);
});

Deno.test("ConcatParts.apply: set that fails to keep the earlier parts writes nothing", async () => {
  const memory = new MemoryStore();
  await new ConcatParts(PARTS).apply(memory).set("/c/0", BEFORE);
  const before = await contentsOf(memory);
  for (const method of ["snapshot", "get"] as const) {
    const store = observed(memory, (request) => {
      if (request.method === method && request.key === "/c/0.index") {
        throw new Error("Unreadable");
      }
    }, [method, "get", "set"]);
    await assertRejects(
      () => new ConcatParts(PARTS).apply(store).set!("/c/0", countingBytes(9)),
      Error,
      "Unreadable",
    );
    assertEquals(await contentsOf(memory), before);
  }
});

onWritableStores(
  "set of a stream stores what the stream gives",
  async (stored) => {
    const composed = new ConcatParts(PARTS).apply(stored);
    await composed.set(
      "/c/0",
      ReadableStream.from([0, 2, 4, 6, 8].map((i) => countingBytes(2, i))),
    );
    assertEquals(await composed.get("/c/0"), countingBytes(10));
  },
);

onWritableStores(
  "set of a stream that fails half-way leaves the chunk as it was",
  async (stored) => {
    const composed = new ConcatParts(PARTS).apply(stored);
    await composed.set("/c/0", BEFORE);
    async function* failing() {
      yield await Promise.resolve(countingBytes(8));
      throw new Error("Line cut");
    }
    await assertRejects(
      () => composed.set("/c/0", ReadableStream.from(failing())),
      Error,
      "Line cut",
    );
    assertEquals(await composed.get("/c/0"), BEFORE);
  },
);

onWritableStores(
  "set that is aborted while its stream waits lets go of the stream",
  async (stored) => {
    const composed = new ConcatParts(PARTS).apply(stored);
    await composed.set("/c/0", BEFORE);
    let cancelled: unknown;
    const controller = new AbortController();
    const setting = composed.set(
      "/c/0",
      new ReadableStream({
        pull: () => new Promise(() => {}),
        cancel: (reason) => void (cancelled = reason),
      }),
      { signal: controller.signal },
    );
    controller.abort(new Error("Enough"));
    await assertRejects(() => setting, Error, "Enough");
    assertStrictEquals((cancelled as Error).message, "Enough");
    assertEquals(await composed.get("/c/0"), BEFORE);
  },
);

onWritableStores(
  "delete removes all parts and nothing else",
  async (stored) => {
    const composed = new ConcatParts(PARTS).apply(stored);
    await composed.set("/c/0", BEFORE);
    await composed.set("/c/01", BEFORE);
    await composed.delete("/c/0");
    assertEquals(Object.keys(await contentsOf(stored)), [
      "/c/01",
      "/c/01.header",
      "/c/01.index",
    ]);
    assertStrictEquals(await composed.get("/c/0"), undefined);
    await composed.delete("/c/0");
  },
);

Deno.test("ConcatParts.apply: delete removes what is left of a chunk that is not whole", async () => {
  const memory = new MemoryStore([["/c/0.header", countingBytes(1)]]);
  const composed = new ConcatParts(PARTS).apply(memory);
  await composed.delete("/c/0");
  assertEquals(await contentsOf(memory), {});
});

Deno.test("ConcatParts.apply: writes of one chunk follow each other, so that its parts belong together", async () => {
  const memory = new MemoryStore();
  // Later writes are faster than earlier ones at every part.
  let delay = 20;
  const slow: Store = {
    get: (key) => memory.get(key),
    async set(key, value) {
      await new Promise((resolve) => setTimeout(resolve, delay -= 1));
      await memory.set(key, value as Uint8Array);
    },
  };
  const composed = new ConcatParts(PARTS).apply(slow);
  await Promise.all(
    [1, 2, 3, 4].map((i) => composed.set!("/c/0", new Uint8Array(9).fill(i))),
  );
  assertEquals(await composed.get("/c/0"), new Uint8Array(9).fill(4));
});

Deno.test("ConcatParts.apply: a failed write lets the next write of the chunk go on", async () => {
  const composed = new ConcatParts(PARTS).apply(new MemoryStore());
  const results = await Promise.allSettled([
    composed.set("/c/0", new Uint8Array(1)),
    composed.set("/c/0", countingBytes(9)),
  ]);
  assertEquals(results.map((result) => result.status), [
    "rejected",
    "fulfilled",
  ]);
  assertEquals(await composed.get("/c/0"), countingBytes(9));
});

Deno.test("ConcatParts.apply: the composed store lacks what the store below lacks", () => {
  const get = () => Promise.resolve(undefined);
  const keys = (store: Store) =>
    Object.keys(new ConcatParts(PARTS).apply(store)).sort();
  const reading = ["get", "getRange", "size", "stream"];
  assertEquals(keys({ get }), reading);
  assertEquals(
    keys({ get, set: () => Promise.resolve() }),
    [...reading, "set", "snapshot"].sort(),
  );
  assertEquals(
    keys(new MemoryStore()),
    [...reading, "delete", "list", "set", "snapshot"].sort(),
  );
});

Deno.test("ConcatParts.apply: every snapshot that was taken is released, whatever happens", async () => {
  for (
    const failing of [
      "nothing",
      "set /c/0.index",
      "snapshot /c/0.index",
      "restore",
    ]
  ) {
    const memory = new MemoryStore();
    let taken = 0;
    const store: Store = {
      ...observed(memory, ({ method, key }) => {
        if (`${method} ${key}` === failing) throw new Error("Failed");
        if (failing === "restore" && method === "set" && key === "/c/0.index") {
          throw new Error("Failed");
        }
      }),
      async snapshot(key) {
        if (`snapshot ${key}` === failing) throw new Error("Failed");
        const snapshot = await memory.snapshot(key);
        taken++;
        return {
          async restore() {
            if (failing === "restore") throw new Error("Not restored");
            await snapshot.restore();
          },
          async release() {
            taken--;
            await snapshot.release();
          },
        };
      },
    };
    const setting = new ConcatParts(PARTS).apply(store).set!(
      "/c/0",
      countingBytes(9),
    );
    const result = await setting.then(
      () => "stored",
      (error) => error.message.slice(0, 14),
    );
    assertEquals(
      [failing, result],
      [
        failing,
        { nothing: "stored", restore: 'Chunk "/c/0" c' }[failing] ?? "Failed",
      ],
    );
    assertEquals(taken, 0, failing);
  }
});

/** A memory store that takes its time, now more and now less. */
function slowStore(memory: MemoryStore): Store {
  let turn = 0;
  const pause = () =>
    new Promise((resolve) => setTimeout(resolve, turn = (turn * 7 + 3) % 11));
  return {
    async get(key) {
      await pause();
      return await memory.get(key);
    },
    async set(key, value) {
      await pause();
      await memory.set(key, value);
    },
    async delete(key) {
      await pause();
      await memory.delete(key);
    },
  };
}

Deno.test("ConcatParts.apply: whoever reads a chunk while it is written gets it as before or after", async () => {
  const stored = slowStore(new MemoryStore());
  const writer = new ConcatParts(PARTS).apply(stored);
  const reader = new ConcatParts(PARTS).apply(stored);
  await writer.set!("/c/0", new Uint8Array(9).fill(0));
  const reads: Promise<unknown>[] = [];
  for (let i = 1; i <= 5; i++) {
    const read = async (bytes: Promise<Uint8Array | undefined>) => {
      const found = await bytes;
      assert(
        found !== undefined && found.every((byte) => byte === found[0]),
        `${found}`,
      );
      return found[0];
    };
    reads.push(read(reader.get("/c/0")));
    const writing = writer.set!("/c/0", new Uint8Array(9).fill(i));
    reads.push(
      read(reader.get("/c/0")),
      read(reader.getRange("/c/0", { offset: 2, length: 6 })),
      reader.stream("/c/0").then((stream) => read(toBytes(stream!))),
    );
    if (i % 2 === 0) await writing;
  }
  // In the order they came: one before each write, three after it.
  assertEquals(
    await Promise.all(reads),
    [1, 2, 3, 4, 5].flatMap((i) => [i - 1, i, i, i]),
  );
});

Deno.test("ConcatParts.apply: a chunk is copied onto itself without waiting for itself", async () => {
  const composed = new ConcatParts(PARTS).apply(new MemoryStore());
  await composed.set("/c/0", countingBytes(9));
  await composed.set("/c/0", (await composed.stream("/c/0"))!);
  assertEquals(await composed.get("/c/0"), countingBytes(9));
});

Deno.test("ConcatParts.apply: a write waits for the reads that came before it, and not for other chunks", async () => {
  const memory = new MemoryStore();
  await new ConcatParts(PARTS).apply(memory).set("/c/0", countingBytes(9));
  let release = () => {};
  const gate = new Promise<void>((resolve) => release = resolve);
  const written: string[] = [];
  const composed = new ConcatParts(PARTS).apply<Store>({
    async get(key) {
      if (key === "/c/0.index") await gate;
      return await memory.get(key);
    },
    async set(key, value) {
      written.push(key);
      await memory.set(key, value);
    },
    delete: (key) => memory.delete(key),
    snapshot: (key) => memory.snapshot(key),
  });
  const reading = composed.get("/c/0");
  const writing = composed.set!("/c/0", countingBytes(9, 100));
  await composed.set!("/c/1", countingBytes(9));
  assertEquals(written, ["/c/1", "/c/1.header", "/c/1.index"]);
  release();
  assertEquals(await reading, countingBytes(9));
  await writing;
  assertEquals(written.slice(3), WRITE_ORDER);
  assertEquals(await composed.get("/c/0"), countingBytes(9, 100));
});

Deno.test("ConcatParts.apply: set reads no stream that cannot fit, nor further than it can", async () => {
  let pulled = 0;
  let cancelled: unknown;
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(1));
      },
      cancel: (reason) => void (cancelled = reason),
    }, { highWaterMark: 0 });
  const memory = new MemoryStore();
  const unsplittable = new ConcatParts([{ keySuffix: ".a" }, {
    keySuffix: ".b",
  }]);
  const first = await assertRejects(
    () => unsplittable.apply(memory).set("/c/0", endless()),
    TypeError,
    "at most one part may lack a size",
  );
  assertStrictEquals(cancelled, first);
  assertEquals(pulled, 0);
  const exact = new ConcatParts([{ keySuffix: "", size: 3 }]);
  const second = await assertRejects(
    () => exact.apply(memory).set("/c/0", endless()),
    PartSizeError,
    'Chunk "/c/0" is at least 4 bytes long, where its sized parts take exactly 3',
  );
  assertStrictEquals(cancelled, second);
  assert(pulled < 10, `${pulled} bytes were read`);
  assertEquals(await contentsOf(memory), {});
});

Deno.test("ConcatParts.apply: set that fails for good at one part restores the others and rejects with that error", async () => {
  for (const failing of WRITE_ORDER) {
    const memory = new MemoryStore();
    await new ConcatParts(PARTS).apply(memory).set("/c/0", BEFORE);
    const before = await contentsOf(memory);
    const composed = new ConcatParts(PARTS).apply<Store>({
      get: (key) => memory.get(key),
      async set(key, value) {
        if (key === failing) throw new Error("Disk full");
        await memory.set(key, value);
      },
    });
    const error = await assertRejects(
      () => composed.set!("/c/0", countingBytes(9)),
      Error,
    );
    assertStrictEquals(error.message, "Disk full");
    assertEquals(await contentsOf(memory), before);
  }
});

Deno.test("ConcatParts.apply: set that fails after it stored a part restores that part as well", async () => {
  for (const failing of WRITE_ORDER) {
    const memory = new MemoryStore();
    await new ConcatParts(PARTS).apply(memory).set("/c/0", BEFORE);
    const before = await contentsOf(memory);
    let failed = false;
    const composed = new ConcatParts(PARTS).apply<Store>({
      get: (key) => memory.get(key),
      async set(key, value) {
        await memory.set(key, value);
        if (key === failing && !failed) {
          failed = true;
          throw new Error("Answer lost");
        }
      },
    });
    await assertRejects(
      () => composed.set!("/c/0", countingBytes(9)),
      Error,
      "Answer lost",
    );
    assertEquals(await contentsOf(memory), before);
  }
});

Deno.test("ConcatParts.apply: set that fails on files leaves no folder in the way of a key", async () => {
  const root = await Deno.makeTempDir();
  try {
    const stored = new FileSystemStore(root);
    // A file and a folder of one name: no file system can hold both.
    const composed = new ConcatParts([{ keySuffix: "/data" }, {
      keySuffix: "",
      size: 4,
    }]).apply(stored);
    assertStrictEquals(await composed.get("/c/0"), undefined);
    await assertRejects(
      () => composed.set("/c/0", countingBytes(9)),
      Error,
      "names a folder",
    );
    assertStrictEquals(await composed.get("/c/0"), undefined);
    assertEquals(await Array.fromAsync(Deno.readDir(root)), []);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("ConcatParts.apply: a signal counts also over a store that knows none", async () => {
  const map = new Map<string, Uint8Array>();
  const store = {
    get: (key: string) => Promise.resolve(map.get(key)),
    set: (key: string, value: Uint8Array) => {
      map.set(key, value);
      if (key === "/c/1") controller.abort(new Error("Enough"));
      return Promise.resolve();
    },
    delete: (key: string) => Promise.resolve(map.delete(key)),
  } as Store;
  const composed = new ConcatParts(PARTS).apply<Store>(store);
  const controller = new AbortController();
  const { signal } = controller;
  await composed.set!("/c/0", BEFORE, { signal });
  await assertRejects(
    () => composed.set!("/c/1", BEFORE, { signal }),
    Error,
    "Enough",
  );
  assertEquals(Array.from(map.keys()).sort(), [...WRITE_ORDER].sort());
  for (
    const start of [
      () => composed.get("/c/0", { signal }),
      () => composed.getRange("/c/0", { offset: 0, length: 1 }, { signal }),
      () => composed.size("/c/0", { signal }),
      () => composed.stream("/c/0", { signal }),
      () => composed.set!("/c/0", BEFORE, { signal }),
      () => composed.delete!("/c/0", { signal }),
    ]
  ) {
    await assertRejects(start, Error, "Enough");
  }
  assertEquals(await composed.get("/c/0"), BEFORE);
});

Deno.test("ConcatParts.apply: set refuses what is neither bytes nor a stream", async () => {
  const memory = new MemoryStore();
  for (const wrong of [new ArrayBuffer(9), "123456789", [1, 2], undefined]) {
    await assertRejects(
      () => new ConcatParts(PARTS).apply(memory).set("/c/0", wrong as never),
      TypeError,
      "Expected a value to be a Uint8Array or a ReadableStream, found",
    );
  }
  assertEquals(await contentsOf(memory), {});
});
