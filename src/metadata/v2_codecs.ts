import {
  below,
  describe,
  describeAll,
  MetadataError,
  pointer,
  sentence,
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
  /** The data type of the elements that the next codec gets; `undefined` once they are bytes. */
  let type: V2DataType | undefined = dataType;
  for (const codec of codecs) {
    const { id } = codec;
    below(codec.path, () => {
      if (Object.hasOwn(OBJECT_CODECS, id)) {
        if (OBJECT_CODECS[id] !== dataType.json || toBytes !== undefined) {
          throw new MetadataError(
            sentence`The codec ${id} is for the dtype "|O", and comes first`,
            "/id",
          );
        }
        readMembers(codec, {});
        toBytes = named(id);
      } else if (Object.hasOwn(ARRAY_FILTERS, id)) {
        if (type === undefined || dataType.size === undefined) {
          throw new MetadataError(
            sentence`The codec ${id} follows one that encodes elements as bytes, an order that Zarr v3 does not have: expected filters of elements first`,
            "/id",
          );
        }
        const filter = ARRAY_FILTERS[id]!(codec, type);
        arrayToArray.push(...filter.codecs);
        type = filter.type;
        return;
      } else if (Object.hasOwn(ARRAY_TO_BYTES, id)) {
        toBytes = arrayToBytes(codec, type, order);
      } else if (Object.hasOwn(BYTE_CODECS, id)) {
        toBytes ??= bytesCodec(type, codec);
        bytesToBytes.push(BYTE_CODECS[id]!(codec, type?.size ?? 1));
      } else throw unknownCodec(id);
      type = undefined;
    });
  }
  toBytes ??= bytesCodec(type, undefined);
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
        : sentence`The codec ${next.id} is for bytes; expected "vlen-utf8" or "vlen-bytes" before it`,
    );
  }
  return named("bytes", type.endian && { endian: type.endian });
}

