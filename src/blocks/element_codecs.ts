import {
  type ChunkRows,
  type Codecs,
  noteKey,
  stridesOf,
  transposeOrder,
} from "../codecs/mod.ts";
import { DamageError, describe, sentence } from "../errors/mod.ts";
import {
  type ArrayMetadata,
  codecKind,
  namedCodecs,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import {
  type ChunkBlock,
  ChunkCoder,
  type ChunkFormat,
  CodecError,
  codecsIn,
  copyFromChunk,
  copyIntoChunk,
  copyIntoChunks,
  type DecodeJob,
  type EncodeJob,
  type Encoding,
  gatherChunk,
  inTurn,
  isCheapToDecode,
  isInThreads,
  type JobResult,
  ownCodecs,
  type RecodeJob,
  runJob,
  type Threads,
} from "../threads/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import { type ElementForm, fillBytes } from "./element_form.ts";
import { createCoder } from "./whole_shards.ts";

/** The most decoded bytes of chunks that are gathered for one call, so that each thread gets some. */
const CALL_BYTES = 2 * 2 ** 20;

/** An encoded chunk that is decoded to its place in a block. */
export interface EncodedChunk {
  /** The encoded bytes. Their memory goes to a thread. */
  readonly bytes: Uint8Array;
  /** The rows of a chunk that extends past the end of its array. */
  readonly rows: ChunkRows | undefined;
  readonly block: ChunkBlock;
}

/** An encoded chunk that may be read again. */
export interface StoredChunk extends EncodedChunk {
  /** The name of the chunk in messages, at the start of a sentence. */
  readonly what: string;
  readonly key: string;
  /** Reads the chunk again. */
  readonly read: () => Promise<Uint8Array | undefined>;
}

/** Who decodes and encodes. */
interface CodecOptions {
  /** By default, and where threads would gain nothing, the calling thread. */
  readonly threads?: Threads | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Options of {@linkcode ElementCodecs.encode}. */
interface EncodeOptions extends CodecOptions {
  /** The elements of chunks that are in no block: zeros by default. */
  readonly fill?: Uint8Array | undefined;
  /** Whether chunks whose elements all have the fill value are left out. */
  readonly leavesOut?: boolean | undefined;
}

/** Decodes chunks into blocks of elements, and encodes chunks of blocks. */
export class ElementCodecs {
  readonly format: ChunkFormat;
  readonly #coder: ChunkCoder;
  /** Whether threads do not have the codecs: those of others, and shards. */
  readonly #isForeign: boolean;
  /** Whether the calling thread is about as fast as a message to a thread. */
  readonly isCheap: boolean;
  /** Whether encoded chunks are their elements. */
  readonly isRaw: boolean;
  /** The strides of elements as the codecs store them, so that none has to reorder them. */
  readonly strides: readonly number[];
  /** The length of a decoded chunk in bytes. */
  readonly chunkBytes: number;
  /** The formats by which threads encode chunks by the codecs of others. */
  readonly #recoded = new Map<ElementCodecs, ChunkFormat>();

  private constructor(
    format: ChunkFormat,
    coder: ChunkCoder,
    isForeign: boolean,
  ) {
    this.format = format;
    this.#coder = coder;
    const { codecs, shape, elementSize } = format;
    this.isCheap = isCheapToDecode(codecs);
    this.#isForeign = isForeign;
    this.isRaw = isCheapToDecode(codecs) &&
      codecs.every(({ name }) => name !== "crc32c");
    const [first] = codecs;
    const order = first?.name === "transpose"
      ? first.configuration?.order
      : undefined;
    this.strides = stridesOf(shape, order);
    this.chunkBytes = shape.reduce((product, n) => product * n, elementSize);
  }

  /**
   * Loads the codecs of chunks.
   *
   * @param form The elements; with several numbers each, `shape` has one more dimension.
   * @param shape The shape of a chunk.
   * @param registry Codecs besides those of this package.
   * @param array The data type and the fill value of the array.
   * @throws {TypeError} If a codec is unknown.
   * @throws {MetadataError} If a codec refuses its configuration.
   */
  static async create(
    codecs: readonly NamedConfiguration[],
    form: ElementForm,
    shape: readonly number[],
    registry: Codecs | undefined,
    array: Pick<ArrayMetadata, "data_type" | "fill_value">,
  ): Promise<ElementCodecs> {
    const { dataType, size, count } = form;
    const elementSize = size / count;
    const ordered = elementSize === 1 ? withoutByteOrder(codecs) : codecs;
    const format: ChunkFormat = {
      dataType,
      elementSize,
      shape,
      codecs: count > 1
        ? ordered.map((codec) =>
          withOneDimensionMore(codec, shape.length, count)
        )
        : ordered,
    };
    const own = await ownCodecs(format);
    const load = async (format: ChunkFormat) =>
      await ownCodecs(format) ?? await codecsOf(registry, format);
    const fill = fillBytes(array as ArrayMetadata, form);
    const coder = await createCoder(format, fill, load);
    const isForeign = own === undefined || !format.codecs.every(isInThreads);
    return new ElementCodecs(format, coder, isForeign);
  }

  /** Whether threads do the work, and need the elements of blocks in memory that they share. */
  usesThreads(threads: Threads | undefined): threads is Threads {
    return threads !== undefined && !this.isCheap && !this.#isForeign;
  }

  /**
   * Decodes chunks, and copies elements of each to its block.
   *
   * @param chunks Chunks that may share memory, which goes to a thread.
   * @returns The chunks that cannot be decoded. {@linkcode decodeNamed} says why.
   */
  async decode(
    chunks: readonly EncodedChunk[],
    { threads, signal }: CodecOptions,
  ): Promise<EncodedChunk[]> {
    const failed: EncodedChunk[] = [];
    if (!this.usesThreads(threads)) {
      for (const chunk of chunks) {
        signal?.throwIfAborted();
        await this.#decodeHere(chunk).catch(() => failed.push(chunk));
      }
      return failed;
    }
    const jobs = chunks.map(({ bytes, rows, block }): DecodeJob => ({
      kind: "decode",
      bytes,
      rows,
      block: isShared(block) ? block : undefined,
    }));
    const results = await this.#run(jobs, threads, signal);
    for (const [i, chunk] of chunks.entries()) {
      const result = results[i]!;
      if (result === true) continue;
      if ("bytes" in result) {
        copyFromChunk(chunk.block, result, this.format.elementSize);
      } else failed.push(chunk);
    }
    return failed;
  }

  /**
   * Decodes a chunk in the calling thread.
   *
   * @throws {DamageError} If the chunk is damaged.
   */
  async decodeNamed(
    chunk: EncodedChunk,
    name: { readonly what: string; readonly key: string },
  ): Promise<void> {
    try {
      await this.#decodeHere(chunk, name);
    } catch (cause) {
      throw undecodedError(cause, name.what, name.key);
    }
  }

  async #decodeHere(
    { bytes, rows, block }: EncodedChunk,
    name?: { readonly what: string; readonly key: string },
  ): Promise<void> {
    await this.#runHere(() => {
      noteKey(bytes, name?.key ?? "", rows, name && (() => name.what));
      return { kind: "decode", bytes, block };
    });
  }

  /**
   * Decodes chunks, and encodes each by other codecs for chunks of the same shape.
   *
   * @param chunks Chunks that may share memory. Their blocks have the elements that are in
   * the array, and no memory.
   * @param fill As for `encode`. Chunks that have only this element are left out.
   * @returns The encoded chunks, in the same order; `undefined` for those that are left out.
   * @throws {DamageError} If a chunk is damaged.
   */
  async recode(
    chunks: readonly StoredChunk[],
    encoder: ElementCodecs,
    fill: Uint8Array | undefined,
    { threads, signal }: CodecOptions,
  ): Promise<(Uint8Array | undefined)[]> {
    const isThreaded =
      (this.usesThreads(threads) || encoder.usesThreads(threads)) &&
      !this.#isForeign && !encoder.#isForeign;
    const toJob = ({ bytes, rows, block }: EncodedChunk): RecodeJob => {
      const isWhole = this.isWhole(block);
      return {
        kind: "recode",
        bytes,
        rows,
        counts: isWhole ? undefined : block.counts,
        strides: encoder.strides,
        fill: isWhole ? undefined : fill,
        leaveOut: fill,
      };
    };
    const results = isThreaded
      ? await this.#run(
        chunks.map(toJob),
        threads!,
        signal,
        this.#recodedBy(encoder),
      )
      : [];
    const encoded: (Uint8Array | undefined)[] = [];
    for (const [i, chunk] of chunks.entries()) {
      let result = results[i];
      if (result !== true && !(result instanceof Uint8Array)) {
        signal?.throwIfAborted();
        const bytes = isThreaded ? await chunk.read() : chunk.bytes;
        if (bytes === undefined) throw changedError(chunk);
        result = await this.#runHere(() => {
          noteKey(bytes, chunk.key, chunk.rows, () => chunk.what);
          return { ...toJob(chunk), bytes, rows: undefined };
        }, encoder.#coder).catch((cause) => {
          if (cause instanceof CodecError) throw cause;
          throw undecodedError(cause, chunk.what, chunk.key);
        });
      }
      encoded.push(result === true ? undefined : result as Uint8Array);
    }
    return encoded;
  }

  /** The same object for all calls, since requests have jobs of one format. */
  #recodedBy(encoder: ElementCodecs): ChunkFormat {
    const format = this.#recoded.get(encoder) ??
      { ...this.format, recoded: encoder.format.codecs };
    this.#recoded.set(encoder, format);
    return format;
  }

  /**
   * Encodes chunks of blocks.
   *
   * @param blocks The elements of each chunk that are known.
   * @returns The encoded chunks, in the same order; `undefined` for those that are left out.
   */
  async encode(
    blocks: readonly ChunkBlock[],
    options: EncodeOptions,
  ): Promise<(Uint8Array | undefined)[]> {
    const { threads, signal } = options;
    const encoded: (Uint8Array | undefined)[] = [];
    if (!this.usesThreads(threads)) {
      for (const block of blocks) {
        signal?.throwIfAborted();
        encoded.push(await this.#encodeHere(block, options));
      }
      return encoded;
    }
    const calls = this.#inCalls(blocks)
      .map((some) => this.#encodeInThread(some, options, threads));
    for (const result of await Promise.allSettled(calls)) {
      if (result.status === "rejected") throw result.reason;
      encoded.push(...result.value);
    }
    return encoded;
  }

  /** Divides blocks into those that are given to a thread together: whole chunks that are gathered together, or one. */
  #inCalls(blocks: readonly ChunkBlock[]): ChunkBlock[][] {
    const calls: ChunkBlock[][] = [];
    for (const block of blocks) {
      const call = calls.at(-1);
      const [first, second = block] = call ?? [];
      const isNext = first !== undefined && !isShared(block) &&
        (call!.length + 1) * this.chunkBytes <= CALL_BYTES &&
        block.bytes === first.bytes &&
        this.isWhole(first) && this.isWhole(block) &&
        block.offset - call!.at(-1)!.offset === second.offset - first.offset;
      if (isNext) call!.push(block);
      else calls.push([block]);
    }
    return calls;
  }

  async #encodeInThread(
    blocks: readonly ChunkBlock[],
    options: EncodeOptions,
    threads: Threads,
  ): Promise<(Uint8Array | undefined)[]> {
    const encoding = this.#encodingOf(blocks[0]!, options);
    const jobs = this.#elementsOf(blocks, encoding)
      .map((elements): EncodeJob => ({
        kind: "encode",
        elements,
        ...encoding,
      }));
    const results = await this.#run(jobs, threads, options.signal);
    const encoded: (Uint8Array | undefined)[] = [];
    for (const [i, block] of blocks.entries()) {
      const result = results[i];
      encoded.push(
        result === true
          ? undefined
          : result instanceof Uint8Array
          ? result
          : await this.#encodeHere(block, options),
      );
    }
    return encoded;
  }

  /** Memory that is not shared goes to the thread, with only what it needs. */
  #elementsOf(
    blocks: readonly ChunkBlock[],
    encoding: Encoding,
  ): readonly EncodeJob["elements"][] {
    const { format, chunkBytes } = this;
    const [first] = blocks as [ChunkBlock];
    if (isShared(first)) return blocks;
    if (blocks.length === 1) return [gatherChunk(first, format, encoding)];
    const bytes = new Uint8Array(blocks.length * chunkBytes);
    const { strides } = encoding;
    copyIntoChunks(blocks, { bytes, strides }, format.elementSize);
    return blocks.map((_, i) =>
      bytes.subarray(i * chunkBytes, (i + 1) * chunkBytes)
    );
  }

  async #encodeHere(
    block: ChunkBlock,
    options: EncodeOptions,
  ): Promise<Uint8Array | undefined> {
    const encoding = this.#encodingOf(block, options);
    const result = await this.#runHere(() => ({
      kind: "encode",
      elements: block,
      ...encoding,
    }));
    return result === true ? undefined : result as Uint8Array;
  }

  #encodingOf(
    block: ChunkBlock,
    { fill, leavesOut }: EncodeOptions,
  ): Encoding {
    return {
      strides: this.strides,
      fill: this.isWhole(block) ? undefined : fill,
      leaveOut: leavesOut ? fill : undefined,
    };
  }

  /**
   * Decodes a chunk, and replaces elements of it.
   *
   * @returns The block of all elements of the chunk.
   * @throws {CodecError} If the chunk cannot be decoded.
   */
  async update(
    stored: Uint8Array,
    block: ChunkBlock,
    options: CodecOptions,
  ): Promise<ChunkBlock> {
    const { shape, elementSize } = this.format;
    const whole: ChunkBlock = {
      bytes: new Uint8Array(this.chunkBytes),
      offset: 0,
      strides: this.strides,
      counts: shape,
      starts: shape.map(() => 0),
      steps: shape.map(() => 1),
    };
    const chunk = { bytes: copyBytes(stored), rows: undefined, block: whole };
    const failed = await this.decode([chunk], options);
    if (failed.length > 0) throw new CodecError("The chunk is not decoded");
    copyIntoChunk(block, whole, elementSize);
    return whole;
  }

  /**
   * Encodes a chunk of one element, to see whether all codecs encode.
   *
   * @throws {TypeError} If a codec only decodes.
   */
  async assertEncodes(
    form: ElementForm,
    registry: Codecs | undefined,
  ): Promise<void> {
    const { codecs, shape } = this.format;
    const small = shape.map(() => 1);
    if (form.count > 1) small[small.length - 1] = form.count;
    const format = { ...this.format, shape: small };
    const loaded = await ownCodecs(format) ?? await codecsOf(registry, format);
    try {
      const bytes = new Uint8Array(form.size);
      const strides = stridesOf(small);
      await ChunkCoder.create(format, loaded).encode({ bytes, strides });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new TypeError(
        `Cannot encode by the codecs ${
          codecs.map(({ name }) => describe(name)).join(", ")
        }: ${reason}`,
        { cause },
      );
    }
  }

  /** Whether a block has all elements of its chunk. */
  isWhole({ counts }: ChunkBlock): boolean {
    return counts.every((count, i) => count === this.format.shape[i]);
  }

  /** Runs a job in the calling thread, after all others. */
  #runHere(
    makeJob: () => DecodeJob | EncodeJob | RecodeJob,
    recoder?: ChunkCoder,
  ): Promise<JobResult> {
    const coders = { coder: this.#coder, recoder };
    const load = () => Promise.resolve(coders);
    return inTurn(() => runJob(makeJob(), this.format, load));
  }

  /** Runs jobs in a thread. */
  async #run(
    jobs: readonly (DecodeJob | EncodeJob | RecodeJob)[],
    threads: Threads,
    signal: AbortSignal | undefined,
    format = this.format,
  ): Promise<readonly JobResult[]> {
    const bytes = jobs.length * this.chunkBytes;
    return await threads.run(format, jobs, bytes, signal);
  }
}

