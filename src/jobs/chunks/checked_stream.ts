import { type ByteSource, sourceOf } from "../../splitter/byte_source.ts";
import { JoinedSource } from "../../splitter/joined_source.ts";
import { joinedStream } from "../../splitter/joined_stream.ts";
import { openNative } from "../../splitter/native_splitter.ts";
import { settingsOf } from "../../splitter/settings.ts";

/** Receives the bytes of a stream in their order. */
export interface PassingBytes {
  take(bytes: Uint8Array): void;
  /** Called at the end of the stream, which fails if this throws. */
  finish(): void;
}

/** A stream whose bytes are shown to `passing` before they go on. Bytes of files are not copied. */
export function checkedStream(
  stream: ReadableStream<Uint8Array>,
  passing: PassingBytes,
): ReadableStream<Uint8Array> {
  const source = sourceOf(stream);
  const checked: ByteSource = {
    fillsWindows: source.fillsWindows,
    async next(window) {
      const bytes = await source.next(window);
      if (bytes === undefined) passing.finish();
      else passing.take(bytes);
      return bytes;
    },
    cancel: (reason) => source.cancel(reason),
  };
  return joinedStream(
    new JoinedSource(settingsOf([{ keySuffix: "" }], [], {}), openNative, {
      open: () => checked,
      cancel: checked.cancel,
    }),
  );
}