function unknownCodec(id: string): MetadataError {
  if (UNMAPPED_OBJECTS.includes(id) || id === "base64") {
    return new MetadataError(
      sentence`Zarr v3 has no codec for ${id} of Zarr v2: store the array again with another one`,
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

/** Reads the value of a member of a codec. `undefined` stands for a missing member, and for `null`. */
type ReadMember<T> = (value: unknown, name: string) => T;

/**
 * Reads the members of a codec, and refuses members that it does not have.
 *
 * @returns The values by their names, without those that are `undefined`.
 */
function readMembers<T extends Members>(
  { id, json }: V2Codec,
  rules: { readonly [K in keyof T]: ReadMember<T[K]> },
): T {
  for (const name of Object.keys(json)) {
    if (name === "id" || Object.hasOwn(rules, name)) continue;
    const known = describeAll(["id", ...Object.keys(rules)]);
    const member = `${describe(name)} of the codec ${describe(id)}`;
    throw new MetadataError(
      `Unknown member ${member}; known are ${known}`,
      pointer("", name),
    );
  }
  const values = Object.entries<ReadMember<unknown>>(rules)
    .map(([name, read]) => [name, read(json[name] ?? undefined, name)])
    .filter(([, value]) => value !== undefined);
  return Object.fromEntries(values);
}

function whole(
  least: number,
  most: number,
  byDefault?: number,
): ReadMember<number> {
  return (value, name) => {
    if (value === undefined && byDefault !== undefined) return byDefault;
    // Some programs write numbers as strings.
    const isText = typeof value === "string" && /^-?\d{1,10}$/.test(value);
    const number = isText ? Number(value) : numberOf(value);
    const isInRange = isWhole(number, least) && number <= most;
    return isInRange ? number : refuse(
      `a whole number from ${least} to ${most} as ${name}`,
      value,
      `/${name}`,
    );
  };
}

/** Reads a number, and keeps its text. */
function anyNumber(value: unknown, name: string): unknown {
  const number = numberOf(value);
  if (typeof number === "bigint" || Number.isFinite(number)) return value;
  refuse(`a number as ${name}`, value, `/${name}`);
}

function numpyType(value: unknown, name: string): V2DataType {
  return below(`/${name}`, () => parseNumpyType(value));
}

/** Reads the data type of encoded elements, which may be missing. */
function encodedType(value: unknown, name: string): V2DataType | undefined {
  return value === undefined ? undefined : numpyType(value, name);
}

/** Reads a member that passes a test, or is missing. */
function optional<T>(
  isValid: (value: unknown) => boolean,
  expected: string,
  byDefault: T,
): ReadMember<T> {
  return (value, name) => {
    if (value === undefined) return byDefault;
    if (isValid(numberOf(value))) return value as T;
    refuse(`${expected} as ${name}`, value, `/${name}`);
  };
}

/** A filter of elements: its codecs in Zarr v3, and the data type of what it encodes to. */
interface ArrayFilter {
  readonly codecs: readonly NamedConfiguration[];
  readonly type: V2DataType;
}

/** The filters of numcodecs that change the elements of chunks. */
const ARRAY_FILTERS: Readonly<
  Record<string, (codec: V2Codec, type: V2DataType) => ArrayFilter>
> = {
  delta: (codec, type) => typedFilter(codec, type, {}),
  fixedscaleoffset(codec, type) {
    const { scale } = codec.json;
    if (Number(numberOf(scale)) === 0) {
      refuse("a scale other than 0", scale, "/scale");
    }
    return typedFilter(codec, type, { scale: anyNumber, offset: anyNumber });
  },
  quantize(codec, type) {
    const filter = typedFilter(codec, type, { digits: whole(-400, 400) });
    const { dtype, astype } = filter;
    for (const [name, each] of Object.entries({ dtype, astype })) {
      if (each.numpy[1] !== "f") {
        refuse(`a float as ${name}`, each.numpy, `/${name}`);
      }
    }
    if (astype.numpy === dtype.numpy) return filter;
    // zarr-python 3.1 reads no quantize that also changes the data type.
    const [{ name, configuration }] = filter.codecs;
    const quantize = named(name, { ...configuration, astype: dtype.numpy });
    return { codecs: [quantize, asType(astype, dtype)], type: astype };
  },
  bitround(codec, type) {
    // numcodecs decodes unsigned integers, too, which other programs write.
    if (!/^.[fu]/.test(type.numpy)) {
      throw new MetadataError(
        sentence`The filter "bitround" is for floats, found the data type ${type.numpy}`,
      );
    }
    return { codecs: [numcodecs(codec, { keepbits: whole(0, 52) })], type };
  },
  packbits(codec, type) {
    if (type.numpy !== "|b1") {
      throw new MetadataError(
        sentence`The filter "packbits" is for the data type "|b1", found ${type.numpy}`,
      );
    }
    return { codecs: [numcodecs(codec, {})], type: parseNumpyType("|u1") };
  },
  astype(codec, type) {
    const { encode_dtype: encoded, decode_dtype: decoded } = readMembers(
      codec,
      { encode_dtype: numpyType, decode_dtype: numpyType },
    );
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

/** Converts a filter that has the data types of the elements and of the encoded ones as members. */
function typedFilter<T extends Members>(
  codec: V2Codec,
  type: V2DataType,
  rules: { readonly [K in keyof T]: ReadMember<T[K]> },
): ArrayFilter & {
  readonly codecs: readonly [NamedConfiguration];
  readonly dtype: V2DataType;
  readonly astype: V2DataType;
} {
  const members = readMembers<Members>(codec, {
    ...rules,
    dtype: numpyType,
    astype: encodedType,
  });
  const dtype = members.dtype as V2DataType;
  const astype = (members.astype ?? dtype) as V2DataType;
  assertSameElements(dtype, type, "/dtype");
  const converted = named(`numcodecs.${codec.id}`, {
    ...members,
    dtype: dtype.numpy,
    astype: astype.numpy,
  });
  return { codecs: [converted], type: astype, dtype, astype };
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
  throw new MetadataError(
    sentence`Expected the data type of the elements, ${type.numpy}, since Zarr v3 cannot reinterpret their bytes as another data type, found ${dtype.numpy}`,
    path,
  );
}

/** The names of shuffles in Zarr v3, by their numbers in Zarr v2. */
const SHUFFLES = ["noshuffle", "shuffle", "bitshuffle"] as const;

const CNAMES = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];

/** The codecs of numcodecs that change bytes, with the defaults of numcodecs, by the size of an element of the memory that they get. */
const BYTE_CODECS: Readonly<
  Record<string, (codec: V2Codec, size: number) => NamedConfiguration>
> = {
  blosc(codec, size) {
    const { cname, clevel, shuffle, blocksize } = readMembers(codec, {
      cname: (value = "lz4") =>
        checkOneOf(
          value,
          CNAMES,
          `one of ${describeAll(CNAMES)} as cname`,
          "/cname",
        ),
      clevel: whole(0, 9, 5),
      shuffle: whole(-1, 2, 1),
      blocksize: whole(0, 2 ** 31 - 1, 0),
      typesize() {}, // numcodecs ignores it, and uses the size of the elements.
    });
    const byDefault = size === 1 ? 2 : 1;
    return named("blosc", {
      typesize: size > 255 ? 1 : size, // Blosc treats longer elements as bytes.
      cname,
      clevel,
      shuffle: SHUFFLES[shuffle < 0 ? byDefault : shuffle],
      blocksize,
    });
  },
  zstd(codec) {
    const { level, checksum } = readMembers(codec, {
      level: whole(-131072, 2 ** 31 - 1, 0),
      checksum: optional(isBoolean, "true or false", false),
    });
    // numcodecs uses the highest level instead of higher ones.
    return named("zstd", { level: Math.min(level, 22), checksum });
  },
  gzip(codec) {
    const { level } = readMembers(codec, { level: whole(-1, 9, 1) });
    return named("gzip", { level: level < 0 ? 6 : level }); // -1 is zlib's default, 6.
  },
  zlib: (codec) => numcodecs(codec, { level: whole(-1, 9, 1) }),
  bz2: (codec) => numcodecs(codec, { level: whole(1, 9, 1) }),
  lz4: (codec) =>
    numcodecs(codec, { acceleration: whole(-(2 ** 31), 2 ** 31 - 1, 1) }),
  lzma: (codec) =>
    numcodecs(codec, {
      format: whole(0, 3, 1),
      check: whole(-1, 16, -1),
      preset: optional((preset) => isWhole(preset), "a whole number", null),
      filters: optional(Array.isArray, "a list", null),
    }),
  shuffle: (codec) =>
    numcodecs(codec, { elementsize: whole(0, 2 ** 31 - 1, 4) }),
  crc32: (codec) => numcodecs(codec, { location }),
  adler32: (codec) => numcodecs(codec, { location }),
  fletcher32: (codec) => numcodecs(codec, {}),
  crc32c(codec) {
    const converted = numcodecs(codec, { location });
    // The codec of the Zarr core stores the same bytes.
    const isCore = converted.configuration?.location !== "start";
    return isCore ? named("crc32c") : converted;
  },
  jenkins_lookup3: (codec) =>
    numcodecs(codec, {
      initval: whole(0, 2 ** 32 - 1, 0),
      prefix: optional(() => false, "null", null),
    }),
  imagecodecs_deflate: imagecodec,
  imagecodecs_lzw: imagecodec,
  imagecodecs_packbits: imagecodec,
  imagecodecs_zlib: imagecodec,
  imagecodecs_zstd: imagecodec,
};

/** Converts a codec that has the same members in Zarr v3. */
function numcodecs<T extends Members>(
  codec: V2Codec,
  rules: { readonly [K in keyof T]: ReadMember<T[K]> },
): NamedConfiguration {
  return named(`numcodecs.${codec.id}`, readMembers(codec, rules));
}

/** The codecs of imagecodecs have the same names in both versions of Zarr. */
function imagecodec(codec: V2Codec): NamedConfiguration {
  const isFalse = (value: unknown) => value === false;
  const { level } = readMembers(codec, {
    raw: optional(isFalse, "false", undefined),
    axis: optional(isFalse, "false", undefined),
    level: optional((level) => isWhole(level), "a whole number", undefined),
  });
  return named(codec.id, level === undefined ? undefined : { level });
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function location(value: unknown): string | undefined {
  return value === undefined ? undefined : checkOneOf(
    value,
    ["start", "end"],
    '"start" or "end" as location',
    "/location",
  );
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
  { id, json: { id: _, ...configuration } }: V2Codec,
  type: V2DataType | undefined,
  order: "C" | "F",
): NamedConfiguration {
  if (type === undefined || !ARRAY_TO_BYTES[id]!.test(type.numpy)) {
    throw new MetadataError(
      type === undefined
        ? sentence`The codec ${id} is for little-endian numbers, found bytes`
        : sentence`The codec ${id} is for little-endian numbers, found the data type ${type.numpy}`,
      "/id",
    );
  }
  if (order === "F") {
    throw new MetadataError(
      sentence`The codec ${id} with the order "F" has no equal in Zarr v3`,
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
