import { MetadataError } from "../metadata/metadata_error.ts";

/** Returns the spelling of a member that a document spells in two ways. */
export function spellingOf<Written extends string, Other extends string>(
  members: Readonly<Partial<Record<Written | Other, unknown>>>,
  written: Written,
  other: Other,
): Written | Other {
  if (members[other] === undefined) return written;
  if (members[written] === undefined) return other;
  throw new MetadataError(
    `Expected "${written}" alone, found "${other}" too`,
    `/${other}`,
  );
}
