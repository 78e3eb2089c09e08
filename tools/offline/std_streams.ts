/** Stands in for the functions of `@std/streams` that this project uses, without JSR. */
export async function toArrayBuffer(
  stream: ReadableStream<Uint8Array>,
): Promise<ArrayBuffer> {
  return await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>)
    .arrayBuffer();
}
