import {
  below,
  describe,
  describeAll,
  MetadataError,
  pointer,
} from "../errors/mod.ts";
import { isMembers, type Members, numberOf } from "./json.ts";
import {
  checkOneOf,
  isWhole,
  type NamedConfiguration,
  refuse,
} from "./schema.ts";
import {
  OBJECT_CODECS,
  parseNumpyType,
  type V2DataType,
} from "./v2_data_type.ts";

/** A codec of Zarr v2: its JSON, and where it is in `.zarray`. */
interface V2Codec {
  readonly json: Members;
  readonly id: string;
  readonly path: string;
}

/** The form of the elements of a chunk after some codecs. */
interface Encoded {
  /** The data type of the elements; `undefined` once they are bytes. */
  readonly type: V2DataType | undefined;
  /** The size of an element of the memory that the next codec gets. */
  readonly size: number;
}

/**
 * Lists the filters and the compressor of a `.zarray`, in the order of encoding.
 *
 * @throws {MetadataError} If they do not have the form of codecs.
 */
export function listV2Codecs(filters: unknown, compressor: unknown): V2Codec[] {
  if ((filters ?? null) !== null && !Array.isArray(filters)) {
    refuse("filters to be a list or null", filters, "/filters");
  }
  const listed = ((filters ?? []) as unknown[])
    .map((json, i) => ({ json, path: `/filters/${i}` }));
  const all = (compressor ?? null) === null
    ? listed
    : [...listed, { json: compressor, path: "/compressor" }];
  return all.map(({ json, path }) => {
    if (!isMembers(json)) refuse("a codec, an object with an id", json, path);
    const { id } = json;
    if (typeof id !== "string") refuse("the id of a codec", id, `${path}/id`);
    return { json, id, path };
  });
}

/** Returns the id of the first codec that encodes Python objects as bytes. */
export function objectCodecOf(codecs: readonly V2Codec[]): string | undefined {
  return codecs.find(({ id }) =>
    Object.hasOwn(OBJECT_CODECS, id) || UNMAPPED_OBJECTS.includes(id)
  )?.id;
}

/** Codecs of Python objects that Zarr v3 does not have. */
const UNMAPPED_OBJECTS: readonly string[] = [
  "categorize",
  "json2",
  "msgpack2",
  "pickle",
  "vlen-array",
];

/**
 * Converts the codecs of a Zarr v2 array. Filters that numcodecs runs on the elements in
 * memory follow the codec `transpose` of chunks in the order F, since they see the elements
 * in the order of memory.
 *
 * @param order The order of the elements in a chunk.
 * @param rank The number of dimensions.
 * @throws {MetadataError} If Zarr v3 does not have a codec, or does not allow this order.
 */
export function convertV2Codecs(
  codecs: readonly V2Codec[],
  dataType: V2DataType,
  order: "C" | "F",
  rank: number,
): NamedConfiguration[] {
  const arrayToArray: NamedConfiguration[] = [];
  let toBytes: NamedConfiguration | undefined;
  const bytesToBytes: NamedConfiguration[] = [];
  if (order === "F" && rank > 1) {
    const reversed = Array.from({ length: rank }, (_, i) => rank - 1 - i);
    arrayToArray.push(named("transpose", { order: reversed }));
  }
  let state: Encoded = { type: dataType, size: dataType.size ?? 1 };
  for (const codec of codecs) {
    const { id, json, path } = codec;
    below(path, () => {
      const members = new Configuration(id, json);
      if (Object.hasOwn(OBJECT_CODECS, id)) {
        if (OBJECT_CODECS[id] !== dataType.json || toBytes !== undefined) {
          throw new MetadataError(
            `The codec ${describe(id)} is for the dtype "|O", and comes first`,
            "/id",
          );
        }
        toBytes = named(id);
        state = { type: undefined, size: 1 };
      } else if (Object.hasOwn(ARRAY_FILTERS, id)) {
        if (state.type === undefined || dataType.size === undefined) {
          throw new MetadataError(
            `The codec ${
              describe(id)
            } follows one that encodes elements as bytes, an order that Zarr v3 does not have: expected filters of elements first`,
            "/id",
          );
        }
        const filter = ARRAY_FILTERS[id]!(members, state.type);
        arrayToArray.push(...filter.codecs);
        state = { type: filter.type, size: filter.type.size! };
      } else if (Object.hasOwn(ARRAY_TO_BYTES, id)) {
        toBytes = arrayToBytes(id, json, state.type, order);
        state = { type: undefined, size: 1 };
        return;
      } else {
        const convert = Object.hasOwn(BYTE_CODECS, id)
          ? BYTE_CODECS[id]!
          : undefined;
        if (convert === undefined) throw unknownCodec(id);
        toBytes ??= bytesCodec(state.type, codec);
        bytesToBytes.push(convert(members, state, id));
        state = { type: undefined, size: 1 };
      }
      members.assertAllUsed();
    });
  }
  toBytes ??= bytesCodec(state.type, undefined);
  return [...arrayToArray, toBytes, ...bytesToBytes];
}

