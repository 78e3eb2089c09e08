import { keyProblem } from "./store_key.ts";

/**
 * Refuses a prefix that no store key starts with. The name after the last `/`
 * may be incomplete or empty.
 */
export function assertStorePrefix(prefix: string): void {
  const problem = prefix.startsWith("/")
    // Any letter completes a name; ".." is one, as the start of "..x".
    ? keyProblem(`${prefix.slice(1)}x`)
    : 'does not start with "/"';
  if (problem === undefined) return;
  throw new RangeError(
    `Prefix ${
      JSON.stringify(prefix)
    } ${problem}: a prefix is the start of a key, "/" and names joined by "/"`,
  );
}
