import {
  type ArrayMetadata,
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  parseShardLayout,
  type Store,
} from "../../mod.ts";
import { appendChecksum } from "../../src/checksum/crc32c.ts";
import { countingBytes } from "../support/bytes.ts";

/** The codec "of another program", which takes any bytes for elements. */
export const CODECS: ReadonlyMap<string, () => unknown> = new Map([
  ["of another program", () => ({ fromConfig: () => ({ decode() {} }) })],
]);

/** The chunks that are stored, of a grid of 2 × 3. */
export const STORED = [[0, 0], [1, 2], [1, 0]];

/** The metadata of an array of shards with an index with a checksum, and a checksum of the whole shard. */
export function checksummedMetadata(
  indexLocation: "start" | "end" = "end",
): ArrayMetadata {
  const { codecs, ...metadata } = arrayMetadata({
    shape: [4, 5],
    dataType: "uint8",
    shardShape: [2, 2],
    chunkShape: [1, 2],
    codecs: [{ name: "bytes" }, { name: "of another program" }],
    indexLocation,
    attributes: { scale: 0.5 },
  });
  return { ...metadata, codecs: [...codecs, { name: "crc32c" }] };
}

/**
 * Creates an array of shards with checksums, of which three are stored.
 *
 * @param size The length of the larger inner chunk in bytes.
 */
export async function checksummed(
  store: Store,
  size: number,
  path = "",
  metadata: ArrayMetadata = checksummedMetadata(),
): Promise<void> {
  const chunks = await createArrayChunks(store, path, metadata);
  const layout = parseShardLayout(metadata.codecs[0], chunks.chunkShape);
  for (const [i, coordinates] of STORED.entries()) {
    const inner = [
      countingBytes(size + i, i),
      i === 1 ? undefined : Uint8Array.of(i),
    ];
    await chunks.set(coordinates, appendChecksum(encodeShard(inner, layout)));
  }
}
