import type { ByteSource } from "./byte_source.ts";
import type { Passage } from "./passage.ts";
import type { SplitReport } from "./stream_options.ts";

const NOTHING = new Uint8Array();

/** The bytes of all parts one after another, each part opened when its turn comes. */
export class ConcatSource implements ByteSource {
  readonly #passage: Passage;
  readonly #open: (part: number) => Promise<ByteSource>;
  readonly #onReport: ((report: SplitReport) => void) | undefined;
  /** The place of the part that is read, and what it is read from. */
  #part = 0;
  #source: ByteSource | undefined;
  /** Where the end is verified, the last piece so far: it is only given when another one, or the proof, is there. */
  #held: Uint8Array | undefined;
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
      const piece = await source.next(window);
      if (this.#cancelled !== undefined) return undefined;
      if (piece === undefined) {
        passage.assertPart(this.#part++, true);
        this.#source = undefined;
        continue;
      }
      passage.add(this.#part, piece);
      passage.assertPart(this.#part, false);
      passage.receive(piece.length);
      if (piece.length === 0) continue;
      passage.progress(piece.length);
      if (!passage.isVerified) return piece;
      const held = this.#held ?? NOTHING;
      this.#held = piece;
      return held;
    }
    return this.#finish();
  }

  cancel(reason: unknown): void {
    this.#cancelled ??= { reason };
    this.#source?.cancel(reason);
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
