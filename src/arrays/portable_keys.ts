import { innermostEncoding } from "../chunk_key_encoding/suffix_chunk_key_encoding.ts";
import {
  keySuffixes,
  sampleKeys,
  sharedKey,
} from "../concat_parts/part_keys.ts";
import { describe } from "../metadata/describe.ts";
import { below, MetadataError } from "../metadata/metadata_error.ts";
import { isMetadataKey } from "../stores/store_key.ts";
import { windowsKeyProblem } from "../stores/windows_key.ts";
import type { ArrayStorage } from "./array_storage.ts";

/**
 * Refuses keys that some file system cannot hold: keys that Windows does not allow,
 * and part keys that differ only by case. Arrays with such keys are still read.
 *
 * @throws {MetadataError} With the place of the suffix.
 */
export function assertPortableKeys(storage: ArrayStorage): void {
  const { keyEncoding, gridShape } = storage;
  const rank = gridShape.length;
  const samples = sampleKeys(keyEncoding, rank);
  const base = innermostEncoding(keyEncoding);
  // A registered encoding chooses its keys itself.
  if (
    base.name !== "template" &&
    sampleKeys(base, rank).some((key) => problemOf(key) !== undefined)
  ) return;
  for (const key of samples) {
    assertPortable(key, "chunk key", "/chunk_key_encoding");
  }
  below("/storage_transformers", () => {
    const suffixes = keySuffixes(storage.transformers);
    suffixes.forEach(({ text, path }, i) => {
      for (const key of samples) assertPortable(key + text, "part key", path);
      for (const other of suffixes.slice(0, i)) {
        const shared = sharedKey(text, other.text, samples, keyEncoding, rank, {
          ignoreCase: true,
        });
        if (shared === undefined) continue;
        throw new MetadataError(
          `Two parts could be stored under the key ${
            describe(shared)
          } where case does not matter, as on Windows and macOS, with the suffixes ${
            describe(other.text)
          } and ${describe(text)}; expected suffixes that differ otherwise`,
          path,
        );
      }
    });
  });
}

function assertPortable(key: string, what: string, path: string): void {
  const problem = problemOf(key);
  if (problem === undefined) return;
  throw new MetadataError(`The ${what} ${describe(key)} ${problem}`, path);
}

function problemOf(key: string): string | undefined {
  return windowsKeyProblem(key) ??
    (isMetadataKey(key.toLowerCase())
      ? "is that of a metadata document where case does not matter, as on Windows and macOS"
      : undefined);
}
