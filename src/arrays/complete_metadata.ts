import { innermostEncoding } from "../chunk_key_encoding/mod.ts";
import { keySuffixes, sampleKeys, sharedKey } from "../concat_parts/mod.ts";
import { atPath, below, describe, MetadataError } from "../errors/mod.ts";
import {
  type ArrayMetadata,
  assertMember,
  checkDataType,
  checkList,
  checkOneOf,
  completeCodecs,
  coreDataType,
  type DocumentDataType,
  type Elements,
  fillValueJson,
  type NamedConfiguration,
  numberOf,
  refuse,
} from "../metadata/mod.ts";
import { parseShardLayout, shardIndexSize } from "../shards/mod.ts";
import { isMetadataKey } from "../stores/mod.ts";
import type { ArrayStorage } from "./array_storage.ts";
import { assertIndexPart } from "./part_notation.ts";

/**
 * Completes the metadata of an array that is created, so that every Zarr client that
 * knows its extensions can open it: with a fill value, with a codec from array to bytes,
 * and with no member in a short form.
 *
 * @param storage The array's storage, whose metadata was checked for reading.
 * @throws {MetadataError} If no client could open the array, if a part could not hold what
 * its name says, or if some file system could not hold the keys.
 */
export function completeMetadata(storage: ArrayStorage): ArrayMetadata {
  const { metadata, chunkShape, keyEncoding } = storage;
  const what = "array metadata";
  assertMember(metadata, "data_type", what);
  const dataType = below("/data_type", () => checkDataType(metadata.data_type));
  const fill_value = completeFillValue(metadata.fill_value, dataType);
  assertMember(metadata, "codecs", what);
  const codecs = completePipeline(
    checkList(metadata.codecs, "codecs"),
    dataType.known ?? { bits: undefined, toBytes: "bytes" },
    chunkShape,
    "/codecs",
  );
  assertIndexPart(storage, codecs);
  assertPortableKeys(storage);
  return {
    ...metadata,
    data_type: dataType.json,
    chunk_key_encoding: keyEncoding.toJSON(),
    fill_value,
    codecs,
  };
}

/** Checks the fill value of a known data type; returns zero for a missing one. */
function completeFillValue(
  value: unknown,
  { name, known }: DocumentDataType,
): unknown {
  if (value === undefined) {
    if (known?.defaultFill !== undefined) return known.defaultFill;
    throw new MetadataError(
      `Missing member "fill_value" in array metadata, which the data type ${
        describe(name)
      } needs: only known data types have a default`,
      "/fill_value",
    );
  }
  const core = known && coreDataType(name);
  if (core !== undefined && !isUnchecked(value, name)) {
    atPath(
      "/fill_value",
      () => fillValueJson(core, numberOf(value), "fill_value"),
    );
  } else if (known !== undefined && value === null) {
    refuse(
      `a fill_value of the data type ${describe(name)}`,
      value,
      "/fill_value",
    );
  }
  return value;
}

/** Whether a fill value is accepted unchecked: `NaN` and infinities are refused when the document is formatted, and some programs write `bool` as 0 or 1. */
function isUnchecked(value: unknown, dataType: string): boolean {
  return typeof value === "number" &&
    (!Number.isFinite(value) ||
      dataType === "bool" && (value === 0 || value === 1));
}

/** The elements of a shard index: whole numbers of 8 bytes. */
const INDEX_ELEMENTS: Elements = { bits: 64, toBytes: "bytes" };

/** The greatest depth of shards in shards. */
const MAX_NESTING = 32;

/**
 * Completes the codecs of array metadata, and the codecs of inner chunks in shards.
 *
 * @param elements The array's elements.
 * @param chunkShape The shape of a chunk before the first codec, in elements;
 * `undefined` if an unknown codec may change it.
 * @param path The place of the list, as a JSON pointer.
 * @throws {MetadataError} If the list is empty, or a codec cannot be where it is.
 */
function completePipeline(
  codecs: readonly unknown[],
  elements: Elements,
  chunkShape: readonly number[] | undefined,
  path: string,
  nesting = 0,
): NamedConfiguration[] {
  if (codecs.length === 0) {
    throw new MetadataError(
      "Expected at least one codec, found an empty list",
      path,
    );
  }
  if (nesting > MAX_NESTING) {
    throw new MetadataError(
      `Expected at most ${MAX_NESTING} shards in one another, found more`,
      path,
    );
  }
  const completed = atPath(
    path,
    () => completeCodecs(codecs as NamedConfiguration[], elements, "codecs"),
  );
  let shape = chunkShape;
  return completed.map((codec, i) => {
    const place = `${path}/${i}`;
    switch (codec.name) {
      case "transpose":
        shape = shape && transposed(codec, shape, place);
        return codec;
      case "bytes":
      case "packbits":
        assertFixedLength(codec, elements, place);
        return codec;
      case "sharding_indexed":
        return completeShards(codec, elements, shape, place, nesting);
      case "vlen-utf8":
      case "vlen-bytes":
        return codec;
      default:
        // An unknown codec may change the shape.
        shape = undefined;
        return codec;
    }
  });
}

