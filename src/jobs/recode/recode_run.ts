import { parsedArrayOf, type Share, unsizedPart } from "../../arrays/mod.ts";
import {
  blockOf,
  changedError,
  chunkOf,
  type ChunkSource,
  EncodedChunks,
  type FoundChunk,
  readBlock,
  readChunks,
  type Section,
  sectionsIn,
} from "../../blocks/mod.ts";
import { stridesOf } from "../../codecs/mod.ts";
import { rootIn } from "../../hierarchy/mod.ts";
import {
  freeMemory,
  mapConcurrently,
  MemoryLimit,
  runConcurrently,
} from "../../runtime/mod.ts";
import {
  encodeShard,
  encodeShardIndex,
  type Extent,
  placeInShard,
  type ShardLayout,
} from "../../shards/mod.ts";
import { backendOf } from "../../stores/mod.ts";
import type { Threads } from "../../threads/mod.ts";
import {
  type Copied,
  type CopySettings,
  sizeOrDamage,
} from "../stored_chunks.ts";
import type { Box, RecodedArray } from "./recode_array.ts";
import type { ElementsWay } from "./recode_way.ts";

/** How many chunks each thread needs at the same time, so that it never waits for work. */
const CHUNKS_PER_THREAD = 3;
const LEAST_BLOCKS = 3;

/** What happens to the chunks that are made. */
export interface RecodeSink extends CopySettings {
  /** The number of stored chunks that are written at the same time. */
  readonly concurrency: number;
  /** Called before chunks of the source are read. */
  before(signal: AbortSignal): Promise<void>;
  /** Called after each stored chunk of the target. */
  done(copied: Copied): void;
}

/** A stored chunk of the target that is made. */
interface MadeChunk {
  readonly coordinates: readonly number[];
  /** The inner chunks by their places in the index, or one chunk. */
  readonly chunks: (Uint8Array | undefined)[];
  stream: ShardStream | undefined;
  /** The number of chunks that are still to be made. */
  left: number;
}

/** A block that is recoded, with the stored chunks of the target that it is a part of. */
interface Block {
  readonly box: Box;
  /** By their coordinates, without those that are there already. */
  readonly made: ReadonlyMap<string, MadeChunk>;
}

/** A chunk of the target, or an inner chunk of a stored chunk. */
interface Target {
  readonly sections: readonly Section[];
  readonly made: MadeChunk;
  /** The place in the index of its shard. */
  readonly place: number;
}

/** Makes the chunks of the target of an array, or those of a share, block by block. */
export async function recodeArray(
  array: RecodedArray,
  sink: RecodeSink,
  share: Share | undefined,
  threads: Threads | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const run = new RecodeRun(array, sink, threads);
  try {
    await runConcurrently(
      run.blocks(share, signal ?? new AbortController().signal),
      run.concurrency,
      (block, signal) => run.recode(block, signal),
      signal,
    );
  } catch (error) {
    await run.abort(error);
    throw error;
  }
}

/** One run over the blocks of an array. */
class RecodeRun {
  /** The number of blocks that are recoded at the same time. */
  readonly concurrency: number;
  readonly #array: RecodedArray;
  readonly #sink: RecodeSink;
  readonly #threads: Threads | undefined;
  /** Whether threads do a part of the work. */
  readonly #isThreaded: boolean;
  readonly #source: ChunkSource;
  /** The layout of the shards of the target; `undefined` without shards. */
  readonly #layout: ShardLayout | undefined;
  /** The length of the head parts of shards of the target. */
  readonly #headSize: number;
  /** Whether inner chunks are stored as soon as they are made, since the shards of one group take too much memory. */
  readonly #isStreamed: boolean;
  /** Shards that are being stored. */
  readonly #streams = new Set<ShardStream>();
  readonly #storing: MemoryLimit;
  /** Memory of blocks, to be used again. */
  readonly #spare: ArrayBufferLike[] = [];

