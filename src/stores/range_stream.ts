import type { ByteRange } from "./store.ts";

/**
 * Passes on a range of a stream. Only a range with `suffixLength` is buffered, and
 * not more than the suffix. The source is cancelled once the range is complete.
 */
export function rangeStream(
  range: ByteRange,
): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream(
    "suffixLength" in range
      ? suffix(range.suffixLength)
      : slice(range.offset, range.length),
  );
}

function slice(
  offset: number,
  length: number,
): Transformer<Uint8Array, Uint8Array> {
  let skip = offset;
  let rest = length;
  return {
    transform(chunk, controller) {
      const piece = chunk.subarray(skip, skip + rest);
      skip = Math.max(0, skip - chunk.length);
      rest -= piece.length;
      if (piece.length > 0) controller.enqueue(piece);
      if (rest === 0) controller.terminate();
    },
  };
}

function suffix(length: number): Transformer<Uint8Array, Uint8Array> {
  const kept: Uint8Array[] = [];
  let size = 0;
  return {
    transform(chunk) {
      kept.push(chunk);
      size += chunk.length;
      for (let first = kept[0]; first; first = kept[0]) {
        if (size - first.length < length) break;
        size -= first.length;
        kept.shift();
      }
    },
    flush(controller) {
      let skip = Math.max(0, size - length);
      for (const chunk of kept) {
        controller.enqueue(chunk.subarray(skip));
        skip = 0;
      }
    },
  };
}
