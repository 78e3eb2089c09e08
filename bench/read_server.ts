/** A worker that serves a folder over HTTP on this machine, single ranges included, and tells its port. */
import { storeHandler } from "../tests/stores/loopback.ts";
import { inMemory } from "./read_folders.ts";

const scope = self as unknown as {
  onmessage: (event: MessageEvent<string>) => void;
  postMessage(port: number): void;
};

scope.onmessage = async ({ data: folder }) => {
  // From memory, since the client is measured, not this server.
  const memory = await inMemory(folder);
  Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: ({ port }) => scope.postMessage(port),
  }, storeHandler(memory));
};
