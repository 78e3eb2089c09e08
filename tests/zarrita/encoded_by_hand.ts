import { gzipSync } from "node:zlib";
import { ArrayChunks, encodeShard, type Store } from "../../mod.ts";
import { slowCoordinates, slowCrc32c } from "../shards/slow_shard.ts";
import { encodeJson } from "../support/documents.ts";
import type { AnyArray } from "./any_array.ts";
import { encodeElements, fillOf } from "./elements.ts";

/** Stores an array's document and its chunks, without zarrita. */
export async function storeByHand(
  store: Store,
  path: string,
  array: AnyArray,
): Promise<void> {
  await store.set!(
    `/${path && `${path}/`}zarr.json`,
    encodeJson(array.metadata),
  );
  const chunks = new ArrayChunks(store, path, array.metadata);
  const [chunkShape] = array.chunkShapes;
  const counts = array.shape.map((length, i) =>
    Math.ceil(length / chunkShape![i]!)
  );
  for (const coordinates of slowCoordinates(counts)) {
    const origin = coordinates.map((c, i) => c * chunkShape![i]!);
    const bytes = encodedByHand(array, origin);
    if (bytes !== undefined) await chunks.set(coordinates, bytes);
  }
}

/** The bytes of a chunk, or of a shard with all in it; `undefined` where all is the fill value. */
function encodedByHand(
  array: AnyArray,
  origin: readonly number[],
  level = 0,
): Uint8Array | undefined {
  const { shape, elements, type, endian, layouts } = array;
  const chunkShape = array.chunkShapes[level]!;
  const layout = layouts[level];
  if (layout !== undefined) {
    const inner = array.chunkShapes[level + 1]!;
    const chunks = slowCoordinates(layout.chunksPerShard).map((within) =>
      encodedByHand(
        array,
        origin.map((c, i) => c + within[i]! * inner[i]!),
        level + 1,
      )
    );
    if (chunks.every((chunk) => chunk === undefined)) return undefined;
    return encodeShard(chunks, layout, array.shards);
  }
  const values = slowCoordinates(chunkShape).map((within) => {
    const at = origin.map((c, i) => c + within[i]!);
    if (at.some((c, i) => c >= shape[i]!)) return fillOf(type);
    return elements[at.reduce((place, c, i) => place * shape[i]! + c, 0)]!;
  });
  if (values.every((value) => value === fillOf(type))) return undefined;
  const raw = encodeElements(values, type, endian);
  const bytes = array.isZipped ? new Uint8Array(gzipSync(raw)) : raw;
  if (!array.hasChecksum) return bytes;
  const checksum = encodeElements([slowCrc32c(bytes)], "uint64", "little");
  return new Uint8Array([...bytes, ...checksum.subarray(0, 4)]);
}
