import {
  checkOptions,
  FUNCTION,
  numberFrom,
  objectRule,
  oneOf,
  type OptionRules,
  sentence,
  TEXT,
} from "../errors/mod.ts";
import { keyProblem } from "../stores/mod.ts";

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
  /**
   * The longest time in milliseconds that the store may take for one reading operation,
   * after which the answer is 502 or ends. 30 000 by default.
   */
  timeout?: number;
  /**
   * Called with each failure that is answered by 502, or that ends an answer. By
   * default, failures are logged with `console.error`.
   */
  onError?: (error: unknown, request: Request) => void;
}

/** The options of a handler with their defaults. */
export type ParsedOptions = ReturnType<typeof parseOptions>;

const OWNER = "createHandler";

const OPTIONS: OptionRules<HandlerOptions> = {
  form: { ...oneOf("plain", "inner chunks", "stored"), outOfRange: "all" },
  mount: TEXT,
  cacheControl: TEXT,
  keep: objectRule(),
  timeout: numberFrom(0),
  onError: FUNCTION,
};

const KEEP_OPTIONS: OptionRules<KeepOptions> = {
  seconds: numberFrom(0),
  versions: numberFrom(0),
  documentBytes: numberFrom(0),
};

/** Checks the options of a handler. */
export function parseOptions(options: HandlerOptions) {
  checkOptions(options, OPTIONS, OWNER);
  const {
    form = "plain",
    mount = "/",
    cacheControl = "no-cache",
    keep: { seconds = 30, versions = 4096, documentBytes = 2 ** 24 } = {},
    timeout = 30_000,
    onError = console.error,
  } = options;
  checkOptions(options.keep ?? {}, KEEP_OPTIONS, OWNER, { within: "keep" });
  return {
    form,
    /** Empty, or a path without a `/` at its end, as the URLs of requests have it. */
    mount: parseMount(mount),
    cacheControl: /\bno-transform\b/i.test(cacheControl)
      ? cacheControl
      : `${cacheControl}, no-transform`,
    /** How long documents and versions are kept, in milliseconds. */
    lifetime: seconds * 1000,
    versions,
    documentBytes,
    timeout,
    onError(error: unknown, request: Request) {
      try {
        onError(error, request);
      } catch {
        // A log that fails is no reason to give another answer.
      }
    },
  };
}

/** Checks the path of a mount. Returns it without its last `/`, and percent-encoded. */
export function parseMount(mount: string): string {
  const path = mount.replace(/\/$/, "");
  const problem = path.startsWith("/") ? keyProblem(path.slice(1)) : undefined;
  const isPath = path.startsWith("/") && problem === undefined &&
    !/[?#]/.test(path);
  if (path === "") return path;
  if (isPath) return new URL(`http://host${path}`).pathname;
  throw new RangeError(
    sentence`Expected mount to be a path such as "/data", found ${mount}`,
  );
}
