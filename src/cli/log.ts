import { isDiskFull, redactUrl } from "../stores/mod.ts";
import config from "../../deno.json" with { type: "json" };
import type { Arguments, Io, Requests } from "./command.ts";

/**
 * Runs a command, and logs its requests, the error that ends it with the stack, its time and
 * its memory: with `--verbose` to standard error, with `--log-file` to a file, and otherwise
 * not at all.
 *
 * @param command The arguments of the program.
 * @returns The exit status of the command.
 */
export async function runLogged(
  command: readonly string[],
  args: Arguments,
  io: Io,
  task: (io: Io) => Promise<number>,
): Promise<number> {
  const path = args.text("log-file");
  if (path === undefined && !args.has("verbose")) return await task(io);
  // Opened first, so that a path that cannot be written stops the command before its work.
  const file = path === undefined
    ? undefined
    : Deno.openSync(path, { append: true, create: true });
  const log = (text: string) => {
    const line = `${new Date().toISOString()} ${text}\n`;
    if (args.has("verbose")) io.note(line);
    if (file !== undefined) {
      writeText(file, line, `the log file ${JSON.stringify(path)}`);
    }
  };
  const start = performance.now();
  const { timeout, fetch } = io.requests;
  const requests = { timeout, fetch: loggingFetch(fetch, log) };
  try {
    log(
      `zarr-parts ${config.version}, Deno ${Deno.version.deno}, ${Deno.build.target}, in ${Deno.cwd()}: ${
        command.map((each) => JSON.stringify(redactUrl(each))).join(" ")
      }`,
    );
    const status = await task({ ...io, requests });
    log(`Ended with ${status} ${costOf(start)}`);
    return status;
  } catch (error) {
    log(`Failed ${costOf(start)}: ${stackOf(error)}`);
    throw error;
  } finally {
    file?.close();
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

/** The stack of an error, and of the errors that caused it. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.stack ?? String(error);
  return error.cause === undefined
    ? text
    : `${text}\nCaused by: ${stackOf(error.cause)}`;
}

/** Logs each request with the status and the time of its response, or with its error. */
function loggingFetch(
  send: Requests["fetch"],
  log: (text: string) => void,
): Requests["fetch"] {
  return async (request) => {
    const range = request.headers.get("range");
    const what = `${request.method} ${redactUrl(request.url)}${
      range ? ` ${range}` : ""
    }`;
    const start = performance.now();
    const time = () => `${Math.round(performance.now() - start)} ms`;
    try {
      const response = await send(request);
      const length = response.headers.get("content-length");
      log(
        `${what}: ${response.status}${
          length === null ? "" : `, ${length} bytes`
        }, ${time()}`,
      );
      return response;
    } catch (error) {
      log(`${what}: ${error}, ${time()}`);
      throw error;
    }
  };
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
