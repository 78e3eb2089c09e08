import { describe } from "../errors/mod.ts";
import type { Answer, Request } from "./thread_jobs.ts";

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
interface AnyWorker extends WorkerLike {
  addEventListener?(type: string, listener: (event: Event) => void): void;
  on?(type: string, listener: (value: unknown) => void): void;
  ref?(): void;
  unref?(): void;
}

/** A worker, and what happens to it. */
export interface StartedWorker {
  post(request: Request, memory: ArrayBuffer[]): void;
  /** Sets whether the worker keeps a program of Node running. */
  keepRunning(isBusy: boolean): void;
  end(): void;
}

/** The functions that get the messages of a worker, and its end. */
export interface WorkerListener {
  onAnswer(answer: Answer): void;
  /** Called when the worker has failed or ended. */
  onEnd(reason: Error): void;
}

/** Listens to a worker. */
export function listenTo(
  worker: WorkerLike,
  { onAnswer, onEnd }: WorkerListener,
): StartedWorker {
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
      `Expected createWorker to return a worker of the web or of node:worker_threads, found ${
        describe(worker)
      }`,
    );
  }
  return {
    post: (request, memory) => worker.postMessage(request, memory),
    keepRunning(isBusy) {
      const { ref, unref } = worker as AnyWorker;
      (isBusy ? ref : unref)?.call(worker);
    },
    end() {
      worker.terminate();
    },
  };
}

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
  const { process } = globalThis as {
    process?: {
      getBuiltinModule?(name: string): {
        Worker: new (program: string, options: object) => WorkerLike;
      };
    };
  };
  const threads = process?.getBuiltinModule?.("node:worker_threads");
  if (threads === undefined) throw new TypeError("This runtime has no workers");
  return new threads.Worker(program, { eval: true });
}

/** The modules of zarrita that workers may import: that of the calling thread, and what a runtime resolves. */
export function zarritaModules(): string[] {
  const modules: string[] = [];
  try {
    modules.push(import.meta.resolve("zarrita"));
  } catch {
    // Neither an import map nor a package says where zarrita is.
  }
  if ("Deno" in globalThis) modules.push("npm:zarrita@0.7.5");
  else if ("process" in globalThis) modules.push("zarrita");
  return modules;
}

/** The number of processors that the runtime may use. */
export function processorCount(): number {
  return globalThis.navigator?.hardwareConcurrency ||
    nodeOs()?.availableParallelism() || 1;
}

function nodeOs(): { availableParallelism(): number } | undefined {
  const { process } = globalThis as {
    process?: {
      getBuiltinModule?(name: string): { availableParallelism(): number };
    };
  };
  return process?.getBuiltinModule?.("node:os");
}
