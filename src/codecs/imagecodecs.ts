/**
 * The codecs of TIFF, with the names and configurations of the Python package
 * imagecodecs. Source: https://github.com/cgohlke/imagecodecs, `imagecodecs/zarr.py`
 */
import { DamageError, describe, MetadataError } from "../errors/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  type BytesCoder,
  type Chunk,
  type ChunkMetadata,
  parseCodecConfiguration,
} from "./codec.ts";
import {
  damaged,
  type DecodedLength,
  decodedLength,
  wholeChunk,
} from "./decoded_length.ts";
import {
  checkAxis,
  elementBytes,
  numberSize,
  parseRows,
  rowOf,
  storedShape,
} from "./element_bytes.ts";
import { decodeLzw, encodeLzw } from "./lzw.ts";
import { decodeRuns, encodeRuns } from "./pack_runs.ts";
import {
  addElements,
  type Rows,
  shuffleBytes,
  subtractElements,
  unshuffleBytes,
} from "./predictors.ts";

interface Entry {
  fromConfig(configuration: unknown, metadata: ChunkMetadata): unknown;
}

/** `imagecodecs_lzw`: LZW as in TIFF. */
export const LZW: Entry = {
  fromConfig(configuration, metadata) {
    const name = "imagecodecs_lzw";
    parseCodecConfiguration(name, [], configuration);
    const length = decodedLength(name, metadata);
    return bytesCodec(name, length, {
      encode: encodeLzw,
      decode: (bytes) => decodeLzw(bytes, length.exact, length.limit),
    });
  },
};

/** `imagecodecs_packbits`: run lengths as in TIFF, for rows from an axis on. */
export const PACKBITS: Entry = {
  fromConfig(configuration, metadata) {
    const name = "imagecodecs_packbits";
    const { axis } = parseCodecConfiguration(name, ["axis"], configuration);
    const length = decodedLength(name, metadata);
    const shape = storedShape(name, metadata);
    const row = axis === undefined || axis === null
      ? Infinity
      : rowOf(shape, checkAxis(name, axis, shape.length)) *
        numberSize(name, metadata.dataType);
    return bytesCodec(name, length, {
      encode: (bytes) => encodeRuns(bytes, Math.min(row, bytes.length)),
      decode: (bytes) => decodeRuns(bytes, length.exact, length.limit),
    });
  },
};

/** `imagecodecs_delta`: differences along an axis, as in predictor 2 of TIFF. */
export const DELTA: Entry = {
  fromConfig(configuration, metadata) {
    const name = "imagecodecs_delta";
    const rows = parseRows(name, configuration, metadata);
    return arrayCodec(rows, {
      encode(bytes) {
        subtractElements(bytes, rows);
        return bytes;
      },
      decode(bytes) {
        addElements(bytes, rows);
        return bytes;
      },
    });
  },
};

/** `imagecodecs_floatpred`: predictor 3 of TIFF, along one of the last two axes. */
export const FLOATPRED: Entry = {
  fromConfig(configuration, metadata) {
    const name = "imagecodecs_floatpred";
    const rows = parseRows(name, configuration, metadata);
    if (rows.size === 1) {
      throw new MetadataError(
        `Expected elements of 2 bytes or more for ${name}, found ${
          describe(metadata.dataType)
        }`,
      );
    }
    return arrayCodec(rows, {
      encode: (bytes) => shuffleBytes(bytes, rows),
      decode: (bytes) => unshuffleBytes(bytes, rows),
    });
  },
};

function bytesCodec(
  name: string,
  length: DecodedLength,
  coder: {
    encode(b: Uint8Array): Uint8Array;
    decode(b: Uint8Array): Uint8Array;
  },
): BytesCoder & { readonly kind: "bytes_to_bytes" } {
  return {
    kind: "bytes_to_bytes",
    encode: coder.encode,
    decode(encoded) {
      let decoded: Uint8Array;
      try {
        decoded = coder.decode(encoded);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        throw damaged(encoded, `is not decoded by ${name}: ${error.message}`);
      }
      return wholeChunk(encoded, decoded, length, name);
    },
  };
}

interface ArrayCoder {
  readonly kind: "array_to_array";
  encode(chunk: Chunk): Chunk;
  decode(chunk: Chunk): Chunk;
}

/** @param coder Functions that may change the bytes they are given. */
function arrayCodec(
  rows: Rows,
  coder: {
    encode(b: Uint8Array): Uint8Array;
    decode(b: Uint8Array): Uint8Array;
  },
): ArrayCoder {
  const change = (chunk: Chunk, by: (bytes: Uint8Array) => Uint8Array) => {
    const bytes = by(copyBytes(elementBytes(chunk, rows.size)));
    const ElementArray = chunk.data.constructor as new (
      buffer: ArrayBufferLike,
    ) => Chunk["data"];
    return {
      data: new ElementArray(bytes.buffer),
      shape: chunk.shape,
      stride: denseStrides(chunk),
    };
  };
  return {
    kind: "array_to_array",
    encode: (chunk) => change(chunk, coder.encode),
    decode(chunk) {
      const { data, shape } = chunk;
      const count = shape.reduce((product, n) => product * n, 1);
      if (data.byteLength < count * rows.size) {
        throw new DamageError(
          `The chunk has ${data.byteLength} bytes, where its ${count} elements take ${
            count * rows.size
          }`,
        );
      }
      return change(chunk, coder.decode);
    },
  };
}

/** Strides without gaps, with the dimensions in the same order. */
function denseStrides({ shape, stride }: Chunk): number[] {
  const dense: number[] = new Array(shape.length);
  const order = shape.map((_, i) => i).reverse()
    .sort((a, b) => stride[a]! - stride[b]!);
  let step = 1;
  for (const dimension of order) {
    dense[dimension] = step;
    step *= shape[dimension]!;
  }
  return dense;
}
