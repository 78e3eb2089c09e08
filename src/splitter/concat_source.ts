import type { ByteSource } from "./byte_source.ts";
import type { Passage } from "./passage.ts";
import type { SplitReport } from "./stream_options.ts";

const NOTHING = new Uint8Array();

/** The bytes of all parts one after another, each part opened when its turn comes. */
export class ConcatSource implements ByteSource {
  readonly #passage: Passage;
  readonly #open: (part: number) => Promise<ByteSource>;
  readonly #onReport: ((report: SplitReport) => void) | undefined;
  /** The place of the part that is read, how much of it was, and what it is read from. */
  #part = 0;
  #received = 0;
  #source: ByteSource | undefined;
  /**
   * Where checksums are computed, the last piece so far: it is summed up while the
   * next one is read and, if the end is verified, not given before that is right.
   */
  #held: Uint8Array | undefined;
  #isSummedUp = true;
  #cancelled: { reason: unknown } | undefined;
  #isDone = false;

  constructor(
    passage: Passage,
    open: (part: number) => Promise<ByteSource>,
    onReport?: (report: SplitReport) => void,
  ) {
    this.#passage = passage;
    this.#open = open;
    this.#onReport = onReport;
  }

  async next(window: () => Uint8Array): Promise<Uint8Array | undefined> {
    const passage = this.#passage;
    while (this.#part < passage.parts.length) {
      const source = this.#source ??= await this.#opened(this.#part);
      const reading = source.next(window);
      this.#sumUpHeld(); // It is of the same part: this comes before its end.
      const piece = await reading;
      if (this.#cancelled !== undefined) return undefined;
      this.#received += piece?.length ?? 0;
      const isWhole = piece === undefined;
      passage.assertPart(this.#part, this.#received, isWhole);
      if (isWhole) {
        this.#part++;
        this.#received = 0;
        this.#source = undefined;
      } else if (piece.length > 0) {
        passage.receive(piece.length);
        passage.progress(piece.length);
        return this.#exchange(piece);
      }
    }
    return this.#finish();
  }

  cancel(reason: unknown): void {
    this.#cancelled ??= { reason };
    this.#source?.cancel(reason);
  }

  /** What to give when a piece has come: that one or, where it is held, the one before. */
  #exchange(piece: Uint8Array): Uint8Array {
    if (!this.#passage.hasChecksums) {
      this.#passage.add(this.#part, piece);
      return piece;
    }
    const before = this.#held ?? NOTHING;
    this.#held = piece;
    this.#isSummedUp = false;
    return before;
  }

  #sumUpHeld(): void {
    if (this.#isSummedUp) return;
    this.#passage.add(this.#part, this.#held!);
    this.#isSummedUp = true;
  }

  #finish(): Uint8Array | undefined {
    if (this.#isDone) return undefined;
    this.#isDone = true;
    this.#passage.assertEnd();
    this.#passage.assertChecksum();
    this.#onReport?.(this.#passage.report());
    return this.#held;
  }

  async #opened(part: number): Promise<ByteSource> {
    const source = await this.#open(part);
    if (this.#cancelled !== undefined) source.cancel(this.#cancelled.reason);
    return source;
  }
}
