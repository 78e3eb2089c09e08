import { findOnPath, type Tool } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

const tiffinfo = await findOnPath(["tiffinfo"]);
/** A Python with tifffile and rasterio, beside libtiff's `tiffinfo`. */
export const TIFF_TOOLS: Tool = "missing" in PYTHON
  ? PYTHON
  : tiffinfo === undefined
  ? { missing: "no tiffinfo found; install Debian's libtiff-tools" }
  : PYTHON;

/** A TIFF, and what programs should find in it. */
export interface ExpectedTiff {
  readonly name: string;
  readonly path: string;
  /** The path of the elements in little endian. */
  readonly elements: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly readers: readonly string[];
  readonly bands?: string;
  readonly tags?: Record<string, unknown>;
  readonly transform?: readonly number[];
  readonly epsg?: number;
}

/** Compares TIFFs, as tifffile, GDAL and libtiff read them, with what they should hold. */
export async function assertRead(
  python: string,
  folder: string,
  expected: readonly ExpectedTiff[],
): Promise<void> {
  const list = `${folder}/expected.json`;
  await Deno.writeTextFile(list, JSON.stringify(expected));
  await runScript(python, "read_tiffs.py", list);
}
