import type { StoreKey } from "../stores/store.ts";

/**
 * How a handler shows the arrays of a store:
 *
 * - `"plain"`: with `default` chunk keys and without storage transformers;
 * - `"inner chunks"`: plain, and sharded arrays as arrays of their inner chunks, for
 *   clients that do not know `sharding_indexed`;
 * - `"stored"`: all values as they are stored, parts included.
 *
 * @example
 * ```ts
 * import type { ServedForm } from "@zarr-parts/zarr-parts/serve";
 *
 * const form: ServedForm = "inner chunks";
 * ```
 */
export type ServedForm = "plain" | "inner chunks" | "stored";

/**
 * The documents and versions that a handler keeps in memory, and the time for which it keeps them.
 *
 * @example
 * ```ts
 * import type { KeepOptions } from "@zarr-parts/zarr-parts/serve";
 *
 * const keep: KeepOptions = { seconds: 3600 }; // The arrays never change.
 * ```
 */
export interface KeepOptions {
  /**
   * How long the documents of nodes, and the lengths and versions of chunks, are kept,
   * in seconds. Changes of documents by other programs are served after this time;
   * those of chunks at once, since each answer asks the store for the version that it
   * holds. 0 keeps nothing. 30 by default.
   */
  seconds?: number;
  /** The most chunks whose versions are kept. 4096 by default. */
  versions?: number;
  /** The most bytes of documents that are kept. 16 MiB by default. */
  documentBytes?: number;
}

/**
 * Allows clients to change the store by `PUT` and `DELETE`.
 *
 * @example
 * ```ts
 * import type { WriteOptions } from "@zarr-parts/zarr-parts/serve";
 *
 * const write: WriteOptions = {
 *   authorize: ({ headers }) => headers.get("authorization") === "Bearer secret",
 *   limit: 64 * 1024 * 1024,
 * };
 * ```
 */
export interface WriteOptions {
  /**
   * Decides whether a request may change a value. A request that it refuses is answered
   * by 403, and its body is not read.
   *
   * @param request The request, whose body must not be read.
   * @param key The key of the value as it is shown.
   */
  authorize(request: Request, key: StoreKey): boolean | Promise<boolean>;
  /** The greatest length of a value in bytes; longer ones are answered by 413. 1 GiB by default. */
  limit?: number;
  /**
   * The longest time in milliseconds that the store may take to store or delete a value,
   * without the time that the client takes to send it. Writing takes longer than reading:
   * each new folder of a key has to reach the disk. 300 000 by default.
   */
  timeout?: number;
}

/**
 * Options of {@linkcode createHandler}.
 *
 * @example
 * ```ts
 * import type { HandlerOptions } from "@zarr-parts/zarr-parts/serve";
 *
 * const options: HandlerOptions = {
 *   mount: "/data",
 *   cacheControl: "public, max-age=3600",
 *   keep: { seconds: 3600 },
 * };
 * ```
 */
export interface HandlerOptions {
  /** How arrays are shown. `"plain"` by default. */
  form?: ServedForm;
  /** The path that the root of the store is served at, such as `/data`. `/` by default. */
  mount?: string;
  /**
   * The header `Cache-Control` of values. `no-cache` by default: caches ask each time
   * whether a value has changed. `no-transform` is always added, since a value that is
   * compressed on its way has other ranges.
   */
  cacheControl?: string;
  /** The documents and versions that are kept in memory, and the time for which they are kept. */
  keep?: KeepOptions;
  /** Allows `PUT` and `DELETE`, which are refused by default. */
  write?: WriteOptions;
  /**
   * The longest time in milliseconds that the store may take for one reading operation,
   * and a client between two pieces of a body, after which the answer is 502 or 408, or
   * ends. 30 000 by default.
   */
  timeout?: number;
  /**
   * Called with each failure that is answered by 502, or that ends an answer. By
   * default, failures are logged with `console.error`.
   */
  onError?: (error: unknown, request: Request) => void;
}
