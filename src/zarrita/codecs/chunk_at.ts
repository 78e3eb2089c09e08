import { describe } from "../../metadata/describe.ts";
import { keyOf } from "../read_keys.ts";

/** `chunk at "/c/0"` for messages about encoded bytes, or `chunk` if their key is unknown. */
export function chunkAt(bytes: Uint8Array): string {
  const key = keyOf(bytes);
  return key === "" ? "chunk" : `chunk at ${describe(key)}`;
}
