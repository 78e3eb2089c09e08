import { checkMembers, checkOneOf } from "../metadata/check.ts";
import { describe } from "../metadata/describe.ts";

/** What may stand between the coordinates of a key. */
export type Separator = "/" | ".";

const EXPECTED = 'the separator "/" or "."';

/** Refuses another separator, which types cannot keep out of plain JavaScript. */
export function assertSeparator(separator: unknown): void {
  if (separator === "/" || separator === ".") return;
  const ErrorClass = typeof separator === "string" ? RangeError : TypeError;
  throw new ErrorClass(`Expected ${EXPECTED}, found ${describe(separator)}`);
}

/** Reads a configuration whose one member, which may be absent, is `separator`. */
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
