import { loadEncodings } from "../chunk_key_encoding/load_encodings.ts";
import { MetadataError } from "../metadata/metadata_error.ts";
import { LONGEST_DOCUMENT } from "../metadata/zarr_json.ts";
import { readValue } from "../stores/capabilities.ts";
import { describeStore } from "../stores/describe_store.ts";
import { SizeLimitError } from "../stores/size_limit_error.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";

/**
 * Reads a metadata document, and loads the chunk key encodings that it names. A
 * document that is too long is a `MetadataError`, and is not read further.
 */
export async function readDocument(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<Uint8Array | undefined> {
  try {
    const limited = { ...options, limit: LONGEST_DOCUMENT };
    const document = await readValue(store, key, limited);
    if (document !== undefined) await loadEncodings(document);
    return document;
  } catch (cause) {
    if (!(cause instanceof SizeLimitError)) throw cause;
    throw new MetadataError(
      `Expected a document of at most ${LONGEST_DOCUMENT} bytes, found ${
        cause.size ?? "more"
      }`,
      "",
      { document: key, store: describeStore(store), cause },
    );
  }
}
