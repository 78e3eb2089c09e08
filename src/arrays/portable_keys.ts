import { innermostEncoding } from "../chunk_key_encoding/mod.ts";
import { assertPartKeys, sampleKeys } from "../concat_parts/mod.ts";
import { below, describe, MetadataError } from "../errors/mod.ts";
import { isMetadataKey } from "../stores/mod.ts";
import type { ParsedArray } from "./parsed_array.ts";

/**
 * Refuses keys that some file system cannot hold: keys that Windows does not allow,
 * and part keys that differ only by case. Arrays with such keys are still read.
 *
 * @throws {MetadataError} With the place of the suffix.
 */
export function assertPortableKeys(
  { keys, gridShape, parts }: ParsedArray,
): void {
  const rank = gridShape.length;
  const samples = sampleKeys(keys, rank);
  const base = innermostEncoding(keys);
  // A registered encoding chooses its keys itself.
  if (
    base.name !== "template" &&
    sampleKeys(base, rank).some((key) => problemOf(key) !== undefined)
  ) return;
  for (const key of samples) {
    const problem = problemOf(key);
    if (problem === undefined) continue;
    throw new MetadataError(
      `The chunk key ${describe(key)} ${problem}`,
      "/chunk_key_encoding",
    );
  }
  below(
    "/storage_transformers",
    () => assertPartKeys(parts, keys, rank, { problemOf, ignoreCase: true }),
  );
}

function problemOf(key: string): string | undefined {
  return windowsKeyProblem(key) ??
    (isMetadataKey(key.toLowerCase())
      ? "is that of a metadata document where case does not matter, as on Windows and macOS"
      : undefined);
}

// deno-lint-ignore no-control-regex
const FORBIDDEN_ON_WINDOWS = /[<>:"|?*\u0000-\u001f]/;

/** Matches names of devices, also with an extension or spaces before the extension. */
const DEVICE =
  /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)/i;

/**
 * The problem of a key that Windows cannot hold as the path of a file, or `undefined`
 * for a valid one.
 *
 * Source: https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 *
 * @param key The key without its leading `/`.
 */
export function windowsKeyProblem(key: string): string | undefined {
  const forbidden = FORBIDDEN_ON_WINDOWS.exec(key);
  if (forbidden !== null) {
    return `holds ${
      JSON.stringify(forbidden[0])
    }, which names of files on Windows cannot hold`;
  }
  for (const segment of key.split("/")) {
    const device = DEVICE.exec(segment);
    if (device !== null) {
      return `holds the name ${
        JSON.stringify(device[0].replace(/[ .]+$/, ""))
      }, which is that of a device on Windows`;
    }
    if (/[. ]$/.test(segment)) {
      return `holds a name that ends in ${
        segment.endsWith(".") ? "a dot" : "a space"
      }, which Windows removes`;
    }
  }
}
