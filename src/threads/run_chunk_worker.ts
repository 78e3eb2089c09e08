import {
  type CodecRegistry,
  decodeChunk,
  noteKey,
  registerCodecs,
} from "../codecs/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  ChunkCoder,
  type ChunkFormat,
  codecsIn,
  ownCodecs,
  stridesInOrder,
} from "./chunk_coder.ts";
import {
  copyElements,
  copyFromChunk,
  copyIntoChunk,
  isRepeated,
  repeatElement,
} from "./copy_elements.ts";
import {
  type Answer,
  type CheckJob,
  type DecodeJob,
  type EncodeJob,
  type Job,
  type JobResult,
  memoryOfJobs,
  type RecodeJob,
  type Request,
} from "./thread_jobs.ts";

/**
 * Makes this worker decode and encode the chunks that a {@linkcode ThreadPool} gives it. A
 * module that calls this function is the program of `createWorker`, an option of the pool.
 *
 * @param zarr zarrita itself, in whose registry all codecs are looked up. Register codecs
 * before, those of `registerCodecs` included. Without this argument, the worker has the
 * codecs of this package, and imports zarrita for others if it can.
 *
 * @example The module of a worker
 * ```ts ignore
 * import { registerCodecs, runChunkWorker } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * registerCodecs(zarr);
 * runChunkWorker(zarr);
 * ```
 */
export function runChunkWorker(
  zarr?: { readonly registry: CodecRegistry },
): void {
  const port = workerPort();
  const formats = new Map<number, KnownFormat>();
  const handle = async (
    { call, format, newFormat, jobs, zarrita }: Request,
  ) => {
    if (newFormat !== undefined) {
      const registry = zarr?.registry;
      formats.set(format, new KnownFormat(newFormat, registry, zarrita));
    }
    const known = formats.get(format)!;
    const results: JobResult[] = [];
    for (const job of jobs) {
      try {
        results.push(
          job.kind === "check"
            ? await check(job, known.format)
            : job.kind === "recode"
            ? await recode(job, known)
            : await run(job, await known.coder(), known.format),
        );
      } catch (error) {
        results.push({ failed: String(error) });
      }
    }
    const own = results.map((result, i) => ownMemory(result, jobs[i]!));
    const memory = memoryOf(own);
    // No result of codecs keeps the memory of a job, unless the result lies in it.
    const spare = memoryOfJobs(jobs).filter((each) => !memory.includes(each));
    port.post({ call, results: own, spare }, [...memory, ...spare]);
  };
  // One request after another, since codecs decode into the same memory again.
  let latest = Promise.resolve();
  port.onMessage((request) => {
    latest = latest.then(() => handle(request));
  });
  port.post({ started: true }, []);
}

/** A format, and its codecs once a job needs them. */
class KnownFormat {
  readonly format: ChunkFormat;
  readonly #registry: CodecRegistry | undefined;
  readonly #zarrita: readonly string[];
  #coder: Promise<ChunkCoder> | undefined;
  #recoder: Promise<ChunkCoder> | undefined;

  constructor(
    format: ChunkFormat,
    registry: CodecRegistry | undefined,
    zarrita: readonly string[],
  ) {
    this.format = format;
    this.#registry = registry;
    this.#zarrita = zarrita;
  }

  coder(): Promise<ChunkCoder> {
    return this.#coder ??= loadCoder(
      this.format,
      this.#registry,
      this.#zarrita,
    );
  }

  /** The codecs that encode what the others have decoded. */
  recoder(): Promise<ChunkCoder> {
    const { recoded = [], ...format } = this.format;
    return this.#recoder ??= loadCoder(
      { ...format, codecs: recoded },
      this.#registry,
      this.#zarrita,
    );
  }
}

/** Decodes a chunk as `verify` does in the calling thread without codecs of the caller. */
async function check(
  { bytes, rows }: CheckJob,
  format: ChunkFormat,
): Promise<true> {
  noteKey(bytes, "", rows);
  const encoding = { ...format, size: undefined, reusesMemory: true };
  const unknown = await decodeChunk(bytes, encoding, "The chunk", "");
  if (unknown === undefined) return true;
  throw new TypeError(`Unknown ${unknown}`);
}

async function loadCoder(
  format: ChunkFormat,
  registry: CodecRegistry | undefined,
  zarrita: readonly string[],
): Promise<ChunkCoder> {
  const own = registry === undefined ? await ownCodecs(format) : undefined;
  const codecs = own ??
    await codecsIn(registry ?? await importRegistry(zarrita), format);
  return ChunkCoder.create(format, codecs);
}

