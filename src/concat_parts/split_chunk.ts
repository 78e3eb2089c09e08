import { describe, describeAll } from "../metadata/describe.ts";
import type { StoreOptions } from "../stores/store.ts";
import { assertValue, toBytes } from "../stores/stream.ts";
import type { Part } from "./part.ts";
import { PartSizeError } from "./part_size_error.ts";

/** Cuts a chunk into views, one a part; `key` is the chunk's, for messages. */
export function splitChunk(
  parts: readonly Part[],
  chunk: Uint8Array,
  key = "",
): Uint8Array[] {
  assertBytes("a chunk", chunk);
  const sizes = chunkSizes(parts);
  if (chunk.length < sizes.least || chunk.length > sizes.most) {
    throw misfit(sizes, key, chunk.length, `${chunk.length}`);
  }
  let end = 0;
  return parts.map((part) => {
    const start = end;
    end += part.size ?? chunk.length - sizes.least;
    return chunk.subarray(start, end);
  });
}

/** Refuses what types cannot keep out of plain JavaScript. */
export function assertBytes(what: string, value: unknown): void {
  if (value instanceof Uint8Array) return;
  throw new TypeError(
    `Expected ${what} as Uint8Array, found ${describe(value)}`,
  );
}

/** Collects a chunk from a stream, no further than the parts can take it. */
export async function collectChunk(
  parts: readonly Part[],
  stream: ReadableStream<Uint8Array>,
  key: string,
  options?: StoreOptions,
): Promise<Uint8Array> {
  assertValue(stream);
  const sizes = chunkSizes(parts);
  let length = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      length += piece.length;
      if (length > sizes.most) {
        throw misfit(sizes, key, length, `at least ${length}`);
      }
      controller.enqueue(piece);
    },
  });
  return await toBytes(stream.pipeThrough(limit), options);
}

/** The least and the most bytes that a chunk can have. */
interface ChunkSizes {
  readonly least: number;
  readonly most: number;
}

function chunkSizes(parts: readonly Part[]): ChunkSizes {
  const unsized = parts.filter((part) => part.size === undefined);
  if (unsized.length > 1) {
    throw new TypeError(
      `Cannot tell where the parts ${
        describeAll(unsized.map((part) => part.keySuffix))
      } begin: to write, at most one part may lack a size`,
    );
  }
  const least = parts.reduce((sum, part) => sum + (part.size ?? 0), 0);
  return { least, most: unsized.length === 0 ? least : Infinity };
}

function misfit(
  { least, most }: ChunkSizes,
  key: string,
  actual: number,
  found: string,
): PartSizeError {
  const chunk = key === "" ? "Chunk" : `Chunk ${describe(key)}`;
  const wanted = `${most === least ? "exactly" : "at least"} ${least}`;
  return new PartSizeError(
    `${chunk} is ${found} bytes long, where its sized parts take ${wanted}`,
    { key, expected: least, actual },
  );
}
