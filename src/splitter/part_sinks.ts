import type { ByteSink } from "./byte_sink.ts";
import { type Part, storingOrder } from "./part.ts";

/** The sinks of the parts of one chunk. Each is opened when it is first needed, in the order of the parts. */
export class PartSinks {
  readonly #parts: readonly Part[];
  readonly #open: (part: Part) => Promise<ByteSink>;
  readonly #sinks: ByteSink[] = [];
  #aborted: { reason: unknown } | undefined;
  #opening: Promise<void> = Promise.resolve();
  #fail!: (reason: unknown) => void;
  /** Rejects when a sink fails. It needs no handler. */
  readonly failure: Promise<never> = new Promise<never>((_, reject) => {
    this.#fail = reject;
  });

  constructor(
    parts: readonly Part[],
    open: (part: Part) => Promise<ByteSink>,
  ) {
    this.#parts = parts;
    this.#open = open;
    this.failure.catch(() => {});
  }

  /**
   * Returns the sink of a part, and opens it and the sinks of the parts before if
   * they are not open yet, since these may have no bytes.
   *
   * @throws The reason of `abort`, if the sinks have been aborted.
   */
  async of(part: number): Promise<ByteSink> {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
    while (this.#sinks.length <= part) {
      const opening = this.#openNext();
      this.#opening = opening.catch(() => {});
      await opening;
    }
    return this.#sinks[part]!;
  }

  async #openNext(): Promise<void> {
    const sink = await this.#open(this.#parts[this.#sinks.length]!);
    if (this.#aborted !== undefined) {
      await sink.abort(this.#aborted.reason);
      throw this.#aborted.reason;
    }
    sink.failure?.catch(this.#fail);
    this.#sinks.push(sink);
  }

  /** Resolves when all writes are done, so that no part is closed if one of them fails. */
  async flush(): Promise<void> {
    await Promise.all(this.#sinks.map((sink) => sink.flush?.()));
  }

  /** Closes the sink of one part. */
  async closePart(part: Part): Promise<void> {
    await (await this.of(this.#parts.indexOf(part))).close();
  }

  /** Closes all sinks, in the order in which parts are stored. */
  async close(): Promise<void> {
    for (const part of storingOrder(this.#parts)) await this.closePart(part);
  }

  /** Resolves when the sink that was being opened during `abort` is aborted as well. */
  async settled(): Promise<void> {
    await this.#opening;
  }

  /** Aborts all sinks that are not closed. Never rejects, and does not wait for a sink that is being opened. */
  async abort(reason: unknown): Promise<void> {
    this.#aborted ??= { reason };
    await Promise.all(this.#sinks.map((sink) => sink.abort(reason)));
  }
}
