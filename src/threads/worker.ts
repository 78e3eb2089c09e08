import { sentence } from "../errors/mod.ts";
import { loadOnce } from "../runtime/mod.ts";
import type { Answer, Request } from "./chunk_jobs.ts";
import { answering } from "./run_chunk_worker.ts";

/**
 * The part of a worker that a {@linkcode ThreadPool} uses: of a `Worker` of the web, or of
 * `node:worker_threads`.
 *
 * @example
 * ```ts
 * import type { WorkerLike } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const createWorker = (): WorkerLike =>
 *   new Worker(new URL("./chunk_worker.ts", import.meta.url), { type: "module" });
 * ```
 */
export interface WorkerLike {
  /** Sends a message, with memory that goes to the worker. */
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  /** Ends the worker. */
  terminate(): unknown;
}

/** A worker of the web, or of Node. */
export interface AnyWorker extends WorkerLike {
  addEventListener?(type: string, listener: (event: Event) => void): void;
  on?(type: string, listener: (value: unknown) => void): void;
  ref?(): void;
  unref?(): void;
}

/** The functions that get the messages of a worker, and its end. */
interface WorkerListener {
  onAnswer(answer: Answer): void;
  /** Called when the worker has failed or ended. */
  onEnd(reason: Error): void;
}

/** Listens to a worker. */
export function listenTo(
  worker: WorkerLike,
  { onAnswer, onEnd }: WorkerListener,
): AnyWorker {
  const { addEventListener, on } = (worker ?? {}) as AnyWorker;
  if (typeof on === "function") {
    on.call(worker, "message", (answer) => onAnswer(answer as Answer));
    on.call(worker, "messageerror", (error) => onEnd(error as Error));
    on.call(worker, "error", (error) => onEnd(error as Error));
    on.call(worker, "exit", (code) => onEnd(new Error(`Exit code ${code}`)));
  } else if (typeof addEventListener === "function") {
    const listen = addEventListener.bind(worker);
    listen("message", (event) => onAnswer((event as MessageEvent).data));
    listen("messageerror", () => onEnd(new Error("A message is not readable")));
    listen("error", (event) => {
      event.preventDefault(); // The error would end the program.
      const { message } = event as ErrorEvent;
      onEnd(new Error(message || "The worker cannot be loaded"));
    });
  } else {
    throw new TypeError(
      sentence`Expected createWorker to return a worker of the web or of node:worker_threads, found ${worker}`,
    );
  }
  return worker;
}

/** Loads the program of the workers of this package. */
export const loadProgram: () => Promise<string> = /* @__PURE__ */ loadOnce(
  async () => (await import("./worker_program.ts")).WORKER_PROGRAM,
);

/** The URLs of programs. */
const urls = new Map<string, string>();

/** Starts a worker with a program: of the web, which Deno has too, or of Node. */
export function startWorker(program: string): WorkerLike {
  if (typeof Worker === "function") {
    // Never revoked: browsers may load the program long after the worker was constructed.
    const url = urls.get(program) ?? URL.createObjectURL(
      new Blob([program], { type: "text/javascript" }),
    );
    urls.set(program, url);
    return new Worker(url, { type: "module" });
  }
  const threads = nodeModule<{
    Worker: new (program: string, options: object) => WorkerLike;
  }>("node:worker_threads");
  if (threads === undefined) throw new TypeError("This runtime has no workers");
  return new threads.Worker(program, { eval: true });
}

/** Makes what looks like a worker, and does its work in the calling thread. */
export function startHere(): WorkerLike {
  let receive: (request: Request) => void;
  return {
    postMessage: (request: Request) => receive(request),
    terminate() {},
    on(type: string, listener: (answer: Answer) => void) {
      if (type === "message") receive = answering(listener);
    },
  } as WorkerLike;
}

/** The number of processors that the runtime may use. */
export function processorCount(): number {
  return globalThis.navigator?.hardwareConcurrency ||
    nodeModule<{ availableParallelism(): number }>("node:os")
      ?.availableParallelism() ||
    1;
}

function nodeModule<T>(name: string): T | undefined {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): T };
  };
  return process?.getBuiltinModule?.(name);
}
