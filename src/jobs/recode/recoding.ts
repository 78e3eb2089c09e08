import { parseArray, type ParsedArray } from "../../arrays/mod.ts";
import { ConcatParts } from "../../concat_parts/mod.ts";
import { MOST_DECODED, namedCodec, SHORT_NAMES } from "../../codecs/mod.ts";
import {
  checkOptions,
  describe,
  describeAll,
  nearestName,
  type OptionRule,
  type OptionRules,
  sentence,
} from "../../errors/mod.ts";
import {
  type ArrayMetadata,
  codecKind,
  completeCodecs,
  coreDataType,
  isMembers,
  isSameJson,
  isWhole,
  type NamedConfiguration,
} from "../../metadata/mod.ts";
import { isSameList } from "../../runtime/mod.ts";
import { shardIndexSize } from "../../shards/mod.ts";
import { isSameCodecs } from "../../hierarchy/mod.ts";
import {
  describeType,
  elementForm,
  innermostEncoding,
} from "../../blocks/mod.ts";

/**
 * Another encoding of the elements of an array. Members that are left out do not change.
 *
 * @example Inner chunks of 256 × 256 elements by zstd, in shards of 2048 × 2048
 * ```ts
 * import type { Recoding } from "@zarr-parts/zarr-parts/jobs";
 *
 * const recode: Recoding = { codecs: "zstd:5", chunks: [256, 256], shards: [2048, 2048] };
 * ```
 */
export interface Recoding {
  /**
   * The codecs of chunks, or of inner chunks if there are shards: a text such as `"zstd:5"`,
   * `"blosc:lz4"` or `"none"`, or a list of such texts and of metadata of codecs. All codecs
   * of the source are replaced, also a `transpose`, except for texts of any length. If the
   * codec from array to bytes is missing, it is added: `bytes` with the byte order of the source
   * or, for texts of any length, the codec of the source.
   */
  readonly codecs?:
    | string
    | readonly (string | NamedConfiguration)[]
    | undefined;
  /** The shape of chunks, or of inner chunks if there are shards, in elements. */
  readonly chunks?: readonly number[] | undefined;
  /**
   * The shape of shards in elements, multiples of those of chunks; `null` for no shards. Shards
   * with such a shape have their index at the end, and no codecs after it.
   */
  readonly shards?: readonly number[] | null | undefined;
}

const SHAPE: OptionRule = {
  expected: "a list of whole numbers from 1",
  isValid: (value) =>
    Array.isArray(value) && value.every((length) => isWhole(length, 1)),
  outOfRange: "lists of numbers",
};

const RULES: OptionRules<Recoding> = {
  codecs: {
    expected: 'a text such as "zstd:5", or a list of codecs',
    isValid: (value) => typeof value === "string" || Array.isArray(value),
  },
  chunks: SHAPE,
  shards: {
    ...SHAPE,
    expected: `null, or ${SHAPE.expected}`,
    isValid: (value) => value === null || SHAPE.isValid(value),
  },
};

/** Throws if a recoding has unknown members or such of wrong types. */
export function assertRecoding(recoding: Recoding): void {
  checkOptions(recoding, RULES, "convert", {
    within: "recode",
    otherNames: { codec: "codecs", chunkShape: "chunks", shardShape: "shards" },
  });
}

/** The division and the codecs of the elements of an array. */
interface ArrayEncoding {
  /** The shape of the innermost chunks. */
  readonly chunkShape: readonly number[];
  /** The codecs of the innermost chunks. */
  readonly codecs: readonly NamedConfiguration[];
  readonly isSharded: boolean;
}

/** Returns the encoding of an array. Codecs before shards count as codecs of the innermost chunks. */
export function encodingOf({ chunk }: ParsedArray): ArrayEncoding {
  return {
    ...innermostEncoding(chunk.shape, chunk.codecs),
    isSharded: chunk.shard !== undefined,
  };
}

