import * as zarr from "zarrita";
import { type ArrayChunks, createArrayChunks, type Store } from "../../mod.ts";
import { tiffContainer } from "../../tiff.ts";
import { setSharded, withZarrParts } from "../../zarrita.ts";
import { elementsOf, shardsOf, type StoredShard } from "./store_tiffs.ts";
import type { TiffCase } from "./tiff_cases.ts";

/** Stores an array in TIFF shards by `setSharded`, and checks that zarrita reads it. */
export async function storeByZarrita(
  store: Store,
  path: string,
  tiffCase: TiffCase,
): Promise<{ chunks: ArrayChunks; shards: StoredShard[] }> {
  const { metadata, options, name } = tiffCase;
  const chunks = await createArrayChunks(store, path, metadata);
  const root = zarr.root(withZarrParts(store)).resolve(path);
  const array = await zarr.open.v3(root, { kind: "array" });
  const expected = elementsOf(
    tiffCase,
    array.shape.map(() => 0),
    array.shape,
  );
  const { data, shape, stride } = await zarr.get(array) as Region;
  new Uint8Array(data.buffer).set(expected);
  const container = tiffContainer(metadata, options);
  const chunk = { data, shape, stride };
  await setSharded(zarr, array, null, chunk as never, { container });
  const found = (await zarr.get(array) as Region).data;
  if (!sameBytes(new Uint8Array(found.buffer), expected)) {
    throw new Error(`zarrita reads other elements of ${name}`);
  }
  return { chunks, shards: shardsOf(tiffCase) };
}

interface Region {
  readonly data: { readonly buffer: ArrayBuffer };
  readonly shape: number[];
  readonly stride: number[];
}

function sameBytes(found: Uint8Array, expected: Uint8Array): boolean {
  return found.length === expected.length &&
    found.every((byte, i) => byte === expected[i]);
}
