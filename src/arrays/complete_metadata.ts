import { atPath, below, describe, MetadataError } from "../errors/mod.ts";
import {
  assertMember,
  checkDataType,
  checkList,
  completeCodecs,
  coreDataType,
  type DocumentDataType,
  type Elements,
  fillValueJson,
  type Members,
  type NamedConfiguration,
  numberOf,
  refuse,
} from "../metadata/mod.ts";

/**
 * Completes the data type, the fill value and the codecs of an array that is created, so
 * that every Zarr client that knows its extensions can open it: with a codec from array to
 * bytes, and with no member in a short form.
 *
 * @throws {MetadataError} If no client could open the array.
 */
export function completeElements(document: Members): Members {
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
      `Missing member "fill_value" in array metadata, which the data type ${
        describe(name)
      } needs: only known data types have a default`,
      "/fill_value",
    );
  }
  if (value === null && known !== undefined) {
    refuse(
      `a fill_value of the data type ${describe(name)}`,
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
        `Expected the codec ${
          describe(toBytes)
        }, since the elements differ in length, found ${describe(name)}`,
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
