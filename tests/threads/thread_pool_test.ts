import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertThrows,
} from "@std/assert";
import {
  type Job,
  type JobResult,
  MESSAGES,
  type Request,
} from "../../src/threads/chunk_jobs.ts";
import { poolAccess, withThreads } from "../../src/threads/mod.ts";
import { startHere } from "../../src/threads/worker.ts";
import { ThreadPool, type WorkerLike } from "../../zarrita.ts";

const FORMAT = {
  dataType: "uint8",
  elementSize: 1,
  shape: [3],
  codecs: [{ name: "bytes" }],
};

/** Runs jobs in a pool; each decodes a chunk of three elements. */
function run(
  pool: ThreadPool,
  { jobs = 1, bytes = 2 ** 20, format = FORMAT, signal }: {
    jobs?: number;
    bytes?: number;
    format?: typeof FORMAT;
    signal?: AbortSignal;
  } = {},
): Promise<readonly JobResult[]> {
  const given = Array.from({ length: jobs }, (_, i): Job => ({
    kind: "decode",
    bytes: new Uint8Array([i, 2, 3]),
  }));
  return poolAccess.get(pool)!.use((threads) =>
    threads.run(format, given, bytes, signal)
  );
}

async function assertRuns(pool: ThreadPool): Promise<void> {
  const strides = [1];
  assertEquals(await run(pool, { jobs: 2 }), [
    { bytes: new Uint8Array([0, 2, 3]), strides },
    { bytes: new Uint8Array([1, 2, 3]), strides },
  ]);
}

/** What a worker without a thread does with a request. */
type Behaviour = (
  request: Request,
  worker: {
    answer(message: unknown): void;
    /** Answers as a worker does. */
    work(): void;
    emit(event: string, value: unknown): void;
  },
) => void;

/** A worker without a thread. */
function fakeWorker(
  behave: Behaviour,
  { started = MESSAGES as unknown, onEnd = () => {} } = {},
): WorkerLike {
  const listeners = new Map<string, (value: unknown) => void>();
  const emit = (event: string, value: unknown) => listeners.get(event)!(value);
  const real = startHere() as WorkerLike & {
    on(event: string, listener: (answer: unknown) => void): void;
  };
  real.on("message", (answer) => {
    if (!("started" in (answer as object))) emit("message", answer);
  });
  queueMicrotask(() => {
    if (started !== null) emit("message", { started });
  });
  return {
    postMessage(request: Request) {
      const work = () => real.postMessage(request, []);
      const answer = (message: unknown) => emit("message", message);
      queueMicrotask(() => behave(request, { answer, work, emit }));
    },
    terminate: onEnd,
    on: (event: string, listener: (value: unknown) => void) =>
      listeners.set(event, listener),
  } as WorkerLike;
}

/** A pool of workers without threads. The first one behaves as given, and all others work. */
function fakePool(
  first: Behaviour,
  options: { threads?: number; timeout?: number; started?: unknown } = {},
) {
  const seen = { workers: 0, ended: 0, requests: [] as Request[] };
  const { started, ...others } = options;
  const createWorker = () => {
    const isFirst = seen.workers++ === 0;
    return fakeWorker((request, worker) => {
      seen.requests.push(request);
      if (isFirst) first(request, worker);
      else worker.work();
    }, {
      ...isFirst && "started" in options ? { started } : {},
      onEnd: () => seen.ended++,
    });
  };
  return {
    pool: new ThreadPool({ threads: 1, ...others, createWorker }),
    seen,
  };
}

const work: Behaviour = (_, worker) => worker.work();

/** What a worker may do in place of its work, and the error. */
const FAILURES: Record<string, { behave: Behaviour; message: string }> = {
  "fails": {
    behave: (_, { emit }) => emit("error", new RangeError("Out of paper")),
    message: "Out of paper",
  },
  "ends": { behave: (_, { emit }) => emit("exit", 3), message: "Exit code 3" },
  "posts what cannot be read": {
    behave: (_, { emit }) => emit("messageerror", new Error("Not a clone")),
    message: "Not a clone",
  },
  "never answers": { behave: () => {}, message: "There was no answer for 60" },
  "answers another request": {
    behave: ({ call }, { answer }) => answer({ call: call + 1, results: [] }),
    message: "There was no answer for 60",
  },
  "posts messages of its own": {
    behave: (_, { answer }) =>
      ["a", 1, null, undefined, [], {}, { call: null }].forEach(answer),
    message: "There was no answer for 60",
  },
};