  constructor(
    array: RecodedArray,
    sink: RecodeSink,
    threads: Threads | undefined,
  ) {
    const { pair, plan, shapes, memory, way } = array;
    const chunks = plan.blockShape.reduce(
      (count, length, i) => count * (length / shapes.chunkShape[i]!),
      1,
    );
    const wanted = Math.max(
      LEAST_BLOCKS,
      Math.ceil(CHUNKS_PER_THREAD * (threads?.count ?? 0) / chunks),
    );
    const most = Math.floor(memory / 2 / Math.max(1, plan.blockBytes));
    this.concurrency = Math.max(1, Math.min(wanted, most));
    this.#array = array;
    this.#sink = sink;
    this.#threads = threads;
    this.#isThreaded = way.kind === "elements" &&
      (way.decoder.usesThreads(threads) || way.encoder.usesThreads(threads));
    this.#source = sourceOf(array);
    this.#storing = new MemoryLimit(0, sink.concurrency);
    const { chunk: { shard }, parts } = parsedArrayOf(pair.target);
    this.#layout = shard?.layout;
    this.#headSize = shard ? unsizedPart(parts)?.offset ?? 0 : 0;
    this.#isStreamed = shard !== undefined && pair.containerOf === undefined &&
      plan.groupBytes > memory / 4;
  }

  async *blocks(
    share: Share | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Block> {
    const { plan, shapes } = this.#array;
    for (const group of this.#array.groups(share)) {
      await this.#sink.before(signal);
      const stored = Array.from(
        sectionsIn(group, shapes.objectShape),
        (sections) => this.#at(sections),
      );
      const made = await this.#begin(stored, signal);
      if (made.size === 0) continue;
      for (const sections of sectionsIn(group, plan.blockShape)) {
        const box = sections.map(({ start, stop, step }) => ({
          ...{ start, stop, step },
        }));
        yield { box, made };
      }
    }
  }

  /** Returns those of some stored chunks that are to be made, by their coordinates: not those that are there already. */
  async #begin(
    all: readonly (readonly number[])[],
    signal: AbortSignal,
  ): Promise<Map<string, MadeChunk>> {
    const { skipsStored, concurrency, done } = this.#sink;
    const made = new Map<string, MadeChunk>();
    await mapConcurrently(all, concurrency, async (coordinates) => {
      const size = skipsStored && await this.#storedSize(coordinates, signal);
      if (size) done({ outcome: "skipped", bytes: 0 });
      else made.set(String(coordinates), this.#chunkAt(coordinates));
    }, signal);
    return made;
  }

  #chunkAt(coordinates: readonly number[]): MadeChunk {
    const { objectShape, chunkShape, shape } = this.#array.shapes;
    const left = coordinates.reduce((count, c, i) => {
      const stored = objectShape[i]!;
      const length = Math.min(stored, shape[i]! - c * stored);
      return count * Math.ceil(length / chunkShape[i]!);
    }, 1);
    const { chunksPerShard = [] } = this.#isStreamed ? {} : this.#layout ?? {};
    const count = chunksPerShard.reduce((product, n) => product * n, 1);
    const chunks = new Array<Uint8Array | undefined>(count).fill(undefined);
    return { coordinates, chunks, stream: undefined, left };
  }

