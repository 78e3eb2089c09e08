import {
  type ChunkKeyEncoding,
  innermostEncoding,
  parseChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import {
  assertPartKeys,
  checkConfiguration,
  ConcatParts,
  type FlatPart,
  flatParts,
  sampleKeys,
} from "../concat_parts/mod.ts";
import {
  atPath,
  below,
  describe,
  MetadataError,
  pointer,
  sentence,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  assertMember,
  bitsOf,
  checkDataType,
  checkList,
  completeCodecs,
  type DocumentDataType,
  type Elements,
  keepsShape,
  type Members,
  namedCodecs,
  type NamedConfiguration,
  parseArrayMetadata,
  parseExtension,
  refuse,
} from "../metadata/mod.ts";
import { parseShardLayout, shardIndexSize } from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import { chunkKeyProblem, isMetadataKey } from "../stores/mod.ts";
import { type ChunkLevel, ParsedArray } from "./parsed_array.ts";
import { assertIndexPart } from "./part_notation.ts";

/** Options of {@linkcode parseArray}. */
interface ParseArrayOptions {
  /**
   * Whether the array is new. Its metadata is then completed, so that every Zarr client
   * that knows its extensions can open the array, and what some client or file system
   * could not hold is refused. Default: `false`.
   */
  readonly isNew?: boolean;
}

/**
 * Parses the metadata of an array: the only place where it is checked.
 *
 * @throws {MetadataError} If the metadata is not valid or not understood.
 */
export function parseArray(
  document: unknown,
  { isNew = false }: ParseArrayOptions = {},
): ParsedArray {
  const { metadata, chunkShape, gridShape } = parseArrayMetadata(
    document,
    isNew ? completeElements : undefined,
  );
  const { data_type } = metadata;
  const chunk = parseLevel(metadata.codecs, chunkShape, "/codecs", isNew);
  const keys = below(
    "/chunk_key_encoding",
    () => parseKeys(metadata.chunk_key_encoding, gridShape),
  );
  const array = new ParsedArray({
    metadata: isNew
      ? { ...metadata, chunk_key_encoding: keys.toJSON() }
      : metadata,
    dataType: {
      name: typeof data_type === "string" ? data_type : data_type.name,
      bits: bitsOf(data_type),
    },
    gridShape,
    keys,
    parts: parseParts(metadata, keys),
  }, chunk);
  if (isNew) assertStorable(array);
  return array;
}

/**
 * Stores the chunks of an array that has no storage transformers in parts.
 *
 * @throws {MetadataError} If, for instance, two parts could share a key.
 */
export function withParts(
  array: ParsedArray,
  parts: readonly Part[],
): ParsedArray {
  const metadata: ArrayMetadata = {
    ...array.metadata,
    storage_transformers: [new ConcatParts(parts).toJSON()],
  };
  return new ParsedArray({
    ...array,
    metadata,
    parts: parseParts(metadata, array.keys),
  }, array.chunk);
}

/**
 * Refuses a new way to store an array: parts that cannot hold what their names say, and
 * keys that some file system cannot hold.
 *
 * @throws {MetadataError} With the path of the part or the suffix.
 */
export function assertStorable(array: ParsedArray): void {
  assertIndexPart(array);
  assertPortableKeys(array);
}

/** Parses the codecs of chunks, and of the inner chunks if the chunks are shards. */
function parseLevel(
  members: ArrayMetadata["codecs"],
  shape: readonly number[],
  path: string,
  isNew: boolean,
): ChunkLevel {
  const codecs = namedCodecs(members);
  const level = { shape, codecs, path };
  const index = codecs.findIndex(({ name }) => name === "sharding_indexed");
  if (index < 0) return level;
  const before = codecs.slice(0, index);
  const order = orderBehind(before, shape.length);
  if (order === undefined) return level;
  const shardShape = order.map((axis) => shape[axis]!);
  const at = pointer(path, index);
  const layout = below(at, () => parseShardLayout(members[index], shardShape));
  if (isNew) {
    // Throws if the index is too large.
    atPath(`${at}/configuration/chunk_shape`, () => shardIndexSize(layout));
  }
  const { chunk_shape, codecs: innerCodecs } = codecs[index]!.configuration as {
    chunk_shape: number[];
    codecs: ArrayMetadata["codecs"];
  };
  const inner = parseLevel(
    innerCodecs,
    chunk_shape,
    `${at}/configuration/codecs`,
    isNew,
  );
  const after = codecs.slice(index + 1);
  return { ...level, shard: { before, order, layout, inner, after } };
}

/** The order of dimensions behind codecs; `undefined` if one of them may change shapes otherwise. */
function orderBehind(
  codecs: readonly NamedConfiguration[],
  rank: number,
): readonly number[] | undefined {
  let order = Array.from({ length: rank }, (_, axis) => axis);
  for (const { name, configuration } of codecs) {
    if (name === "transpose") {
      // The first documents of Zarr v3 have letters for orders.
      const next = configuration?.order as readonly number[] | "C" | "F";
      if (next === "F") order.reverse();
      else if (next !== "C") order = next.map((axis) => order[axis]!);
    } else if (!keepsShape(name)) return undefined;
  }
  return order;
}

/** Parses a chunk key encoding, and refuses one that has no usable keys for the grid. */
function parseKeys(
  member: unknown,
  gridShape: readonly number[],
): ChunkKeyEncoding {
  const encoding = parseChunkKeyEncoding(member);
  // A registered encoding may have no key for some chunks.
  if (innermostEncoding(encoding).name === "template") {
    const last = gridShape.map((count) => Math.max(count - 1, 0));
    atPath("", () => encoding.encode(last));
  }
  for (const key of sampleKeys(encoding, gridShape.length)) {
    const problem = chunkKeyProblem(key);
    if (problem === undefined) continue;
    throw new MetadataError(`The chunk key ${describe(key)} ${problem}`);
  }
  return encoding;
}

/** Parses the storage transformers, and flattens those that divide the parts of others. */
function parseParts(
  { shape, storage_transformers = [] }: ArrayMetadata,
  keys: ChunkKeyEncoding,
): readonly FlatPart[] {
  return below("/storage_transformers", () => {
    const transformers = storage_transformers.map((member, i) =>
      below(pointer("", i), () => parseTransformer(member))
    );
    const parts = flatParts(transformers);
    assertPartKeys(parts, keys, shape.length);
    return parts;
  });
}

/** Parses a storage transformer; returns `undefined` for an unknown one that may be skipped. */
function parseTransformer(member: unknown): Part[] | undefined {
  const { name, configuration, mustUnderstand } = parseExtension(
    member,
    "storage transformer",
  );
  if (name === "concat-parts") {
    return below("/configuration", () => checkConfiguration(configuration));
  }
  if (!mustUnderstand) return undefined;
  throw new MetadataError(
    sentence`Unknown storage transformer ${name}; known is "concat-parts"`,
    typeof member === "string" ? "" : "/name",
  );
}

/**
 * Completes the data type, the fill value and the codecs of an array that is created, so
 * that every Zarr client that knows its extensions can open it: with a codec from array to
 * bytes, and with no member in a short form.
 *
 * @throws {MetadataError} If no client could open the array.
 */
function completeElements(document: Members): Members {
  const what = "array metadata";
  assertMember(document, "data_type", what);
  const dataType = below("/data_type", () => checkDataType(document.data_type));
  const fill_value = completeFillValue(document.fill_value, dataType);
  assertMember(document, "codecs", what);
  const codecs = completePipeline(
    checkList(document.codecs, "codecs"),
    dataType.known ?? { bits: undefined, toBytes: "bytes" },
    "/codecs",
  );
  return { ...document, data_type: dataType.json, fill_value, codecs };
}

/** Returns a fill value, which is checked later; by default that of the data type. */
function completeFillValue(
  value: unknown,
  { name, known }: DocumentDataType,
): unknown {
  if (value === undefined && known?.defaultFill === undefined) {
    throw new MetadataError(
      sentence`Missing member "fill_value" in array metadata, which the data type ${name} needs: only known data types have a default`,
      "/fill_value",
    );
  }
  if (value === null && known !== undefined) {
    refuse(
      sentence`a fill_value of the data type ${name}`,
      value,
      "/fill_value",
    );
  }
  return value === undefined ? known!.defaultFill : value;
}

/** The elements of a shard index: whole numbers of 8 bytes. */
const INDEX_ELEMENTS: Elements = { bits: 64, toBytes: "bytes" };

/** The greatest depth of shards in shards. */
const MOST_NESTED = 32;

/**
 * Completes the codecs of array metadata, and the codecs of inner chunks in shards.
 *
 * @param path The JSON pointer of the list.
 * @throws {MetadataError} If the list is empty, or a codec cannot be where it is.
 */
function completePipeline(
  codecs: readonly unknown[],
  elements: Elements,
  path: string,
  depth = 0,
): NamedConfiguration[] {
  if (codecs.length === 0) {
    throw new MetadataError(
      "Expected at least one codec, found an empty list",
      path,
    );
  }
  if (depth > MOST_NESTED) {
    throw new MetadataError(
      `Expected at most ${MOST_NESTED} shards in one another, found more`,
      path,
    );
  }
  const completed = atPath(
    path,
    () => completeCodecs(codecs as NamedConfiguration[], elements, "codecs"),
  );
  return completed.map((codec, i) => {
    const { name, configuration } = codec;
    const at = `${path}/${i}`;
    const isForLengths = name === "bytes" || name === "packbits";
    const { bits, toBytes } = elements;
    if (isForLengths && bits === undefined && toBytes !== "bytes") {
      throw new MetadataError(
        sentence`Expected the codec ${toBytes}, since the elements differ in length, found ${name}`,
        at,
      );
    }
    const order = configuration?.order;
    if (name === "transpose" && typeof order === "string") {
      refuse("a list of dimensions", order, `${at}/configuration/order`);
    }
    if (name !== "sharding_indexed" || !configuration) return codec;
    const inner = { codecs: elements, index_codecs: INDEX_ELEMENTS };
    const lists = Object.entries(inner).flatMap(([member, elements]) => {
      const codecs = configuration[member];
      if (!Array.isArray(codecs)) return [];
      const below = `${at}/configuration/${member}`;
      const list = completePipeline(codecs, elements, below, depth + 1);
      return [[member, list] as const];
    });
    return {
      ...codec,
      configuration: { ...configuration, ...Object.fromEntries(lists) },
    };
  });
}

/**
 * Refuses keys that some file system cannot hold: keys that Windows does not allow,
 * and part keys that differ only by case. Arrays with such keys are still read.
 *
 * @throws {MetadataError} With the place of the suffix.
 */
function assertPortableKeys(
  { keys, gridShape, parts }: ParsedArray,
): void {
  const rank = gridShape.length;
  const samples = sampleKeys(keys, rank);
  const base = innermostEncoding(keys);
  // A registered encoding chooses its keys itself.
  if (
    base.name !== "template" &&
    sampleKeys(base, rank).some((key) => unportable(key) !== undefined)
  ) return;
  for (const key of samples) {
    const problem = unportable(key);
    if (problem === undefined) continue;
    throw new MetadataError(
      `The chunk key ${describe(key)} ${problem}`,
      "/chunk_key_encoding",
    );
  }
  below(
    "/storage_transformers",
    () =>
      assertPartKeys(parts, keys, rank, {
        problemOf: unportable,
        ignoreCase: true,
      }),
  );
}

function unportable(key: string): string | undefined {
  return windowsKeyProblem(key) ??
    (isMetadataKey(key.toLowerCase())
      ? "is that of a metadata document where case does not matter, as on Windows and macOS"
      : undefined);
}

/**
 * What Windows refuses or changes in the names of a path, and how a message says so.
 *
 * Source: https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 */
const ON_WINDOWS: readonly (readonly [RegExp, (found: string) => string])[] = [
  [
    // deno-lint-ignore no-control-regex
    /[<>:"|?*\u0000-\u001f]/,
    (found) => `${found}, which names of files on Windows cannot hold`,
  ],
  [
    // Also with an extension, or spaces before the extension.
    /(?<=^|\/)(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?= *(?:[./]|$))/i,
    (found) => `the name ${found}, which is that of a device on Windows`,
  ],
  [/\.(?=\/|$)/, () => "a name that ends in a dot, which Windows removes"],
  [/ (?=\/|$)/, () => "a name that ends in a space, which Windows removes"],
];

/** The problem of a key that Windows cannot hold as the path of a file; `undefined` for a valid one. */
function windowsKeyProblem(key: string): string | undefined {
  for (const [pattern, problem] of ON_WINDOWS) {
    const found = pattern.exec(key)?.[0];
    if (found !== undefined) return `holds ${problem(JSON.stringify(found))}`;
  }
}
