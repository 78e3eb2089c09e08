import { joinBytes } from "../../runtime/mod.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { contentLength } from "./answer_head.ts";
import type { Answer, Requests } from "./exchange.ts";

/** Fetches a value as a stream. */
export async function fetchStream(
  requests: Requests,
  key: StoreKey,
  options: StoreOptions,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const answer = await requests.send(key, options, [200]);
  return answer && streamOf(answer);
}

/** Returns the body of an answer as a stream, which requests bytes only as it is read. */
export function streamOf(answer: Answer): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const piece = await readPiece(answer);
      if (piece) controller.enqueue(piece);
      else controller.close();
    },
    cancel: (reason) => answer.cancel(reason),
  }, { highWaterMark: 0 });
}

/** Reads a body piece by piece, as `bytesUpTo` of {@linkcode Answer} does. */
export async function readPieces(
  answer: Answer,
  most: number,
): Promise<Uint8Array | undefined> {
  const length = contentLength(answer) ?? 0;
  let size = length > most ? length : 0;
  const pieces: Uint8Array[] = [];
  while (size <= most) {
    const piece = await readPiece(answer);
    if (!piece) return joinBytes(pieces);
    pieces.push(piece);
    size += piece.length;
  }
  await answer.cancel();
}

/** Reads a piece of the body; `undefined` at its end. */
async function readPiece(answer: Answer): Promise<Uint8Array | undefined> {
  const reader = answer.reader ??= answer.response.body?.getReader();
  if (!reader) return;
  try {
    const { value } = await answer.wait(() => reader.read(), false);
    if (!value) answer.end();
    return value;
  } catch (error) {
    reader.cancel(error).catch(() => {});
    throw error;
  }
}
