import { type ByteSink, sinkOf } from "../splitter/byte_sink.ts";

/** Returns a sink whose bytes are taken as a stream. Closing the sink waits for `take`, and fails with its error. */
export function streamSink(
  take: (stream: ReadableStream<Uint8Array>) => Promise<void>,
): ByteSink {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const sink = sinkOf(writable);
  const taken = take(readable);
  taken.catch((error) => sink.abort(error));
  /** Rejects with the error of `take`, if the stream fails because `take` failed. */
  const withItsError = async (failing: Promise<void>) => {
    try {
      await failing;
    } catch (error) {
      await taken;
      throw error;
    }
  };
  const failure = withItsError(sink.failure!);
  failure.catch(() => {});
  return {
    failure,
    write: (bytes, isLent) => withItsError(sink.write(bytes, isLent)),
    async close() {
      await withItsError(sink.close());
      await taken;
    },
    async abort(reason) {
      await sink.abort(reason);
      await taken.catch(() => {});
    },
  };
}