function named(
  name: string,
  configuration?: Members,
): NamedConfiguration {
  // zarr-python reads its own codecs only with a configuration.
  if (name.startsWith("numcodecs.")) {
    return { name, configuration: configuration ?? {} };
  }
  return configuration === undefined ? { name } : { name, configuration };
}

/** The codec from elements to bytes. Only elements of several bytes have a byte order. */
function bytesCodec(
  type: V2DataType | undefined,
  next: V2Codec | undefined,
): NamedConfiguration {
  if (type === undefined || type.size === undefined) {
    throw new MetadataError(
      next === undefined
        ? 'Expected the filter "vlen-utf8" or "vlen-bytes" for the dtype "|O", found none'
        : `The codec ${
          describe(next.id)
        } is for bytes; expected "vlen-utf8" or "vlen-bytes" before it`,
    );
  }
  return named("bytes", type.endian && { endian: type.endian });
}

function unknownCodec(id: string): MetadataError {
  if (UNMAPPED_OBJECTS.includes(id) || id === "base64") {
    return new MetadataError(
      `Zarr v3 has no codec for ${
        describe(id)
      } of Zarr v2: store the array again with another one`,
      "/id",
    );
  }
  const known = [
    ...Object.keys(ARRAY_FILTERS),
    ...Object.keys(BYTE_CODECS),
    ...Object.keys(OBJECT_CODECS),
  ].filter((name) => !name.startsWith("imagecodecs_"));
  return new MetadataError(
    `Unknown codec ${describe(id)}; known are ${describeAll(known)}`,
    "/id",
  );
}

/** The configuration of a codec of Zarr v2, whose members are taken one after another. */
class Configuration {
  readonly #id: string;
  readonly #members: Members;
  readonly #used = new Set(["id"]);

  constructor(id: string, members: Members) {
    this.#id = id;
    this.#members = members;
  }

