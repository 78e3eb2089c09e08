import { checkMembers, checkOneOf } from "../metadata/check.ts";
import { describe } from "../metadata/describe.ts";

/** The separator of coordinates in a key. */
export type Separator = "/" | ".";

const EXPECTED = 'the separator "/" or "."';

/** Throws for any other value, as plain JavaScript may pass. */
export function assertSeparator(separator: unknown): void {
  if (separator === "/" || separator === ".") return;
  const ErrorClass = typeof separator === "string" ? RangeError : TypeError;
  throw new ErrorClass(`Expected ${EXPECTED}, found ${describe(separator)}`);
}

/** Parses a configuration with the optional member `separator` and no others. */
export function parseSeparator(
  name: string,
  configuration: Record<string, unknown>,
): Separator | undefined {
  const { separator } = checkMembers(
    configuration,
    `the configuration of "${name}"`,
    [],
    ["separator"],
  );
  return separator === undefined
    ? undefined
    : checkOneOf(separator, ["/", "."], EXPECTED, "/separator");
}
