import { checkOneOf, isWhole, refuse } from "../../metadata/check.ts";
import { describe } from "../../metadata/describe.ts";
import { MetadataError } from "../../metadata/metadata_error.ts";
import { parseCodecConfiguration } from "./codec_configuration.ts";
import type { BitField } from "./bit_field.ts";
import { elementTypeOf } from "./element_type.ts";

/** The place where the number of padding bits is stored. */
export type PaddingEncoding = "none" | "first_byte" | "last_byte";

/** The bits of each element that are packed, and the place of the number of padding bits. */
export interface PackbitsConfiguration {
  readonly field: BitField;
  readonly padding: PaddingEncoding;
}

/** Checks the configuration of `packbits`, for elements of a data type. */
export function parsePackbitsConfiguration(
  configuration: unknown,
  dataType: string,
): PackbitsConfiguration {
  const { size, bits, isSigned } = elementTypeOf(dataType);
  const { padding_encoding = "none", first_bit, last_bit } =
    parseCodecConfiguration(
      "packbits",
      ["padding_encoding", "first_bit", "last_bit"],
      configuration,
    );
  const padding = checkOneOf(
    padding_encoding,
    PADDING,
    'padding_encoding of packbits to be "none", "first_byte" or "last_byte"',
    "/configuration/padding_encoding",
  );
  const first = checkBit(first_bit ?? 0, "first_bit");
  const last = checkBit(last_bit ?? bits - 1, "last_bit");
  const bounds = [["first_bit", first], ["last_bit", last]] as const;
  for (const [place, bit] of bounds) {
    if (bit < bits) continue;
    throw new MetadataError(
      `Expected ${place} of packbits to be a bit of ${
        describe(dataType)
      }, from 0 to ${bits - 1}, found ${bit}`,
      `/configuration/${place}`,
    );
  }
  if (last < first) {
    throw new MetadataError(
      `Expected last_bit of packbits not to be less than first_bit, ${first}, found ${last}`,
      "/configuration/last_bit",
    );
  }
  return {
    field: { size, first, bits: last - first + 1, isSigned },
    padding,
  };
}

const PADDING: readonly PaddingEncoding[] = [
  "none",
  "first_byte",
  "last_byte",
];

function checkBit(bit: unknown, name: string): number {
  if (isWhole(bit)) return bit;
  refuse(
    "first_bit and last_bit of packbits to be whole numbers from 0, or null",
    bit,
    `/configuration/${name}`,
  );
}
