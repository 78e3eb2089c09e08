import { isOnDemandLoaded, provideOnDemand } from "./registry.ts";

/** Loads the encodings on demand if a metadata document seems to name one of them. */
export async function loadEncodings(document: Uint8Array): Promise<void> {
  if (isOnDemandLoaded() || !mayNameOne(document)) return;
  const { ENCODINGS_ON_DEMAND } = await import("./encodings_on_demand.ts");
  provideOnDemand(ENCODINGS_ON_DEMAND);
}

/** The name of an encoding on demand, or an escape that may hide one. */
const NAME = /"(?:v2|template|fanout)"|\\u/;

function mayNameOne(document: Uint8Array): boolean {
  return NAME.test(new TextDecoder().decode(document));
}
