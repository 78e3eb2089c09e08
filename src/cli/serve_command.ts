import { setTimeout as wait } from "node:timers/promises";
import { createHandler, parseMount } from "../serve/mod.ts";
import {
  type Arguments,
  type Command,
  type Io,
  UsageError,
  valueOf,
} from "./command.ts";
import { jsonText, quoted } from "./format.ts";
import {
  findArchive,
  openSource,
  pathOf as localPath,
  stateOf,
} from "./open_store.ts";
import type { Outputs } from "./outputs.ts";
import { createPages } from "./page/create_pages.ts";
import { SOURCE } from "./shared_options.ts";

const DEFAULT_PORT = 8000;
/** How long answers that are under way may take after Ctrl-C, in milliseconds. */
const GRACE = 2_000;
/** The first and the longest time until connections are accepted again, in milliseconds. */
const [SHORTEST_PAUSE, LONGEST_PAUSE] = [100, 3_000];

/** `zarr-parts serve PATH|URL` */
export const SERVE: Command = {
  name: "serve",
  operands: ["PATH|URL"],
  summary:
    "Serves the arrays and groups of a folder, a zip archive or a URL over HTTP as plain Zarr, until Ctrl-C. All Zarr programs that have the codecs read them, and browsers show a page about each. Prints a line for each request. Nothing can be written.",
  options: {
    "--port <NUMBER>":
      `the port, ${DEFAULT_PORT} by default; 0 for any free port`,
    "--host <NAME>":
      "the address to listen at, 127.0.0.1 by default; 0.0.0.0 lets other machines connect",
    "--mount <PATH>": "the path at which the store is served, / by default",
    ...SOURCE.options,
    "--stored": "serve all values as they are stored",
    "--inner-chunks":
      "serve sharded arrays as arrays of their inner chunks, for programs that do not read shards",
  },
  exclusive: [["stored", "inner-chunks"]],
  examples: [
    "zarr-parts serve data.zarr",
    "zarr-parts serve https://example.com/data.zarr --port=8080 --inner-chunks",
  ],
  async run(args, io) {
    const [place] = args.operands as [string];
    if (await findArchive(place, io) === undefined) await assertServed(place);
    const store = await openSource(place, args, io, { follow: true });
    const mount = parseMount(args.text("mount") ?? "/");
    const unsharded = args.has("inner-chunks") ? "inner chunks" : "plain";
    const onError = (error: unknown, { method, url }: Request) =>
      io.note(`zarr-parts: ${method} ${pathOf(url)}: ${chainOf(error)}`);
    const handler = createHandler(store, {
      form: args.has("stored") ? "stored" : unsharded,
      mount,
      // Reading a document of a file takes less than a millisecond.
      ...localPath(place) !== undefined && { keep: { seconds: 1 } },
      onError,
    });
    const answerPage = createPages(store, titleOf(place), { mount, onError });
    const isJson = args.has("json");
    const announce = printer(io);
    const print = args.has("quiet") ? () => {} : announce;
    const listen = listener(args, io, async (request, { completed }) => {
      const start = performance.now();
      const response = await answerPage(request) ?? await handler(request);
      const log = (isComplete: boolean) => {
        const access = accessOf(request, response, start, isComplete);
        print(isJson ? JSON.stringify(access) : textOf(access));
      };
      completed.then(() => log(true), () => log(false));
      return response;
    });
    const server = listen();
    const { hostname, port } = server.addr;
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    const url = `http://${host}:${port}${mount}/`;
    const terminated = new AbortController();
    const stop = () => terminated.abort();
    // A signal may come as soon as the URL is printed.
    const isUnix = Deno.build.os !== "windows";
    if (isUnix) Deno.addSignalListener("SIGTERM", stop);
    const output: Outputs["serve"] = { url };
    if (isJson) announce(jsonText(output, 0));
    else print(`Serving ${place} at ${url}`);
    const signal = AbortSignal.any([io.signal, terminated.signal]);
    await serveUntil(signal, server, () => listen(port), io);
    if (isUnix) Deno.removeSignalListener("SIGTERM", stop);
    return {};
  },
};

/** Prints lines until nobody reads them any more, which does not end the server. */
function printer(io: Io): (line: string) => void {
  let isRead = true;
  return (line) => {
    if (!isRead) return;
    try {
      io.print(line);
    } catch (error) {
      if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
      isRead = false;
      io.note(
        "zarr-parts: Nobody reads standard output any more: requests are answered, and not printed",
      );
    }
  };
}

