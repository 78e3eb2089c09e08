/**
 * The filters of numcodecs and others, codecs from array to array. `dtype` and `astype` in their
 * configuration are data types of NumPy; their byte order does not matter, since the codec
 * `bytes` decides it.
 *
 * Source: https://numcodecs.readthedocs.io/en/stable/filter/index.html
 */
import {
  DamageError,
  describe,
  MetadataError,
  sentence,
} from "../errors/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import { roundHalfEven } from "../runtime/mod.ts";
import {
  castValues,
  checkNumberType,
  isNumberType,
  type NumberType,
  readValues,
  rounderTo,
  sizeOfType,
  type Values,
  writeValues,
} from "./cast_elements.ts";
import { parseCastValue, parseScaleOffset } from "./cast_codecs.ts";
import {
  type BytesEntry,
  type Chunk,
  type ChunkMetadata,
  type CodecEntry,
  Configuration,
  type Filter,
  type ParseFilter,
} from "./codec.ts";
import {
  differences,
  parseFloatpred,
  parseImagecodecsDelta,
} from "./predictor_codecs.ts";
import { fromNumpy, packedShape } from "./decoded_length.ts";
import {
  denseStrides,
  elementBytes,
  rowOf,
  stridesOf,
} from "./element_bytes.ts";

/**
 * Loads a filter for the registry. zarrita's codec `bytes` makes the chunks, since it has the
 * array class of each data type.
 */
export async function loadFilter(
  name: string,
  loadBytes: () => unknown,
): Promise<CodecEntry> {
  const bytes = await loadBytes() as BytesEntry;
  return {
    fromConfig: (configuration, metadata) =>
      filterCodec(
        PARSERS[name]!(name, configuration, metadata),
        metadata,
        bytes,
      ),
  };
}

/** Makes the codec of a filter. */
function filterCodec(
  filter: Filter,
  metadata: ChunkMetadata,
  bytes: BytesEntry,
) {
  const stored = {
    ...metadata,
    dataType: filter.stored,
    shape: filter.shape ?? metadata.shape,
  };
  const count = rowOf(stored.shape, 0);
  const size = count * sizeOf(stored);
  const chunkOf = async (
    elements: Uint8Array,
    form: ChunkMetadata,
    like: readonly number[],
  ): Promise<Chunk> => {
    const decoder = bytes.fromConfig({ endian: "little" }, form);
    const { data } = await decoder.decode(elements);
    const { shape } = form;
    const stride = filter.shape === undefined ? like : stridesOf(shape);
    return { data, shape, stride };
  };
  return {
    kind: "array_to_array",
    getEncodedMeta: () => stored,
    encode(chunk: Chunk): Promise<Chunk> {
      const elements = elementBytes(chunk, sizeOf(metadata));
      return chunkOf(filter.encode(elements), stored, denseStrides(chunk));
    },
    decode({ data, stride }: Chunk): Promise<Chunk> {
      const { buffer, byteOffset, byteLength } = data;
      if (byteLength !== size) {
        throw new DamageError(
          `The chunk has ${byteLength} bytes, where its ${count} elements of ${filter.stored} take ${size}`,
        );
      }
      const elements = new Uint8Array(buffer, byteOffset, byteLength);
      return chunkOf(filter.decode(elements), metadata, stride);
    },
  };
}

function sizeOf({ dataType }: ChunkMetadata): number {
  return coreDataType(dataType)!.bits! / 8;
}

/** A data type of the configuration. */
function typeOf<N extends string>(
  members: Configuration<N>,
  member: N,
  standard?: string,
): NumberType {
  const dtype = members.get(member);
  const type = dtype === undefined ? standard : fromNumpy(dtype);
  if (type !== undefined && isNumberType(type)) return type;
  throw members.refusal(
    member,
    'a data type of integers or floats, such as "<u2"',
  );
}

/** The data type of decoded elements, which is that of the array. */
function decodedTypeOf<N extends string>(
  members: Configuration<N>,
  member: N,
  dataType: string,
): NumberType {
  const type = typeOf(members, member, dataType);
  if (type === dataType) return type;
  throw members.refusal(
    member,
    sentence`the data type of its array, ${dataType}`,
  );
}

function numberIn<N extends string>(
  members: Configuration<N>,
  member: N,
): number {
  const value = members.get(member);
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value === "bigint") return Number(value);
  throw members.refusal(member, "a number");
}

