import { parsedArrayOf, type Share } from "../../arrays/mod.ts";
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
import { rootIn } from "../../hierarchy/mod.ts";
import { MemoryLimit, runConcurrently } from "../../runtime/mod.ts";
import { placeInShard } from "../../shards/mod.ts";
import { backendOf } from "../../stores/mod.ts";
import { stridesInOrder, type Threads } from "../../threads/mod.ts";
import type { Box } from "./plan_blocks.ts";
import type { RecodedArray } from "./recode_array.ts";
import { type ElementsWay, isThreaded } from "./recode_way.ts";
import {
  type MadeChunk,
  type RecodeSink,
  TargetChunks,
} from "./target_chunks.ts";

/** How many chunks each thread needs at the same time, so that it never waits for work. */
const CHUNKS_PER_THREAD = 3;
const LEAST_BLOCKS = 3;

/** A block that is recoded, with the stored chunks of the target that it is a part of. */
interface Block {
  readonly box: Box;
  /** By their coordinates, without those that are there already. */
  readonly made: ReadonlyMap<string, MadeChunk>;
}

/** A chunk of the target that is made. */
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
  const { plan, shapes, memory } = array;
  const chunks = plan.blockShape.reduce(
    (count, length, i) => count * (length / shapes.chunkShape[i]!),
    1,
  );
  const wanted = Math.max(
    LEAST_BLOCKS,
    Math.ceil(CHUNKS_PER_THREAD * (threads?.count ?? 0) / chunks),
  );
  const most = Math.floor(memory / 2 / Math.max(1, plan.blockBytes));
  const concurrency = Math.max(1, Math.min(wanted, most));
  const target = new TargetChunks(array, threads, sink);
  const run = new RecodeRun(array, target, sink, concurrency, threads);
  try {
    await runConcurrently(
      run.blocks(share, signal ?? new AbortController().signal),
      concurrency,
      (block, signal) => run.recode(block, signal),
      signal,
    );
  } catch (error) {
    await target.abort(error);
    throw error;
  }
}

/** One run over the blocks of an array. */
class RecodeRun {
  readonly #array: RecodedArray;
  readonly #target: TargetChunks;
  readonly #sink: RecodeSink;
  /** The number of blocks that are recoded at the same time. */
  readonly #concurrency: number;
  readonly #threads: Threads | undefined;
  readonly #source: ChunkSource;
  readonly #storing: MemoryLimit;
  /** Memory of blocks, to be used again. */
  readonly #spare: ArrayBufferLike[] = [];

  constructor(
    array: RecodedArray,
    target: TargetChunks,
    sink: RecodeSink,
    concurrency: number,
    threads: Threads | undefined,
  ) {
    this.#array = array;
    this.#target = target;
    this.#sink = sink;
    this.#concurrency = concurrency;
    this.#threads = threads;
    this.#source = sourceOf(array);
    this.#storing = new MemoryLimit(0, sink.concurrency);
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
      const made = await this.#target.begin(stored, signal);
      if (made.size === 0) continue;
      for (const sections of sectionsIn(group, plan.blockShape)) {
        const box = sections.map(({ start, stop, step }) => ({
          ...{ start, stop, step },
        }));
        yield { box, made };
      }
    }
  }

  /** Reads a block, makes the chunks of the target in it, and stores those that are complete. */
  async recode(block: Block, signal: AbortSignal): Promise<void> {
    const targets = this.#targetsIn(block);
    if (targets.length === 0) return;
    const { way } = this.#array;
    if (way.kind === "elements" && !way.isSameShape) {
      await this.#divide(block, targets, way, signal);
    } else {
      await this.#recodeEach(block, targets, signal);
    }
  }

  /** The chunks of the target in a block that are to be made. */
  #targetsIn({ box, made }: Block): Target[] {
    const { objectShape, chunkShape } = this.#array.shapes;
    const { layout } = this.#target;
    const targets: Target[] = [];
    for (const stored of sectionsIn(box, objectShape)) {
      const chunk = made.get(String(this.#at(stored)));
      if (chunk === undefined) continue;
      for (const sections of sectionsIn(stored, chunkShape)) {
        const place = layout === undefined ? 0 : placeInShard(
          this.#at(sections).map((c, i) => c % layout.chunksPerShard[i]!),
          layout,
        );
        targets.push({ sections, made: chunk, place });
      }
    }
    return targets;
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
    if (bytes !== undefined) await this.#target.add(made, place, bytes);
    if (--made.left > 0) return;
    const leave = await this.#storing.enter(1);
    try {
      signal.throwIfAborted();
      await this.#target.finish(made, signal);
    } finally {
      leave();
    }
  }

  /** Decodes a block, and divides its elements into other chunks. */
  async #divide(
    { box }: Block,
    targets: readonly Target[],
    { fill, decoder, encoder }: ElementsWay,
    signal: AbortSignal,
  ): Promise<void> {
    const lengths = box.map(({ start, stop }) => stop - start);
    const { elementSize, chunkShape } = this.#array.shapes;
    const to = {
      bytes: this.#allocate(lengths.reduce((n, m) => n * m, elementSize)),
      offset: 0,
      strides: stridesInOrder(lengths, "C"),
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
    { box }: Block,
    targets: readonly Target[],
    signal: AbortSignal,
  ): Promise<void> {
    const { plan, way } = this.#array;
    const byChunk = new Map(targets.map((target) => [
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
          const target = byChunk.get(name);
          byChunk.delete(name);
          return target === undefined ? [] : [{ ...chunk, target }];
        });
        if (way.kind === "elements") {
          const encoded = await this.#recodeTogether(wanted, way, signal);
          for (const [i, { target }] of wanted.entries()) {
            await this.#take(target, encoded[i], signal);
          }
          return;
        }
        for (const { target, sections, bytes } of wanted) {
          signal.throwIfAborted();
          const { what, key } = this.#source.nameOf(chunkOf(sections));
          const encoded = await way.recode(bytes, what, key);
          await this.#take(target, encoded, signal);
        }
      },
    }, this.#readOptions(signal));
    for (const target of byChunk.values()) {
      await this.#take(target, undefined, signal);
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
      const strides = stridesInOrder(counts, "C");
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
      memory: memory / 4 / this.#concurrency,
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
    const { plan, way } = this.#array;
    const isShared = typeof SharedArrayBuffer === "function" &&
      isThreaded(way, this.#threads);
    // Of the length of most blocks, so that it fits again.
    const capacity = Math.max(length, plan.blockBytes);
    return new Uint8Array(
      isShared ? new SharedArrayBuffer(capacity) : new ArrayBuffer(capacity),
      0,
      length,
    );
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