  /** Whether a member is there. */
  has(name: string): boolean {
    return Object.hasOwn(this.#members, name);
  }

  /** Takes a member that may be missing, or `null`. */
  take(name: string): unknown {
    this.#used.add(name);
    return this.has(name) ? this.#members[name] ?? undefined : undefined;
  }

  /** Takes a whole number. */
  whole(name: string, least: number, most: number, byDefault?: number): number {
    const value = this.take(name);
    if (value === undefined && byDefault !== undefined) return byDefault;
    // Some programs write numbers as strings.
    const isText = typeof value === "string" && /^-?\d{1,10}$/.test(value);
    const number = isText ? Number(value) : numberOf(value);
    if (
      Number.isSafeInteger(number) && number as number >= least &&
      number as number <= most
    ) return number as number;
    refuse(
      `a whole number from ${least} to ${most} as ${name}`,
      value,
      `/${name}`,
    );
  }

  /** Takes a number, and keeps its text. */
  number(name: string): unknown {
    const value = this.take(name);
    const number = numberOf(value);
    if (typeof number === "bigint" || Number.isFinite(number)) return value;
    refuse(`a number as ${name}`, value, `/${name}`);
  }

  /** Takes a data type of NumPy. */
  type(name: string, byDefault?: V2DataType): V2DataType {
    const value = this.take(name);
    if (value === undefined && byDefault !== undefined) return byDefault;
    return below(`/${name}`, () => parseNumpyType(value));
  }

  /** Refuses members that the codec does not have. */
  assertAllUsed(): void {
    for (const name of Object.keys(this.#members)) {
      if (this.#used.has(name)) continue;
      throw new MetadataError(
        `Unknown member ${describe(name)} of the codec ${
          describe(this.#id)
        }; known are ${describeAll([...this.#used])}`,
        pointer("", name),
      );
    }
  }
}

/** A filter of elements: its codecs in Zarr v3, and the data type of what it encodes to. */
interface ArrayFilter {
  readonly codecs: readonly NamedConfiguration[];
  readonly type: V2DataType;
}

/** The filters of numcodecs that change the elements of chunks. */
const ARRAY_FILTERS: Readonly<
  Record<string, (members: Configuration, type: V2DataType) => ArrayFilter>
> = {
  delta(members, type) {
    const [dtype, astype] = elementTypes(members, type);
    return {
      codecs: [named("numcodecs.delta", {
        dtype: dtype.numpy,
        astype: astype.numpy,
      })],
      type: astype,
    };
  },
  fixedscaleoffset(members, type) {
    const [scale, offset] = ["scale", "offset"].map((name) =>
      members.number(name)
    );
    if (Number(numberOf(scale)) === 0) {
      refuse("a scale other than 0", scale, "/scale");
    }
    const [dtype, astype] = elementTypes(members, type);
    return {
      codecs: [named("numcodecs.fixedscaleoffset", {
        scale,
        offset,
        dtype: dtype.numpy,
        astype: astype.numpy,
      })],
      type: astype,
    };
  },
  quantize(members, type) {
    const digits = members.whole("digits", -400, 400);
    const [dtype, astype] = elementTypes(members, type);
    for (const [name, each] of Object.entries({ dtype, astype })) {
      if (each.numpy[1] !== "f") {
        refuse(`a float as ${name}`, each.numpy, `/${name}`);
      }
    }
    const quantize = named("numcodecs.quantize", {
      digits,
      dtype: dtype.numpy,
      astype: dtype.numpy,
    });
    // zarr-python 3.1 reads no quantize that also changes the data type.
    const isSame = astype.numpy === dtype.numpy;
    return {
      codecs: isSame ? [quantize] : [quantize, asType(astype, dtype)],
      type: astype,
    };
  },
  bitround(members, type) {
    // numcodecs decodes unsigned integers, too, which other programs write.
    if (!/^.[fu]/.test(type.numpy)) {
      throw new MetadataError(
        `The filter "bitround" is for floats, found the data type ${
          describe(type.numpy)
        }`,
      );
    }
    const keepbits = members.whole("keepbits", 0, 52);
    return { codecs: [named("numcodecs.bitround", { keepbits })], type };
  },
  packbits(_, type) {
    if (type.numpy !== "|b1") {
      throw new MetadataError(
        `The filter "packbits" is for the data type "|b1", found ${
          describe(type.numpy)
        }`,
      );
    }
    return {
      codecs: [named("numcodecs.packbits")],
      type: parseNumpyType("|u1"),
    };
  },
  astype(members, type) {
    const encoded = members.type("encode_dtype");
    const decoded = members.type("decode_dtype");
    assertSameElements(decoded, type, "/decode_dtype");
    return { codecs: [asType(encoded, decoded)], type: encoded };
  },
};

function asType(encoded: V2DataType, decoded: V2DataType): NamedConfiguration {
  return named("numcodecs.astype", {
    encode_dtype: encoded.numpy,
    decode_dtype: decoded.numpy,
  });
}

/** Takes the data types of a filter: that of the elements, and that of the encoded ones. */
function elementTypes(
  members: Configuration,
  type: V2DataType,
): [dtype: V2DataType, astype: V2DataType] {
  const dtype = members.type("dtype");
  assertSameElements(dtype, type, "/dtype");
  return [dtype, members.type("astype", dtype)];
}

/** Refuses a filter that reinterprets the bytes of elements as another data type, which Zarr v3 cannot represent. */
function assertSameElements(
  dtype: V2DataType,
  type: V2DataType,
  path: string,
): void {
  if (dtype.numpy === type.numpy) return;
  // Dates and durations are integers to a filter.
  const isTime = /^[<>][mM]8/.test(type.numpy) &&
    dtype.numpy === `${type.numpy[0]}i8`;
  if (isTime) return;
  refuse(
    `the data type of the elements, ${
      describe(type.numpy)
    }, since Zarr v3 cannot reinterpret their bytes as another data type`,
    dtype.numpy,
    path,
  );
}

/** The names of shuffles in Zarr v3, by their numbers in Zarr v2. */
const SHUFFLES = ["noshuffle", "shuffle", "bitshuffle"] as const;

const CNAMES = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

type ConvertByteCodec = (
  members: Configuration,
  encoded: Encoded,
  id: string,
) => NamedConfiguration;

/** The codecs of numcodecs that change bytes, with the defaults of numcodecs. */
const BYTE_CODECS: Readonly<Record<string, ConvertByteCodec>> = {
  blosc(members, { size }) {
    const cname = checkOneOf(
      members.take("cname") ?? "lz4",
      CNAMES,
      `one of ${describeAll(CNAMES)} as cname`,
      "/cname",
    );
    const clevel = members.whole("clevel", 0, 9, 5);
    const shuffle = members.whole("shuffle", -1, 2, 1);
    const blocksize = members.whole("blocksize", 0, 2 ** 31 - 1, 0);
    members.take("typesize"); // numcodecs ignores it, and uses the size of the elements.
    // Blosc treats longer elements as bytes.
    const typesize = size > 255 ? 1 : size;
    return named("blosc", {
      typesize,
      cname,
      clevel,
      shuffle: SHUFFLES[shuffle < 0 ? size === 1 ? 2 : 1 : shuffle],
      blocksize,
    });
  },
  zstd(members) {
    // numcodecs uses the highest level in place of higher ones.
    const level = Math.min(members.whole("level", -131072, 2 ** 31 - 1, 0), 22);
    const checksum = members.take("checksum") ?? false;
    if (typeof checksum !== "boolean") {
      refuse("true or false as checksum", checksum, "/checksum");
    }
    return named("zstd", { level, checksum });
  },
  gzip(members) {
    const level = members.whole("level", -1, 9, 1);
    return named("gzip", { level: level < 0 ? 6 : level }); // -1 is zlib's default, 6.
  },
  zlib: ofNumber("level", -1, 9, 1),
  bz2: ofNumber("level", 1, 9, 1),
  lz4: ofNumber("acceleration", -(2 ** 31), 2 ** 31 - 1, 1),
  shuffle: ofNumber("elementsize", 0, 2 ** 31 - 1, 4),
  lzma(members) {
    const format = members.whole("format", 0, 3, 1);
    const check = members.whole("check", -1, 16, -1);
    const preset = members.take("preset") ?? null;
    const filters = members.take("filters") ?? null;
    if (preset !== null && !isWhole(numberOf(preset))) {
      refuse("a whole number or null as preset", preset, "/preset");
    }
    if (filters !== null && !Array.isArray(filters)) {
      refuse("a list or null as filters", filters, "/filters");
    }
    return named("numcodecs.lzma", { format, check, preset, filters });
  },
  crc32: (members) => named("numcodecs.crc32", locationOf(members)),
  adler32: (members) => named("numcodecs.adler32", locationOf(members)),
  fletcher32: () => named("numcodecs.fletcher32"),
  crc32c(members) {
    const { location = "end" } = locationOf(members);
    // The codec of the Zarr core stores the same bytes.
    return location === "end"
      ? named("crc32c")
      : named("numcodecs.crc32c", { location });
  },
  jenkins_lookup3(members) {
    const prefix = members.take("prefix") ?? null;
    if (prefix !== null) refuse("null as prefix", prefix, "/prefix");
    return named("numcodecs.jenkins_lookup3", {
      initval: members.whole("initval", 0, 2 ** 32 - 1, 0),
      prefix,
    });
  },
  imagecodecs_deflate: imagecodec,
  imagecodecs_lzw: imagecodec,
  imagecodecs_packbits: imagecodec,
  imagecodecs_zlib: imagecodec,
  imagecodecs_zstd: imagecodec,
};

/** Converts a codec whose configuration is a whole number. */
function ofNumber(
  name: string,
  least: number,
  most: number,
  byDefault: number,
): ConvertByteCodec {
  return (members, _, id) =>
    named(`numcodecs.${id}`, {
      [name]: members.whole(name, least, most, byDefault),
    });
}

/** The codecs of imagecodecs have the same names in both versions of Zarr. */
function imagecodec(
  members: Configuration,
  _: Encoded,
  id: string,
): NamedConfiguration {
  for (const name of ["raw", "axis"]) {
    const value = members.take(name) ?? false;
    if (value !== false) refuse(`no ${name}`, value, `/${name}`);
  }
  const level = members.take("level");
  if (level === undefined) return named(id);
  if (isWhole(numberOf(level))) return named(id, { level });
  refuse("a whole number as level", level, "/level");
}

function locationOf(members: Configuration): { location?: string } {
  const location = members.take("location");
  return location === undefined ? {} : {
    location: checkOneOf(
      location,
      ["start", "end"],
      '"start" or "end" as location',
      "/location",
    ),
  };
}

const NUMBER = /^(?:\|[biu]1|<[iufc]\d+)$/;

const IMAGES =
  "apng avif bmp gif htj2k jpeg jpeg2k jpegls jpegxl jpegxr lerc ljpeg png qoi spng tga tiff webp";

/** Codecs that compress elements of given data types: those of numcodecs, and the images of imagecodecs. */
const ARRAY_TO_BYTES: Readonly<Record<string, RegExp>> = {
  pcodec: /^<[iuf][248]$/,
  zfpy: /^<(?:i[48]|f[48])$/,
  .../* @__PURE__ */ Object.fromEntries(
    /* @__PURE__ */ IMAGES.split(" ").map((name) =>
      [`imagecodecs_${name}`, NUMBER] as const
    ),
  ),
};

function arrayToBytes(
  id: string,
  { id: _, ...configuration }: Members,
  type: V2DataType | undefined,
  order: "C" | "F",
): NamedConfiguration {
  if (type === undefined || !ARRAY_TO_BYTES[id]!.test(type.numpy)) {
    throw new MetadataError(
      `The codec ${describe(id)} is for little-endian numbers, found ${
        type === undefined ? "bytes" : `the data type ${describe(type.numpy)}`
      }`,
      "/id",
    );
  }
  if (order === "F") {
    throw new MetadataError(
      `The codec ${describe(id)} with the order "F" has no equal in Zarr v3`,
      "/id",
    );
  }
  if (!id.startsWith("imagecodecs_")) {
    return named(`numcodecs.${id}`, configuration);
  }
  for (const [name, value] of Object.entries(configuration)) {
    // These members matter only for writing, or have their default value.
    const isDefault = value === null || value === false ||
      /^(?:squeeze|lossless|mct|level)$/.test(name);
    if (isDefault) continue;
    refuse(
      `no ${name}, which imagecodecs configures otherwise in Zarr v3`,
      value,
      pointer("", name),
    );
  }
  return { name: id };
}
