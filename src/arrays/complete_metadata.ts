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
 * @param path The JSON pointer of the list.
 * @throws {MetadataError} If the list is empty, or a codec cannot be where it is.
 */
function completePipeline(
  codecs: readonly unknown[],
  elements: Elements,
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
  return completed.map((codec, i) => {
    const at = `${path}/${i}`;
    assertFixedLength(codec, elements, at);
    const order = codec.configuration?.order;
    if (codec.name === "transpose" && typeof order === "string") {
      refuse("a list of dimensions", order, `${at}/configuration/order`);
    }
    return codec.name === "sharding_indexed"
      ? completeShards(codec, elements, `${at}/configuration`, nesting)
      : codec;
  });
}

function completeShards(
  codec: NamedConfiguration,
  elements: Elements,
  path: string,
  nesting: number,
): NamedConfiguration {
  const { configuration = {} } = codec;
  const complete = (name: string, elements: Elements) => {
    const codecs = configuration[name];
    return Array.isArray(codecs)
      ? {
        [name]: completePipeline(
          codecs,
          elements,
          `${path}/${name}`,
          nesting + 1,
        ),
      }
      : {};
  };
  return {
    ...codec,
    configuration: {
      ...configuration,
      ...complete("codecs", elements),
      ...complete("index_codecs", INDEX_ELEMENTS),
    },
  };
}

/** Refuses codecs for elements of equal length if the elements differ in length. */
function assertFixedLength(
  { name }: NamedConfiguration,
  { bits, toBytes }: Elements,
  path: string,
): void {
  const isFixed = name === "bytes" || name === "packbits";
  if (!isFixed || bits !== undefined || toBytes === "bytes") return;
  throw new MetadataError(
    `Expected the codec ${
      describe(toBytes)
    }, since the elements differ in length, found ${describe(name)}`,
    path,
  );
}
