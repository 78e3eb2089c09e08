import { ENCODINGS_ON_DEMAND } from "./encodings_on_demand.ts";
import { provideOnDemand } from "./registry.ts";

/** Lets `parseEncoding` find all encodings. Bundles that call this function hold all of them. */
export function useAllEncodings(): void {
  provideOnDemand(ENCODINGS_ON_DEMAND);
}

// Without a bundler, all encodings are known from the start. Bundlers leave this call out.
/* @__PURE__ */ useAllEncodings();
