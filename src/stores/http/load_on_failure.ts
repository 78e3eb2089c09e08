import { loadOnce } from "../../runtime/mod.ts";

/** Loads what programs do without whose requests are answered as expected. */
export const loadOnFailure: () => Promise<typeof import("./failures.ts")> =
  /* @__PURE__ */ loadOnce(() => import("./failures.ts"));
