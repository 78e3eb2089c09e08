import { describe } from "../metadata/describe.ts";
import { keyProblem } from "../stores/store_key.ts";
import type { HandlerOptions, ServedForm, WriteOptions } from "./options.ts";

/** The options of a handler with their defaults. */
export interface ParsedOptions {
  readonly form: ServedForm;
  /** Empty, or a path without a `/` at its end, as the URLs of requests have it. */
  readonly mount: string;
  readonly cacheControl: string;
  /** How long documents and versions are kept, in milliseconds. */
  readonly lifetime: number;
  readonly versions: number;
  readonly documentBytes: number;
  readonly timeout: number;
  readonly write: Required<WriteOptions> | undefined;
  readonly onError: (error: unknown, request: Request) => void;
}

const FORMS: readonly ServedForm[] = ["plain", "inner chunks", "stored"];
const NAMES = [
  "form",
  "mount",
  "cacheControl",
  "keep",
  "write",
  "timeout",
  "onError",
];

/** Checks the options of a handler. */
export function parseOptions(options: HandlerOptions): ParsedOptions {
  for (const name of Object.keys(options)) {
    if (NAMES.includes(name)) continue;
    throw new TypeError(
      `Unknown option ${describe(name)}, expected one of ${NAMES.join(", ")}`,
    );
  }
  const {
    form = "plain",
    mount = "/",
    cacheControl = "no-cache",
    keep: { seconds = 30, versions = 4096, documentBytes = 2 ** 24 } = {},
    timeout = 30_000,
    onError = console.error,
    write,
  } = options;
  if (!FORMS.includes(form)) {
    throw new RangeError(
      `Expected form to be ${FORMS.map(describe).join(" or ")}, found ${
        describe(form)
      }`,
    );
  }
  assertNumbers({ "keep.seconds": seconds, timeout });
  assertNumbers({
    "keep.versions": versions,
    "keep.documentBytes": documentBytes,
  });
  return {
    form,
    mount: parseMount(mount),
    cacheControl: /\bno-transform\b/i.test(cacheControl)
      ? cacheControl
      : `${cacheControl}, no-transform`,
    lifetime: seconds * 1000,
    versions,
    documentBytes,
    timeout,
    write: write && parseWrite(write),
    onError(error, request) {
      try {
        onError(error, request);
      } catch {
        // A log that fails is no reason to give another answer.
      }
    },
  };
}

function parseWrite(
  { authorize, limit = 2 ** 30, timeout = 300_000 }: WriteOptions,
): Required<WriteOptions> {
  if (typeof authorize !== "function") {
    throw new TypeError(
      `Expected write.authorize to be a function, found ${describe(authorize)}`,
    );
  }
  assertNumbers({ "write.limit": limit, "write.timeout": timeout });
  return { authorize, limit, timeout };
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
    `Expected mount to be a path such as "/data", found ${describe(mount)}`,
  );
}

function assertNumbers(numbers: Record<string, number>): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value === "number" && value >= 0) continue;
    const ErrorClass = typeof value === "number" ? RangeError : TypeError;
    throw new ErrorClass(
      `Expected ${name} to be a number of at least 0, found ${describe(value)}`,
    );
  }
}
