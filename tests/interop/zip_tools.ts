import { findOnPath, type Tool } from "../support/tools.ts";
import { PYTHON } from "./python.ts";

/** A Python with the packages of `requirements.txt`, beside Info-ZIP. */
export const ZIP_TOOLS: Tool = await findTools();

async function findTools(): Promise<Tool> {
  if ("missing" in PYTHON) return PYTHON;
  for (const name of ["unzip", "zip"]) {
    if (await findOnPath([name]) === undefined) {
      return { missing: `no ${name} found; install Debian's ${name}` };
    }
  }
  return PYTHON;
}
