import { createHandler } from "../serve/create_handler.ts";
import { FileSystemStore } from "../stores/file_system/file_system_store.ts";
import type { ServedForm } from "../serve/options.ts";
import { parseMount } from "../serve/parse_options.ts";
import {
  type Arguments,
  type Command,
  type Io,
  UsageError,
} from "./command.ts";
import { jsonLine, textLine } from "./access_line.ts";
import { openStore } from "./open_store.ts";
import { IndexPages } from "./page/index_pages.ts";

const DEFAULT_PORT = 8000;
/** How many ports after one that is in use are tried for a suggestion. */
const PORTS_TRIED = 100;
/** How long answers that are under way may take after Ctrl-C, in milliseconds. */
const GRACE = 2_000;

/** `zarr-parts serve PATH|URL` */
export const SERVE: Command = {
  name: "serve",
  operands: ["PATH|URL"],
  summary:
    "Serves the arrays and groups of a folder or a URL over HTTP as plain Zarr, until\nCtrl-C. All Zarr programs read them, and browsers show a page about each. Prints\na line for each request. Nothing can be written.",
  options: {
    port: {
      type: "string",
      value: "NUMBER",
      help: `the port, ${DEFAULT_PORT} by default; 0 for any that is free`,
    },
    host: {
      type: "string",
      value: "NAME",
      help:
        "the address to listen at, 127.0.0.1 by default; 0.0.0.0 lets other machines connect",
    },
    mount: {
      type: "string",
      value: "PATH",
      help: "the path at which the store is served, / by default",
    },
    stored: { type: "boolean", help: "serve all values as they are stored" },
    "inner-chunks": {
      type: "boolean",
      help:
        "serve sharded arrays as arrays of their inner chunks, for programs that do not read shards",
    },
  },
  examples: [
    "zarr-parts serve data.zarr",
    "zarr-parts serve https://example.com/data.zarr --port=8080 --inner-chunks",
  ],
  async run(args, io) {
    const [place] = args.operands as [string];
    const isQuiet = args.has("quiet");
    const store = openStore(place);
    const isFolder = store instanceof FileSystemStore;
    if (isFolder) await assertFolder(place);
    const mount = parseMount(args.text("mount") ?? "/");
    const handler = createHandler(store, {
      form: formOf(args),
      mount,
      // Reading a document of a folder takes less than a millisecond.
      ...isFolder && { keep: { seconds: 1 } },
      onError: (error, { method, url }) =>
        io.note(`zarr-parts: ${method} ${new URL(url).pathname}: ${error}\n`),
    });
    const pages = new IndexPages(store, titleOf(place), mount);
    const line = args.has("json") ? jsonLine : textLine;
    const server = listen(args, async (request, info) => {
      const start = performance.now();
      const response = await pages.answer(request) ?? await handler(request);
      if (!isQuiet) {
        const { completed } = info;
        const log = (isComplete: boolean) =>
          io.print(line({ request, response, start, isComplete }));
        completed.then(() => log(true), () => log(false));
      }
      return response;
    });
    const { hostname, port } = server.addr;
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    const url = `http://${host}:${port}${mount}/`;
    if (args.has("json")) io.print(JSON.stringify({ url }));
    else if (!isQuiet) io.print(`Serving ${place} at ${url}`);
    await stopped(server, io);
    return 0;
  },
};

function formOf(args: Arguments): ServedForm {
  if (args.has("stored") && args.has("inner-chunks")) {
    throw new UsageError("Expected --stored or --inner-chunks, found both");
  }
  return args.has("stored")
    ? "stored"
    : args.has("inner-chunks")
    ? "inner chunks"
    : "plain";
}

/** The last name of a path or a URL. */
function titleOf(place: string): string {
  const path = /^[a-z]+:\/\//i.test(place) ? new URL(place).pathname : place;
  const names = path.split(/[/\\]/);
  return names.findLast((name) => name !== "" && name !== ".") ?? place;
}

/** Refuses a path that is no folder, which a store takes for an empty one. */
async function assertFolder(place: string): Promise<void> {
  const path = /^file:/i.test(place) ? new URL(place) : place;
  const info = await Deno.stat(path).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  });
  if (info?.isDirectory) return;
  throw new UsageError(
    `Expected a folder or a URL to serve, found ${
      info === undefined ? "nothing" : "a file"
    } at ${JSON.stringify(place)}`,
  );
}

/** Starts the server. */
function listen(
  args: Arguments,
  handler: Deno.ServeHandler<Deno.NetAddr>,
): Deno.HttpServer<Deno.NetAddr> {
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
    return Deno.serve({ hostname, port, onListen() {} }, handler);
  } catch (error) {
    if (!(error instanceof Deno.errors.AddrInUse)) {
      throw new Error(
        `Cannot listen at port ${port} of ${hostname}: ${
          (error as Error).message
        }`,
        { cause: error },
      );
    }
    const free = freePortAfter(port, hostname);
    throw new UsageError(
      `Port ${port} of ${hostname} is in use${
        free === undefined ? "" : `; --port=${free} is free`
      }`,
    );
  }
}

function freePortAfter(
  port: number,
  hostname: string,
): number | undefined {
  for (
    let next = port + 1;
    next <= Math.min(port + PORTS_TRIED, 65535);
    next++
  ) {
    try {
      Deno.listen({ port: next, hostname }).close();
      return next;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}

/** Waits for Ctrl-C, and then some time for the answers that are under way. */
async function stopped(
  server: Deno.HttpServer<Deno.NetAddr>,
  { signal }: Io,
): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([
    server.shutdown(),
    new Promise<void>((resolve) => timer = setTimeout(resolve, GRACE)),
  ]);
  clearTimeout(timer);
}
