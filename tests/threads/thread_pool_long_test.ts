import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertThrows,
} from "@std/assert";
import type { MemoryStore } from "../../mod.ts";
import type { WorkerLike } from "../../src/threads/start_worker.ts";
import { WORKER_PROGRAM } from "../../src/threads/worker_program.ts";
import { LEAST_BYTES } from "../../src/zarrita/sharded_read.ts";
import {
  getSharded,
  ThreadPool,
  type ThreadPoolOptions,
} from "../../zarrita.ts";
import * as zarr from "zarrita";
import {
  assertSameRead,
  openArray,
  storeArray,
} from "../zarrita/threaded_array.ts";
import { observed } from "../support/observed_store.ts";
import {
  countedPool,
  startDefault,
  startProgramOf,
  withPool,
} from "./counted_pool.ts";

LEAST_BYTES.toStart = 0;
LEAST_BYTES.toUse = 0;

const GZIP = { name: "gzip", configuration: { level: 1 } };
const BYTES = { name: "bytes", configuration: { endian: "little" } };
const STORED = {
  shape: [40, 8],
  dataType: "int32",
  chunkShapes: [[8, 8], [2, 4]],
  codecs: [BYTES, GZIP],
};
const CHUNKS = 40;

type Opened = Awaited<ReturnType<typeof openArray>>;

async function stored(): Promise<{ store: MemoryStore; array: Opened }> {
  const store = await storeArray(STORED);
  return { store, array: await openArray(store) };
}

async function assertReads(array: Opened, threads: ThreadPool): Promise<void> {
  assertSameRead(
    await getSharded(zarr, array as never, null, { threads }),
    await zarr.get(array as never),
  );
}

/**
 * Starts a worker that leaves two requests to the calling thread, and runs a statement for
 * each later one.
 */
function startWith(statement: string): Worker {
  return startProgramOf(
    `let requests = 0;
    globalThis.addEventListener("message", ({ data }) => {
      if (++requests > 2) { ${statement} }
      else {
        const results = data.jobs.map(() => ({ failed: "Later" }));
        postMessage({ call: data.call, results, spare: [] });
      }
    });
    postMessage({ started: true });`,
  );
}

/** A bound with which a read of all chunks has more than two requests. */
const MEMORY = 600;

/** A pool whose first worker runs a statement, and whose others are as usual. */
function poolOf(statement: string, options: ThreadPoolOptions = {}) {
  let count = 0;
  return countedPool(
    { threads: 1, ...options },
    () => count++ === 0 ? startWith(statement) : startDefault(),
  );
}

/** Statements of workers that fail at a request, and the error of the read. */
const FAILURES: Record<string, [statement: string, message: string]> = {
  "throws an error": [
    `throw new RangeError("Out of paper");`,
    "Out of paper",
  ],
  "throws an error later": [
    `setTimeout(() => { throw new RangeError("Out of ink"); });`,
    "Out of ink",
  ],
  "rejects a promise": [
    `Promise.reject(new RangeError("Out of glue"));`,
    "Out of glue",
  ],
  "ends itself": ["close();", "There was no answer for 1500 ms"],
  "never answers": ["", "There was no answer for 1500 ms"],
  "runs for ever": ["for (;;);", "There was no answer for 1500 ms"],
  "answers other calls": [
    "postMessage({ call: data.call + 1000, results: [] });",
    "There was no answer for 1500 ms",
  ],
  "answers texts and numbers": [
    `for (const answer of ["a", 1, null, undefined, [], {}, { call: null }]) postMessage(answer);`,
    "There was no answer for 1500 ms",
  ],
  "answers without results": [
    "postMessage({ call: data.call });",
    "It has answered undefined",
  ],
  "answers with a text": [
    `postMessage({ call: data.call, results: "abc" });`,
    'It has answered "abc"',
  ],
  "answers with too few results": [
    "postMessage({ call: data.call, results: [] });",
    "It has answered ",
  ],
  "answers with too many results": [
    "postMessage({ call: data.call, results: [...data.jobs, 1].fill(true) });",
    "It has answered ",
  ],
  "answers with nothing": [
    "postMessage({ call: data.call, results: data.jobs.map(() => null) });",
    "It has answered ",
  ],
  "answers that something failed": [
    "postMessage({ call: data.call, results: data.jobs.map(() => ({ failed: 1 })) });",
    "It has answered ",
  ],
};

