import type { Store, StoreKey } from "../../mod.ts";

/** An HTTP server on this machine, on any free port. */
export interface Loopback {
  /** Without a `/` at its end. */
  url: string;
  close(): Promise<void>;
}

export function serve(
  handler: (request: Request) => Response | Promise<Response>,
): Loopback {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    handler,
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    close: () => server.shutdown(),
  };
}

/** Answers for a store as a good server does, single ranges included. */
export function storeHandler(
  store: Store,
): (request: Request) => Promise<Response> {
  return async ({ method, url, headers }) => {
    const key = decodeURIComponent(new URL(url).pathname) as StoreKey;
    const value = await store.get(key) as Uint8Array<ArrayBuffer> | undefined;
    if (value === undefined) return new Response("Not here", { status: 404 });
    const size = value.length;
    if (method === "HEAD") {
      return new Response(null, { headers: { "Content-Length": `${size}` } });
    }
    const range = /^bytes=(\d*)-(\d*)$/.exec(headers.get("range") ?? "");
    if (range === null) return new Response(value);
    const [, first, last] = range;
    const start = first ? Number(first) : Math.max(0, size - Number(last));
    const end = first && last ? Math.min(Number(last) + 1, size) : size;
    if (start >= end) {
      return new Response("Out of range", {
        status: 416,
        headers: { "Content-Range": `bytes */${size}` },
      });
    }
    return new Response(value.subarray(start, end), {
      status: 206,
      headers: { "Content-Range": `bytes ${start}-${end - 1}/${size}` },
    });
  };
}
