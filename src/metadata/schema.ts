import * as v from "valibot";
import { describe, describeAll } from "./describe.ts";
import { MetadataError, pointer } from "./metadata_error.ts";

/** Checks `value` against a schema; the first thing wrong becomes a {@linkcode MetadataError}. */
export function check<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
): v.InferOutput<S> {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = (issue.path ?? []).reduce(
    (path, item) => pointer(path, item.key as string | number),
    "",
  );
  throw new MetadataError(issue.message, path);
}

/** An object with these members and no others. `what` names it in messages. */
export function members<E extends v.ObjectEntries>(
  what: string,
  entries: E,
): v.StrictObjectSchema<E, (issue: v.StrictObjectIssue) => string> {
  return v.strictObject(entries, (issue) => {
    const member = issue.path?.at(-1)?.key;
    if (issue.path === undefined || issue.path.length === 0) {
      return `Expected ${what} to be an object, found ${describe(issue.input)}`;
    }
    return issue.expected === "never"
      ? `Unknown member ${describe(member)} in ${what}; known are ${
        describeAll(Object.keys(entries))
      }`
      : `Missing member ${describe(member)} in ${what}`;
  });
}

/** A message in the house's form: what was expected, and what was found instead. */
export function expected(
  what: string,
): (issue: v.BaseIssue<unknown>) => string {
  return (issue) => `Expected ${what}, found ${describe(issue.input)}`;
}
