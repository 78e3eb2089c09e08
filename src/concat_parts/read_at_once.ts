import type { Part } from "../splitter/part.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/**
 * After this time in milliseconds, parts that are still being read are looked up
 * by their sizes if another part is missing. Most answers have come by then, also
 * for chunks that are absent.
 */
const PATIENCE = 100;

/**
 * Reads parts of a chunk at the same time. If the chunk turns out to be damaged or
 * incomplete, the reads that go on are aborted.
 *
 * @param read Reads one part, with the options of the chunk that it is given.
 * @returns The bytes in the order of `parts`, or `undefined` if no part is stored.
 * @throws {MissingPartError} If some parts are stored and others are not.
 */
export async function readAtOnce(
  chunk: StoredChunk,
  parts: readonly Part[],
  read: (
    chunk: StoredChunk,
    part: Part,
    index: number,
  ) => Promise<Uint8Array | undefined>,
): Promise<Uint8Array[] | undefined> {
  if (parts.length === 0) return [];
  if (parts.length === 1) {
    const bytes = await read(chunk, parts[0]!, 0);
    return bytes === undefined
      ? await chunk.allOrAbsent<Uint8Array>(parts, [bytes])
      : [bytes];
  }
  const controller = new AbortController();
  const { signal } = chunk.options;
  const abort = () => controller.abort(signal!.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  const reading = chunk.over(chunk.store, {
    ...chunk.options,
    signal: controller.signal,
  });
  try {
    const reads = parts.map((part, i) => read(reading, part, i));
    return await chunk.allOrAbsent(parts, await results(chunk, parts, reads));
  } catch (error) {
    controller.abort(error);
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** Waits for all reads, or until it is certain that a part is missing. */
function results(
  chunk: StoredChunk,
  parts: readonly Part[],
  reads: readonly Promise<Uint8Array | undefined>[],
): Promise<(Uint8Array | undefined)[]> {
  return new Promise((resolve, reject) => {
    const found = new Map<Part, Uint8Array | undefined>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const findMissing = () => {
      chunk.allOrAbsent([...found.keys()], [...found.values()]).catch(reject);
    };
    reads.forEach((each, i) =>
      each.then((result) => {
        found.set(parts[i]!, result);
        if (found.size === reads.length) {
          clearTimeout(timer);
          resolve(parts.map((part) => found.get(part)));
        } else if (result === undefined) {
          timer ??= setTimeout(findMissing, PATIENCE);
        }
      }).catch((error) => {
        clearTimeout(timer);
        reject(error);
      })
    );
  });
}