/** The data types of decoded and of encoded elements, and further members of the configuration. */
function parseTypes<N extends string>(
  name: string,
  names: readonly N[],
  configuration: unknown,
  { dataType }: ChunkMetadata,
) {
  const members = new Configuration<N | "dtype" | "astype">(
    name,
    [...names, "dtype", "astype"],
    configuration,
  );
  const type = decodedTypeOf(members, "dtype", dataType);
  const stored = typeOf(members, "astype", type);
  return { members, type, stored };
}

/** `numcodecs.delta`: differences of elements that follow each other in memory. */
const parseDelta: ParseFilter = (name, configuration, metadata) => {
  const { type, stored } = parseTypes(name, [], configuration, metadata);
  const isSame = stored === type;
  if (isSame && !type.startsWith("float")) {
    const count = rowOf(metadata.shape, 0);
    return differences({ size: sizeOfType(type), count, distance: 1 }, type);
  }
  return {
    stored,
    encode(bytes) {
      const values = readValues(bytes, type);
      for (let i = values.length - 1; i > 0; i--) {
        (values[i] as number) -= values[i - 1] as number;
      }
      // Differences are of the type of the elements before they are cast.
      return writeValues(isSame ? values : castValues(values, type), stored);
    },
    decode(bytes) {
      const values = castValues(readValues(bytes, stored), type);
      return writeValues(sumUp(values, type), type);
    },
  };
};

/** Sums values up in place, in the arithmetic of a data type. */
function sumUp(values: Values, type: NumberType): Values {
  const isSmall = !/64$/.test(type) && !type.startsWith("float");
  // Sums of 32 bits end with the bits of those of a smaller integer.
  const round = isSmall
    ? (sum: number) => sum | 0
    : type === "float16" || type === "float32"
    ? rounderTo(type)
    : (sum: number) => sum;
  for (let i = 1; i < values.length; i++) {
    (values[i] as number) = round(
      (values[i] as number) + (values[i - 1] as number),
    );
  }
  return values;
}

/** `numcodecs.fixedscaleoffset`: `(x - offset) * scale`, rounded to an integer. */
const parseFixedScaleOffset: ParseFilter = (name, configuration, metadata) => {
  const { members, type, stored } = parseTypes(
    name,
    ["offset", "scale"],
    configuration,
    metadata,
  );
  const offset = numberIn(members, "offset");
  const scale = numberIn(members, "scale");
  return {
    stored,
    encode(bytes) {
      const values = toFloats(readValues(bytes, type));
      changeFloats(values, type, (round) => {
        const [minus, times] = [round(offset), round(scale)];
        return (x) => roundHalfEven(round(round(x - minus) * times));
      });
      return writeValues(values, stored);
    },
    decode(bytes) {
      const values = toFloats(readValues(bytes, stored));
      changeFloats(values, stored, (round) => {
        const [plus, by] = [round(offset), round(scale)];
        return (x) => round(round(x / by) + plus);
      });
      return writeValues(values, type);
    },
  };
};

function toFloats(values: Values): Float64Array {
  return values instanceof Float64Array
    ? values
    : Float64Array.from(values, Number);
}

/**
 * Changes floats in place. NumPy computes with floats of the type of the elements, and with
 * float64 for integers.
 *
 * @param makeChange Makes the change of the function that rounds after each step.
 */
function changeFloats(
  values: Float64Array,
  type: NumberType,
  makeChange: (round: (x: number) => number) => (x: number) => number,
): void {
  const isFloat = type === "float16" || type === "float32";
  const change = makeChange(rounderTo(isFloat ? type : "float64"));
  for (let i = 0; i < values.length; i++) values[i] = change(values[i]!);
}

/** `numcodecs.quantize`: floats rounded to a number of decimal digits. */
const parseQuantize: ParseFilter = (name, configuration, metadata) => {
  const { members, type, stored } = parseTypes(
    name,
    ["digits"],
    configuration,
    metadata,
  );
  for (const [member, each] of [["dtype", type], ["astype", stored]] as const) {
    if (each.startsWith("float")) continue;
    throw members.refusal(member, "a data type of floats");
  }
  const digits = members.whole("digits", -400, 400);
  return {
    stored,
    encode(bytes) {
      const values = toFloats(readValues(bytes, type));
      changeFloats(values, type, (round) => {
        const scale = round(2 ** Math.ceil(Math.log2(10 ** digits)));
        if (!(scale > 0 && scale < Infinity)) {
          throw new RangeError(
            `Expected digits of ${name} that ${type} has, found ${digits}`,
          );
        }
        return (x) => round(roundHalfEven(round(scale * x)) / scale);
      });
      return writeValues(values, stored);
    },
    decode: (bytes) => writeValues(readValues(bytes, stored), type),
  };
};