  /** The length of a chunk of the target, which is whole if it is there, since stores write all of a value or nothing. */
  #storedSize(
    coordinates: readonly number[],
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { target } = this.#array.pair;
    return sizeOrDamage(target.size(coordinates, { signal }));
  }

  /** Reads a block, makes the chunks of the target in it, and stores those that are complete. */
  async recode({ box, made }: Block, signal: AbortSignal): Promise<void> {
    const { way, shapes: { objectShape, chunkShape } } = this.#array;
    const targets: Target[] = [];
    for (const object of sectionsIn(box, objectShape)) {
      const chunk = made.get(String(this.#at(object)));
      if (chunk === undefined) continue;
      for (const sections of sectionsIn(object, chunkShape)) {
        const place = this.#placeOf(sections);
        targets.push({ sections, made: chunk, place });
      }
    }
    if (targets.length === 0) return;
    if (way.kind === "elements" && !way.isSameShape) {
      await this.#divide(box, targets, way, signal);
    } else await this.#recodeEach(box, targets, signal);
  }

  /** The place of a chunk in the index of its shard; 0 without shards. */
  #placeOf(sections: readonly Section[]): number {
    const layout = this.#layout;
    return layout === undefined ? 0 : placeInShard(
      this.#at(sections).map((c, i) => c % layout.chunksPerShard[i]!),
      layout,
    );
  }

  /** Decodes a block, and divides its elements into other chunks. */
  async #divide(
    box: Box,
    targets: readonly Target[],
    { fill, decoder, encoder }: ElementsWay,
    signal: AbortSignal,
  ): Promise<void> {
    const lengths = box.map(({ start, stop }) => stop - start);
    const { elementSize, chunkShape } = this.#array.shapes;
    const to = {
      bytes: this.#allocate(lengths.reduce((n, m) => n * m, elementSize)),
      offset: 0,
      strides: stridesOf(lengths),
    };
    let hasElements = false;
    const array = { chunks: this.#source, codecs: decoder, fill };
    await readBlock(array, box, to, {
      ...this.#readOptions(signal),
      onChunk: (_, isPresent) => hasElements ||= isPresent,
    });
    const blocks = hasElements
      ? targets.map(({ sections }) => blockOf(sections, chunkShape, to))
      : [];
    const options = { threads: this.#threads, signal, fill, leavesOut: true };
    const encoded = await encoder.encode(blocks, options);
    // After a failure, threads may still work on the memory.
    this.#spare.push(to.bytes.buffer);
    await runConcurrently(
      targets.entries(),
      this.#sink.concurrency,
      ([i, target], signal) => this.#take(target, encoded[i], signal),
      signal,
    );
  }

  /** Makes each chunk of one of the source: as it is encoded, or by other codecs. */
  async #recodeEach(
    box: Box,
    targets: readonly Target[],
    signal: AbortSignal,
  ): Promise<void> {
    const { plan, way } = this.#array;
    const left = new Map(targets.map((target) => [
      String(chunkOf(target.sections)),
      target,
    ]));
    const chunkBytes = way.kind === "elements"
      ? way.decoder.chunkBytes
      : plan.blockBytes / targets.length;
    await readChunks(this.#source, box, chunkBytes, {
      absent() {},
      found: async (chunks, signal) => {
        const wanted = chunks.flatMap((chunk) => {
          const name = String(chunkOf(chunk.sections));
          const target = left.get(name);
          left.delete(name);
          return target === undefined ? [] : [{ ...chunk, target }];
        });
        const encoded = way.kind === "elements"
          ? await this.#recodeTogether(wanted, way, signal)
          : await Promise.all(wanted.map(({ sections, bytes }) => {
            const { what, key } = this.#source.nameOf(chunkOf(sections));
            return way.recode(bytes, what, key);
          }));
        for (const [i, { target }] of wanted.entries()) {
          await this.#take(target, encoded[i], signal);
        }
      },
    }, this.#readOptions(signal));
    for (const target of left.values()) {
      await this.#take(target, undefined, signal);
    }
  }

  /**
   * Takes a chunk that was made, and stores the stored chunk that is complete by it.
   *
   * @param bytes `undefined` if the chunk is left out.
   */
  async #take(
    { made, place }: Target,
    bytes: Uint8Array | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (bytes !== undefined && this.#isStreamed) {
      await this.#streamOf(made).add(place, bytes);
    } else if (bytes !== undefined) made.chunks[place] = bytes;
    if (--made.left > 0) return;
    const leave = await this.#storing.enter(1);
    try {
      signal.throwIfAborted();
      this.#sink.done(await this.#store(made, signal));
    } finally {
      leave();
    }
  }

  /** Decodes chunks, and encodes each of them again. */
  async #recodeTogether(
    chunks: readonly FoundChunk[],
    { fill, decoder, encoder }: ElementsWay,
    signal: AbortSignal,
  ): Promise<(Uint8Array | undefined)[]> {
    const source = this.#source;
    const stored = chunks.map(({ sections, bytes, rows }) => {
      const coordinates = chunkOf(sections);
      const own = sections.map((section) => ({ ...section, first: 0 }));
      const counts = own.map(({ count }) => count);
      const strides = stridesOf(counts);
      const nowhere = { bytes: new Uint8Array(), offset: 0, strides };
      return {
        ...{ bytes, rows, ...source.nameOf(coordinates) },
        block: blockOf(own, source.chunkShape, nowhere),
        read: async () =>
          (await source.read([coordinates], { signal })).flat()[0]?.bytes,
      };
    });
    const options = { threads: this.#threads, signal };
    return await decoder.recode(stored, encoder, fill, options);
  }

  #readOptions(signal: AbortSignal) {
    const { pair: { stored }, memory } = this.#array;
    return {
      ...{ threads: this.#threads, signal },
      memory: memory / 4 / this.concurrency,
      mayHave: (chunk: readonly number[]) =>
        stored.has(chunk.slice(0, stored.gridShape.length)),
    };
  }

  /** The coordinates in the array of the chunk that sections lie in. */
  #at(sections: readonly Section[]): number[] {
    return chunkOf(sections).slice(0, this.#array.pair.source.gridShape.length);
  }

  /** Returns memory of zeros for the elements of a block: shared memory if threads work on it. */
  #allocate(length: number): Uint8Array {
    const spare = this.#spare.findIndex(({ byteLength }) =>
      byteLength >= length
    );
    if (spare >= 0) {
      return new Uint8Array(this.#spare.splice(spare, 1)[0]!, 0, length)
        .fill(0);
    }
    const isShared = typeof SharedArrayBuffer === "function" &&
      this.#isThreaded;
    // Of the length of most blocks, so that it fits again.
    const capacity = Math.max(length, this.#array.plan.blockBytes);
    return new Uint8Array(
      isShared ? new SharedArrayBuffer(capacity) : new ArrayBuffer(capacity),
      0,
      length,
    );
  }

  #streamOf(made: MadeChunk): ShardStream {
    if (made.stream === undefined) {
      const { target } = this.#array.pair;
      made.stream = new ShardStream(
        this.#layout!,
        this.#headSize,
        (stream) => target.set(made.coordinates, stream, this.#sink.set),
      );
      this.#streams.add(made.stream);
    }
    return made.stream;
  }

  /** Stores a chunk of the target that is complete. */
  async #store(made: MadeChunk, signal: AbortSignal): Promise<Copied> {
    const { target } = this.#array.pair;
    const { replaces, set } = this.#sink;
    const { coordinates, chunks, stream } = made;
    if (stream !== undefined) {
      await stream.finish();
      this.#streams.delete(stream);
      return { outcome: "copied", bytes: stream.length };
    }
    if (chunks.every((chunk) => chunk === undefined)) {
      // The source may have had elements when an earlier run made the chunk.
      const isReplaced = replaces &&
        await this.#storedSize(coordinates, signal) !== undefined;
      if (isReplaced) await target.delete(coordinates, { signal });
      return { outcome: "absent", bytes: 0 };
    }
    const bytes = this.#layout === undefined
      ? chunks[0]!
      : this.#encodeShard(made, this.#layout);
    chunks.length = 0;
    await target.set(coordinates, bytes, { ...set, signal });
    return { outcome: "copied", bytes: bytes.length };
  }

  #encodeShard(
    { coordinates, chunks }: MadeChunk,
    layout: ShardLayout,
  ): Uint8Array {
    const container = this.#array.pair.containerOf?.(coordinates);
    const prefix = container === undefined && this.#headSize > 0
      ? new Uint8Array(this.#headSize)
      : undefined;
    const shard = encodeShard(chunks, layout, { container, prefix });
    if (this.#isThreaded) {
      for (const chunk of chunks) if (chunk) freeMemory(chunk.buffer);
    }
    return shard;
  }

  /** Gives up shards that are only stored in part. */
  async abort(reason: unknown): Promise<void> {
    for (const stream of this.#streams) await stream.abort(reason);
  }
}

/** The encoded chunks of the source, with a last dimension for elements of several numbers. */
function sourceOf(
  { pair: { source, path, stored }, place, division, shapes }: RecodedArray,
): ChunkSource {
  const chunks = new EncodedChunks(
    backendOf(place.store),
    rootIn(place, path),
    parsedArrayOf(source),
    division,
  );
  const { isSharded, storedShape } = chunks;
  const rank = storedShape.length;
  const isThere = !isSharded && stored.isListed && stored.isExact;
  return {
    chunkShape: shapes.sourceShape,
    storedShape: [...storedShape, ...shapes.shape.slice(rank)],
    isSharded,
    async read(coordinates, options) {
      const inArray = coordinates.map((each) => each.slice(0, rank));
      const reads = await chunks.read(inArray, options);
      const absent = isThere ? reads.findIndex(({ length }) => !length) : -1;
      if (absent >= 0) throw changedError(chunks.nameOf(inArray[absent]!));
      return reads;
    },
    nameOf: (coordinates) => chunks.nameOf(coordinates.slice(0, rank)),
  };
}

/**
 * A shard that is stored while its inner chunks are made, in the order in which they come, so
 * that memory holds none of them. The index follows them.
 */
class ShardStream {
  readonly #layout: ShardLayout;
  readonly #index: (Extent | undefined)[];
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #stored: Promise<void>;
  #offset: number;
  /** Chunks of several blocks come at the same time. */
  #latest: Promise<void> = Promise.resolve();

  /**
   * @param headSize The number of bytes of the head parts, which are zeros.
   * @param store Stores the bytes of the stream.
   */
  constructor(
    layout: ShardLayout,
    headSize: number,
    store: (bytes: ReadableStream<Uint8Array>) => Promise<void>,
  ) {
    this.#layout = layout;
    const count = layout.chunksPerShard.reduce((n, length) => n * length, 1);
    this.#index = new Array(count).fill(undefined);
    const { readable, writable } = new TransformStream<
      Uint8Array,
      Uint8Array
    >();
    this.#writer = writable.getWriter();
    this.#writer.closed.catch(() => {});
    this.#offset = headSize;
    this.#stored = store(readable);
    this.#stored.catch((error) => this.#writer.abort(error).catch(() => {}));
    if (headSize > 0) this.#write(new Uint8Array(headSize));
  }

  /** The number of bytes until now. */
  get length(): number {
    return this.#offset;
  }

  /** Adds an inner chunk, and waits until the store has taken it. */
  async add(place: number, chunk: Uint8Array): Promise<void> {
    this.#index[place] = { offset: this.#offset, length: chunk.length };
    this.#offset += chunk.length;
    await this.#write(chunk);
  }

  /** Adds the index, and waits until the shard is stored. */
  async finish(): Promise<void> {
    const index = encodeShardIndex(this.#index, this.#layout);
    this.#offset += index.length;
    await this.#write(index);
    await Promise.all([this.#writer.close().catch(() => {}), this.#stored]);
  }

  /** Gives the shard up: what was stored of it is removed. */
  async abort(reason: unknown): Promise<void> {
    await this.#writer.abort(reason).catch(() => {});
    await this.#stored.catch(() => {});
  }

  #write(bytes: Uint8Array): Promise<void> {
    const written = this.#latest.then(() => this.#writer.write(bytes));
    this.#latest = written.catch(() => {});
    // The store says what went wrong.
    return written.catch(async (error) => {
      await this.#stored;
      throw error;
    });
  }
}