/**
 * Returns the encoding by which the chunks of an array are read: with shards as whole chunks
 * if further codecs stand beside them.
 */
export function sourceEncodingOf(array: ParsedArray): ArrayEncoding {
  const { codecs, shape } = array.chunk;
  return hasOtherCodecs(array)
    ? { chunkShape: shape, codecs, isSharded: false }
    : encodingOf(array);
}

/** Whether further codecs stand beside those of shards, or of shards in shards. */
function hasOtherCodecs({ levels }: ParsedArray): boolean {
  return levels.some(({ shard, codecs }) => shard && codecs.length > 1);
}

/** Whether chunks of one array may be chunks of another one as they are encoded. */
export function isSameEncoding(a: ParsedArray, b: ParsedArray): boolean {
  return isSameList(a.chunk.shape, b.chunk.shape) &&
    isSameCodecs(a.chunk.codecs, b.chunk.codecs);
}

/**
 * Gives an array another encoding: changes its chunk grid and its codecs, and the sizes of
 * parts that hold an index or a checksum.
 *
 * @throws {RangeError} If shapes do not fit each other or the array, a codec is unknown, or
 * its level is out of range.
 * @throws {TypeError} If a member has a wrong type.
 */
export function recodedMetadata(
  array: ParsedArray,
  recoding: Recoding,
): ArrayMetadata {
  assertRecoding(recoding);
  const { metadata, chunk } = array;
  const { chunks, shards, codecs } = recoding;
  const rank = metadata.shape.length;
  for (const [name, shape] of Object.entries({ chunks, shards })) {
    if ((shape?.length ?? rank) === rank) continue;
    throw new RangeError(
      `Expected ${name} of as many dimensions as the array, ${rank}, found ${
        describe(shape)
      }`,
    );
  }
  const before = encodingOf(array);
  const chunkShape = chunks ?? before.chunkShape;
  const ownShards = before.isSharded ? chunk.shape : null;
  const shardShape = shards === undefined ? ownShards : shards;
  if (shardShape !== null) assertShards(shardShape, chunkShape, recoding);
  const after = {
    chunkShape,
    codecs: codecs === undefined
      ? before.codecs
      : codecsOf(codecs, metadata, before),
  };
  const isSame = isSameCodecs(after.codecs, before.codecs) &&
    isSameJson([chunkShape, shardShape], [before.chunkShape, ownShards]) &&
    (shards == null || hasUsualShards(array));
  if (isSame) return metadata;
  assertDivisible(metadata, before, after);
  const recoded: ArrayMetadata = {
    ...metadata,
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: [...shardShape ?? chunkShape] },
    },
    codecs: shardShape === null ? after.codecs : [{
      name: "sharding_indexed",
      configuration: {
        chunk_shape: [...chunkShape],
        codecs: after.codecs,
        index_codecs: INDEX_CODECS,
        index_location: "end",
      },
    }],
  };
  return withParts(recoded, array);
}

/** Whether the shards of an array have the form that a recoding gives to shards. */
function hasUsualShards(array: ParsedArray): boolean {
  const { levels, chunk: { shard } } = array;
  return levels.length === 2 && !hasOtherCodecs(array) &&
    shard!.layout.indexLocation === "end";
}

/**
 * Refuses other chunks, and other codecs up to the bytes, for elements of any length, and chunks
 * that are too long to be held in memory as a whole.
 */
function assertDivisible(
  { data_type }: ArrayMetadata,
  before: ArrayEncoding,
  after: Pick<ArrayEncoding, "chunkShape" | "codecs">,
): void {
  const form = elementForm(data_type);
  const [from, to] = [before, after].map(({ codecs }) =>
    codecs.filter(({ name }) => form || codecKind(name) !== "bytes_to_bytes")
  );
  const isKept = isSameList(before.chunkShape, after.chunkShape) &&
    isSameCodecs(from!, to!);
  if (isKept) return;
  if (form === undefined) {
    throw new RangeError(
      `Cannot divide elements of the data type ${
        describeType(data_type)
      } into other chunks, since they have no known length; expected other codecs from bytes to bytes, or other shards, alone`,
    );
  }
  for (const [i, { chunkShape }] of [before, after].entries()) {
    const bytes = chunkShape.reduce((product, n) => product * n, form.size);
    if (bytes <= MOST_DECODED) continue;
    throw new RangeError(
      `Cannot recode ${i === 0 ? "from" : "to"} chunks ${
        describe(chunkShape)
      }, which take ${bytes} bytes each: expected at most ${MOST_DECODED}`,
    );
  }
}

