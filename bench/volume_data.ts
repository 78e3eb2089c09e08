/** The volumes of `deno task bench volume`. */
import { crc32 } from "node:zlib";
import { type ArrayMetadata, arrayMetadata } from "../mod.ts";
import { tiffContainer } from "../tiff.ts";
import type { SetShardedOptions } from "../zarrita.ts";
import { inParts } from "./data.ts";
import { seededRandom } from "./measure.ts";
import type { PeerName } from "./volume_peer.ts";

/** A volume in memory, and the ways in which it is stored. */
export interface Volume {
  /** The data type and the codec, such as `uint16 in zstd`. */
  readonly name: string;
  /** The elements in C order. */
  readonly data: Elements;
  /** The first layout of `ours`, then the others. */
  readonly layouts: Readonly<Record<string, Layout>>;
  /** The names of the layouts that this package is measured with. */
  readonly ours: readonly string[];
  /** The name of the layout that a peer reads. */
  layoutOf(peer: PeerName): string;
}

/** The elements of a volume, or of a region. */
export type Elements = Uint8Array | Uint16Array | Float32Array;

/** The metadata of an array, and the format of its shards. */
export interface Layout {
  readonly metadata: ArrayMetadata;
  readonly container?: NonNullable<SetShardedOptions["container"]>;
}

/** The level of zstd that zarr-python takes if none is given. */
const ZSTD_LEVEL = 0;

/**
 * Makes a volume such as a microscope gives: bright spheres, and noise of some bits
 * everywhere. It has 256 MiB of uint16, in shards of 32 MiB with chunks of 512 KiB; zstd
 * halves it. The same in every run.
 *
 * @param isQuick Whether to make a volume of 4 MiB.
 */
export function makeVolume(isQuick: boolean): Volume {
  const [size, shard, chunk] = isQuick ? [128, 64, 32] : [512, 256, 64];
  const cube = (length: number) => [length, length, length];
  const metadata = arrayMetadata({
    shape: cube(size),
    dataType: "uint16",
    chunkShape: cube(chunk),
    shardShape: cube(shard),
    codecs: [{ name: "zstd", configuration: { level: ZSTD_LEVEL } }],
  });
  return {
    name: "uint16 in zstd",
    data: makeSpheres(size),
    layouts: { plain: { metadata }, parts: { metadata: inParts(metadata) } },
    ours: ["plain", "parts"],
    layoutOf: () => "plain",
  };
}

/**
 * Makes a picture of 8,000 × 5,000 pixels of red, green and blue in zlib, whose shards
 * are TIFF files.
 *
 * @param isQuick Whether to make a picture of 800 × 500 pixels.
 */
export function makePicture(isQuick: boolean): Volume {
  const scale = isQuick ? 1 : 10;
  const [height, width] = [800 * scale, 500 * scale] as const;
  const [shard, chunk] = isQuick ? [256, 64] : [2048, 512];
  const array = {
    shape: [height, width, 3],
    dataType: "uint8",
    chunkShape: [chunk, chunk, 3],
    shardShape: [shard, shard, 3],
  } as const;
  const zlib = ["numcodecs.zlib", { level: 1 }] as const;
  const layoutOf = (
    [name, configuration]: readonly [string, { level: number }],
    { container, ...keys }: { container?: true; suffix?: string } = {},
  ): Layout => {
    const codecs = [{ name, configuration }];
    const metadata = arrayMetadata({ ...array, ...keys, codecs });
    return container === undefined ? { metadata } : {
      metadata,
      container: tiffContainer(metadata, { bands: "last", colors: "rgb" }),
    };
  };
  return {
    name: "uint8 RGB in zlib",
    data: makePixels(height, width),
    layouts: {
      TIFF: layoutOf(zlib, { container: true, suffix: ".tiff" }),
      "TIFF at default keys": layoutOf(zlib, { container: true }),
      gzip: layoutOf(["gzip", { level: 1 }]),
    },
    ours: ["TIFF"],
    layoutOf: (peer) =>
      peer === "TensorStore" ? "gzip" : "TIFF at default keys",
  };
}

/**
 * Makes a volume of float32 in blosc with three dimensions and time, whose shape is no
 * multiple of that of its chunks.
 *
 * @param isQuick Whether to make a volume of 2 MB, in place of 135 MB.
 */
export function makeSeries(isQuick: boolean): Volume {
  const shape = isQuick ? [3, 50, 67, 50] : [5, 100, 270, 250];
  const [shard, chunk] = isQuick
    ? [[2, 32, 32, 32], [1, 16, 16, 16]]
    : [[2, 64, 128, 128], [1, 32, 64, 64]];
  const metadata = arrayMetadata({
    shape,
    dataType: "float32",
    chunkShape: chunk,
    shardShape: shard,
    codecs: [{
      name: "blosc",
      configuration: {
        cname: "lz4",
        clevel: 5,
        shuffle: "shuffle",
        typesize: 4,
        blocksize: 0,
      },
    }],
  });
  return {
    name: "4-D float32 in blosc",
    data: makeWaves(shape),
    layouts: { plain: { metadata } },
    ours: ["plain"],
    layoutOf: () => "plain",
  };
}

