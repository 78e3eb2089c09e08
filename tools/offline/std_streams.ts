/** Stands in for `@std/streams` where JSR cannot be reached: what this project uses of it. */
export async function toArrayBuffer(
  stream: ReadableStream<Uint8Array>,
): Promise<ArrayBuffer> {
  return await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>)
    .arrayBuffer();
}
