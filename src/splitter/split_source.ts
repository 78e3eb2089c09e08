import { copyBytes, rejectOnAbort } from "../runtime/mod.ts";
import type { PartSinks } from "./byte_sink.ts";
import type { ByteSource } from "./byte_source.ts";
import type { OpenSplitter, Part, Splitter } from "./splitter.ts";
import {
  assertStoredChecksum,
  chunkSizes,
  refuseLength,
  reportOf,
  type Settings,
  settingsOf,
  type SplitOptions,
  type SplitReport,
  startSplitter,
} from "./stream_options.ts";
import { pump } from "./windows.ts";

/**
 * Cuts a chunk into parts. Whatever fails, the source is cancelled and all sinks
 * are aborted that are not closed yet.
 *
 * @param engine Chooses the engine, by whether bytes are summed up.
 * @param store Closes the sinks, once the parts are known to be right.
 */
export async function splitSource(
  source: ByteSource,
  parts: readonly Part[],
  sinks: PartSinks,
  options: SplitOptions,
  engine: (hasChecksums: boolean) => OpenSplitter,
  store: () => Promise<void> = () => sinks.close(),
): Promise<SplitReport> {
  const { signal } = options;
  try {
    signal?.throwIfAborted();
    const settings = settingsOf(parts, [chunkSizes(parts)], options);
    const open = engine(settings.hasChecksums);
    const splitter = startSplitter(settings, open, true);
    const split = new Split(source, sinks, settings, splitter);
    const report = await rejectOnAbort(split.run(), signal, sinks.failure);
    signal?.throwIfAborted();
    await store();
    return report;
  } catch (error) {
    source.cancel(error);
    await sinks.abort(error);
    throw error;
  }
}

/** Bytes that go on, in the order of the chunk. */
interface Cuts {
  /** The parts that the bytes belong to. */
  readonly parts: number[];
  readonly bytes: Uint8Array[];
  /** Whether the bytes lie in memory that is used again. */
  readonly areLent: boolean;
}

/** A chunk on its way from a source to the sinks of its parts. */
class Split {
  readonly #source: ByteSource;
  readonly #sinks: PartSinks;
  readonly #settings: Settings;
  readonly #splitter: Splitter;
  #received = 0;
  #written = 0;

  constructor(
    source: ByteSource,
    sinks: PartSinks,
    settings: Settings,
    splitter: Splitter,
  ) {
    this.#source = source;
    this.#sinks = sinks;
    this.#settings = settings;
    this.#splitter = splitter;
  }

  /** Writes all bytes to the sinks of their parts, and closes no sink. */
  async run(): Promise<SplitReport> {
    const window = () => this.#splitter.window();
    const pumping = pump({
      read: () => this.#source.next(window),
      take: (piece) => this.#take(piece),
      write: async (cuts, before) => {
        this.#sum(cuts);
        await before;
        await this.#write(cuts);
      },
    }, this.#settings.signal);
    try {
      await pumping.done;
      const rest = this.#end();
      await this.#write(rest);
      // Parts without bytes are stored, too.
      await this.#sinks.of(this.#settings.parts.length - 1);
      await this.#sinks.flush();
      return reportOf(this.#settings, this.#splitter);
    } finally {
      pumping.settled.then(() => this.#splitter.release());
    }
  }

  #take(piece: Uint8Array): Cuts {
    this.#received += piece.length;
    if (!this.#splitter.take(piece)) {
      refuseLength(this.#settings, this.#received, false);
    }
    return this.#cuts(piece);
  }

  /** Takes the end of the chunk, and refuses a chunk that is not right. */
  #end(): Cuts {
    if (!this.#splitter.finish()) {
      refuseLength(this.#settings, this.#received, true);
    }
    const rest = this.#cuts();
    this.#sum(rest);
    assertStoredChecksum(this.#settings, this.#splitter);
    return rest;
  }

  /**
   * The bytes that the splitter cut: first those in its memory, then those of the
   * piece that it took.
   */
  #cuts(piece?: Uint8Array): Cuts {
    const splitter = this.#splitter;
    const held = splitter.cutInMemory();
    const areLent = piece === undefined || this.#source.fillsWindows;
    // Held bytes move when others are held; those in a window do not.
    const heldMove = piece !== undefined && held.buffer !== piece.buffer;
    const parts: number[] = [];
    const bytes: Uint8Array[] = [];
    let end = 0;
    for (let part = splitter.firstPart; part <= splitter.lastPart; part++) {
      const start = end;
      end += splitter.cutLength(part);
      if (start < held.length && start < end) {
        const cut = held.subarray(start, end);
        parts.push(part);
        bytes.push(heldMove ? copyBytes(cut) : cut);
      }
      if (end > held.length && start < end) {
        const from = Math.max(start, held.length) - held.length;
        parts.push(part);
        bytes.push(piece!.subarray(from, end - held.length));
      }
    }
    if (piece !== undefined) {
      splitter.keep(piece.subarray(end - held.length));
      if (!areLent) separate(bytes, piece);
    }
    return { parts, bytes, areLent };
  }

  #sum({ bytes }: Cuts): void {
    if (!this.#settings.hasChecksums) return;
    for (const cut of bytes) this.#splitter.sum(cut);
  }

  async #write({ parts, bytes, areLent }: Cuts): Promise<void> {
    const { onProgress } = this.#settings;
    for (let i = 0; i < bytes.length; i++) {
      const cut = bytes[i]!;
      const sink = await this.#sinks.of(parts[i]!);
      await sink.write(cut, areLent);
      this.#written += cut.length;
      onProgress?.(this.#written);
    }
  }
}

/**
 * Copies all but the longest of the cuts of a piece, since a stream may transfer
 * the memory of what is written to it.
 */
function separate(cuts: Uint8Array[], { buffer }: Uint8Array): void {
  if (cuts.length < 2) return;
  let longest = -1;
  for (let i = 0; i < cuts.length; i++) {
    if (cuts[i]!.buffer !== buffer) continue;
    const length = longest < 0 ? -1 : cuts[longest]!.length;
    if (cuts[i]!.length > length) longest = i;
  }
  for (let i = 0; i < cuts.length; i++) {
    if (i !== longest && cuts[i]!.buffer === buffer) {
      cuts[i] = copyBytes(cuts[i]!);
    }
  }
}