/** The first index along each dimension, and the one after the last. */
export type Region = readonly (readonly [start: number, end: number])[];

/** The regions of one inner chunk in ten, at random. The same in every run. */
export function randomRegions({ layouts }: Volume): Region[] {
  const { shape, codecs } = Object.values(layouts)[0]!.metadata;
  const [sharding] = codecs as unknown as [
    { configuration: { chunk_shape: number[] } },
  ];
  const lengths = sharding.configuration.chunk_shape;
  const counts = shape.map((length, i) => Math.ceil(length / lengths[i]!));
  const count = counts.reduce((product, n) => product * n, 1);
  const random = seededRandom(count);
  const places = Array.from({ length: count }, (_, i) => [random(), i] as const)
    .sort(([a], [b]) => a - b).map(([, i]) => i);
  return places.slice(0, Math.ceil(count / 10)).map((place) =>
    shape.map((length, i) => {
      const below = counts.slice(i + 1).reduce((product, n) => product * n, 1);
      const start = Math.floor(place / below) % counts[i]! * lengths[i]!;
      return [start, Math.min(length, start + lengths[i]!)] as const;
    })
  );
}

/** The elements of a region in C order, or all elements. */
export function elementsOf(
  { data, layouts }: Volume,
  region?: Region,
): Elements {
  if (region === undefined) return data;
  const { shape } = Object.values(layouts)[0]!.metadata;
  const counts = region.map(([start, end]) => end - start);
  const found = data.slice(0, counts.reduce((product, n) => product * n, 1));
  return found.map((_, i) => {
    let place = 0;
    for (let axis = shape.length - 1, stride = 1; axis >= 0; axis--) {
      place += (region[axis]![0] + i % counts[axis]!) * stride;
      stride *= shape[axis]!;
      i = Math.floor(i / counts[axis]!);
    }
    return data[place]!;
  });
}

/** Throws if elements are not the expected ones. */
export function assertSame(
  expected: Elements,
  found: Elements,
  reader: string,
): void {
  if (found.length !== expected.length) {
    throw new Error(
      `${reader} gives ${found.length} elements: expected ${expected.length}`,
    );
  }
  for (let i = 0; i < expected.length; i++) {
    if (expected[i] === found[i]) continue;
    throw new Error(
      `${reader} gives ${found[i]} as element ${i}: expected ${expected[i]}`,
    );
  }
}

/** One byte in so many is in a sample. A prime, so that the bytes lie in all columns. `volume_peer.py` has it, too. */
const SAMPLE_STRIDE = 16_411;

/** A checksum of some bytes of elements, since one of all bytes would take much of the time. */
export function sampleOf(all: readonly Elements[]): number {
  let sum = 0;
  for (const { buffer, byteOffset, byteLength } of all) {
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    const sample = new Uint8Array(Math.ceil(byteLength / SAMPLE_STRIDE));
    for (let i = 0; i < sample.length; i++) {
      sample[i] = bytes[i * SAMPLE_STRIDE]!;
    }
    sum = crc32(sample, sum);
  }
  return sum;
}

function makeSpheres(size: number): Uint16Array<ArrayBuffer> {
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

/** Soft colors with noise of two bits. */
function makePixels(height: number, width: number): Uint8Array {
  const random = seededRandom(height);
  const data = new Uint8Array(height * width * 3);
  for (let y = 0, i = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const light = 100 + 60 * Math.sin(x / 90) + 30 * Math.cos(y / 70);
      for (const share of [1, 0.8, 1.2]) {
        data[i++] = light * share + 4 * random();
      }
    }
  }
  return data;
}

/** Waves with noise, rounded to 1/1024, so that some bits of the mantissa are zero. */
function makeWaves(shape: readonly number[]): Float32Array {
  const [times, depth, height, width] = shape as [
    number,
    number,
    number,
    number,
  ];
  const random = seededRandom(width);
  const data = new Float32Array(times * depth * height * width);
  for (let t = 0, i = 0; t < times; t++) {
    for (let z = 0; z < depth; z++) {
      for (let y = 0; y < height; y++) {
        const offset = 20 + t + Math.sin(z / 15) + Math.cos(y / 25);
        for (let x = 0; x < width; x++) {
          const value = offset + Math.sin(x / 20) + random() / 16;
          data[i++] = Math.round(value * 1024) / 1024;
        }
      }
    }
  }
  return data;
}
