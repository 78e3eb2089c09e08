import { fileURLToPath } from "node:url";
import { standardPackages } from "./standard_library.ts";

/** The standard library, by its stand-ins: bundlers do not take packages from JSR. */
export const ALIASES: Record<string, string> = Object.fromEntries(
  standardPackages().flatMap(({ name, standIns }) =>
    Object.entries(standIns).map(([path, module]) => [
      name + path.slice(1),
      fileURLToPath(new URL(module, new URL("offline/", import.meta.url))),
    ])
  ),
);