for (const [what, { behave, message }] of Object.entries(FAILURES)) {
  Deno.test(`a pool rejects if a worker ${what}, and goes on with another one`, async () => {
    const { pool, seen } = fakePool(behave, { timeout: 60 });
    using _ = pool;
    const error = await assertRejects(() => run(pool), Error, message);
    assert(
      error.message.startsWith("A thread that decodes and encodes chunks"),
    );
    assertInstanceOf(error.cause, Error);
    assertEquals(seen.ended, 1);
    await assertRuns(pool);
    assertEquals([seen.workers, seen.ended], [2, 1]);
  });
}

Deno.test("a pool rejects if a worker has the program of another release", async () => {
  for (const started of [true, "zarr-parts 0"]) {
    const { pool } = fakePool(work, { started });
    using _ = pool;
    await assertRejects(() => run(pool), Error, "program of another release");
    await assertRuns(pool);
  }
});

Deno.test("a pool takes no answer of a worker that has not said that it has started", async () => {
  const { pool } = fakePool(work, { started: null, timeout: 60 });
  using _ = pool;
  await assertRejects(() => run(pool), Error, "must call runChunkWorker");
});

Deno.test("a pool rejects if createWorker fails, each time", async () => {
  const mistakes: [create: () => unknown, message: string][] = [
    [() => {
      throw new TypeError("No such file");
    }, "cannot be started: No such file; its program must call runChunkWorker"],
    [() => {
      throw "oh";
    }, "cannot be started: oh"],
    ...[undefined, null, {}, "worker.js", Promise.resolve()].map((
      value,
    ): [() => unknown, string] => [
      () => value,
      "Expected createWorker to return a worker of the web or of node:worker_threads, found",
    ]),
  ];
  for (const [create, message] of mistakes) {
    const createWorker = create as () => WorkerLike;
    using pool = new ThreadPool({ threads: 2, createWorker });
    for (let i = 0; i < 2; i++) {
      await assertRejects(() => run(pool), Error, message);
    }
  }
});

Deno.test("a pool works in the calling thread if a runtime refuses workers, or they do not start", async () => {
  const { Worker } = globalThis;
  const starts: (() => object)[] = [
    () => {
      throw new Error("Refused by a policy");
    },
    () => {
      const target = new EventTarget();
      queueMicrotask(() => target.dispatchEvent(new Event("error")));
      return Object.assign(target, { postMessage() {}, terminate() {} });
    },
  ];
  for (const [i, start] of starts.entries()) {
    let workers = 0;
    globalThis.Worker = class {
      constructor() {
        workers++;
        return start();
      }
    } as never;
    try {
      using pool = new ThreadPool({ threads: 2 });
      // What the worker was given is lost: the caller does it.
      const given = await Promise.all([run(pool), run(pool)]);
      for (const [result] of given) {
        assertEquals("failed" in (result as object), i === 1);
      }
      await assertRuns(pool);
      assertEquals(workers, 1 + i);
      const strides = [1];
      const found = await withThreads(
        2,
        (threads) =>
          threads!.run(
            FORMAT,
            [{ kind: "decode", bytes: new Uint8Array(3) }],
            9,
          ),
      );
      if (i === 0) assertEquals(found, [{ bytes: new Uint8Array(3), strides }]);
    } finally {
      globalThis.Worker = Worker;
    }
  }
});

Deno.test("a pool sends small jobs of one format together, and no more than four requests", async () => {
  const held: (() => void)[] = [];
  const { pool, seen } = fakePool((_, { work }) => held.push(work));
  using _ = pool;
  const small = 100 * 1024;
  const other = { ...FORMAT, dataType: "int8" };
  const runs = [
    ...Array.from({ length: 5 }, () => run(pool, { bytes: small })),
    run(pool, { bytes: small, format: other }),
    ...Array.from({ length: 7 }, () => run(pool, { bytes: small })),
  ];
  await new Promise((resolve) => setTimeout(resolve));
  const jobs = () => seen.requests.map(({ jobs }) => jobs.length);
  assertEquals(jobs(), [1, 1, 1, 1]); // Those that came first.
  held.forEach((work) => work());
  held.push = (work) => (work(), 0);
  const results = await Promise.all(runs);
  assertEquals(results.map(({ length }) => length), runs.map(() => 1));
  assertEquals(jobs(), [1, 1, 1, 1, 1, 1, 3, 3, 1]);
  const types = seen.requests.map(({ format }) => format.dataType);
  assertEquals(types.filter((type) => type === "int8"), [types[5]]);
  assertEquals(seen.workers, 1);
});

Deno.test("a pool gives work to all of its threads", async () => {
  const { pool, seen } = fakePool(work, { threads: 3 });
  using _ = pool;
  await Promise.all(Array.from({ length: 9 }, () => run(pool)));
  assertEquals(seen.workers, 3);
});

