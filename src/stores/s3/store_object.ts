import { assertPiece } from "../assert_piece.ts";
import { assertValue, discard } from "../given_value.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { assertStoreKey } from "../store_key.ts";
import { abortable } from "../stream.ts";
import { assertNotTemporary } from "../temporary_name.ts";
import { copyBytes } from "../copy_bytes.ts";
import type { Bucket } from "./bucket.ts";
import { metadataOf, putObject } from "./objects.ts";
import { Upload } from "./upload.ts";

/** The number of pieces up to which bytes in memory are stored in one request. */
const IN_ONE_REQUEST = 8;

/** Stores a value in a bucket. */
export async function storeObject(
  bucket: Bucket,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions,
): Promise<void> {
  try {
    assertStoreKey(key);
    assertNotTemporary(key);
    assertValue(value);
    options.signal?.throwIfAborted();
  } catch (error) {
    await discard(value, error);
    throw error;
  }
  const { objects, pieceSize } = bucket;
  const isShort = value instanceof Uint8Array &&
    value.length <= IN_ONE_REQUEST * pieceSize;
  if (isShort) {
    await putObject(objects, key, value, {}, options);
    return;
  }
  const write = crypto.randomUUID();
  const metadata = metadataOf(write, false);
  const upload = new Upload(bucket, key, write, metadata, options);
  try {
    if (value instanceof Uint8Array) await upload.write(value);
    else {
      for await (const piece of abortable(value, options.signal)) {
        assertPiece(piece);
        await upload.write(copyBytes(piece));
      }
    }
    await upload.store();
  } catch (error) {
    await upload.abort().catch(() => {}); // The first error says more.
    throw error;
  }
}