/** `numcodecs.astype`: elements of another data type. */
const parseAsType: ParseFilter = (name, configuration, { dataType }) => {
  const members = new Configuration(
    name,
    ["encode_dtype", "decode_dtype"],
    configuration,
  );
  const type = decodedTypeOf(members, "decode_dtype", dataType);
  const stored = typeOf(members, "encode_dtype");
  return {
    stored,
    encode: (bytes) => writeValues(readValues(bytes, type), stored),
    decode: (bytes) => writeValues(readValues(bytes, stored), type),
  };
};

/** The number of bits in the fraction of floats. */
const FRACTION_BITS: Readonly<Record<string, number>> = {
  float16: 10,
  float32: 23,
  float64: 52,
};

/**
 * `bitround`: floats whose fraction is rounded to a number of bits. Decoding changes nothing.
 *
 * Source: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/bitround
 */
const parseBitround: ParseFilter = (name, configuration, { dataType }) => {
  const members = new Configuration(name, ["keepbits"], configuration);
  const keepbits = members.whole("keepbits", 0);
  const type = checkNumberType(name, dataType);
  return {
    stored: type,
    encode(bytes) {
      const bits = FRACTION_BITS[type];
      if (bits === undefined) {
        throw new TypeError(
          `${name} of ${type} is read, and not written; floats are written`,
        );
      }
      if (keepbits > bits) {
        throw members.refusal(
          "keepbits",
          `at most ${bits}, the bits in the fraction of ${type}`,
        );
      }
      return roundBits(bytes.slice(), sizeOfType(type), bits - keepbits);
    },
    decode: (bytes) => bytes.slice(),
  };
};

/** Rounds the last bits of floats away in place; of two floats, the even one is taken. */
function roundBits(
  bytes: Uint8Array,
  size: number,
  bits: number,
): Uint8Array {
  if (bits === 0) return bytes;
  const { buffer } = bytes;
  if (size === 8) {
    const words = new BigUint64Array(buffer);
    const shift = BigInt(bits);
    const half = (1n << shift - 1n) - 1n;
    for (let i = 0; i < words.length; i++) {
      const word = words[i]!;
      words[i] = word + (word >> shift & 1n) + half >> shift << shift;
    }
  } else {
    const words = size === 2
      ? new Uint16Array(buffer)
      : new Uint32Array(buffer);
    const half = 2 ** (bits - 1) - 1;
    const step = 2 ** bits;
    for (let i = 0; i < words.length; i++) {
      const rounded = words[i]! + (words[i]! >>> bits & 1) + half;
      words[i] = rounded - rounded % step;
    }
  }
  return bytes;
}

/** `numcodecs.packbits`: the number of padding bits, and a bit for each bool, the highest first. */
const parsePackBits: ParseFilter = (
  name,
  configuration,
  { dataType, shape },
) => {
  new Configuration(name, [], configuration);
  if (dataType !== "bool") {
    throw new MetadataError(
      `Expected the data type "bool" for ${name}, found ${describe(dataType)}`,
    );
  }
  const count = rowOf(shape, 0);
  const stored = packedShape(shape);
  const padding = 8 * (stored[0]! - 1) - count;
  return {
    stored: "uint8",
    shape: stored,
    encode(bytes) {
      const packed = new Uint8Array(stored[0]!);
      packed[0] = padding;
      for (let i = 0; i < count; i++) {
        if (bytes[i]) packed[1 + (i >>> 3)]! |= 128 >> (i & 7);
      }
      return packed;
    },
    decode(packed) {
      if (packed[0] !== padding) {
        throw new DamageError(
          `The chunk has ${
            packed[0]
          } as the number of padding bits, where ${count} elements leave ${padding}`,
        );
      }
      const elements = new Uint8Array(count);
      for (let i = 0; i < count; i++) {
        elements[i] = packed[1 + (i >>> 3)]! >> (7 - (i & 7)) & 1;
      }
      return elements;
    },
  };
};

/** The parsers of filters by the names of their codecs. */
const PARSERS: Readonly<Record<string, ParseFilter>> = {
  bitround: parseBitround,
  "numcodecs.bitround": parseBitround,
  "numcodecs.delta": parseDelta,
  "numcodecs.fixedscaleoffset": parseFixedScaleOffset,
  "numcodecs.quantize": parseQuantize,
  "numcodecs.astype": parseAsType,
  "numcodecs.packbits": parsePackBits,
  imagecodecs_delta: parseImagecodecsDelta,
  imagecodecs_floatpred: parseFloatpred,
  cast_value: parseCastValue,
  scale_offset: parseScaleOffset,
};
