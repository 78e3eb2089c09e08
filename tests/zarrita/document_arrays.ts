import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { createArrayChunks, FileSystemStore, type Store } from "../../mod.ts";
import { withZarrParts } from "../../zarrita.ts";

/** A square of elements that all differ from their neighbours, and still take few bytes by zstd. */
export function square(length: number): zarr.Chunk<"uint8"> {
  const data = new Uint8Array(length * length);
  for (let i = 0; i < data.length; i++) {
    data[i] = 7 * (i % length) + 3 * Math.floor(i / length);
  }
  return { data, shape: [length, length], stride: [length, 1] };
}

export async function open(
  store: Store,
): Promise<zarr.Array<"uint8", Writable>> {
  const wrapped = withZarrParts(store as Store & Required<Pick<Store, "set">>);
  const array = await zarr.open(wrapped, { kind: "array" });
  assert(array.is("uint8"));
  return array;
}

export type Writable = ReturnType<
  typeof withZarrParts<Store & Required<Pick<Store, "set">>>
>;

/** Creates an array as its document says, and writes its elements. */
export async function created(
  store: Store,
  document: string,
  write: (array: zarr.Array<"uint8", Writable>) => Promise<void>,
): Promise<void> {
  await createArrayChunks(store, "", JSON.parse(document));
  await write(await open(store));
}

/** Files below a folder and their sizes, without the array's own document. */
export async function chunkFiles(
  folder: string,
): Promise<Record<string, number>> {
  const sizes: Record<string, number> = {};
  for await (const key of new FileSystemStore(folder).list()) {
    if (key === "/zarr.json") continue;
    sizes[key.slice(1)] = (await Deno.stat(folder + key)).size;
  }
  return sizes;
}

/** Asserts that an array reads as it was written: whole, by slices, strides and single elements. */
export async function assertReads(
  array: zarr.Array<"uint8", Writable>,
  { data, shape: [length] }: zarr.Chunk<"uint8">,
): Promise<void> {
  const whole = await zarr.get(array);
  assertEquals(whole.shape, [length!, length!]);
  assert(whole.data.every((element, i) => element === data[i]));
  for (
    const [rows, columns] of [
      [zarr.slice(0, 1), zarr.slice(0, 1)],
      [zarr.slice(499, 502), zarr.slice(498, 503)],
      [zarr.slice(length! - 1, length!), null],
      [zarr.slice(0, length!, 333), zarr.slice(250, 750, 7)],
    ] as const
  ) {
    const part = await zarr.get(array, [rows, columns]);
    const [ys, xs] = [rows, columns].map((slice) =>
      Array.from({ length: length! }, (_, i) => i).filter((i) =>
        slice === null ||
        i >= slice.start! && i < slice.stop! &&
          (i - slice.start!) % (slice.step ?? 1) === 0
      )
    );
    assertEquals(part.shape, [ys!.length, xs!.length]);
    const expected = ys!.flatMap((y) => xs!.map((x) => data[y * length! + x]));
    assertEquals(Array.from(part.data), expected);
  }
  for (const [y, x] of [[0, 0], [999, 1], [500, 499]] as const) {
    assertEquals(await zarr.get(array, [y, x]), data[y * length! + x]);
  }
}
