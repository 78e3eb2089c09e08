import { type NativeZlib, nativeZlib, ownBytes } from "../runtime/mod.ts";

/** The least number of bytes that are sent to another thread. To send fewer takes about as long as to encode them. */
const LEAST_BYTES = 32 * 1024;

let threads: EncodingThreads | undefined;
/** The number of running tasks that may use the threads. */
let users = 0;

/** Runs a task during which codecs may encode in other threads. The threads end with the last such task. */
export async function withEncodingThreads(
  task: () => Promise<void>,
): Promise<void> {
  const native = nativeZlib();
  if (native === null) return await task();
  users++;
  try {
    threads ??= prepareThreads(native);
    await task();
  } finally {
    if (--users === 0) {
      threads?.close();
      threads = undefined;
    }
  }
}

/** Encodes bytes by a function of `node:zlib`, in another thread if one may be used. */
export async function encodeNatively(
  native: NativeZlib,
  name: Encoder,
  bytes: Uint8Array,
  options: object,
): Promise<Uint8Array> {
  const used = threads;
  if (used !== undefined && bytes.length >= LEAST_BYTES) {
    try {
      return ownBytes(await used.encode(name, bytes, options));
    } catch (error) {
      if (used !== threads) throw error; // The task has ended.
      // Encodes in this thread if the others cannot, or throws the error of the function.
    }
  }
  return ownBytes(native[name]!(bytes, options));
}

/** The functions of `node:zlib` that encode bytes. */
type Encoder =
  | "zstdCompressSync"
  | "gzipSync"
  | "deflateSync"
  | "deflateRawSync";

/** Encodes bytes by other threads. */
interface EncodingThreads {
  /** Encodes as the function of this name does. */
  encode(
    name: Encoder,
    bytes: Uint8Array,
    options: object,
  ): Promise<Uint8Array>;
  /** Ends the threads. Calls that have not finished are rejected. */
  close(): void;
}

/** The greatest number of threads that one thread can keep busy with chunks. */
const MOST_THREADS = 8;
/** The number of chunks that a thread is given at the same time, so that it never waits for the next one. */
const MOST_CALLS = 2;

/**
 * Prepares threads, which start with the first calls. Deno encodes by workers, since
 * the asynchronous functions of its `node:zlib` run on the thread of their caller. Node
 * has threads of its own for them.
 */
function prepareThreads(native: NativeZlib): EncodingThreads {
  return typeof Worker === "function"
    ? new WorkerThreads()
    : { encode: (...call) => encodeByNode(native, ...call), close() {} };
}

function encodeByNode(
  native: NativeZlib,
  name: Encoder,
  bytes: Uint8Array,
  options: object,
): Promise<Uint8Array> {
  const encode = (native as unknown as AsyncEncoders)[
    name.slice(0, -"Sync".length)
  ]!;
  return new Promise((resolve, reject) =>
    encode(
      bytes,
      options,
      (error, encoded) => error ? reject(error) : resolve(encoded!),
    )
  );
}

/** Functions such as `gzip`. */
type AsyncEncoders = Record<
  string,
  (
    bytes: Uint8Array,
    options: object,
    callback: (error: Error | null, encoded?: Uint8Array) => void,
  ) => void
>;

/** The program of each worker. It is a text, so that bundlers need not find it. */
const PROGRAM = `
const zlib = process.getBuiltinModule("node:zlib");
onmessage = ({ data: { name, bytes, options } }) => {
  try {
    const encoded = new Uint8Array(zlib[name](bytes, options));
    postMessage({ encoded }, [encoded.buffer]);
  } catch (error) {
    postMessage({ error: String(error) });
  }
};
`;

/** A call that waits for a worker, or for its answer. */
interface Call {
  readonly name: Encoder;
  readonly bytes: Uint8Array;
  readonly options: object;
  resolve(encoded: Uint8Array): void;
  reject(error: Error): void;
}

/** A worker, and the calls that it was given, which it answers in their order. */
interface Thread {
  readonly worker: Worker;
  readonly calls: Call[];
}

class WorkerThreads implements EncodingThreads {
  readonly #most = Math.min(navigator.hardwareConcurrency || 1, MOST_THREADS);
  readonly #threads: Thread[] = [];
  readonly #waiting = new Set<Call>();
  #failure: Error | undefined;

  encode(
    name: Encoder,
    bytes: Uint8Array,
    options: object,
  ): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ name, bytes, options, resolve, reject });
      this.#give();
    });
  }

  close(): void {
    this.#fail(new Error("The threads that encode have ended"));
  }

  /** Gives waiting calls to the threads that have the fewest. */
  #give(): void {
    for (const call of this.#waiting) {
      if (this.#failure !== undefined) return this.#fail(this.#failure);
      const thread = this.#nextThread();
      if (thread === undefined) return;
      this.#waiting.delete(call);
      thread.calls.push(call);
      const { name, options } = call;
      const bytes = new Uint8Array(call.bytes); // The worker takes its memory.
      thread.worker.postMessage({ name, bytes, options }, [bytes.buffer]);
    }
  }

  #nextThread(): Thread | undefined {
    let next = this.#threads[0];
    for (const thread of this.#threads) {
      if (thread.calls.length < next!.calls.length) next = thread;
    }
    const isBusy = next === undefined || next.calls.length > 0;
    if (isBusy && this.#threads.length < this.#most) return this.#start();
    return next!.calls.length < MOST_CALLS ? next : undefined;
  }

  #start(): Thread | undefined {
    const program = new Blob([PROGRAM], { type: "text/javascript" });
    const url = URL.createObjectURL(program);
    try {
      const worker = new Worker(url, { type: "module" });
      const calls: Call[] = [];
      worker.onmessage = ({ data: { encoded, error } }) => {
        const call = calls.shift()!;
        if (error === undefined) call.resolve(encoded);
        else call.reject(new Error(error));
        this.#give();
      };
      worker.onerror = (event) => {
        event.preventDefault(); // It would end the program.
        this.#fail(new Error(event.message));
      };
      const thread = { worker, calls };
      this.#threads.push(thread);
      return thread;
    } catch (error) {
      this.#fail(error as Error); // The runtime allows no workers.
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    const calls = [
      ...this.#waiting,
      ...this.#threads.flatMap(({ calls }) => calls),
    ];
    for (const { worker } of this.#threads) worker.terminate();
    this.#threads.length = 0;
    this.#waiting.clear();
    for (const { reject } of calls) reject(error);
  }
}
