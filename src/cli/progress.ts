import type { Io } from "./command.ts";
import { bytesText, countText, timeText } from "./format.ts";

/** The time between two updates in milliseconds. */
const PERIOD = 200;

/** Shows progress on a terminal: one line that is written again and again. */
export class ProgressLine {
  readonly #io: Io;
  readonly #isShown: boolean;
  readonly #start = performance.now();
  #latest = -Infinity;
  #width = 0;

  constructor(io: Io, isQuiet: boolean) {
    this.#io = io;
    this.#isShown = io.isTerminal && !isQuiet;
  }

  /** Shows how far the work is. */
  update(done: number, total: number, bytes?: number): void {
    const now = performance.now();
    if (!this.#isShown || now - this.#latest < PERIOD) return;
    this.#latest = now;
    const seconds = (now - this.#start) / 1000;
    const left = done === 0 ? undefined : seconds / done * (total - done);
    this.#write([
      `${Math.floor(100 * done / Math.max(total, 1))} %`,
      `${countText(done)} of ${countText(total)}`,
      ...bytes === undefined ? [] : [`${bytesText(bytes / seconds)}/s`],
      ...left === undefined ? [] : [`${timeText(left)} left`],
    ].join(", "));
  }

  /** Removes the line. */
  clear(): void {
    if (this.#width > 0) this.#write("");
    if (this.#width > 0) this.#io.note("\r");
    this.#width = 0;
  }

  #write(text: string): void {
    this.#io.note(`\r${text.padEnd(this.#width)}`);
    this.#width = Math.max(this.#width, text.length);
  }
}
