import { describe } from "../errors/mod.ts";
import { type CodecKind, codecKind } from "./codec_table.ts";
import type { DataType } from "./data_type.ts";
import { isMembers } from "./json.ts";
import type { NamedConfiguration } from "./schema.ts";

/** The kinds of codecs, in the order in which chunks are encoded. */
const STAGES: readonly CodecKind[] = [
  "array_to_array",
  "array_to_bytes",
  "bytes_to_bytes",
];

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
  const kinds = named.map(({ name }) => codecKind(name));
  if (!kinds.includes("array_to_bytes") && !kinds.includes(undefined)) {
    const first = kinds.indexOf("bytes_to_bytes");
    const end = first < 0 ? named.length : first;
    named.splice(end, 0, { name: elements.toBytes });
  }
  assertOrder(named, option);
  return named.map((codec) => complete(codec, elements.bits));
}

/** Refuses known codecs that do not follow each other in the order of a pipeline. */
function assertOrder(
  codecs: readonly NamedConfiguration[],
  option: string,
): void {
  const known = codecs.flatMap(({ name }) => {
    const kind = codecKind(name);
    return kind === undefined ? [] : [{ name: describe(name), kind }];
  });
  for (const [i, { name, kind }] of known.entries()) {
    const before = known[i - 1];
    if (before === undefined) continue;
    if (kind === "array_to_bytes" && before.kind === kind) {
      throw new RangeError(
        `Expected one codec from array to bytes in ${option}, found ${before.name} and ${name}`,
      );
    }
    if (STAGES.indexOf(before.kind) <= STAGES.indexOf(kind)) continue;
    const [first, second] = [before.kind, kind].map((each) =>
      each.replaceAll("_", " ")
    );
    throw new RangeError(
      `Codec ${name} (${second}) follows ${before.name} (${first}) in ${option}; expected codecs from array to array first, then one from array to bytes, then those from bytes to bytes`,
    );
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