const INDEX_CODECS: readonly NamedConfiguration[] = [
  { name: "bytes", configuration: { endian: "little" } },
  { name: "crc32c" },
];

/** The bytes of an inner chunk in the index of its shard. */
const INDEX_ENTRY_SIZE = 16;

/** Refuses shards that are not multiples of chunks. The message has shards that would fit. */
function assertShards(
  shards: readonly number[],
  chunks: readonly number[],
  recoding: Recoding,
): void {
  const isMultiple = shards.every((length, i) => length % chunks[i]! === 0);
  if (!isMultiple) {
    const fitting = shards.map((length, i) =>
      Math.ceil(length / chunks[i]!) * chunks[i]!
    );
    const found = recoding.shards === undefined
      ? "the shards of the array are"
      : "found";
    throw new RangeError(
      `Expected shards that are multiples of the chunks ${
        describe(chunks)
      } in every dimension, ${found} ${describe(shards)}: shards of ${
        describe(fitting)
      } would fit${
        recoding.chunks === undefined
          ? sentence`, or other chunks than those of the array, ${chunks}`
          : ""
      }`,
    );
  }
  const count = shards.reduce((n, length, i) => n * length / chunks[i]!, 1);
  if (INDEX_ENTRY_SIZE * count <= MOST_DECODED) return;
  throw new RangeError(
    sentence`Cannot recode to shards ${shards} of ${count} chunks each, whose index takes ${
      INDEX_ENTRY_SIZE * count
    } bytes: expected at most ${MOST_DECODED}`,
  );
}

/** The codecs of the innermost chunks that a recoding asks for, written out. */
function codecsOf(
  given: NonNullable<Recoding["codecs"]>,
  metadata: ArrayMetadata,
  encoding: ArrayEncoding,
): NamedConfiguration[] {
  const { data_type } = metadata;
  const elementSize = elementForm(data_type)?.size ?? 1;
  const listed = typeof given === "string" ? parseList(given) : given;
  const codecs = listed.flatMap((codec) =>
    typeof codec === "string" ? parseCodec(codec, elementSize) : [codec]
  );
  for (const codec of codecs) {
    const isCodec = isMembers(codec) && typeof codec.name === "string" &&
      isMembers(codec.configuration ?? {});
    if (!isCodec) {
      throw new TypeError(
        sentence`Expected a codec, a text such as "zstd:5" or an object with a name, found ${codec}`,
      );
    }
    if (codec.name !== "sharding_indexed") continue;
    throw new RangeError(
      'Expected the codecs of chunks, found "sharding_indexed"; the option "shards" sets the shape of shards',
    );
  }
  const kinds = codecs.map(({ name }) => codecKind(name));
  if (!kinds.includes("array_to_bytes")) {
    const first = kinds.findIndex((kind) => kind !== "array_to_array");
    const place = first < 0 ? codecs.length : first;
    const isKept = elementForm(data_type) === undefined && place === 0;
    const kept = isKept
      ? encoding.codecs.filter(({ name }) =>
        codecKind(name) === "array_to_array"
      )
      : [];
    codecs.splice(place, 0, ...kept, toBytes(data_type, encoding));
  }
  const name = typeof data_type === "string" ? data_type : data_type.name;
  const bits = coreDataType(name)?.bits ?? 8 * elementSize;
  return completeCodecs(codecs, { bits, toBytes: "bytes" }, "codecs");
}

