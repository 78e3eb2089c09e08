import { freeMemory, loadOnce } from "../runtime/mod.ts";
import {
  ChunkCoder,
  type ChunkFormat,
  inTurn,
  ownCodecs,
} from "./chunk_coder.ts";
import {
  type Answer,
  type Coders,
  type JobResult,
  memoryOfJobs,
  memoryOfResults,
  MESSAGES,
  type Request,
  runJob,
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
  const run = jobRunner();
  post({ started: MESSAGES }, []);
  return (request) => {
    // One request after another, since codecs decode into the same memory again.
    inTurn(async () => {
      const results = await run(request);
      const memory = memoryOfResults(results);
      for (const used of memoryOfJobs(request.jobs)) {
        if (!memory.includes(used)) freeMemory(used);
      }
      post({ call: request.call, results }, memory);
    });
  };
}

/** The most formats whose codecs a worker keeps. */
const MOST_FORMATS = 64;

/** Returns a function that does the jobs of requests. {@linkcode inTurn} runs the calls. */
export function jobRunner(): (
  request: Omit<Request, "call">,
) => Promise<JobResult[]> {
  /** Functions that load the codecs of formats, by the formats as JSON. */
  const formats = new Map<string, () => Promise<Coders>>();
  return async ({ format, jobs }) => {
    const name = JSON.stringify(format, exactly);
    const load = formats.get(name) ?? loadOnce(() => loadCoders(format));
    formats.set(name, load);
    if (formats.size > MOST_FORMATS) {
      const [oldest] = formats.keys();
      formats.delete(oldest!);
    }
    const results: JobResult[] = [];
    for (const job of jobs) {
      try {
        results.push(await runJob(job, format, load));
      } catch (error) {
        results.push({ failed: String(error) });
      }
    }
    return results;
  };
}

/** Tells apart numbers that are the same in JSON, such as -0 and 0, or infinities. */
function exactly(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "number") return value;
  if (Object.is(value, -0)) return "-0";
  return Number.isFinite(value) ? value : String(value);
}

async function loadCoders(format: ChunkFormat): Promise<Coders> {
  const load = async (codecs: ChunkFormat["codecs"]) => {
    const own = await ownCodecs({ ...format, codecs });
    if (own !== undefined) return ChunkCoder.create({ ...format, codecs }, own);
    throw new TypeError("This package does not have all of the codecs");
  };
  const { codecs, recoded } = format;
  return { coder: await load(codecs), recoder: recoded && await load(recoded) };
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