for (const [what, [statement, message]] of Object.entries(FAILURES)) {
  Deno.test(`getSharded rejects if a worker ${what}, and the pool goes on`, async () => {
    const { array } = await stored();
    // Long enough for the next worker to start on a busy machine.
    const timeout = message.startsWith("There was no answer") ? 1500 : 60_000;
    await withPool(
      poolOf(statement, { timeout }),
      async ({ threads, counts }) => {
        const error = await assertRejects(
          () =>
            getSharded(zarr, array as never, null, { threads, memory: MEMORY }),
          Error,
          message,
        );
        // Deno may report an error before the message that the worker has started.
        const reports = /^(A thread that decodes|The worker of createWorker)/;
        assert(reports.test(error.message), error.message);
        assertInstanceOf(error.cause, Error);
        await assertReads(array, threads);
        assertEquals(counts.workers, 2);
        assertEquals(counts.failures.filter((why) => why !== "Later"), []);
        assert(counts.done >= CHUNKS);
      },
    );
  });
}

/** Results that are not those of a chunk: 2 × 4 elements of 4 bytes. */
const WRONG_CHUNKS = [
  "true",
  "{}",
  "{ bytes: new Uint8Array(31), strides: [4, 1] }",
  "{ bytes: new Uint8Array(33), strides: [4, 1] }",
  "{ bytes: new Uint16Array(32), strides: [4, 1] }",
  "{ bytes: new Uint8Array(32), strides: [4] }",
  "{ bytes: new Uint8Array(32) }",
  "new Uint8Array(32)",
];

for (const chunk of WRONG_CHUNKS) {
  Deno.test(`getSharded rejects if a worker answers ${chunk} in place of elements`, async () => {
    const { array } = await stored();
    const answer =
      `postMessage({ call: data.call, results: data.jobs.map(() => (${chunk})) });`;
    await withPool(poolOf(answer), async ({ threads }) => {
      await assertRejects(
        () =>
          getSharded(zarr, array as never, null, {
            threads,
            shared: false,
            memory: MEMORY,
          }),
        Error,
        "A thread that decodes and encodes chunks has ended: It has answered",
      );
    });
  });
}

Deno.test("getSharded rejects if a worker answers elements in place of storing them", async () => {
  const { array } = await stored();
  const answer =
    "postMessage({ call: data.call, results: data.jobs.map(() => ({ bytes: new Uint8Array(32), strides: [4, 1] })) });";
  await withPool(poolOf(answer), async ({ threads }) => {
    await assertRejects(
      () => getSharded(zarr, array as never, null, { threads, memory: MEMORY }),
      Error,
      "It has answered",
    );
  });
});

Deno.test("getSharded does what a worker cannot do, and reads the same", async () => {
  const { array } = await stored();
  let count = 0;
  const answer =
    `postMessage({ call: data.call, results: data.jobs.map(() => ({ failed: "No" })) });`;
  const start = () => count++ === 0 ? startWith(answer) : startDefault();
  for (const shared of [true, false]) {
    count = 0;
    await withPool(
      countedPool({ threads: 2 }, start),
      async ({ threads, counts }) => {
        const found = await getSharded(
          zarr,
          array as never,
          [zarr.slice(0, 2), null],
          {
            threads,
            shared,
          },
        );
        assertSameRead(
          found,
          await zarr.get(array as never, [zarr.slice(0, 2), null] as never),
        );
        assert(counts.failures.length > 0);
      },
    );
  }
});

/** What `createWorker` does wrong, and the error of the read. */
const MISTAKES: Record<string, [create: () => unknown, message: string]> = {
  "throws an error": [
    () => {
      throw new TypeError("No such file");
    },
    "cannot be started: No such file; its program must call runChunkWorker",
  ],
  "throws a text": [
    () => {
      throw "oh";
    },
    "cannot be started: oh",
  ],
  "returns nothing": [() => undefined, "node:worker_threads, found undefined"],
  "returns null": [() => null, "node:worker_threads, found null"],
  "returns an object": [() => ({}), "node:worker_threads, found an object"],
  "returns a text": [() => "worker.js", 'found "worker.js"'],
  "returns a promise": [
    () => Promise.resolve(1),
    "Expected createWorker to return a worker of the web",
  ],
  "gives a URL without a module": [
    () =>
      new Worker(new URL("./no_such_worker.ts", import.meta.url), {
        type: "module",
      }),
    "its program must call runChunkWorker",
  ],
  "gives a program that is no JavaScript": [
    () => startProgramOf("this is no program"),
    "its program must call runChunkWorker",
  ],
  "gives a program that throws": [
    () => startProgramOf("throw new Error('Not today')"),
    "Not today",
  ],
  "gives a program that does nothing": [
    () => startProgramOf("1;"),
    "cannot be started: There was no answer for 300 ms; its program must call runChunkWorker",
  ],
};