function isShared({ bytes }: ChunkBlock): boolean {
  return !(bytes.buffer instanceof ArrayBuffer);
}

/** The codecs of a format in a registry of the caller. */
async function codecsOf(
  registry: Codecs | undefined,
  format: ChunkFormat,
): ReturnType<typeof codecsIn> {
  const unknown: string[] = [];
  for (const { name } of format.codecs) {
    const found = await registry?.get(name)?.();
    if (found === undefined) unknown.push(name);
  }
  if (unknown.length === 0) return await codecsIn(registry!, format);
  const single = await Promise.all(
    unknown.map((name) => ownCodecs({ ...format, codecs: [{ name }] })),
  );
  const names = unknown.filter((_, i) => single[i] === undefined);
  throw new TypeError(
    `Unknown ${names.length === 1 ? "codec" : "codecs"} ${
      names.map((name) => describe(name)).join(", ")
    }; expected a registry that has ${
      names.length === 1 ? "it" : "them"
    } in the option "codecs", such as that of zarrita`,
  );
}

/**
 * Codecs for elements of one byte, which have no byte order: zarrita reverses four booleans at
 * a time in big endian. Behind a filter, elements may be longer.
 */
function withoutByteOrder(
  codecs: readonly NamedConfiguration[],
): NamedConfiguration[] {
  let isOneByte = true;
  return codecs.map((codec) => {
    const { name, configuration } = codec;
    isOneByte &&= name === "transpose" || codecKind(name) !== "array_to_array";
    if (!isOneByte) return codec;
    if (name === "bytes") return { name };
    if (name !== "sharding_indexed" || !configuration) return codec;
    const inner = namedCodecs(
      configuration.codecs as readonly (string | NamedConfiguration)[],
    );
    return {
      ...codec,
      configuration: { ...configuration, codecs: withoutByteOrder(inner) },
    };
  });
}

