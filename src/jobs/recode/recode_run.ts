import { parsedArrayOf } from "../../arrays/mod.ts";
import {
  type BlockArray,
  blockOf,
  changedError,
  chunkOf,
  type ChunkSource,
  EncodedChunks,
  type FoundChunk,
  innermostChunks,
  readBlock,
  readChunks,
  type Section,
  sectionsIn,
  wholeChunks,
} from "../../blocks/mod.ts";
import { rootIn } from "../../hierarchy/mod.ts";
import { MemoryLimit, runConcurrently } from "../../runtime/mod.ts";
import { placeInShard } from "../../shards/mod.ts";
import { backendOf } from "../../stores/mod.ts";
import { stridesInOrder, type Threads } from "../../threads/mod.ts";
import type { Box } from "./plan_blocks.ts";
import { type ElementsWay, isThreaded } from "./recode_way.ts";
import { sourceEncodingOf } from "./recoding.ts";
import {
  type MadeChunk,
  type PlannedRecoding,
  type RecodeSink,
  TargetChunks,
} from "./target_chunks.ts";

/** The work that a run does at once. */
export interface RunSettings {
  /** The number of blocks that are recoded at the same time. */
  readonly concurrency: number;
  readonly threads: Threads | undefined;
}

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

/** One run over the blocks of an array. */
export class RecodeRun {
  readonly #array: PlannedRecoding;
  readonly #settings: RunSettings;
  readonly #sink: RecodeSink;
  readonly #source: ChunkSource;
  readonly #target: TargetChunks;
  /** The length of a dimension that elements of several numbers add to all shapes. */
  readonly #numbers: readonly number[];
  readonly #storing: MemoryLimit;
  /** Memory of blocks, to be used again. */
  readonly #spare: ArrayBufferLike[] = [];

  constructor(array: PlannedRecoding, settings: RunSettings, sink: RecodeSink) {
    const { way } = array;
    this.#array = array;
    this.#settings = settings;
    this.#sink = sink;
    this.#numbers = way.kind === "elements" && way.form.count > 1
      ? [way.form.count]
      : [];
    this.#source = this.#createSource();
    this.#target = new TargetChunks(array, settings.threads, sink);
    this.#storing = new MemoryLimit(0, sink.concurrency);
  }

  /**
   * Makes the chunks of the target in groups of blocks.
   *
   * @param groups Elements that fill whole stored chunks of the target.
   */
  async run(
    groups: Iterable<Box>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    try {
      await runConcurrently(
        this.#blocksOf(groups, signal ?? new AbortController().signal),
        this.#settings.concurrency,
        (block, signal) => this.#recode(block, signal),
        signal,
      );
    } catch (error) {
      await this.#target.abort(error);
      throw error;
    }
  }

