import {
  joinBytes,
  nativeZlib,
  outputLimit,
  pieceSize,
} from "../runtime/mod.ts";

/** Thrown for deflated bytes that are damaged, or have another length than was said. */
export class InflateError extends Error {}

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
 * @throws {InflateError} If the bytes are damaged, or have another length.
 */
export async function inflate(
  deflated: Uint8Array,
  size: number,
): Promise<Uint8Array> {
  const native = nativeZlib();
  if (native !== null && size <= LONGEST_AT_ONCE) {
    return inflateAtOnce(deflated, size, native.inflateRawSync);
  }
  // The memory grows with what is inflated, since the size may be wrong.
  const pieces: Uint8Array[] = [];
  for await (const piece of inflatePieces(iterate(deflated), size)) {
    pieces.push(piece);
  }
  return joinBytes(pieces);
}

function inflateAtOnce(
  deflated: Uint8Array,
  size: number,
  inflateRaw: (bytes: Uint8Array, options: object) => Uint8Array,
): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = inflateRaw(deflated, {
      chunkSize: pieceSize(size + 1),
      maxOutputLength: outputLimit(size + 1),
    });
  } catch (cause) {
    const { code } = cause as { code?: string };
    throw code === "ERR_BUFFER_TOO_LARGE"
      ? new InflateError(`are longer than ${size} bytes`, { cause })
      : damaged(cause);
  }
  assertLength(bytes.length, size);
  // In some runtimes, the result lies in longer memory: this copy frees the rest.
  return new Uint8Array(bytes);
}

async function* iterate(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}

/** The most bytes that are inflated at once: their output is then some megabytes at most. */
const PIECE = 16 * 1024;

/**
 * Inflates pieces one after another.
 *
 * @param source The deflated pieces. Its errors are thrown as they are.
 * @param size The length of all inflated bytes.
 * @throws {InflateError} If the bytes are damaged, or have another length.
 */
export async function* inflatePieces(
  source: AsyncGenerator<Uint8Array, void>,
  size: number,
): AsyncGenerator<Uint8Array, void> {
  const { readable, writable } = new DecompressionStream("deflate-raw");
  const reader = readable.getReader();
  const writer = writable.getWriter();
  writer.closed.catch(() => {}); // The reader gets the same error.
  let failure: { readonly error: unknown } | undefined;
  const next = async () => {
    try {
      return await source.next();
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  const feed = async () => {
    try {
      for (let piece = await next(); !piece.done; piece = await next()) {
        for (let at = 0; at < piece.value.length; at += PIECE) {
          await writer.write(
            piece.value.slice(at, at + PIECE) as Uint8Array<ArrayBuffer>,
          );
        }
      }
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => {});
    }
  };
  const feeding = feed();
  let length = 0;
  try {
    while (true) {
      const { done, value } = await reader.read().catch((error) => {
        throw failure === undefined ? damaged(error) : failure.error;
      });
      if (done) break;
      length += value.length;
      if (length > size) {
        throw new InflateError(`are longer than ${size} bytes`);
      }
      yield value;
    }
    assertLength(length, size);
  } finally {
    await reader.cancel().catch(() => {});
    await feeding;
    await source.return();
  }
}

function assertLength(length: number, size: number): void {
  if (length === size) return;
  throw new InflateError(
    length > size
      ? `are longer than ${size} bytes`
      : `are ${length} bytes of ${size}`,
  );
}

function damaged(cause: unknown): InflateError {
  const { message } = cause as Error;
  return new InflateError(`cannot be inflated (${message})`, { cause });
}
