import type { StoreKey } from "../store.ts";

/** Thrown if a value is not the one that a condition names. */
export class ConflictError extends Error {
  constructor(key: StoreKey) {
    super(`Another program has changed ${JSON.stringify(key)} meanwhile`);
  }
}
