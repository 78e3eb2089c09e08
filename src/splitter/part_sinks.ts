import type { ByteSink } from "./byte_sink.ts";
import { type Part, storingOrder } from "./part.ts";

/** Where the parts of one chunk go, each opened when its turn comes. */
export class PartSinks {
  readonly #parts: readonly Part[];
  readonly #open: (part: Part) => Promise<ByteSink>;
  readonly #sinks: ByteSink[] = [];
  #aborted: { reason: unknown } | undefined;
  #opening: Promise<void> = Promise.resolve();
  #fail!: (reason: unknown) => void;
  /** Rejects once a sink fails by itself. */
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

  /** The sink of a part, unless all were given up. Those of the parts before are opened too: these may have no bytes. */
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

  /** Resolves when all writes have been taken, so that no part is closed if one of them fails. */
  async flush(): Promise<void> {
    await Promise.all(this.#sinks.map((sink) => sink.flush?.()));
  }

  /** Closes the sink of one part. */
  async closePart(part: Part): Promise<void> {
    await (await this.of(this.#parts.indexOf(part))).close();
  }

  /** Closes all, in the order in which parts are stored. */
  async close(): Promise<void> {
    for (const part of storingOrder(this.#parts)) await this.closePart(part);
  }

  /** Waits for the sink that was being opened when all were given up, and is given up as well. */
  async settled(): Promise<void> {
    await this.#opening;
  }

  /** Gives up all that are not closed. Never fails, and does not wait for one that is being opened. */
  async abort(reason: unknown): Promise<void> {
    this.#aborted ??= { reason };
    await Promise.all(this.#sinks.map((sink) => sink.abort(reason)));
  }
}
