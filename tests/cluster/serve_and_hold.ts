import type { FileSystemStore } from "../../mod.ts";
import { type Loopback, serve, storeHandler } from "../stores/loopback.ts";

/** Serves a store, and does not answer the first request for each of the keys until the end. */
export function serveAndHold(
  store: FileSystemStore,
  keys: readonly string[],
): Loopback {
  const answer = storeHandler(store);
  const held = new Set(keys);
  const end = Promise.withResolvers<void>();
  const server = serve(async (request) => {
    if (held.delete(new URL(request.url).pathname)) await end.promise;
    return answer(request);
  });
  const close = () => {
    end.resolve();
    return server.close();
  };
  return { ...server, close };
}
