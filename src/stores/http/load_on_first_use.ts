import { loadOnce } from "../load_once.ts";

/** Loads requests for sizes, and reading from servers that support `HEAD` or ranges only in part. */
export const loadOnFirstUse: () => Promise<
  typeof import("./on_first_use.ts")
> = /* @__PURE__ */ loadOnce(() => import("./on_first_use.ts"));