  async *#blocksOf(
    groups: Iterable<Box>,
    signal: AbortSignal,
  ): AsyncGenerator<Block> {
    const { blockShape } = this.#array.plan;
    const { chunkShape } = this.#array.pair.target;
    for (const group of groups) {
      await this.#sink.before(signal);
      const stored = Array.from(sectionsIn(group, chunkShape), chunkOf);
      const made = await this.#target.begin(stored, signal);
      if (made.size === 0) continue;
      for (const box of sectionsIn(group, blockShape)) yield { box, made };
    }
  }

  /** Reads a block, makes the chunks of the target in it, and stores those that are complete. */
  async #recode(block: Block, signal: AbortSignal): Promise<void> {
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
    const { chunkShape, pair: { target } } = this.#array;
    const { layout } = this.#target;
    const targets: Target[] = [];
    for (
      const stored of sectionsIn(
        this.#withNumbers(box),
        this.#shapeOf(target.chunkShape),
      )
    ) {
      const chunk = made.get(String(this.#at(stored)));
      if (chunk === undefined) continue;
      for (const sections of sectionsIn(stored, this.#shapeOf(chunkShape))) {
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
    way: ElementsWay,
    signal: AbortSignal,
  ): Promise<void> {
    const { chunkShape } = this.#array;
    const { threads } = this.#settings;
    const { fill, decoder, encoder } = way;
    const runs = this.#withNumbers(box);
    const to = {
      bytes: this.#allocate(box, way),
      offset: 0,
      strides: stridesInOrder(
        runs.map(({ start, stop }) => stop - start),
        "C",
      ),
    };
    let hasElements = false;
    const array: BlockArray<ChunkSource> = {
      chunks: this.#source,
      codecs: decoder,
      fill,
    };
    await readBlock(array, runs, to, {
      ...this.#readOptions(signal),
      onChunk: (_, isPresent) => hasElements ||= isPresent,
    });
    const blocks = hasElements
      ? targets.map(({ sections }) =>
        blockOf(sections, this.#shapeOf(chunkShape), to)
      )
      : [];
    const encoded = await encoder.encode(blocks, {
      threads,
      signal,
      fill,
      leavesOut: true,
    });
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
    await readChunks(this.#source, this.#withNumbers(box), chunkBytes, {
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
    const { threads } = this.#settings;
    return await decoder.recode(stored, encoder, fill, { threads, signal });
  }

  #readOptions(signal: AbortSignal) {
    const { pair: { stored }, memory } = this.#array;
    const { threads, concurrency } = this.#settings;
    return {
      ...{ threads, signal, memory: memory / 4 / concurrency },
      mayHave: (chunk: readonly number[]) =>
        stored.has(chunk.slice(0, stored.gridShape.length)),
    };
  }

  /** The encoded chunks of the source, with a last dimension for elements of several numbers. */
  #createSource(): ChunkSource {
    const { pair: { source, path, stored }, place } = this.#array;
    const array = parsedArrayOf(source);
    const { isSharded } = sourceEncodingOf(source.metadata);
    const chunks = new EncodedChunks(
      backendOf(place.store),
      rootIn(place, path),
      array,
      isSharded ? innermostChunks(array) : wholeChunks(array),
    );
    const rank = array.shape.length;
    const isThere = !isSharded && stored.isListed && stored.isExact;
    return {
      chunkShape: this.#shapeOf(chunks.chunkShape),
      storedShape: this.#shapeOf(chunks.storedShape),
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

  #shapeOf(shape: readonly number[]): readonly number[] {
    return [...shape, ...this.#numbers];
  }

  #withNumbers(box: Box): Box {
    const numbers = this.#numbers.map((stop) => ({ start: 0, stop, step: 1 }));
    return [
      ...box.map(({ start, stop, step }) => ({ start, stop, step })),
      ...numbers,
    ];
  }

  /** The coordinates of the chunk that sections lie in, in the array. */
  #at(sections: readonly Section[]): number[] {
    return chunkOf(sections).slice(0, sections.length - this.#numbers.length);
  }

  /** Returns memory of zeros for the elements of a block: shared memory if threads work on it. */
  #allocate(box: Box, way: ElementsWay): Uint8Array {
    const length = box.reduce(
      (n, { start, stop }) => n * (stop - start),
      way.form.size,
    );
    const spare = this.#spare.findIndex(({ byteLength }) =>
      byteLength >= length
    );
    if (spare >= 0) {
      return new Uint8Array(this.#spare.splice(spare, 1)[0]!, 0, length)
        .fill(0);
    }
    const { plan } = this.#array;
    const { threads } = this.#settings;
    const isShared = typeof SharedArrayBuffer === "function" &&
      isThreaded(way, threads);
    // Of the length of most blocks, so that it fits again.
    const capacity = Math.max(length, plan.blockBytes);
    return new Uint8Array(
      isShared ? new SharedArrayBuffer(capacity) : new ArrayBuffer(capacity),
      0,
      length,
    );
  }
}
