import type { MemoryStore, StoreKey } from "@zarr-parts/zarr-parts";

/** Returns a `fetch` for an `HttpStore` at `/base`: a server without range requests, in memory. */
export function answerFromMemory(
  memory: MemoryStore,
): (request: Request) => Promise<Response> {
  return async ({ method, url }) => {
    const key = new URL(url).pathname.slice("/base".length) as StoreKey;
    const value = await memory.get(key);
    if (value === undefined) return new Response(null, { status: 404 });
    return new Response(
      method === "HEAD" ? null : value as Uint8Array<ArrayBuffer>,
      { headers: { "content-length": `${value.length}` } },
    );
  };
}
