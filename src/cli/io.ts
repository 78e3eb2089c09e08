import { isDiskFull, redactUrl } from "../stores/mod.ts";
import config from "../../deno.json" with { type: "json" };
import { type Arguments, type Io, valueOf } from "./command.ts";
import { bytesText, countText, timeText } from "./format.ts";

/** The output of the program, before the options of a command are known. */
export interface Output {
  /** Writes a line to standard output. */
  print(line: string): void;
  /** Writes to standard error. */
  write(text: string): void;
  /** Whether standard error is a terminal, which shows progress. */
  readonly isTerminal: boolean;
  readonly signal: AbortSignal;
}

/** In milliseconds: how long requests may be without an answer before a line says so. */
const PATIENCE = 3000;
/** The value of `--timeout` where it is not given, in seconds. */
const TIMEOUT = 60;

/**
 * Runs a command with its output. Logs its requests, the error that ends it, its time and its
 * memory: with `--verbose` to standard error, with `--log-file` to a file.
 *
 * @param command The arguments of the program.
 * @returns The exit status of the command.
 */
export async function runWithIo(
  command: readonly string[],
  args: Arguments,
  output: Output,
  task: (io: Io) => Promise<number>,
): Promise<number> {
  const line = new ProgressLine(output, args.has("quiet"));
  const note = (text: string) => {
    line.clear();
    output.write(`${text}\n`);
  };
  const hint = args.has("quiet") ? () => {} : note;
  const timeout = valueOf(
    args,
    "timeout",
    " with a number of seconds above 0, such as --timeout=60",
    (text) => /^\d{1,9}(?:\.\d+)?$/.test(text) && Number(text) || undefined,
  ) ?? TIMEOUT;
  // A file that cannot be written stops the command before its work.
  using log = new Log(args, note);
  const watch = new WaitingLine(hint);
  const io: Io = {
    print(text) {
      line.clear();
      output.print(text);
    },
    note,
    hint,
    progress: (done, total, bytes) => line.update(done, total, bytes),
    signal: output.signal,
    requests: {
      fetch: (request) => watch.fetch(request, log),
      timeout: 1000 * timeout,
    },
  };
  const start = performance.now();
  try {
    log.write(
      `zarr-parts ${config.version}, Deno ${Deno.version.deno}, ${Deno.build.target}, in ${Deno.cwd()}: ${
        command.map((each) => JSON.stringify(redactUrl(each))).join(" ")
      }`,
    );
    const status = await task(io);
    log.write(`Ended with ${status} ${costOf(start)}`);
    return status;
  } catch (error) {
    log.write(`Failed ${costOf(start)}: ${Deno.inspect(error)}`);
    throw error;
  } finally {
    watch.stop();
    line.clear();
  }
}

/** The time since a start, and the memory of the program. */
function costOf(start: number): string {
  const seconds = (performance.now() - start) / 1000;
  const memory = Deno.memoryUsage().rss / 2 ** 20;
  return `after ${seconds.toFixed(3)} s, with ${
    memory.toFixed(0)
  } MiB of memory`;
}

/** The log of `--verbose` and `--log-file`, which has no queries of URLs. */
class Log {
  readonly #path: string | undefined;
  readonly #file: Deno.FsFile | undefined;
  readonly #note: ((line: string) => void) | undefined;

  constructor(args: Arguments, note: Io["note"]) {
    this.#path = args.text("log-file");
    this.#note = args.has("verbose") ? note : undefined;
    this.#file = this.#path === undefined
      ? undefined
      : Deno.openSync(this.#path, { append: true, create: true });
  }

  write(text: string): void {
    const line = `${new Date().toISOString()} ${text}`;
    this.#note?.(line);
    if (this.#file === undefined) return;
    const name = `the log file ${JSON.stringify(this.#path)}`;
    writeText(this.#file, `${line}\n`, name);
  }

  [Symbol.dispose](): void {
    this.#file?.close();
  }
}

/**
 * Prints a line if no server has answered for three seconds. Answers that stores repeat the
 * request for do not count.
 */
class WaitingLine {
  readonly #hint: Io["hint"];
  readonly #waiting = new Set<string>();
  #latest = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(hint: Io["hint"]) {
    this.#hint = hint;
  }

  /** Sends a request, and logs it with the status and the time of its response, or with its error. */
  async fetch(request: Request, log: Log): Promise<Response> {
    const name = `${request.method} ${redactUrl(request.url)}`;
    const range = request.headers.get("range") ?? "";
    const start = performance.now();
    const logEnd = (end: unknown) => {
      const time = Math.round(performance.now() - start);
      log.write(`${`${name} ${range}`.trimEnd()}: ${end}, ${time} ms`);
    };
    this.#waiting.add(name);
    this.#latest = `${name} has no answer yet`;
    this.#start();
    try {
      const response = await fetch(request);
      const { status, headers } = response;
      const length = headers.get("content-length");
      logEnd(length === null ? status : `${status}, ${length} bytes`);
      this.#waiting.delete(name);
      if (status === 429 || status >= 500) {
        this.#latest = `${name} was answered ${status}`;
      } else {
        this.stop();
        for (const other of this.#waiting) {
          this.#latest = `${other} has no answer yet`;
          this.#start();
        }
      }
      return response;
    } catch (error) {
      logEnd(error);
      this.#waiting.delete(name);
      this.#latest = `${name} failed`;
      throw error;
    }
  }

  #start(): void {
    this.#timer ??= setTimeout(
      () => this.#hint(`Waiting: ${this.#latest}`),
      PATIENCE,
    );
  }

  stop(): void {
    // Deno takes 11 ms to load its timers.
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** Where progress is shown. */
type Terminal = Pick<Output, "write" | "isTerminal">;

/** The time between two updates of a progress in milliseconds. */
const PERIOD = 200;

/** Shows progress on a terminal: one line that is written again and again. */
export class ProgressLine {
  readonly #output: Terminal;
  readonly #isShown: boolean;
  readonly #start = performance.now();
  #latest = -Infinity;
  #width = 0;

  constructor(output: Terminal, isQuiet: boolean) {
    this.#output = output;
    this.#isShown = output.isTerminal && !isQuiet;
  }

  /** Shows how far the work is. */
  update(done: number, total: number, bytes?: number): void {
    const now = performance.now();
    if (!this.#isShown || now - this.#latest < PERIOD) return;
    this.#latest = now;
    const seconds = (now - this.#start) / 1000;
    const text = [
      `${Math.floor(100 * done / Math.max(total, 1))} %`,
      `${countText(done)} of ${countText(total)}`,
      ...bytes === undefined ? [] : [`${bytesText(bytes / seconds)}/s`],
      ...done > 0 ? [`${timeText(seconds / done * (total - done))} left`] : [],
    ].join(", ");
    this.#output.write(`\r${text.padEnd(this.#width)}`);
    this.#width = Math.max(this.#width, text.length);
  }

  /** Removes the line. */
  clear(): void {
    if (this.#width > 0) this.#output.write(`\r${" ".repeat(this.#width)}\r`);
    this.#width = 0;
  }
}

/**
 * Writes a text at once. Throws `BrokenPipe` if nobody reads any more.
 *
 * @param name The name of the file or the stream in a message about a full device.
 */
export function writeText(
  to: { writeSync(bytes: Uint8Array): number },
  text: string,
  name: string,
): void {
  let bytes = new TextEncoder().encode(text);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(to.writeSync(bytes));
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    throw new Error(`Cannot write to ${name}, whose device is full`);
  }
}
