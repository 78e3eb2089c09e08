import type { Value } from "./value.ts";

/** The longest body that is read at once, in bytes. A stream takes longer than a copy of one. */
export const SHORT: number = 64 * 1024;

/** The most pieces of memory that are kept. */
const MOST_FREE = 16;

/** Memory that no answer uses. New memory takes longer than reading a short file into it. */
const free: Uint8Array[] = [];

/**
 * Reads a short body at once. Its memory must be given back by {@linkcode releaseBody}
 * once a `Response` has copied the body. Returns `undefined` if the body must be opened.
 */
export function readShortBody(
  value: Value,
  start: number,
  end: number,
): Uint8Array | undefined {
  if (value.readNow === undefined || end - start > SHORT) return undefined;
  const memory = free.pop() ?? new Uint8Array(SHORT);
  const body = memory.subarray(0, end - start);
  if (value.readNow(start, body)) return body;
  free.push(memory);
}

/** Gives the memory of a short body back. */
export function releaseBody({ buffer }: Uint8Array): void {
  if (free.length < MOST_FREE) free.push(new Uint8Array(buffer));
}
