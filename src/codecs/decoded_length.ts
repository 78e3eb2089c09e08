import { type DamageError, MetadataError, sentence } from "../errors/mod.ts";
import { CODEC_BY_NAME, codecKind, coreDataType } from "../metadata/mod.ts";
import type { NativeZlib } from "../runtime/mod.ts";
import {
  type BytesCodec,
  type ChunkMetadata,
  damaged,
  keyOf,
  neededLength,
  passNotes,
} from "./codec.ts";
import { packedLength } from "./packints_codec.ts";

/** Whether a codec is known to keep the number of bytes, or to add some. */
export function isSized(name: string): boolean {
  return typeof lengthOf(name) === "number";
}

function lengthOf(name: string): number | "compressed" | "packed" | undefined {
  return CODEC_BY_NAME.get(name)?.length;
}

/** The length of a chunk that a codec has decoded, in bytes, as far as it is known. */
export interface DecodedLength {
  /** The length; `undefined` if codecs before that codec decide it. */
  readonly exact: number | undefined;
  /**
   * The most bytes to decode: somewhat more than the length, so that errors can have the
   * actual length.
   */
  readonly limit: number;
  /** Whether elements are changed by a codec that needs all of them. */
  readonly isPredicted: boolean;
}

/**
 * Finds the length of a decoded chunk, whose data type and shape are those after its codecs
 * from array to array.
 *
 * @param name The name of the codec in the metadata of the array.
 * @throws {MetadataError} If the codec compresses, and chunks are longer than can be decoded.
 */
export function decodedLength(
  name: string,
  { dataType, shape, codecs = [] }: ChunkMetadata,
): DecodedLength {
  const bits = coreDataType(dataType)?.bits;
  const places = codecs.flatMap((codec, i) => codec.name === name ? [i] : []);
  if (bits === undefined || places.length === 0) return UNKNOWN;
  let length = shape.reduce((product, n) => product * n, bits / 8);
  if (length > MOST_DECODED && lengthOf(name) === "compressed") {
    throw new MetadataError(
      sentence`The codec ${name} is for chunks of at most ${MOST_DECODED} bytes, found chunks of ${length} bytes`,
    );
  }
  let isExact = places.length === 1;
  for (const codec of codecs.slice(0, places.at(-1))) {
    const added = lengthOf(codec.name);
    if (added === undefined) return UNKNOWN;
    if (typeof added === "number") length += added;
    else if (added === "packed") {
      length = packedLength(codec.configuration, { dataType, shape });
    } else {
      isExact = false;
      length = limitOf(length);
    }
  }
  return {
    exact: isExact ? length : undefined,
    limit: limitOf(length),
    isPredicted: codecs.some((codec) =>
      codec.name !== "transpose" && codecKind(codec.name) === "array_to_array"
    ),
  };
}

/** The most bytes that a chunk may have once it is decoded: what `node:zlib` decodes. */
export const MOST_DECODED: number = 2 ** 32 - 1;

/** The most bytes of a chunk whose elements have no known length: a few kilobytes could decode to more than the memory holds. */
const MOST_UNKNOWN = 2 ** 30;

const UNKNOWN: DecodedLength = {
  exact: undefined,
  limit: MOST_UNKNOWN,
  isPredicted: false,
};

/** A number of bytes that no compressor exceeds when it encodes `length` bytes. */
function limitOf(length: number): number {
  return 2 * length + 1024;
}

/**
 * Refuses decoded bytes of a wrong length, and gives them the notes of the encoded bytes.
 *
 * A chunk at the end of an array may lack the rows that are outside of the array, as the
 * last strip of a TIFF does. These rows become zeros. A wrong length of a chunk with a
 * known key passes unless a predictor needs all elements: `withZarrParts`, which notes
 * keys, refuses such a chunk by an error with its coordinates.
 */
function wholeChunk(
  encoded: Uint8Array,
  decoded: Uint8Array,
  { exact, limit, isPredicted }: DecodedLength,
  name: string,
): Uint8Array {
  let whole = decoded;
  if (exact !== undefined && decoded.length !== exact) {
    const needed = neededLength(encoded, exact);
    if (needed <= decoded.length && decoded.length < exact) {
      whole = new Uint8Array(exact);
      whole.set(decoded);
    } else if (
      isPredicted || keyOf(encoded) === "" || decoded.length > limit
    ) {
      throw damaged(
        encoded,
        `decodes to ${decoded.length} bytes by ${name}, where its elements take ${exact}`,
      );
    }
  }
  passNotes(encoded, whole);
  return whole;
}

