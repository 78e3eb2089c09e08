import { innermostEncoding } from "../chunk_key_encoding/mod.ts";
import { sampleKeys, sharedKey } from "../concat_parts/mod.ts";
import { describe, MetadataError } from "../errors/mod.ts";
import { isMetadataKey } from "../stores/mod.ts";
import type { ParsedArray } from "./parsed_array.ts";

/**
 * Refuses keys that some file system cannot hold: keys that Windows does not allow,
 * and part keys that differ only by case. Arrays with such keys are still read.
 *
 * @throws {MetadataError} With the place of the suffix.
 */
export function assertPortableKeys(
  { keys, gridShape, parts, suffixPaths }: ParsedArray,
): void {
  const rank = gridShape.length;
  const samples = sampleKeys(keys, rank);
  const base = innermostEncoding(keys);
  // A registered encoding chooses its keys itself.
  if (
    base.name !== "template" &&
    sampleKeys(base, rank).some((key) => problemOf(key) !== undefined)
  ) return;
  const assertPortable = (key: string, what: string, path: string) => {
    const problem = problemOf(key);
    if (problem === undefined) return;
    throw new MetadataError(`The ${what} ${describe(key)} ${problem}`, path);
  };
  for (const key of samples) {
    assertPortable(key, "chunk key", "/chunk_key_encoding");
  }
  for (const [i, { keySuffix }] of parts.entries()) {
    const path = suffixPaths[i]!;
    for (const key of samples) {
      assertPortable(key + keySuffix, "part key", path);
    }
    for (const { keySuffix: other } of parts.slice(0, i)) {
      const ignoreCase = true;
      const key = sharedKey(keySuffix, other, samples, keys, rank, {
        ignoreCase,
      });
      if (key === undefined) continue;
      throw new MetadataError(
        `Two parts could be stored under the key ${
          describe(key)
        } where case does not matter, as on Windows and macOS, with the suffixes ${
          describe(other)
        } and ${describe(keySuffix)}; expected suffixes that differ otherwise`,
        path,
      );
    }
  }
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
