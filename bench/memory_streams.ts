import { seededRandom } from "./measure.ts";

/** The pieces in which bytes come: as those of a file or of a response often do. */
const PIECE = 64 * 1024;

/** Bytes that no checksum and no compression finds simple. */
export function randomBytes(size: number): Uint8Array {
  const random = seededRandom(20261107);
  const block = new Uint32Array(1 << 16).map(() => random() * 2 ** 32);
  const source = new Uint8Array(block.buffer);
  const bytes = new Uint8Array(size);
  for (let start = 0; start < size; start += source.length) {
    bytes.set(source.subarray(0, size - start), start);
  }
  return bytes;
}

/** A stream of bytes in pieces that are views of them: nothing is copied. */
export function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      if (start >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(start, start += PIECE));
    },
  }, { highWaterMark: 0 });
}

/** A stream that counts its bytes and drops them. */
export class Drop extends WritableStream<Uint8Array> {
  size = 0;

  /** @param change What is done to each piece before. */
  constructor(change = (piece: Uint8Array) => piece) {
    super({
      write: (piece) => {
        this.size += change(piece).length;
      },
    });
  }
}

/** Counts the bytes of a stream and drops them. */
export async function drop(
  stream: ReadableStream<Uint8Array>,
  change = (piece: Uint8Array) => piece,
): Promise<number> {
  const reader = stream.getReader();
  let size = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) return size;
    size += change(value).length;
  }
}

/**
 * What a module would do to each piece that cut or joined them in its own memory:
 * in, and out again into memory that whoever gets the piece may keep.
 */
export function throughWasmMemory(): (piece: Uint8Array) => Uint8Array {
  const { buffer } = new WebAssembly.Memory({ initial: PIECE / 65_536 });
  const window = new Uint8Array(buffer);
  return (piece) => {
    window.set(piece);
    return window.slice(0, piece.length);
  };
}