for (const [what, [create, message]] of Object.entries(MISTAKES)) {
  Deno.test(`getSharded rejects if createWorker ${what}`, async () => {
    const { array } = await stored();
    const threads = new ThreadPool({
      threads: 2,
      timeout: message.includes("There was no answer") ? 300 : 60_000,
      createWorker: create as () => WorkerLike,
    });
    await withPool({ threads }, async () => {
      for (let i = 0; i < 2; i++) {
        await assertRejects(
          () => getSharded(zarr, array as never, null, { threads }),
          Error,
          message,
        );
      }
    });
  });
}

Deno.test("getSharded reads in the calling thread if no thread can be started", async () => {
  const { array } = await stored();
  const { Worker } = globalThis;
  const starts: (() => unknown)[] = [
    () => {
      throw new Error("Refused by a policy");
    },
    () => new Worker("data:text/javascript,throw 1", { type: "module" }),
  ];
  for (const [i, start] of starts.entries()) {
    let calls = 0;
    globalThis.Worker = class {
      constructor() {
        calls++;
        return start() as object;
      }
    } as never;
    try {
      using pool = new ThreadPool({ threads: 2 });
      for (const threads of [pool, pool, 3 + i]) {
        await assertReads(array, threads as ThreadPool);
      }
    } finally {
      globalThis.Worker = Worker;
    }
    assert(calls >= 2 && calls <= 5 + i, `${calls} workers were constructed`);
  }
});

Deno.test("a read rejects if its pool is disposed of before it or during it", async () => {
  const { array } = await stored();
  const message = "The pool of threads has been disposed";
  for (let requests = 0; requests < 3; requests++) {
    let left = requests;
    const { threads } = countedPool({ threads: 2 }, () => {
      const worker = startDefault();
      worker.addEventListener("message", ({ data }) => {
        if ("results" in data && --left === 0) threads[Symbol.dispose]();
      });
      return worker;
    });
    if (requests === 0) threads[Symbol.dispose]();
    await assertRejects(
      () =>
        getSharded(zarr, array as never, null, {
          threads,
          memory: 1,
          shared: false,
        }),
      TypeError,
      message,
    );
    await assertRejects(
      () => getSharded(zarr, array as never, null, { threads }),
      TypeError,
      message,
    );
    threads[Symbol.dispose]();
  }
});

Deno.test("a pool starts threads again that have ended since they were idle", async () => {
  const { array } = await stored();
  await withPool(countedPool({ threads: 2 }), async ({ threads, counts }) => {
    await assertReads(array, threads);
    assertEquals(counts.workers, 2);
    await assertReads(array, threads);
    assertEquals(counts.workers, 2);
    await new Promise((resolve) => setTimeout(resolve, 1300));
    await assertReads(array, threads);
    assertEquals(counts.workers, 4);
    assertEquals(counts.done, 3 * CHUNKS);
  });
});

Deno.test("threads stay alive while one of several reads uses them", async () => {
  const { array } = await stored();
  const store = await storeArray(STORED);
  let release!: () => void;
  const held = new Promise<void>((resolve) => release = resolve);
  const { getRange } = store;
  let isHeld = false;
  store.getRange = async (key, ...args) => {
    if (key === "/c/4/0" && !isHeld) {
      isHeld = true;
      await held;
    }
    return await getRange.call(store, key, ...args);
  };
  const slow = await openArray(observed(store, () => {}, ["get", "getRange"]));
  await withPool(countedPool({ threads: 1 }), async ({ threads, counts }) => {
    const late = assertReads(slow, threads);
    await Promise.all(
      Array.from({ length: 5 }, () => assertReads(array, threads)),
    );
    assert(counts.done < 6 * CHUNKS);
    await new Promise((resolve) => setTimeout(resolve, 1200));
    release();
    await late;
    assert(isHeld);
    assertEquals(counts.workers, 1);
    assertEquals(counts.done, 6 * CHUNKS);
  });
});

Deno.test("an aborted read leaves another read of the same pool alone", async () => {
  const { array } = await stored();
  await withPool(countedPool({ threads: 2 }), async ({ threads, counts }) => {
    const whole = await zarr.get(array as never);
    for (let after = 0; after < 5; after++) {
      const controller = new AbortController();
      const reason = new Error("Enough");
      const aborted = getSharded(zarr, array as never, null, {
        threads,
        signal: controller.signal,
        memory: 300,
        onProgress: ({ done }) => done > 5 * after && controller.abort(reason),
      });
      const other = getSharded(zarr, array as never, null, { threads });
      if (after === 0) controller.abort(reason);
      assertEquals(await aborted.catch((error) => error), reason);
      assertSameRead(await other, whole);
    }
    assertEquals(counts.workers, 2);
    await assertReads(array, threads);
  });
});