async function run(
  job: DecodeJob | EncodeJob,
  coder: ChunkCoder,
  { shape, elementSize }: ChunkFormat,
): Promise<JobResult> {
  if (job.kind === "decode") {
    const elements = await coder.decode(job.bytes, job.rows);
    if (job.block === undefined) {
      // Codecs may use the memory of the elements again.
      const { bytes, strides } = elements;
      return { bytes: copyBytes(bytes), strides };
    }
    copyFromChunk(job.block, elements, elementSize);
    return true;
  }
  const { elements, fill, leaveOut, strides = stridesInOrder(shape, "C") } =
    job;
  if (elements instanceof Uint8Array) {
    if (leaveOut && isRepeated(elements, leaveOut)) return true;
    return await coder.encode({ bytes: elements, strides });
  }
  const bytes = memoryFor(shape, elementSize);
  if (fill !== undefined) {
    repeatElement({ bytes, offset: 0, strides }, fill, shape, elementSize);
  }
  copyIntoChunk(elements, { bytes, strides }, elementSize);
  if (leaveOut && isRepeated(bytes, leaveOut)) return true;
  const encoded = await coder.encode({ bytes, strides });
  return givenAway(encoded);
}

/** Decodes a chunk, and encodes it by other codecs. */
async function recode(
  { bytes: stored, rows, counts, strides, fill, leaveOut, memory }: RecodeJob,
  known: KnownFormat,
): Promise<JobResult> {
  const { shape, elementSize } = known.format;
  const decoded = await (await known.coder()).decode(stored, rows);
  const bytes = memory ?? memoryFor(shape, elementSize);
  const to = { bytes, offset: 0, strides };
  if (fill !== undefined) repeatElement(to, fill, shape, elementSize);
  copyElements(to, { ...decoded, offset: 0 }, counts ?? shape, elementSize);
  if (leaveOut && isRepeated(bytes, leaveOut)) return true;
  const encoded = await (await known.recoder()).encode({ bytes, strides });
  return givenAway(encoded);
}

/** Returns memory for the elements of a chunk, which the next chunk uses again. */
function memoryFor(
  shape: readonly number[],
  elementSize: number,
): Uint8Array<ArrayBuffer> {
  const length = shape.reduce((product, n) => product * n, elementSize);
  if (gathered.length !== length) gathered = new Uint8Array(length);
  return gathered;
}

/** Leaves the memory for elements to encoded bytes that lie in it. */
function givenAway(encoded: Uint8Array): Uint8Array {
  if (encoded.buffer === gathered.buffer) gathered = new Uint8Array();
  return encoded;
}

/** The memory for elements that are encoded. */
let gathered = new Uint8Array();

/** The most bytes that a result may leave unused in memory that goes to the pool. */
const MOST_SPARE = 1024;
/** The pools of Node, from which small buffers are taken, have no more bytes. */
const LARGEST_POOL = 64 * 1024;

/**
 * Gives a result memory of its own, unless it is alone in its memory, or in memory that the
 * pool has given. The memory of WebAssembly and of the pools of Node cannot go to another
 * thread.
 */
function ownMemory(result: JobResult, job: Job): JobResult {
  if (result === true || "failed" in result) return result;
  const given = job.kind === "recode" ? job.memory?.buffer : undefined;
  const bytes = result instanceof Uint8Array ? result : result.bytes;
  const size = bytes.buffer.byteLength;
  const isAlone = size === bytes.length || bytes.buffer === given ||
    size > LARGEST_POOL && size - bytes.length <= MOST_SPARE;
  if (isAlone) return result;
  const own = copyBytes(bytes);
  return result instanceof Uint8Array ? own : { ...result, bytes: own };
}

/** The memory of results, which goes to the pool. */
function memoryOf(results: readonly JobResult[]): ArrayBuffer[] {
  const memory = new Set<ArrayBuffer>();
  for (const result of results) {
    if (result === true || "failed" in result) continue;
    const { buffer } = result instanceof Uint8Array ? result : result.bytes;
    if (buffer instanceof ArrayBuffer) memory.add(buffer);
  }
  return [...memory];
}

/** Imports zarrita, and registers the codecs of this package in it. */
async function importRegistry(
  modules: readonly string[],
): Promise<CodecRegistry> {
  let failure: unknown = new TypeError("No module of zarrita is known");
  for (const module of modules) {
    try {
      const zarr = await import(/* @vite-ignore */ module);
      registerCodecs(zarr);
      return zarr.registry;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** The port of this worker to its pool. */
interface Port {
  post(answer: Answer, memory: ArrayBuffer[]): void;
  onMessage(receive: (request: Request) => void): void;
}

/** The part of the global scope of a worker, and of the `parentPort` of Node, that is used. */
interface MessagePort {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  addEventListener(
    type: "message",
    listener: (event: { data: Request }) => void,
  ): void;
}

function workerPort(): Port {
  const scope = globalThis as unknown as MessagePort & {
    process?: {
      getBuiltinModule?(
        name: string,
      ): { parentPort?: MessagePort & { on: PortListener } | null };
    };
  };
  if (typeof scope.postMessage === "function") {
    return {
      post: (answer, memory) => scope.postMessage(answer, memory),
      onMessage: (receive) =>
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
    onMessage: (receive) => parentPort.on("message", receive),
  };
}

type PortListener = (
  type: "message",
  receive: (request: Request) => void,
) => void;