function completeShards(
  codec: NamedConfiguration,
  elements: Elements,
  shardShape: readonly number[] | undefined,
  path: string,
  nesting: number,
): NamedConfiguration {
  const { configuration = {} } = codec;
  const { codecs, index_codecs, chunk_shape } = configuration;
  const inner = `${path}/configuration`;
  const completed = {
    ...codec,
    configuration: {
      ...configuration,
      ...Array.isArray(codecs) && {
        codecs: completePipeline(
          codecs,
          elements,
          Array.isArray(chunk_shape) ? chunk_shape : undefined,
          `${inner}/codecs`,
          nesting + 1,
        ),
      },
      ...Array.isArray(index_codecs) && {
        index_codecs: completePipeline(
          index_codecs,
          INDEX_ELEMENTS,
          undefined,
          `${inner}/index_codecs`,
        ),
      },
    },
  };
  if (shardShape === undefined) return completed;
  below(path, () => {
    const layout = parseShardLayout(completed, shardShape);
    atPath("/configuration/chunk_shape", () => shardIndexSize(layout));
  });
  return completed;
}

/** Returns the shape of chunks behind a codec `transpose`. */
function transposed(
  { configuration }: NamedConfiguration,
  shape: readonly number[],
  path: string,
): readonly number[] {
  const { order } = configuration as { order: unknown };
  const isOrder = Array.isArray(order) && order.length === shape.length &&
    shape.every((_, i) => order.includes(i));
  if (isOrder) return order.map((i) => shape[i]!);
  throw new MetadataError(
    `Expected the order of "transpose" to hold each of the ${shape.length} dimensions once, counted from 0, found ${
      describe(order)
    }`,
    `${path}/configuration/order`,
  );
}

/** Refuses codecs for elements of equal length if the elements differ in length. */
function assertFixedLength(
  { name, configuration }: NamedConfiguration,
  { bits, toBytes }: Elements,
  path: string,
): void {
  if (name === "bytes" && configuration?.endian !== undefined) {
    checkOneOf(
      configuration.endian,
      ["little", "big"],
      'endian "little" or "big"',
      `${path}/configuration/endian`,
    );
  }
  if (bits !== undefined || toBytes === "bytes") return;
  throw new MetadataError(
    `Expected the codec ${
      describe(toBytes)
    }, since the elements differ in length, found ${describe(name)}`,
    path,
  );
}

/**
 * Refuses keys that some file system cannot hold: keys that Windows does not allow,
 * and part keys that differ only by case. Arrays with such keys are still read.
 *
 * @throws {MetadataError} With the place of the suffix.
 */
export function assertPortableKeys(storage: ArrayStorage): void {
  const { keyEncoding, gridShape } = storage;
  const rank = gridShape.length;
  const samples = sampleKeys(keyEncoding, rank);
  const base = innermostEncoding(keyEncoding);
  // A registered encoding chooses its keys itself.
  if (
    base.name !== "template" &&
    sampleKeys(base, rank).some((key) => problemOf(key) !== undefined)
  ) return;
  for (const key of samples) {
    assertPortable(key, "chunk key", "/chunk_key_encoding");
  }
  below("/storage_transformers", () => {
    const suffixes = keySuffixes(storage.transformers);
    suffixes.forEach(({ text, path }, i) => {
      for (const key of samples) assertPortable(key + text, "part key", path);
      for (const other of suffixes.slice(0, i)) {
        const shared = sharedKey(text, other.text, samples, keyEncoding, rank, {
          ignoreCase: true,
        });
        if (shared === undefined) continue;
        throw new MetadataError(
          `Two parts could be stored under the key ${
            describe(shared)
          } where case does not matter, as on Windows and macOS, with the suffixes ${
            describe(other.text)
          } and ${describe(text)}; expected suffixes that differ otherwise`,
          path,
        );
      }
    });
  });
}

function assertPortable(key: string, what: string, path: string): void {
  const problem = problemOf(key);
  if (problem === undefined) return;
  throw new MetadataError(`The ${what} ${describe(key)} ${problem}`, path);
}

function problemOf(key: string): string | undefined {
  return windowsKeyProblem(key) ??
    (isMetadataKey(key.toLowerCase())
      ? "is that of a metadata document where case does not matter, as on Windows and macOS"
      : undefined);
}

// deno-lint-ignore no-control-regex
const FORBIDDEN_ON_WINDOWS = /[<>:"|?*\u0000-\u001f]/;

/** Matches names of devices, also with an extension or spaces before the extension. */
const DEVICE =
  /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)/i;

/**
 * The problem of a key that Windows cannot hold as the path of a file, or `undefined`
 * for a valid one.
 *
 * Source: https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 *
 * @param key The key without its leading `/`.
 */
export function windowsKeyProblem(key: string): string | undefined {
  const forbidden = FORBIDDEN_ON_WINDOWS.exec(key);
  if (forbidden !== null) {
    return `holds ${
      JSON.stringify(forbidden[0])
    }, which names of files on Windows cannot hold`;
  }
  for (const segment of key.split("/")) {
    const device = DEVICE.exec(segment);
    if (device !== null) {
      return `holds the name ${
        JSON.stringify(device[0].replace(/[ .]+$/, ""))
      }, which is that of a device on Windows`;
    }
    if (/[. ]$/.test(segment)) {
      return `holds a name that ends in ${
        segment.endsWith(".") ? "a dot" : "a space"
      }, which Windows removes`;
    }
  }
}