/**
 * A codec for chunks with one more dimension, which stays the fastest one.
 *
 * @param rank The number of dimensions, with that one.
 * @param count The length of that one.
 */
function withOneDimensionMore(
  codec: NamedConfiguration,
  rank: number,
  count: number,
): NamedConfiguration {
  const { name, configuration = {} } = codec;
  if (name === "sharding_indexed") {
    const { chunk_shape, codecs } = configuration as {
      chunk_shape: number[];
      codecs: NamedConfiguration[];
    };
    return {
      name,
      configuration: {
        ...configuration,
        chunk_shape: [...chunk_shape, count],
        codecs: namedCodecs(codecs).map((inner) =>
          withOneDimensionMore(inner, rank, count)
        ),
      },
    };
  }
  if (name !== "transpose") return codec;
  const order = transposeOrder(configuration.order, rank - 1);
  return { name, configuration: { order: [...order, rank - 1] } };
}

/** The error for a chunk that its codecs have refused. */
export function undecodedError(
  cause: unknown,
  what: string,
  key: string,
): DamageError {
  if (cause instanceof DamageError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new DamageError(`${what} cannot be decoded: ${reason}`, {
    key,
    cause,
  });
}

/** An error about a chunk that was there when it was read first. */
export function changedError({ key }: { readonly key: string }): Error {
  return new Error(
    sentence`${key} was listed and is absent now: the source is being changed; run the conversion again when nobody writes`,
  );
}
