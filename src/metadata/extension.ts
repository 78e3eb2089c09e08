import * as v from "valibot";
import { describe } from "./describe.ts";
import { MetadataError } from "./metadata_error.ts";
import { check, expected, members } from "./schema.ts";

/** An extension point's metadata in its long form: a name and a configuration. */
export interface Extension {
  readonly name: string;
  readonly configuration: Record<string, unknown>;
  readonly mustUnderstand: boolean;
}

const NAME = v.pipe(
  v.string(expected("a name")),
  v.nonEmpty("Expected a name, found an empty string"),
);

/**
 * Reads `{ name, configuration?, must_understand? }`, or the name alone.
 *
 * @param what What it is in messages: "chunk key encoding", "storage transformer".
 */
export function parseExtension(metadata: unknown, what: string): Extension {
  if (typeof metadata === "string") {
    return {
      name: check(NAME, metadata),
      configuration: {},
      mustUnderstand: true,
    };
  }
  if (!isObject(metadata)) {
    throw new MetadataError(
      `Expected a ${what}, a name or an object with a name, found ${
        describe(metadata)
      }`,
    );
  }
  const { name, configuration, must_understand } = check(
    members(`a ${what}`, {
      name: NAME,
      configuration: v.optional(v.custom<Record<string, unknown>>(
        isObject,
        expected("a configuration object"),
      )),
      must_understand: v.optional(v.boolean(expected("true or false"))),
    }),
    metadata,
  );
  return {
    name,
    configuration: configuration ?? {},
    mustUnderstand: must_understand ?? true,
  };
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
