import { redactUrl } from "../stores/mod.ts";
import {
  type Arguments,
  type Io,
  type Requests,
  UsageError,
} from "./command.ts";
import type { Terminal } from "./format.ts";

/** In milliseconds: how long a request may be without an answer before a line says so. */
const PATIENCE = 3000;
/** The value of `--timeout` where it is not given, in seconds. */
const TIMEOUT = "60";

/**
 * The requests of a command. A request that has no answer within three seconds is named on
 * standard error, and no further one until a server answers.
 */
export class WatchedRequests implements Requests {
  readonly timeout: number;
  readonly #note: Io["note"];
  readonly #waits = new Map<string, Wait>();
  #isNoted = false;

  /** @throws {UsageError} If `--timeout` is not a number of seconds above 0. */
  constructor(args: Arguments, io: Terminal) {
    const text = args.text("timeout") ?? TIMEOUT;
    this.timeout = 1000 * Number(text);
    if (!/^\d{1,9}(?:\.\d+)?$/.test(text) || this.timeout === 0) {
      throw new UsageError(
        `Expected --timeout with a number of seconds above 0, such as --timeout=60, found ${
          JSON.stringify(text)
        }`,
      );
    }
    // On a terminal, the line of the progress is replaced.
    const start = io.isTerminal ? "\r\x1b[K" : "";
    this.#note = args.has("quiet")
      ? () => {}
      : (line) => io.note(`${start}${line}\n`);
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const name = `${request.method} ${redactUrl(request.url)}`;
    const wait = this.#begin(name);
    try {
      const response = await fetch(request);
      const { status } = response;
      // Stores repeat such a request.
      if (status === 429 || status >= 500) {
        wait.state = `was answered ${status}`;
      } else this.#end(name, true);
      return response;
    } catch (error) {
      if (request.signal.aborted) this.#end(name, false);
      else wait.state = "failed";
      throw error;
    }
  };

  /** Ends the watch, so that no timer is left. */
  stop(): void {
    for (const name of this.#waits.keys()) this.#end(name, false);
  }

  #begin(name: string): Wait {
    const begun = this.#waits.get(name);
    if (begun !== undefined) return begun;
    const wait: Wait = {
      state: "has no answer yet",
      timer: setTimeout(() => {
        if (!this.#isNoted) this.#note(`Waiting: ${name} ${wait.state}`);
        this.#isNoted = true;
      }, PATIENCE),
    };
    this.#waits.set(name, wait);
    return wait;
  }

  #end(name: string, isAnswered: boolean): void {
    clearTimeout(this.#waits.get(name)?.timer);
    this.#waits.delete(name);
    if (isAnswered) this.#isNoted = false;
  }
}

/** A request without an answer, repetitions included. */
interface Wait {
  /** The state of the request as the end of a sentence, such as `failed`. */
  state: string;
  readonly timer: ReturnType<typeof setTimeout>;
}
