import { hash } from "../../arrays/share.ts";

/** Sums stay below this number, so that adding a hash of 32 bits never rounds. */
const LIMIT = 2 ** 52;

/** Adds the hash of a text to a sum of hashes, which does not depend on their order. */
export function addHash(sum: number, text: string): number {
  return (sum + hash(text)) % LIMIT;
}
