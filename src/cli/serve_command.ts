import { createHandler, parseMount, type ServedForm } from "../serve/mod.ts";
import {
  type Arguments,
  type Command,
  type Io,
  UsageError,
} from "./command.ts";
import { isInArchive, openSource } from "./open_source.ts";
import { pathOf as localPath, stateOf } from "./open_store.ts";
import { IndexPages } from "./page/index_pages.ts";
import { printJson } from "./outputs.ts";
import { SOURCE_OPTIONS } from "./shared_options.ts";

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
    ...SOURCE_OPTIONS,
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
    const isQuiet = args.has("quiet");
    if (!await isInArchive(place, io)) await assertFolder(place);
    const store = await openSource(place, args, io, { follow: true });
    const mount = parseMount(args.text("mount") ?? "/");
    const onError = (error: unknown, { method, url }: Request) =>
      io.note(`zarr-parts: ${method} ${pathOf(url)}: ${chainOf(error)}\n`);
    const handler = createHandler(store, {
      form: formOf(args),
      mount,
      // Reading a document of a file takes less than a millisecond.
      ...localPath(place) !== undefined && { keep: { seconds: 1 } },
      onError,
    });
    const pages = new IndexPages(store, titleOf(place), {
      mount,
      onError,
    });
    const isJson = args.has("json");
    const announce = printer(io);
    const print = isQuiet ? () => {} : announce;
    const server = new Server(args, io, async (request, { completed }) => {
      const start = performance.now();
      const response = await pages.answer(request) ?? await handler(request);
      const log = (isComplete: boolean) => {
        const access = accessOf(request, response, start, isComplete);
        print(isJson ? JSON.stringify(access) : textOf(access));
      };
      completed.then(() => log(true), () => log(false));
      return response;
    });
    const { hostname, port } = server.address;
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    const url = `http://${host}:${port}${mount}/`;
    // A signal may come as soon as the URL is printed.
    const stopped = stopSignal(io);
    if (isJson) printJson({ print: announce }, "serve", { url }, 0);
    else print(`Serving ${place} at ${url}`);
    await stopped;
    await server.stop();
    return 0;
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
        "zarr-parts: Nobody reads standard output any more: requests are answered, and not printed\n",
      );
    }
  };
}

function formOf(args: Arguments): ServedForm {
  return args.has("stored")
    ? "stored"
    : args.has("inner-chunks")
    ? "inner chunks"
    : "plain";
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
async function assertFolder(place: string): Promise<void> {
  const path = localPath(place);
  const info = path === undefined ? undefined : await stateOf(path);
  if (path === undefined || info?.isDirectory) return;
  throw new UsageError(
    `Expected a folder, a zip archive or a URL to serve, found ${
      info === undefined ? "nothing" : "a file"
    } at ${JSON.stringify(place)}`,
  );
}

/** A server that goes on after the process had too many open files to accept a connection. */
class Server {
  readonly address: Deno.NetAddr;
  readonly #io: Io;
  readonly #handler: Deno.ServeHandler<Deno.NetAddr>;
  #server: Deno.HttpServer<Deno.NetAddr> | undefined;
  #pause = SHORTEST_PAUSE;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Starts the server. */
  constructor(
    args: Arguments,
    io: Io,
    handler: Deno.ServeHandler<Deno.NetAddr>,
  ) {
    this.#io = io;
    this.#handler = handler;
    const hostname = args.text("host") ?? "127.0.0.1";
    const text = args.text("port") ?? `${DEFAULT_PORT}`;
    const port = Number(text);
    if (!/^\d+$/.test(text) || port > 65535) {
      throw new UsageError(
        `Expected --port to be a number from 0 to 65535, found ${
          JSON.stringify(text)
        }`,
      );
    }
    try {
      this.address = this.#listen(hostname, port);
    } catch (error) {
      throw listenError(error as Error, hostname, port);
    }
  }

  /** Stops the server, and waits some time for the answers that are under way. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([
      this.#server?.shutdown(),
      new Promise<void>((resolve) => timer = setTimeout(resolve, GRACE)),
    ]);
    clearTimeout(timer);
  }

  #listen(hostname: string, port: number): Deno.NetAddr {
    const server = Deno.serve(
      { hostname, port, onListen() {}, onError: (error) => this.#fail(error) },
      this.#handler,
    );
    const start = performance.now();
    server.finished.catch((error) => {
      this.#server = undefined;
      if (performance.now() - start > LONGEST_PAUSE) {
        this.#pause = SHORTEST_PAUSE;
      }
      this.#listenLater(error);
    });
    this.#server = server;
    return server.addr;
  }

  /** Answers for an error that no answer was made of. */
  #fail(error: unknown): Response {
    this.#io.note(`zarr-parts: ${chainOf(error)}\n`);
    return new Response("The server failed\n", { status: 500 });
  }

  /** Listens again after a while: a connection that ends leaves room for another one. */
  #listenLater({ message }: Error): void {
    if (this.#pause === SHORTEST_PAUSE) {
      this.#io.note(
        `zarr-parts: Cannot accept connections, trying again: ${message}\n`,
      );
    }
    this.#timer = setTimeout(() => {
      try {
        this.#listen(this.address.hostname, this.address.port);
      } catch (error) {
        this.#listenLater(error as Error);
      }
    }, this.#pause);
    this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE);
  }
}

function listenError(error: Error, hostname: string, port: number): Error {
  if (!(error instanceof Deno.errors.AddrInUse)) {
    return new Error(
      `Cannot listen at port ${port} of ${hostname}: ${error.message}`,
      { cause: error },
    );
  }
  const free = Deno.listen({ port: 0, hostname });
  free.close();
  return new UsageError(
    `Port ${port} of ${hostname} is in use; --port=${
      (free.addr as Deno.NetAddr).port
    } is free`,
  );
}

/** Waits for Ctrl-C, or for the signal by which services are stopped. */
async function stopSignal({ signal }: Io): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = () => resolve();
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const isUnix = Deno.build.os !== "windows";
  if (isUnix) Deno.addSignalListener("SIGTERM", stop);
  await promise;
  if (isUnix) Deno.removeSignalListener("SIGTERM", stop);
}

/** A request that was answered. */
interface Access {
  readonly method: string;
  readonly path: string;
  readonly range?: string;
  readonly status: number;
  /** The length of the body. Answers to HEAD have none, whatever they announce. */
  readonly bytes: number;
  readonly milliseconds: number;
  /** Whether the client has taken the whole answer. */
  readonly isComplete: boolean;
}

/** @param start When the request came, by `performance.now`. */
function accessOf(
  { headers, method, url }: Request,
  response: Response,
  start: number,
  isComplete: boolean,
): Access {
  const range = headers.get("range");
  const length = response.headers.get("content-length") ?? 0;
  return {
    method,
    path: pathOf(url),
    ...range !== null && { range },
    status: response.status,
    bytes: method === "HEAD" ? 0 : Number(length),
    milliseconds: Number((performance.now() - start).toFixed(1)),
    isComplete,
  };
}

/** The line about a request. */
function textOf(
  { method, path, range, status, bytes, milliseconds, isComplete }: Access,
): string {
  const end = isComplete ? "" : " (not taken whole)";
  return `${method} ${path}${
    range === undefined ? "" : ` ${range}`
  } ${status} ${bytes} bytes ${milliseconds.toFixed(1)} ms${end}`;
}
