import { isDiskFull, redactUrl } from "../stores/mod.ts";
import config from "../../deno.json" with { type: "json" };
import { type Arguments, type Io, type Progress, valueOf } from "./command.ts";
import { bytesText, countText, quoted, timeText } from "./format.ts";

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
  const path = args.text("log-file");
  // A file that cannot be written stops the command before its work.
  using file = path === undefined
    ? undefined
    : Deno.openSync(path, { append: true, create: true });
  /** Writes to the log, which has no queries of URLs. */
  const log = (text: string) => {
    const line = `${new Date().toISOString()} ${text}`;
    if (args.has("verbose")) note(line);
    if (file) writeText(file, `${line}\n`, `the log file ${quoted(path!)}`);
  };
  const watch = watchRequests(log, hint);
  const io: Io = {
    print(text) {
      line.clear();
      output.print(text);
    },
    note,
    hint,
    progress: (progress) => line.update(progress),
    signal: output.signal,
    requests: { fetch: watch.fetch, timeout: 1000 * timeout },
  };
  const start = performance.now();
  try {
    const program = `zarr-parts ${config.version}, Deno ${Deno.version.deno}`;
    const words = command.map((each) => quoted(redactUrl(each))).join(" ");
    log(`${program}, ${Deno.build.target}, in ${Deno.cwd()}: ${words}`);
    const status = await task(io);
    log(`Ended with ${status} ${costOf(start)}`);
    return status;
  } catch (error) {
    log(`Failed ${costOf(start)}: ${Deno.inspect(error)}`);
    throw error;
  } finally {
    watch.stop();
    line.clear();
  }
}

/** The time since a start, and the memory of the program. */
function costOf(start: number): string {
  const seconds = (performance.now() - start) / 1000;
  const memory = Math.round(Deno.memoryUsage().rss / 2 ** 20);
  return `after ${seconds.toFixed(3)} s, with ${memory} MiB of memory`;
}

/** How requests are sent and watched. */
interface Watch {
  fetch(request: Request): Promise<Response>;
  stop(): void;
}

/**
 * Logs each request with the status and the time of its response, or with its error, and prints
 * a line if no server has answered for three seconds. Answers that stores repeat the request for
 * do not count.
 */
function watchRequests(log: (text: string) => void, hint: Io["hint"]): Watch {
  const waiting = new Set<string>();
  let latest = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const start = (text: string) => {
    latest = text;
    timer ??= setTimeout(() => hint(`Waiting: ${latest}`), PATIENCE);
  };
  const stop = () => {
    // Deno takes 11 ms to load its timers.
    if (timer !== undefined) clearTimeout(timer);
    timer = undefined;
  };
  const send = async (request: Request) => {
    const name = `${request.method} ${redactUrl(request.url)}`;
    const range = request.headers.get("range");
    const begin = performance.now();
    const logEnd = (end: unknown) => {
      const time = Math.round(performance.now() - begin);
      log(`${name}${range === null ? "" : ` ${range}`}: ${end}, ${time} ms`);
    };
    waiting.add(name);
    start(`${name} has no answer yet`);
    try {
      const response = await fetch(request);
      const { status, headers } = response;
      const length = headers.get("content-length");
      logEnd(length === null ? status : `${status}, ${length} bytes`);
      if (status === 429 || status >= 500) {
        latest = `${name} was answered ${status}`;
        return response;
      }
      stop();
      const other = [...waiting].findLast((other) => other !== name);
      if (other !== undefined) start(`${other} has no answer yet`);
      return response;
    } catch (error) {
      logEnd(error);
      latest = `${name} failed`;
      throw error;
    } finally {
      waiting.delete(name);
    }
  };
  return { fetch: send, stop };
}

/** The time between two updates of a progress in milliseconds. */
const PERIOD = 200;

/** Shows progress on a terminal: one line that is written again and again. */
export class ProgressLine {
  readonly #output: Pick<Output, "write" | "isTerminal">;
  readonly #isShown: boolean;
  readonly #start = performance.now();
  #latest = -Infinity;
  #width = 0;

  constructor(
    output: Pick<Output, "write" | "isTerminal">,
    isQuiet: boolean,
  ) {
    this.#output = output;
    this.#isShown = output.isTerminal && !isQuiet;
  }

  /** Shows how far the work is. */
  update({ done, total, bytes }: Progress): void {
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
