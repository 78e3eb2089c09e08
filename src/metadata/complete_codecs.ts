import { describe } from "../errors/mod.ts";
import type { DataType } from "./data_type.ts";
import { isMembers } from "./json.ts";
import type { NamedConfiguration } from "./schema.ts";

/** The stages of a codec pipeline, in the order in which chunks are encoded. */
const STAGES = ["array to array", "array to bytes", "bytes to bytes"] as const;

/** The index of each known codec's stage. */
const STAGE_OF: ReadonlyMap<string, number> = new Map([
  ["imagecodecs_delta", 0],
  ["imagecodecs_floatpred", 0],
  ["transpose", 0],
  ["bytes", 1],
  ["imagecodecs_jpeg", 1],
  ["imagecodecs_packints", 1],
  ["packbits", 1],
  ["sharding_indexed", 1],
  ["vlen-bytes", 1],
  ["vlen-utf8", 1],
  ["blosc", 2],
  ["crc32c", 2],
  ["gzip", 2],
  ["imagecodecs_deflate", 2],
  ["imagecodecs_lzw", 2],
  ["imagecodecs_packbits", 2],
  ["imagecodecs_zlib", 2],
  ["imagecodecs_zstd", 2],
  ["numcodecs.gzip", 2],
  ["numcodecs.zlib", 2],
  ["numcodecs.zstd", 2],
  ["zlib", 2],
  ["zstd", 2],
]);

/** The part of a data type that codecs depend on. */
export type Elements = Pick<DataType, "bits" | "toBytes">;

/**
 * Writes out a list of codecs: names become objects, the configuration that
 * readers require is filled in with zarr-python's defaults, and the codec from
 * array to bytes is added if it is missing.
 *
 * @param codecs Names or objects with a name. No codec is added to a list with an unknown
 * codec, since this may be the codec from array to bytes.
 * @param elements The array's elements.
 * @param option The option's name, for messages.
 * @throws {TypeError} If a codec is neither a name nor an object with a name, or
 * lacks configuration that has no default.
 * @throws {RangeError} If the codecs are not in the order of a pipeline.
 */
export function completeCodecs(
  codecs: readonly (string | NamedConfiguration)[],
  elements: Elements,
  option: string,
): NamedConfiguration[] {
  if (!Array.isArray(codecs)) {
    throw new TypeError(
      `Expected ${option} to be a list of codecs, found ${describe(codecs)}`,
    );
  }
  const named = codecs.map((codec: string | NamedConfiguration) => {
    const long = typeof codec === "string" ? { name: codec } : codec;
    if (typeof long?.name !== "string" || long.name === "") {
      throw new TypeError(
        `Expected a codec in ${option}, a name or an object with a name, found ${
          describe(codec)
        }`,
      );
    }
    const { configuration = {} } = long;
    if (isMembers(configuration)) return long;
    throw new TypeError(
      `Expected the configuration of the codec ${
        describe(long.name)
      } to be an object, found ${describe(configuration)}`,
    );
  });
  const stages = named.map(({ name }) => STAGE_OF.get(name));
  if (!stages.includes(1) && !stages.includes(undefined)) {
    const first = stages.indexOf(2);
    const place = first < 0 ? named.length : first;
    named.splice(place, 0, { name: elements.toBytes });
  }
  assertOrder(named, option);
  return named.map((codec) => complete(codec, elements.bits));
}

function assertOrder(
  codecs: readonly NamedConfiguration[],
  option: string,
): void {
  let previous: NamedConfiguration | undefined;
  for (const codec of codecs) {
    const stage = STAGE_OF.get(codec.name);
    if (stage === undefined) continue;
    const earlier = previous && STAGE_OF.get(previous.name)!;
    if (previous !== undefined && earlier !== undefined) {
      if (earlier === 1 && stage === 1) {
        throw new RangeError(
          `Expected one codec from array to bytes in ${option}, found ${
            describe(previous.name)
          } and ${describe(codec.name)}`,
        );
      }
      if (earlier > stage) {
        throw new RangeError(
          `Codec ${describe(codec.name)} (${STAGES[stage]}) follows ${
            describe(previous.name)
          } (${
            STAGES[earlier]
          }) in ${option}; expected codecs from array to array first, then one from array to bytes, then those from bytes to bytes`,
        );
      }
    }
    previous = codec;
  }
}

function complete(
  { name, configuration, ...rest }: NamedConfiguration,
  bits: number | undefined,
): NamedConfiguration {
  const completed = { ...defaults(name, bits), ...configuration };
  if (name === "transpose" && completed.order === undefined) {
    throw new TypeError(
      'Expected the codec "transpose" to have an order, such as { name: "transpose", configuration: { order: [1, 0] } }',
    );
  }
  // An empty configuration is kept, since zarrita needs one in shards.
  return configuration === undefined && Object.keys(completed).length === 0
    ? { name, ...rest }
    : { name, configuration: completed, ...rest };
}

function defaults(
  name: string,
  bits: number | undefined,
): Readonly<Record<string, unknown>> | undefined {
  switch (name) {
    case "bytes":
      return bits === 8 ? undefined : { endian: "little" };
    case "gzip":
      return { level: 5 };
    case "zstd":
      return { level: 0, checksum: false };
    case "blosc": {
      const typesize = Math.ceil((bits ?? 8) / 8);
      return {
        cname: "zstd",
        clevel: 5,
        shuffle: typesize === 1 ? "bitshuffle" : "shuffle",
        typesize,
        blocksize: 0,
      };
    }
  }
}
