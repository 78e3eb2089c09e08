import { type ArrayMetadata, arrayMetadata } from "../mod.ts";
import { inParts } from "./in_parts.ts";
import { seededRandom } from "./measure.ts";

/** A volume of uint16 in memory, and the metadata of an array of it. */
export interface Volume {
  /** The number of elements along each dimension. */
  readonly shape: readonly number[];
  /** The elements in C order. */
  readonly data: Uint16Array<ArrayBuffer>;
  /** The metadata of the array in shards of zstd chunks. */
  readonly metadata: ArrayMetadata;
}

/** The level of zstd that zarr-python takes if none is given. */
const ZSTD_LEVEL = 0;
const QUICK = { size: 128, shard: 64, chunk: 32 };
const WHOLE = { size: 512, shard: 256, chunk: 64 };

/**
 * Makes a volume such as a microscope gives: bright spheres, and noise of some bits
 * everywhere. It has 256 MiB, in shards of 32 MiB with chunks of 512 KiB; zstd halves
 * it. The same in every run.
 *
 * @param isQuick Whether to make a volume of 4 MiB.
 */
export function makeVolume(isQuick: boolean): Volume {
  const { size, shard, chunk } = isQuick ? QUICK : WHOLE;
  const cube = (length: number) => [length, length, length];
  return {
    shape: cube(size),
    data: makeElements(size),
    metadata: arrayMetadata({
      shape: cube(size),
      dataType: "uint16",
      chunkShape: cube(chunk),
      shardShape: cube(shard),
      codecs: [{ name: "zstd", configuration: { level: ZSTD_LEVEL } }],
    }),
  };
}

/** The layouts in which the volume is stored: shards alone, and with the index as a part. */
export const LAYOUTS = {
  plain: (metadata: ArrayMetadata) => metadata,
  parts: inParts,
};

function makeElements(size: number): Uint16Array<ArrayBuffer> {
  const random = seededRandom(size);
  const spheres = Array.from({ length: 40 }, () => ({
    center: [size * random(), size * random(), size * random()] as const,
    radius: size * (0.04 + random() / 8),
    brightness: 500 + 6000 * random(),
  }));
  const data = new Uint16Array(size ** 3);
  for (let z = 0, start = 0; z < size; z++) {
    for (let y = 0; y < size; y++, start += size) {
      const row = data.subarray(start, start + size);
      for (const { center, radius, brightness } of spheres) {
        const square = ((z - center[0]) ** 2 + (y - center[1]) ** 2) /
          radius ** 2;
        if (square >= 1) continue;
        const half = Math.sqrt(1 - square) * radius;
        const end = Math.min(size, center[2] + half);
        for (let x = Math.max(0, Math.ceil(center[2] - half)); x < end; x++) {
          const distance = square + ((x - center[2]) / radius) ** 2;
          row[x]! += brightness * (1 - distance);
        }
      }
      for (let x = 0; x < size; x++) {
        row[x]! += 100 + 40 * (random() + random());
      }
    }
  }
  return data;
}

/** Throws if elements are not those of the volume. */
export function assertSame(
  { data }: Volume,
  found: ArrayLike<number>,
  reader: string,
): void {
  if (found.length === data.length) {
    const at = data.findIndex((element, i) => element !== found[i]);
    if (at < 0) return;
    throw new Error(
      `${reader} reads ${found[at]} as element ${at} of the volume: expected ${
        data[at]
      }`,
    );
  }
  throw new Error(
    `${reader} reads ${found.length} elements of the volume: expected ${data.length}`,
  );
}

/** A number made of a few elements, since one of all elements would take much of the time. */
export function sampleOf(elements: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < elements.length; i += 4099) {
    sum = (31 * sum + elements[i]!) % 2 ** 31;
  }
  return sum;
}
