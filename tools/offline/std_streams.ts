/** Stands in for the functions of `@std/streams` that this project uses, without JSR. */

/** Reads all bytes of a stream. */
export async function toBytes(
  stream: ReadableStream<Uint8Array>,
): Promise<Uint8Array> {
  const body = stream as ReadableStream<Uint8Array<ArrayBuffer>>;
  return await new Response(body).bytes();
}

/** Passes bytes on in pieces of one length, of which the last one may be shorter. */
export class FixedChunkStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(size: number) {
    let rest = new Uint8Array();
    super({
      transform(piece, controller) {
        const bytes = new Uint8Array(rest.length + piece.length);
        bytes.set(rest);
        bytes.set(piece, rest.length);
        let start = 0;
        for (; start + size <= bytes.length; start += size) {
          controller.enqueue(bytes.slice(start, start + size));
        }
        rest = bytes.slice(start);
      },
      flush(controller) {
        if (rest.length > 0) controller.enqueue(rest);
      },
    });
  }
}
