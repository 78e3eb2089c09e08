import { MetadataError } from "../errors/mod.ts";
import type { NamedConfiguration } from "./array_metadata.ts";
import {
  coreDataType,
  type DataType,
  suggestDataType,
  unknownDataType,
} from "./data_type.ts";
import { parseExtension } from "./schema.ts";

/** The data type of an array document. */
export interface DocumentDataType {
  /** The data type as `zarr.json` holds it. */
  readonly json: string | NamedConfiguration;
  /** The name of the data type. */
  readonly name: string;
  /** The data type if it is known; `undefined` for other extensions. */
  readonly known: DataType | undefined;
}

/** Raw bits of the Zarr core. */
const RAW = /^r(\d{1,9})$/;

/** Registered numbers beside those of the core. */
const NUMBER =
  /^(?:u?int[24]|(?:complex_)?(?:bfloat16|float4_e2m1fn|float6_e2m3fn|float6_e3m2fn|float8_(?:e3m4|e4m3|e4m3fn|e4m3fnuz|e4m3b11fnuz|e5m2|e5m2fnuz|e8m0fnu))|complex_float(?:16|32|64))$/;

/** The names of byte strings in zarr-python and zarrs. */
const BYTE_STRING = /^(?:bytes|variable_length_bytes|binary)$/;

/** Names of extensions that belong to somebody: URLs, and names such as `numpy.void`. */
const OWNED_NAME =
  /^(?:https?:\/\/[^\s"<>\\]{1,1000}|[a-z][\w-]{0,99}(?:\.[\w-]{1,99}){1,9})$/;

/** Names that look like those of the core. */
const CORE_LIKE = /^(?:bool|u?int|float|complex|string|r)\d*$/;

/** The greatest number of zero bytes that are made for a missing fill value. */
const MOST_ZEROS = 1024;

/**
 * Checks the data type of a document that is to be written. A name must be known or
 * belong to somebody; an object may name any other extension.
 *
 * @throws {MetadataError} If no Zarr client knows the data type.
 */
export function checkDataType(value: unknown): DocumentDataType {
  if (typeof value === "string") {
    const known = knownDataType(value);
    const isOwned = OWNED_NAME.test(value) &&
      suggestDataType(value) === undefined;
    if (known === undefined && !isOwned) throw unknown(value, "");
    return { json: value, name: value, known };
  }
  const { name, configuration } = parseExtension(value, "data type");
  if (Object.keys(configuration).length > 0) {
    return { json: value as NamedConfiguration, name, known: undefined };
  }
  const known = knownDataType(name);
  if (known === undefined && CORE_LIKE.test(name)) throw unknown(name, "/name");
  // zarr-python accepts data types without configuration as names only.
  const json = known === undefined ? value as NamedConfiguration : name;
  return { json, name, known };
}

/** Looks up a data type that some Zarr client knows by its name alone. */
export function knownDataType(name: string): DataType | undefined {
  const core = coreDataType(name);
  if (core !== undefined) return core;
  if (BYTE_STRING.test(name)) {
    return { name, bits: undefined, toBytes: "vlen-bytes", defaultFill: "" };
  }
  if (NUMBER.test(name)) {
    const isComplex = name.startsWith("complex");
    const bits = 8 * Math.ceil(Number(/\d+/.exec(name)![0]) / 8);
    return {
      name,
      bits: isComplex ? 2 * bits : bits,
      toBytes: "bytes",
      defaultFill: isComplex ? [0, 0] : 0,
    };
  }
  const bits = Number(RAW.exec(name)?.[1]);
  if (!(bits > 0 && bits % 8 === 0)) return undefined;
  const size = bits / 8;
  const defaultFill = size > MOST_ZEROS ? undefined : new Array(size).fill(0);
  return { name, bits, toBytes: "bytes", defaultFill };
}

function unknown(name: string, path: string): MetadataError {
  return new MetadataError(unknownDataType(name, "a fill_value"), path);
}
