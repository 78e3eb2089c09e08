import type { Requests } from "../http/exchange.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { probeName } from "../temporary_name.ts";
import { ConflictError } from "./conflict_error.ts";
import { deleteObject, type ObjectTag, putObject, tagOf } from "./objects.ts";

/** The conditions that a bucket heeds. */
export interface Conditions {
  /** Whether `PUT` heeds `If-None-Match: *` and `If-Match`. */
  readonly put: boolean;
  /** Whether `DELETE` heeds `If-Match`. */
  readonly delete: boolean;
}

/** An entity tag that no object has. */
const OTHER = '"00000000000000000000000000000000"';

/** The most probes: `recover` of another program may remove the object meanwhile. */
const TRIES = 2;

/** Finds out which conditions a bucket heeds, by an object that is removed again. */
export async function probeConditions(
  requests: Requests,
  options: StoreOptions,
): Promise<Conditions> {
  for (let tries = 1;; tries++) {
    const found = await probeOnce(requests, options);
    if (found.put && found.delete || tries === TRIES) return found;
  }
}

async function probeOnce(
  requests: Requests,
  options: StoreOptions,
): Promise<Conditions> {
  const key = `/${probeName()}` as StoreKey;
  const bytes = new TextEncoder().encode("probe");
  const isRefused = (request: Promise<unknown>) =>
    request.then(() => false, (error) => {
      if (error instanceof ConflictError) return true;
      throw error;
    });
  const create = () =>
    putObject(requests, key, bytes, { "if-none-match": "*" }, options);
  // A conflict is the repetition of a request whose answer was lost.
  await isRefused(create());
  try {
    return {
      put: await isRefused(create()) && await isRefused(
        putObject(requests, key, bytes, { "if-match": OTHER }, options),
      ),
      delete: await isRefused(
        deleteObject(requests, key, { "if-match": OTHER }, options),
      ) && (await tagOf(requests, key, options)).etag !== undefined,
    };
  } finally {
    await deleteObject(requests, key, {}, {});
  }
}

/** Returns the header for the only object of a chunk, which must be the same as when it was read. */
export function conditionOf(
  base: ObjectTag | undefined,
): Record<string, string> {
  if (base === undefined) return {};
  return base.etag === undefined
    ? { "if-none-match": "*" }
    : { "if-match": base.etag };
}
