import {
  joinBytes,
  nativeZlib,
  outputLimit,
  pieceSize,
} from "../runtime/mod.ts";

/** Makes the error for deflated bytes that are damaged, or have another length than was said. */
type DamageOf = (problem: string) => Error;

/** Deflated bytes expand at most 1032 times: a match of 258 bytes takes two bits. */
const MOST_EXPANSION = 1032;

/** Whether so many deflated bytes can be as long as `size` once they are inflated. */
export function canInflateTo(size: number, deflated: number): boolean {
  return size <= deflated * MOST_EXPANSION;
}

/** The longest output that is inflated at once where the runtime can, in bytes. */
const LONGEST_AT_ONCE = 4 * 1024 * 1024;

/**
 * Inflates bytes.
 *
 * @param size The length of the inflated bytes.
 */
export async function inflate(
  deflated: Uint8Array,
  size: number,
  damageOf: DamageOf,
): Promise<Uint8Array> {
  const native = nativeZlib();
  if (native === null || size > LONGEST_AT_ONCE) {
    // The memory grows with what is inflated, since the size may be wrong.
    const pieces: Uint8Array[] = [];
    const source = piecesOf([deflated]);
    for await (const piece of inflatePieces(source, size, damageOf)) {
      pieces.push(piece);
    }
    return joinBytes(pieces);
  }
  let bytes: Uint8Array;
  try {
    bytes = native.inflateRawSync(deflated, {
      chunkSize: pieceSize(size + 1),
      maxOutputLength: outputLimit(size + 1),
    });
  } catch (cause) {
    const isLonger = (cause as { code?: string }).code ===
      "ERR_BUFFER_TOO_LARGE";
    throw damageOf(isLonger ? longerThan(size) : notInflated(cause));
  }
  assertLength(bytes.length, size, damageOf);
  // In some runtimes, the result lies in longer memory: this copy frees the rest.
  return new Uint8Array(bytes);
}

/** The most bytes that are inflated at once: their output is then some megabytes at most. */
const PIECE = 16 * 1024;

async function* piecesOf(
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  for await (const bytes of source) {
    for (let at = 0; at < bytes.length; at += PIECE) {
      yield bytes.slice(at, at + PIECE);
    }
  }
}

/**
 * Inflates pieces one after another.
 *
 * @param source The deflated pieces. Its errors are thrown as they are.
 * @param size The length of all inflated bytes.
 */
export async function* inflatePieces(
  source: AsyncGenerator<Uint8Array, void>,
  size: number,
  damageOf: DamageOf,
): AsyncGenerator<Uint8Array, void> {
  const pieces = piecesOf(source);
  let failure: { readonly error: unknown } | undefined;
  const deflated = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      try {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value as Uint8Array<ArrayBuffer>);
      } catch (error) {
        failure = { error };
        throw error;
      }
    },
  }, { highWaterMark: 0 });
  const reader = deflated.pipeThrough(new DecompressionStream("deflate-raw"))
    .getReader();
  let length = 0;
  try {
    while (true) {
      const { done, value } = await reader.read().catch((error) => {
        throw failure === undefined
          ? damageOf(notInflated(error))
          : failure.error;
      });
      if (done) break;
      length += value.length;
      if (length > size) throw damageOf(longerThan(size));
      yield value;
    }
    assertLength(length, size, damageOf);
  } finally {
    await reader.cancel().catch(() => {});
    await pieces.return();
  }
}

function assertLength(
  length: number,
  size: number,
  damageOf: DamageOf,
): void {
  if (length > size) throw damageOf(longerThan(size));
  if (length < size) throw damageOf(`are ${length} bytes of ${size}`);
}

function longerThan(size: number): string {
  return `are longer than ${size} bytes`;
}

function notInflated(cause: unknown): string {
  return `cannot be inflated (${(cause as Error).message})`;
}
