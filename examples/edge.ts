/**
 * An edge function that serves the chunks of an array, whatever suffix and parts
 * the array has: the answer to `GET /c/0/1` is the bytes of chunk (0, 1), or the
 * range of them that the `Range` header asks for.
 *
 *     deno serve --allow-net examples/edge.ts https://example.com/dem.zarr
 *
 * On Deno Deploy, set the environment variable ARRAY_URL instead.
 */
import {
  type ArrayChunks,
  DefaultChunkKeyEncoding,
  HttpStore,
  openArrayChunks,
} from "@zarr-parts/zarr-parts";
import parseRange from "range-parser";

const arrayUrl = Deno.args[0] ?? Deno.env.get("ARRAY_URL");
if (arrayUrl === undefined) {
  throw new Error(
    "Expected the URL of an array as the argument, or in ARRAY_URL",
  );
}
const store = new HttpStore(arrayUrl);
const plainKeys = new DefaultChunkKeyEncoding();

let opening: Promise<ArrayChunks> | undefined;

/** Opens the array at the first request, and after a failure at the next one. */
function openArray(): Promise<ArrayChunks> {
  opening ??= openArrayChunks(store).catch((error) => {
    opening = undefined;
    throw error;
  });
  return opening;
}

/** Decodes a path to grid coordinates; returns `undefined` if it is not the key of a chunk. */
function coordinatesOf(path: string, { gridShape }: ArrayChunks) {
  try {
    const coordinates = plainKeys.decode(path.slice(1), gridShape.length);
    return coordinates.every((c, i) => c < gridShape[i]!)
      ? coordinates
      : undefined;
  } catch {
    return undefined;
  }
}

async function serveChunk(request: Request): Promise<Response> {
  const { signal } = request;
  const chunks = await openArray();
  const coordinates = coordinatesOf(new URL(request.url).pathname, chunks);
  if (coordinates === undefined) return notFound();
  const size = await chunks.size(coordinates, { signal });
  if (size === undefined) return notFound();

  const headers = new Headers({
    "accept-ranges": "bytes",
    "access-control-allow-origin": "*",
    "content-type": "application/octet-stream",
  });
  const ranges = parseRange(size, request.headers.get("range") ?? "");
  if (ranges === -1) {
    headers.set("content-range", `bytes */${size}`);
    return new Response(null, { status: 416, headers });
  }
  // Several ranges, and ranges in other units, are answered with the whole chunk.
  const single = ranges !== -2 && ranges.type === "bytes" &&
    ranges.length === 1;
  const { start, end } = single ? ranges[0]! : { start: 0, end: size - 1 };
  const length = end - start + 1;
  headers.set("content-length", `${length}`);
  if (single) headers.set("content-range", `bytes ${start}-${end}/${size}`);
  const status = single ? 206 : 200;
  if (request.method === "HEAD") return new Response(null, { status, headers });

  const body = single
    ? await chunks.getRange(coordinates, { offset: start, length }, { signal })
    : await chunks.stream(coordinates, { signal });
  if (body === undefined) return notFound();
  return new Response(body as BodyInit, { status, headers });
}

function notFound(): Response {
  return new Response("No such chunk\n", { status: 404 });
}

export default {
  async fetch(request) {
    if (request.method !== "GET" && request.method !== "HEAD") {
      return new Response("Only GET and HEAD\n", {
        status: 405,
        headers: { allow: "GET, HEAD" },
      });
    }
    try {
      return await serveChunk(request);
    } catch (error) {
      console.error(error);
      return new Response("The array cannot be read\n", { status: 502 });
    }
  },
} satisfies Deno.ServeDefaultExport;