/** The error for encoded bytes that are longer than the limit once decoded. */
function tooLong(
  encoded: Uint8Array,
  { exact, limit }: DecodedLength,
  name: string,
  cause?: unknown,
): DamageError {
  return damaged(
    encoded,
    limit === MOST_UNKNOWN
      ? `decodes to more than ${limit} bytes by ${name}, the most for elements of no known length`
      : exact === undefined
      ? `decodes to more than ${limit} bytes by ${name}, where its elements take less`
      : `decodes to more than ${exact} bytes by ${name}, where its elements take ${exact}`,
    cause,
  );
}

/** Thrown by decoders of bytes that decode to more than the limit. */
export class TooLong extends Error {}

/** What codecs encode and decode by. */
export interface Libraries {
  /** Loads the module `node:zlib`; returns `null` where the runtime has none. */
  readonly native: () => NativeZlib | null;
  /** Loads zarrita's class of `zstd`. */
  readonly loadZstd: (() => unknown) | undefined;
  /** Whether decoded bytes may lie in memory that the next call uses again. */
  readonly reusesMemory: boolean;
}

/**
 * Makes a codec of functions of which `decode` throws a `SyntaxError` or
 * {@linkcode TooLong} for damaged bytes.
 *
 * @param name The name of the codec in messages.
 */
export function bytesCodec(
  name: string,
  length: DecodedLength,
  { encode, decode }: BytesCodec,
): BytesCodec & { readonly kind: "bytes_to_bytes" } {
  return {
    kind: "bytes_to_bytes",
    encode,
    async decode(encoded) {
      let decoded: Uint8Array;
      try {
        decoded = await decode(encoded);
      } catch (error) {
        if (error instanceof TooLong) {
          throw tooLong(encoded, length, name, error.cause);
        }
        if (!(error instanceof SyntaxError)) throw error;
        throw damaged(
          encoded,
          `is not decoded by ${name}: ${error.message}`,
          error.cause,
        );
      }
      return wholeChunk(encoded, decoded, length, name);
    },
  };
}

/** The data type and the shape of a chunk. */
type ChunkForm = Pick<ChunkMetadata, "dataType" | "shape">;

/** The member of the configuration of a filter that names the data type of stored elements. */
const STORED_TYPES: Readonly<Record<string, string>> = {
  "numcodecs.delta": "astype",
  "numcodecs.fixedscaleoffset": "astype",
  "numcodecs.quantize": "astype",
  "numcodecs.astype": "encode_dtype",
};

/**
 * The form of a chunk after its codecs from array to array, some of which store elements of
 * another data type. `transpose` is left out, since the codecs after it do not need it.
 *
 * @returns The data type is empty if a configuration names none that is known.
 */
export function storedForm(
  codecs: readonly {
    readonly name: string;
    readonly configuration?: unknown;
  }[],
  { dataType, shape }: ChunkForm,
): ChunkForm {
  let form = { dataType, shape };
  for (const { name, configuration } of codecs) {
    const members = (configuration ?? {}) as Record<string, unknown>;
    const member = STORED_TYPES[name];
    if (name === "cast_value") {
      const { data_type: type } = members;
      if (typeof type === "string") form = { ...form, dataType: type };
    } else if (name === "numcodecs.packbits") {
      form = { dataType: "uint8", shape: packedShape(form.shape) };
    } else if (member !== undefined && (members[member] ?? null) !== null) {
      form = { ...form, dataType: fromNumpy(members[member]) ?? "" };
    }
  }
  return form;
}

/** The shape of a chunk that `numcodecs.packbits` has packed. */
export function packedShape(shape: readonly number[]): readonly number[] {
  return [1 + Math.ceil(shape.reduce((all, n) => all * n, 1) / 8)];
}

/** The name that Zarr has for a data type of NumPy such as `<u2`, `>f8` and `uint16`. */
export function fromNumpy(dtype: unknown): string | undefined {
  if (typeof dtype !== "string") return undefined;
  const [, kind, size] = /^[<>=|]?([biuf])([1248])$/.exec(dtype) ?? [];
  const name = kind === undefined
    ? dtype
    : kind === "b"
    ? "bool"
    : `${{ i: "int", u: "uint", f: "float" }[kind]}${8 * Number(size)}`;
  return coreDataType(name) === undefined ? undefined : name;
}
