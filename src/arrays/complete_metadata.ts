import type { ArrayMetadata } from "../metadata/array_metadata.ts";
import { assertMember, checkList, refuse } from "../metadata/check.ts";
import { coreDataType, fillValueJson } from "../metadata/data_type.ts";
import { describe } from "../metadata/describe.ts";
import {
  checkDataType,
  type DocumentDataType,
} from "../metadata/document_data_type.ts";
import { atPath, below, MetadataError } from "../metadata/metadata_error.ts";
import { numberOf } from "../metadata/zarr_json.ts";
import type { ArrayStorage } from "./array_storage.ts";
import { completePipeline } from "./complete_pipeline.ts";
import { assertIndexPart } from "./index_part.ts";
import { assertPortableKeys } from "./portable_keys.ts";

/**
 * Completes the metadata of an array that is created, so that every Zarr client that
 * knows its extensions can open it: with a fill value, a codec from array to bytes,
 * and no short-hands.
 *
 * @param storage The array's storage, whose metadata was checked as for reading.
 * @throws {MetadataError} If no client could open the array, or no part could hold
 * what its name says, or some file system could not hold the keys.
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
  if (core !== undefined && !isLeftAlone(value, name)) {
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

/** Whether a fill value is refused when the document is formatted, or a truth value that programs write as a number. */
function isLeftAlone(value: unknown, dataType: string): boolean {
  return typeof value === "number" &&
    (!Number.isFinite(value) ||
      dataType === "bool" && (value === 0 || value === 1));
}
