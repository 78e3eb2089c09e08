import { describeValue } from "./describe_value.ts";

/** Refuses a piece of a stream that is no bytes. */
export function assertPiece(piece: unknown): void {
  if (piece instanceof Uint8Array) return;
  throw new TypeError(
    `Expected a stream of Uint8Array, found ${describeValue(piece)} in it`,
  );
}
