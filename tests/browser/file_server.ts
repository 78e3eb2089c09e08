import { FileSystemStore } from "../../mod.ts";
import { type Loopback, serve, storeHandler } from "../stores/loopback.ts";

/** The content types of files, by file extension. */
const TYPES: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript",
};

/** A file server with a log of its requests, such as `"GET /a bytes=0-9"`. */
export interface FileServer extends Loopback {
  readonly log: string[];
}

/**
 * Serves the files of a folder, and single ranges of them.
 *
 * @param folder The path of the folder.
 * @param headers Headers of every response.
 */
export function serveFolder(
  folder: string,
  headers: Record<string, string> = {},
): FileServer {
  const answer = storeHandler(new FileSystemStore(folder));
  const log: string[] = [];
  const server = serve(async (request) => {
    const { pathname } = new URL(request.url);
    const range = request.headers.get("range");
    log.push([request.method, pathname, range].filter(Boolean).join(" "));
    const response = await answer(request);
    const type = TYPES[pathname.split(".").at(-1)!];
    if (type !== undefined) response.headers.set("content-type", type);
    for (const [name, value] of Object.entries(headers)) {
      response.headers.set(name, value);
    }
    return response;
  });
  return { ...server, log };
}
