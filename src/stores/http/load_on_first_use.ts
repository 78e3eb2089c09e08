import { loadOnce } from "../../runtime/mod.ts";

/** Loads what programs do without that ask no sizes and read no streams, of servers that support ranges. */
export const loadOnFirstUse: () => Promise<
  typeof import("./on_first_use.ts")
> = /* @__PURE__ */ loadOnce(() => import("./on_first_use.ts"));