/** Starts a worker that needs some milliseconds for each request. */
function startSlow(milliseconds: number): Worker {
  return startProgramOf(
    `addEventListener("message", () => {
      const until = performance.now() + ${milliseconds};
      while (performance.now() < until);
    });` + WORKER_PROGRAM,
  );
}

Deno.test("a read may take longer than the timeout of a thread", async () => {
  const { array } = await stored();
  await withPool(
    countedPool({ threads: 1, timeout: 2000 }, () => startSlow(250)),
    async ({ threads, counts }) => {
      const start = performance.now();
      const found = await getSharded(zarr, array as never, null, {
        threads,
        memory: MEMORY,
      });
      // Otherwise, the test shows nothing.
      assert(performance.now() - start > 2600);
      assertSameRead(found, await zarr.get(array as never));
      assertEquals([counts.workers, counts.done], [1, CHUNKS]);
    },
  );
});

Deno.test("getSharded rejects at once if its signal aborts while threads are busy", async () => {
  const { array } = await stored();
  const silent = () => startProgramOf("postMessage({ started: true });");
  await withPool(countedPool({ threads: 2 }, silent), async ({ threads }) => {
    const controller = new AbortController();
    const reason = new Error("Enough");
    const reading = getSharded(zarr, array as never, null, {
      threads,
      signal: controller.signal,
    }).catch((error) => error);
    setTimeout(() => controller.abort(reason), 100);
    // Otherwise, the timeout of the threads would end the read.
    assertEquals(await reading, reason);
  });
});

Deno.test("threads get no chunks of a read that was aborted", async () => {
  const { array } = await stored();
  const controller = new AbortController();
  let jobs = 0;
  const pool = countedPool({ threads: 1 }, () => {
    const worker = startSlow(200);
    worker.addEventListener("message", ({ data }) => {
      if (!("results" in data) || jobs > 0) return;
      jobs = pool.counts.jobs;
      controller.abort(new Error("Enough"));
    });
    return worker;
  });
  await withPool(pool, async ({ threads, counts }) => {
    await assertRejects(
      () =>
        getSharded(zarr, array as never, null, {
          threads,
          memory: 40 * MEMORY,
          signal: controller.signal,
        }),
      Error,
      "Enough",
    );
    await new Promise((resolve) => setTimeout(resolve, 700));
    assert(jobs > 0 && jobs < CHUNKS);
    assertEquals(counts.jobs, jobs);
  });
});

Deno.test("a thread does not count as dead while the calling thread is busy or stopped", async () => {
  const { array } = await stored();
  await withPool(
    countedPool({ threads: 2, timeout: 2000 }),
    async ({ threads, counts }) => {
      let blocked = 0;
      const found = await getSharded(zarr, array as never, null, {
        threads,
        memory: 600,
        onProgress: ({ done }) => {
          if (done !== 11) return;
          blocked++;
          const until = performance.now() + 2600;
          while (performance.now() < until);
        },
      });
      assertSameRead(found, await zarr.get(array as never));
      assertEquals(blocked, 1);
      assertEquals(counts.workers, 2);
    },
  );
});

Deno.test("new ThreadPool refuses wrong options", () => {
  const refused: [unknown, typeof Error, string][] = [
    [{ threads: -1 }, RangeError, "threads"],
    [{ threads: 1.5 }, RangeError, "threads"],
    [{ threads: "2" }, TypeError, "threads"],
    [{ threads: 1025 }, RangeError, "threads"],
    [{ timeout: 0 }, RangeError, "timeout"],
    [{ timeout: 2 ** 31 }, RangeError, "timeout"],
    [{ createWorker: "./worker.js" }, TypeError, "createWorker"],
    [{ workers: 2 }, TypeError, "workers"],
  ];
  for (const [options, type, message] of refused) {
    assertThrows(() => new ThreadPool(options as never), type, message);
  }
  assertEquals(new ThreadPool({ threads: 0 }).size, 0);
  assertEquals(new ThreadPool().size, navigator.hardwareConcurrency);
});

Deno.test("a pool of no threads reads in the calling thread", async () => {
  const { array } = await stored();
  await withPool(countedPool({ threads: 0 }), async ({ threads, counts }) => {
    await assertReads(array, threads);
    assertEquals(counts.workers, 0);
  });
});