/** The codec from array to bytes that stays if none is named. */
function toBytes(
  dataType: ArrayMetadata["data_type"],
  { codecs }: ArrayEncoding,
): NamedConfiguration {
  const own = codecs.find(({ name }) => codecKind(name) === "array_to_bytes");
  const isFixed = elementForm(dataType) !== undefined;
  if (own !== undefined && (own.name === "bytes" || !isFixed)) return own;
  if (isFixed) return { name: "bytes" };
  throw new RangeError(
    `Expected codecs with one from array to bytes, since the data type ${
      describeType(dataType)
    } is not known`,
  );
}

/** Parses a list of codecs: texts with commas between them, or JSON. */
function parseList(text: string): readonly (string | NamedConfiguration)[] {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return trimmed.split(",");
  let parsed: unknown;
  try {
    parsed = JSON.parse(trimmed);
  } catch (cause) {
    throw new RangeError(
      sentence`Expected codecs such as "zstd:5", or their metadata as JSON, found ${text}`,
      { cause },
    );
  }
  return Array.isArray(parsed) ? parsed : [parsed as NamedConfiguration];
}

/** Parses a codec in short: its name, the compressor in `blosc`, and its level, with colons between them. */
function parseCodec(text: string, elementSize: number): NamedConfiguration[] {
  const [name = "", ...settings] = text.trim().split(":");
  if (name === "none" && settings.length === 0) return [];
  if (!SHORT_NAMES.includes(name)) {
    if (codecKind(name) !== undefined) {
      if (settings.length === 0) return [{ name }];
      const example = `[{"name":"${name}","configuration":{}}]`;
      throw new RangeError(
        sentence`Expected the settings of the codec ${name} as JSON, such as ${example}, found ${text.trim()}`,
      );
    }
    const known = ["none", ...SHORT_NAMES];
    const meant = nearestName(name, known);
    throw new RangeError(
      `Unknown codec ${describe(text.trim())}; ${
        meant === undefined
          ? `known are ${describeAll(known)}, and any other as JSON`
          : sentence`expected ${[meant, ...settings].join(":")}`
      }`,
    );
  }
  const [cname] = name === "blosc" && !/^-?\d*$/.test(settings[0] ?? "")
    ? settings.splice(0, 1)
    : [];
  const [digits, ...rest] = settings;
  const isLevel = digits === undefined || /^-?\d{1,6}$/.test(digits);
  if (!isLevel || rest.length > 0) {
    throw new RangeError(
      `Expected the level of ${name} as a whole number, such as ${
        describe(name === "blosc" ? "blosc:lz4:5" : `${name}:5`)
      }, found ${describe(text.trim())}`,
    );
  }
  return [namedCodec(name, {
    elementSize,
    ...cname !== undefined && { cname },
    ...digits !== undefined && { level: Number(digits) },
  })];
}

/**
 * Changes the parts of chunks that hold an index or a checksum: their sizes follow from the
 * codecs. A part for which the codecs have no use any more is left out.
 */
function withParts(
  recoded: ArrayMetadata,
  { hasParts, parts }: ParsedArray,
): ArrayMetadata {
  if (!hasParts) return recoded;
  const { storage_transformers: _, ...rest } = recoded;
  const { codecs, shard } = parseArray(rest).chunk;
  const changed = parts.flatMap((part) => {
    if (part.size === undefined) return [part];
    if (part.keySuffix.endsWith(".index")) {
      return shard ? [{ ...part, size: shardIndexSize(shard.layout) }] : [];
    }
    const isSum = part.keySuffix.endsWith(".crc32c");
    return isSum && codecs.at(-1)?.name !== "crc32c" ? [] : [part];
  });
  const isWhole = changed.length === 1 && changed[0]!.keySuffix === "" &&
    changed[0]!.size === undefined;
  return isWhole
    ? rest
    : { ...rest, storage_transformers: [new ConcatParts(changed).toJSON()] };
}
