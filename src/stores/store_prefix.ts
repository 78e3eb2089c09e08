import { keyProblem } from "./store_key.ts";

/** Refuses a prefix that no store key starts with. The last name may be incomplete. */
export function assertStorePrefix(prefix: string): void {
  const problem = prefix.startsWith("/")
    // One more letter makes a name of an incomplete one, such as ".." in "..x".
    ? keyProblem(`${prefix.slice(1)}x`)
    : 'does not start with "/"';
  if (problem === undefined) return;
  throw new RangeError(
    `Prefix ${
      JSON.stringify(prefix)
    } ${problem}: a prefix is the start of a key, "/" and names joined by "/"`,
  );
}
