import { toBytes } from "../byte_streams.ts";
import { redactUrl } from "../capabilities.ts";
import type { ByteRange, StoreKey, StoreOptions } from "../store.ts";
import { rangeStream } from "../unsized_store.ts";
import { contentLength, isEncoded } from "./answer_head.ts";
import { streamOf } from "./answer_pieces.ts";
import {
  answeredLength,
  parseContentRange,
  rangeHeader,
} from "./content_range.ts";
import type { Answer, Requests } from "./exchange.ts";
import { unexpectedRange } from "./unexpected_range.ts";

/** The longest body in bytes that is read to find its end, if nothing tells its length. */
const LONGEST = 2 ** 30;
/** The bytes of such a body that must arrive within the time-out. */
const LEAST = 2 ** 20;

/** Asks for the length of a value by a request for its first byte. */
export async function fetchSizeByRange(
  requests: Requests,
  key: StoreKey,
  options: StoreOptions,
): Promise<number | undefined> {
  const range = { offset: 0, length: 1 };
  const answer = await requests.send(key, options, [200, 206, 416], {
    headers: { range: rangeHeader(range) },
  });
  if (answer === undefined) return undefined;
  if (answer.status === 200 && contentLength(answer) === undefined) {
    const value = await wholeBody(requests, key, answer, options);
    return value && await count(value);
  }
  await answer.cancel();
  if (answer.status === 200) return contentLength(answer);
  const content = parseContentRange(answer.headers);
  if (answer.status === 416 && !content.size) return 0;
  if (
    answer.status === 206 && content.size !== undefined &&
    answeredLength(range, content) !== undefined
  ) return content.size;
  throw unexpectedRange(answer, range);
}

/** Cuts a range out of the whole value, from a server that ignored the range of a request. */
export async function cutWhole(
  requests: Requests,
  key: StoreKey,
  range: ByteRange,
  answer: Answer,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  const value = await wholeBody(requests, key, answer, options);
  return value && await toBytes(value.pipeThrough(rangeStream(range)));
}

/** Returns the body of an answer. Its end is waited for, so a body that does not end is an error. */
async function wholeBody(
  requests: Requests,
  key: StoreKey,
  answer: Answer,
  options: StoreOptions,
): Promise<ReadableStream<Uint8Array> | undefined> {
  if (!isEncoded(answer)) return streamOf(answer).pipeThrough(ending(answer));
  // Whether the body of an answer to a range is decoded differs by runtime.
  await answer.cancel();
  const decoded = await requests.send(key, options, [200]);
  return decoded && streamOf(decoded).pipeThrough(ending(decoded));
}

/** Passes on a body, and fails once the body is too long, or too slow to be expected to end. */
function ending(answer: Answer): TransformStream<Uint8Array, Uint8Array> {
  const most = contentLength(answer) ?? LONGEST;
  let size = 0;
  let next = LEAST;
  let start = performance.now();
  return new TransformStream({
    transform(piece, controller) {
      const now = performance.now();
      size += piece.length;
      if (size > most || now - start > answer.timeout) {
        throw new Error(
          `Expected ${
            redactUrl(answer.request.url)
          } to tell its length, to answer ranges, or to end its body, found ${size} bytes without an end`,
        );
      }
      if (size >= next) [next, start] = [size + LEAST, now];
      controller.enqueue(piece);
    },
  });
}

async function count(stream: ReadableStream<Uint8Array>): Promise<number> {
  let size = 0;
  await stream.pipeTo(
    new WritableStream({
      write(chunk) {
        size += chunk.length;
      },
    }),
  );
  return size;
}
