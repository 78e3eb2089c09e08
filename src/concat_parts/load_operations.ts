import { loadOnce } from "../stores/load_once.ts";

/**
 * Programs that read whole chunks or ranges do without this module. Locks are taken
 * before the module is loaded, in the order of the calls.
 */
export const loadOperations: () => Promise<
  typeof import("./chunk_operations.ts")
> = /* @__PURE__ */ loadOnce(() => import("./chunk_operations.ts"));
