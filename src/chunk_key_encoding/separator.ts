import * as v from "valibot";
import { describe } from "../metadata/describe.ts";
import { check, expected, members } from "../metadata/schema.ts";

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
  const schema = members(`the configuration of "${name}"`, {
    separator: v.optional(v.picklist(["/", "."], expected(EXPECTED))),
  });
  return check(schema, configuration).separator;
}