Deno.test("a pool drops jobs that wait if their signal is aborted, and no others", async () => {
  const held: (() => void)[] = [];
  const { pool, seen } = fakePool((_, { work }) => held.push(work));
  using _ = pool;
  const controller = new AbortController();
  const first = Array.from({ length: 4 }, () => run(pool));
  const { signal } = controller;
  const aborted = assertRejects(() => run(pool, { signal }), Error, "Enough");
  const other = run(pool);
  await new Promise((resolve) => setTimeout(resolve));
  controller.abort(new Error("Enough"));
  held.push = (work) => (work(), 0);
  held.forEach((work) => work());
  await Promise.all([...first, aborted, other]);
  assertEquals(seen.requests.length, 5);
});

Deno.test("a pool rejects what it has not done when it is disposed, and later jobs", async () => {
  const message = "The pool of threads has been disposed";
  const { pool, seen } = fakePool(() => {});
  const runs = Array.from(
    { length: 6 },
    () => assertRejects(() => run(pool), TypeError, message),
  );
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(seen.requests.length, 4);
  pool[Symbol.dispose]();
  await Promise.all(runs);
  assertEquals(seen.ended, 1);
  await assertRejects(() => run(pool), TypeError, message);
  pool[Symbol.dispose]();
  assertEquals([seen.workers, seen.ended], [1, 1]);
});

Deno.test("threads end after the last user of their pool, and start again", async () => {
  const { pool, seen } = fakePool(work);
  using _ = pool;
  const { use } = poolAccess.get(pool)!;
  let end!: () => void;
  const ended = new Promise<void>((resolve) => end = resolve);
  const user = use(() => ended);
  await assertRuns(pool);
  // Longer than threads stay without users.
  await new Promise((resolve) => setTimeout(resolve, 1200));
  assertEquals(seen.ended, 0);
  end();
  await user;
  while (seen.ended === 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await assertRuns(pool);
  assertEquals([seen.workers, seen.ended], [2, 1]);
});

Deno.test("calls without a pool share threads, which end with the last call", async () => {
  const { Worker } = globalThis;
  const ends: number[] = [];
  let workers = 0;
  globalThis.Worker = class {
    constructor() {
      const id = workers++;
      return fakeWorker(work, { onEnd: () => ends.push(id) }) as object;
    }
  } as never;
  const job = { kind: "decode", bytes: new Uint8Array(3) } as const;
  try {
    let endSecond!: () => void;
    const held = new Promise<void>((resolve) => endSecond = resolve);
    const first = withThreads(5, (threads) => threads!.run(FORMAT, [job], 3));
    const second = withThreads(5, () => held);
    await first;
    assertEquals([workers, ends], [1, []]);
    endSecond();
    await second;
    assertEquals([workers, ends], [1, [0]]);
    await withThreads(5, (threads) => threads!.run(FORMAT, [job], 3));
    assertEquals([workers, ends], [2, [0, 1]]);
  } finally {
    globalThis.Worker = Worker;
  }
});

Deno.test("withThreads gives no threads for none", async () => {
  using none = new ThreadPool({ threads: 0 });
  for (const option of [0, none]) {
    assertEquals(
      await withThreads(option, (threads) => Promise.resolve(threads)),
      undefined,
    );
  }
});

Deno.test("a thread does not count as dead while the calling thread is stopped", async () => {
  const { pool, seen } = fakePool((_, { work }) => {
    const until = performance.now() + 300;
    while (performance.now() < until);
    setTimeout(work, 1);
  }, { timeout: 60 });
  using _ = pool;
  for (let i = 0; i < 3; i++) await assertRuns(pool);
  assertEquals(seen.workers, 1);
});

Deno.test("a thread may work for longer than its timeout, chunk by chunk", async () => {
  let latest = Promise.resolve();
  const { pool, seen } = fakePool((_, { work }) => {
    const time = new Promise((resolve) =>
      latest.then(() => setTimeout(resolve, 30))
    );
    latest = time.then(work);
  }, { timeout: 100 });
  using _ = pool;
  const runs = Array.from({ length: 4 }, () => run(pool));
  for (let i = 0; i < 8; i++) {
    await runs.shift();
    runs.push(run(pool)); // So that the thread always has work.
  }
  await Promise.all(runs);
  assertEquals(seen.workers, 1);
});

Deno.test("new ThreadPool takes the number of threads alone", () => {
  using pool = new ThreadPool(2);
  assertEquals(pool.size, 2);
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
  for (const [options, type, option] of refused) {
    assertThrows(() => new ThreadPool(options as never), type, `"${option}"`);
  }
  assertEquals(new ThreadPool().size, navigator.hardwareConcurrency);
});
