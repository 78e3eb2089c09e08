import * as zarr from "zarrita";
import { convert } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import { readPicture, runDemo } from "../../tools/demo/run_demo.ts";
import { setSharded } from "../../zarrita.ts";
import { pathOf } from "../docs/pages.ts";
import { created, square } from "../zarrita/document_arrays.ts";
import {
  CHECKSUM_EXAMPLE,
  SHARDING_EXAMPLE,
} from "../zarrita/document_examples.ts";

/** An array that is served, or a file of one, and the elements that clients should read. */
export interface ServedArray {
  /** The path below the folder. */
  readonly path: string;
  readonly shape: readonly number[];
  /** Start and stop of what is read, along each dimension; empty for all of the array. */
  readonly window: readonly (readonly [start: number, stop: number])[];
  /** Little endian and in C order. */
  readonly elements: Uint8Array;
}

/** The corner of four shards of the sharded array of the `concat-parts` document. */
const WINDOW = [[4900, 5100], [4750, 5250]] as const;

/** Makes the arrays of the demo, and the two of the `concat-parts` document, in a folder. */
export async function makeServedArrays(folder: string): Promise<ServedArray[]> {
  const dem = pathOf("tests/fixtures/dem.zarr");
  await runDemo(dem, folder);
  const layout = { suffix: ".shard", parts: ["", ".index"] };
  const at = (path: string) => new FileSystemStore(`${folder}/${path}`);
  await convert(new FileSystemStore(dem), at("parts.zarr"), layout);

  const whole = square(1000);
  await created(
    at("checked.zarr"),
    CHECKSUM_EXAMPLE,
    (array) => zarr.set(array, null, whole),
  );
  const [rows, columns] = WINDOW.map(([start, stop]) =>
    zarr.slice(start, stop)
  ) as [zarr.Slice, zarr.Slice];
  const corner = square(500);
  const part = { ...corner, shape: [200, 500] };
  part.data = corner.data.slice(0, 200 * 500);
  await created(
    at("packed.zarr"),
    SHARDING_EXAMPLE,
    (array) =>
      setSharded(zarr, array, [rows, columns], part, {
        prefix: new Uint8Array(64),
      }),
  );

  const [elevations, colors] = await Promise.all(
    ["parts.zarr", "relief.zarr"].map((path) => readPicture(at(path))),
  );
  const { shape, elements } = elevations!;
  const shard = Array.from(
    { length: 192 },
    (_, y) => Array.from(elements.subarray(y * shape[1]!, y * shape[1]! + 256)),
  );
  return [
    { path: "parts.zarr", shape, window: [], elements: bytesOf(elements) },
    { path: "dem.zarr", shape, window: [], elements: bytesOf(elements) },
    {
      path: "relief.zarr",
      shape: colors!.shape,
      window: [],
      elements: bytesOf(colors!.elements),
    },
    {
      path: "checked.zarr",
      shape: whole.shape,
      window: [],
      elements: bytesOf(whole.data),
    },
    {
      path: "packed.zarr",
      shape: [10_000, 10_000],
      window: WINDOW,
      elements: bytesOf(part.data),
    },
    {
      path: "dem.zarr/c/0/0.tiff",
      shape: [192, 256],
      window: [],
      elements: bytesOf(Int16Array.from(shard.flat())),
    },
  ];
}

function bytesOf(elements: ArrayBufferView): Uint8Array {
  const { buffer, byteOffset, byteLength } = elements;
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}
