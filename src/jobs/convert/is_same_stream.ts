import { sourceOf } from "../../splitter/byte_source.ts";
import type { StoreOptions } from "../../stores/store.ts";

/** The bytes that are compared at once, of each stream. */
const WINDOW = 256 * 1024;

/** Whether two streams have the same bytes, and both are present. Cancels them at the first difference. */
export async function isSameStream(
  one: ReadableStream<Uint8Array> | undefined,
  other: ReadableStream<Uint8Array> | undefined,
  { signal }: StoreOptions,
): Promise<boolean> {
  const streams = [one, other].filter((stream) => stream !== undefined);
  const pieces = streams.map((stream) => new Pieces(stream));
  try {
    const [a, b] = pieces;
    if (a === undefined || b === undefined) return false;
    while (true) {
      signal?.throwIfAborted();
      await Promise.all([a.fill(), b.fill()]);
      const length = Math.min(a.bytes.length, b.bytes.length);
      if (length === 0) return a.bytes.length === b.bytes.length;
      for (let i = 0; i < length; i++) {
        if (a.bytes[i] !== b.bytes[i]) return false;
      }
      a.drop(length);
      b.drop(length);
    }
  } finally {
    for (const each of pieces) each.cancel();
  }
}

/** The pieces of a stream, of which bytes are dropped from the start. */
class Pieces {
  /** The bytes that have come and were not dropped; empty at the end of the stream. */
  bytes = new Uint8Array();
  readonly #source;
  readonly #memory = new Uint8Array(WINDOW);

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#source = sourceOf(stream);
  }

  async fill(): Promise<void> {
    while (this.bytes.length === 0) {
      const piece = await this.#source.next(() => this.#memory);
      if (piece === undefined) return;
      this.bytes = piece as Uint8Array<ArrayBuffer>;
    }
  }

  drop(length: number): void {
    this.bytes = this.bytes.subarray(length);
  }

  cancel(): void {
    this.#source.cancel(undefined);
  }
}
