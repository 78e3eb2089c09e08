import { freeMemory } from "../runtime/mod.ts";
import { inTurn } from "./chunk_coder.ts";
import {
  type Answer,
  JobRunner,
  memoryOfJobs,
  memoryOfResults,
  MESSAGES,
  type Request,
} from "./chunk_jobs.ts";

/**
 * Makes this worker decode and encode the chunks that a {@linkcode ThreadPool} gives it, by
 * the codecs of this package. A module that calls this function is the program of
 * `createWorker`, an option of the pool.
 *
 * @example The module of a worker
 * ```ts ignore
 * import { runChunkWorker } from "@zarr-parts/zarr-parts/zarrita";
 *
 * runChunkWorker();
 * ```
 */
export function runChunkWorker(): void {
  const port = workerPort();
  port.listen(answering((answer, memory) => port.post(answer, memory)));
}

type Post = (answer: Answer, memory: ArrayBuffer[]) => void;

/** Says that it has started, and returns a function that answers requests. */
export function answering(post: Post): (request: Request) => void {
  const runner = new JobRunner();
  post({ started: MESSAGES }, []);
  return (request) => {
    // One request after another, since codecs decode into the same memory again.
    inTurn(async () => {
      const results = await runner.run(request);
      const memory = memoryOfResults(results);
      for (const used of memoryOfJobs(request.jobs)) {
        if (!memory.includes(used)) freeMemory(used);
      }
      post({ call: request.call, results }, memory);
    });
  };
}

/** The part of the global scope of a worker, and of the `parentPort` of Node, that is used. */
interface MessagePort {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  addEventListener(
    type: "message",
    listener: (event: { data: Request }) => void,
  ): void;
  on(type: "message", listener: (request: Request) => void): void;
}

function workerPort(): {
  post: Post;
  listen(receive: (request: Request) => void): void;
} {
  const scope = globalThis as unknown as MessagePort & {
    process?: {
      getBuiltinModule?(name: string): { parentPort?: MessagePort | null };
    };
  };
  if (typeof scope.postMessage === "function") {
    return {
      post: (answer, memory) => scope.postMessage(answer, memory),
      listen: (receive) =>
        scope.addEventListener("message", ({ data }) => receive(data)),
    };
  }
  const { parentPort } =
    scope.process?.getBuiltinModule?.("node:worker_threads") ?? {};
  if (!parentPort) {
    throw new TypeError("runChunkWorker must be called in a worker");
  }
  return {
    post: (answer, memory) => parentPort.postMessage(answer, memory),
    listen: (receive) => parentPort.on("message", receive),
  };
}
