import { useAllEncodings } from "../chunk_key_encoding/use_all_encodings.ts";
import type { MetadataForm } from "../metadata/array_metadata.ts";
import { ArrayStorage } from "./array_storage.ts";

/**
 * Parses metadata that no document was read for, so that its chunk key encoding may not
 * be loaded.
 */
export function storageOf(
  metadata: unknown,
  options?: MetadataForm,
): ArrayStorage {
  useAllEncodings();
  return new ArrayStorage(metadata, options);
}