/** The path that a request line shows. */
function pathOf(url: string): string {
  return new URL(url).pathname;
}

/** The messages of an error and of its causes, which no answer tells. */
function chainOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  return cause === undefined
    ? `${error}`
    : `${error}; cause: ${chainOf(cause)}`;
}

/** The last name of a path or a URL. */
function titleOf(place: string): string {
  const path = /^[a-z]+:\/\//i.test(place) ? new URL(place).pathname : place;
  const names = path.split(/[/\\]/);
  return names.findLast((name) => name !== "" && name !== ".") ?? place;
}

/** Refuses a path that is not a folder, which a store would read as an empty folder. */
async function assertServed(place: string): Promise<void> {
  const path = localPath(place);
  const info = path === undefined ? undefined : await stateOf(path);
  if (path === undefined || info?.isDirectory) return;
  const found = info === undefined ? "nothing" : "a file";
  throw new UsageError(
    `Expected a folder, a zip archive or a URL to serve, found ${found} at ${
      quoted(place)
    }`,
  );
}

/** Returns a function that starts the server at a port, by default that of `--port`. */
function listener(
  args: Arguments,
  io: Io,
  handler: Deno.ServeHandler<Deno.NetAddr>,
): (port?: number) => Deno.HttpServer<Deno.NetAddr> {
  const hostname = args.text("host") ?? "127.0.0.1";
  const given = valueOf(
    args,
    "port",
    " to be a number from 0 to 65535",
    (text) => /^\d+$/.test(text) && +text <= 65535 ? +text : undefined,
  ) ?? DEFAULT_PORT;
  /** Answers for an error that no answer was made of. */
  const onError = (error: unknown) => {
    io.note(`zarr-parts: ${chainOf(error)}`);
    return new Response("The server failed\n", { status: 500 });
  };
  return (port = given) => {
    try {
      return Deno.serve({ hostname, port, onListen() {}, onError }, handler);
    } catch (error) {
      const { message } = error as Error;
      throw error instanceof Deno.errors.AddrInUse
        ? new UsageError(
          `Port ${port} of ${hostname} is in use; --port=0 takes a free one`,
        )
        : new Error(
          `Cannot listen at port ${port} of ${hostname}: ${message}`,
          { cause: error },
        );
    }
  };
}

/**
 * Waits for a signal, and then for the answers that are under way. Listens again after the
 * process had too many open files to accept a connection, since a connection that ends leaves
 * room for another one.
 */
async function serveUntil(
  signal: AbortSignal,
  first: Deno.HttpServer,
  listen: () => Deno.HttpServer,
  io: Io,
): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  let server: Deno.HttpServer | undefined = first;
  let pause = SHORTEST_PAUSE;
  while (!signal.aborted) {
    const start = performance.now();
    try {
      server ??= listen();
      await Promise.race([server.finished, stopped]);
    } catch (error) {
      server = undefined;
      if (performance.now() - start > LONGEST_PAUSE) pause = SHORTEST_PAUSE;
      if (pause === SHORTEST_PAUSE) {
        io.note(
          `zarr-parts: Cannot accept connections, trying again: ${
            (error as Error).message
          }`,
        );
      }
      await wait(pause, undefined, { signal }).catch(() => {});
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }
  const grace = new AbortController();
  const limit = wait(GRACE, undefined, { signal: grace.signal });
  await Promise.race([server?.shutdown(), limit]);
  grace.abort();
}

/**
 * Describes a request that was answered.
 *
 * @param start When the request came, by `performance.now`.
 * @param isComplete Whether the client has taken the whole answer.
 */
function accessOf(
  { headers, method, url }: Request,
  response: Response,
  start: number,
  isComplete: boolean,
) {
  const range = headers.get("range");
  const length = response.headers.get("content-length") ?? 0;
  return {
    method,
    path: pathOf(url),
    ...range !== null && { range },
    status: response.status,
    // Answers to HEAD have no body, whatever they announce.
    bytes: method === "HEAD" ? 0 : Number(length),
    milliseconds: Number((performance.now() - start).toFixed(1)),
    isComplete,
  };
}

/** The line about a request. */
function textOf(
  { method, path, range = "", status, bytes, milliseconds, isComplete }:
    ReturnType<typeof accessOf>,
): string {
  const request = `${method} ${path} ${range}`.trimEnd();
  const time = `${milliseconds.toFixed(1)} ms`;
  const end = isComplete ? "" : " (not taken whole)";
  return `${request} ${status} ${bytes} bytes ${time}${end}`;
}
