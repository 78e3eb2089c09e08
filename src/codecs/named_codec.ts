import { describe, describeAll } from "../errors/mod.ts";
import { isWhole, type NamedConfiguration } from "../metadata/mod.ts";

/** What {@linkcode namedCodec} may be told about a codec. */
interface CodecSettings {
  /**
   * The level of compression. `lz4` has the acceleration in its place, which grows with the
   * speed.
   */
  readonly level?: number | undefined;
  /** The compressor in `blosc`: `zstd` by default. */
  readonly cname?: string | undefined;
  /** The length of an element in bytes, by which `blosc` shuffles: 1 by default. */
  readonly elementSize?: number | undefined;
}

/** A codec that compresses, as {@linkcode namedCodec} makes it. */
interface Compressor {
  /** The name in metadata. */
  readonly name: string;
  /** The lowest level, the highest, and the one of zarr-python or numcodecs by default. */
  readonly levels?: readonly [least: number, most: number, standard: number];
  configuration(
    level: number,
    settings: CodecSettings,
  ): Readonly<Record<string, unknown>>;
}

/** The compressors in blosc. Source: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/blosc/ */
const BLOSC_COMPRESSORS = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"];

/** The codecs by their short names. */
const COMPRESSORS: Readonly<Record<string, Compressor>> = {
  zstd: {
    name: "zstd",
    levels: [-131072, 22, 3],
    configuration: (level) => ({ level, checksum: false }),
  },
  gzip: {
    name: "gzip",
    levels: [0, 9, 5],
    configuration: (level) => ({ level }),
  },
  blosc: {
    name: "blosc",
    levels: [0, 9, 5],
    configuration(clevel, { cname = "zstd", elementSize = 1 }) {
      if (!BLOSC_COMPRESSORS.includes(cname)) {
        throw new RangeError(
          `Unknown compressor ${describe(cname)} of blosc; known are ${
            describeAll(BLOSC_COMPRESSORS)
          }`,
        );
      }
      return {
        typesize: elementSize,
        cname,
        clevel,
        shuffle: elementSize === 1 ? "bitshuffle" : "shuffle",
        blocksize: 0,
      };
    },
  },
  zlib: {
    name: "numcodecs.zlib",
    levels: [0, 9, 1],
    configuration: (level) => ({ level }),
  },
  lz4: {
    name: "numcodecs.lz4",
    levels: [1, 65537, 1],
    configuration: (acceleration) => ({ acceleration }),
  },
  crc32c: { name: "crc32c", configuration: () => ({}) },
};

/** The short names that {@linkcode namedCodec} accepts. */
export const SHORT_NAMES: readonly string[] = Object.keys(COMPRESSORS);

/**
 * The metadata of a codec that encodes bytes, with the default configuration of zarr-python
 * or, for names that start with `numcodecs.`, of numcodecs.
 *
 * @param shortName One of {@linkcode SHORT_NAMES}.
 * @throws {RangeError} If there is no such codec, the codec does not have this level, or blosc
 * has no such compressor.
 */
export function namedCodec(
  shortName: string,
  settings: CodecSettings = {},
): NamedConfiguration {
  if (!Object.hasOwn(COMPRESSORS, shortName)) {
    throw new RangeError(
      `Unknown codec ${describe(shortName)}; known are ${
        describeAll(SHORT_NAMES)
      }`,
    );
  }
  const { name, levels, configuration } = COMPRESSORS[shortName]!;
  if (levels === undefined && settings.level !== undefined) {
    throw new RangeError(
      `Expected no level of ${shortName}, found ${describe(settings.level)}`,
    );
  }
  const [least, most, standard] = levels ?? [0, 0, 0];
  const { level = standard } = settings;
  if (!isWhole(level, least) || level > most) {
    throw new RangeError(
      `Expected the level of ${shortName} to be a whole number from ${least} to ${most}, found ${
        describe(level)
      }`,
    );
  }
  return { name, configuration: configuration(level, settings) };
}
