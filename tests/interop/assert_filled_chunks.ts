import { assertEquals } from "@std/assert";
import { openArrayChunks, type Store } from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";
import { filledBlocks, type InteropArray } from "./interop_array.ts";

/** Asserts that exactly those chunks, shards and inner chunks are absent that hold only the fill value. */
export async function assertFilledChunks(
  store: Store & Required<Pick<Store, "list">>,
  array: InteropArray,
): Promise<void> {
  const { path, chunkShape, innerShapes } = array;
  const chunks = await openArrayChunks(store, path);
  assertEquals(
    (await Array.fromAsync(chunks.list())).map(String).sort(),
    filledBlocks(array, chunkShape).map(String).sort(),
    path,
  );
  const innermost = innerShapes.at(-1);
  if (innermost === undefined) return;
  const keys = await Array.fromAsync(withZarrParts(store).list(`/${path}/c`));
  assertEquals(
    keys.sort(),
    filledBlocks(array, innermost)
      .map((coordinates) => ["", path, "c", ...coordinates].join("/"))
      .sort(),
    path,
  );
}
