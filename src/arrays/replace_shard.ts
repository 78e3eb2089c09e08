import { MetadataError } from "../metadata/metadata_error.ts";
import { FirstBytes } from "../shards/first_bytes.ts";
import { findFirstBytes } from "../shards/other_bytes.ts";
import { OtherBytesError } from "../shards/other_bytes_error.ts";
import { parseShardLayout, type ShardLayout } from "../shards/shard_layout.ts";
import { write } from "../stores/capabilities.ts";
import { exclusively } from "../stores/exclusive.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { assertValue } from "../stores/stream.ts";
import type { ArrayStorage } from "./array_storage.ts";
import { unsizedPart } from "./unsized_part.ts";

/**
 * Stores a whole shard. A stored shard that begins with bytes of another file format is
 * replaced only by one that does so, too.
 *
 * @param store The store of whole shards.
 * @throws {OtherBytesError} If the new shard begins with an inner chunk, or is no shard.
 */
export async function replaceShard(
  store: Store,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  storage: ArrayStorage,
  options: StoreOptions,
): Promise<void> {
  assertValue(value);
  const layout = layoutOf(storage);
  if (layout === undefined) return await write(store, key, value, options);
  const headSize = unsizedPart(storage.layers)?.offset ?? 0;
  const checkStored = async (store: Store) => {
    const run = await findFirstBytes(store, key, layout, headSize, options);
    if (run === undefined) return undefined;
    const bytes = new FirstBytes(layout, headSize);
    const assertOthers = () => {
      if (bytes.areOthers()) return;
      throw new OtherBytesError(key, run.offset, run.length);
    };
    return { bytes, assertOthers };
  };
  if (value instanceof Uint8Array) {
    return await exclusively(store, key, async (locked) => {
      const check = await checkStored(locked);
      check?.bytes.add(value);
      check?.assertOthers();
      await write(locked, key, value, options);
    }, options);
  }
  // A slow stream keeps nobody out.
  const check = await exclusively(store, key, checkStored, options);
  const stream = check && value.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        // The store refuses pieces that are no bytes.
        if (piece instanceof Uint8Array) check.bytes.add(piece);
        controller.enqueue(piece);
      },
      flush: () => check.assertOthers(),
    }),
  );
  await write(store, key, stream ?? value, options);
}

/** The layout of shards; `undefined` if it is not understood, or if other codecs change the bytes of shards. */
function layoutOf(
  { metadata: { codecs }, chunkShape }: ArrayStorage,
): ShardLayout | undefined {
  if (codecs.length !== 1) return undefined;
  try {
    return parseShardLayout(codecs[0], chunkShape);
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}
