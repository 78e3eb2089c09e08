import { loadOnce } from "../load_once.ts";

/** Loads what asks for sizes, and what servers need that do not support `HEAD` or ranges in full. */
export const loadFallback: () => Promise<
  typeof import("./fallback.ts") & typeof import("./size.ts")
> = /* @__PURE__ */ loadOnce(async () => ({
  ...await import("./fallback.ts"),
  ...await import("./size.ts"),
}));
