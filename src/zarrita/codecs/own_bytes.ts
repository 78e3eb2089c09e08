import { copyBytes, isOwn } from "../../stores/copy_bytes.ts";

/** Bytes that fill their memory, since zarrita encodes all of the memory that elements lie in. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  return isOwn(bytes) ? new Uint8Array(bytes.buffer) : copyBytes(bytes);
}
