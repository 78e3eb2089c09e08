import {
  describe,
  describeAll,
  MetadataError,
  pointer,
  sentence,
} from "../errors/mod.ts";
import { isMembers, type Members } from "./json.ts";

/** Throws the error for a value that is not as expected. `path` is the JSON pointer of the value. */
export function refuse(expected: string, found: unknown, path = ""): never {
  throw new MetadataError(
    `Expected ${expected}, found ${describe(found)}`,
    path,
  );
}

/**
 * Checks that a value is an object with the required members, and with no others
 * than these and the optional ones.
 *
 * @param what The name of the object in messages.
 */
export function checkMembers<R extends string, O extends string = never>(
  value: unknown,
  what: string,
  required: readonly R[],
  optional: readonly O[] = [],
): Readonly<Record<R, unknown> & Partial<Record<O, unknown>>> {
  if (!isMembers(value)) refuse(`${what} to be an object`, value);
  for (const name of required) assertMember(value, name, what);
  const known: readonly string[] = [...required, ...optional];
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const names = describeAll(known);
    throw new MetadataError(
      `Unknown member ${describe(name)} in ${what}; known are ${names}`,
      pointer("", name),
    );
  }
  return value as Record<R, unknown> & Partial<Record<O, unknown>>;
}

/** Refuses an object without a member. */
export function assertMember(
  members: object,
  name: string,
  what: string,
): void {
  if (Object.hasOwn(members, name)) return;
  throw new MetadataError(
    `Missing member ${describe(name)} in ${what}`,
    pointer("", name),
  );
}

/**
 * Checks the members that say what a document is: the version of Zarr, and the type of the
 * node. Refuses other members than the known ones, unless a reader may ignore them.
 *
 * @param what The name of the document in messages.
 * @param known The types of nodes, with the members that they may have; `undefined` for any.
 * @returns The document, and the type of its node.
 */
export function checkNode<const T extends string>(
  document: unknown,
  what: string,
  known: Readonly<Record<T, readonly string[] | undefined>>,
): { members: Members; type: T } {
  if (!isMembers(document)) refuse(`${what} to be an object`, document);
  assertMember(document, "zarr_format", what);
  const { zarr_format, node_type } = document;
  if (zarr_format !== 3) {
    refuse("3 as zarr_format", zarr_format, "/zarr_format");
  }
  assertMember(document, "node_type", what);
  const types = Object.keys(known) as T[];
  const expected = types.map((type) => describe(type)).join(" or ");
  const path = "/node_type";
  const type = checkOneOf(node_type, types, `${expected} as node_type`, path);
  for (const [name, value] of Object.entries(document)) {
    const isAllowed = known[type]?.includes(name) !== false ||
      isMembers(value) && value.must_understand === false;
    if (isAllowed) continue;
    const member = `${describe(name)} in ${type} metadata`;
    throw new MetadataError(
      `Unknown member ${member}, without must_understand: false`,
      pointer("", name),
    );
  }
  return { members: document, type };
}

/** Checks a member that is a list. */
export function checkList(
  value: unknown,
  name: string,
): readonly unknown[] {
  return Array.isArray(value)
    ? value
    : refuse(`${name} to be a list`, value, `/${name}`);
}

/** Checks a member that is one of several values. */
export function checkOneOf<const T extends string>(
  value: unknown,
  values: readonly T[],
  expected: string,
  path: string,
): T {
  return values.includes(value as T)
    ? value as T
    : refuse(expected, value, path);
}

/** The greatest number of dimensions; zarr-python has 64. */
export const MOST_DIMENSIONS = 256;

/** Checks a member that is a list of lengths along dimensions, in elements. */
export function checkLengths(
  value: unknown,
  name: string,
  least: number,
): readonly number[] {
  if (!Array.isArray(value)) {
    refuse(`${name} to be a list of lengths`, value, `/${name}`);
  }
  if (value.length > MOST_DIMENSIONS) {
    throw new MetadataError(
      sentence`Expected at most ${MOST_DIMENSIONS} dimensions, found ${value.length}`,
      `/${name}`,
    );
  }
  const wrong = value.findIndex((length) => !isWhole(length, least));
  if (wrong < 0) return value;
  refuse(
    `a length in ${name} to be a whole number from ${least} to 2^53−1`,
    value[wrong],
    `/${name}/${wrong}`,
  );
}

/** Whether a value is a whole number from `least` to 2^53−1. */
export function isWhole(value: unknown, least = 0): value is number {
  return Number.isSafeInteger(value) && value as number >= least;
}

/**
 * An extension in metadata, such as a codec: its name and its configuration.
 *
 * @example
 * ```ts
 * import type { NamedConfiguration } from "@zarr-parts/zarr-parts";
 *
 * const codec: NamedConfiguration = { name: "zstd", configuration: { level: 3 } };
 * ```
 */
export interface NamedConfiguration {
  /** The extension's name. */
  readonly name: string;
  /** The extension's configuration, if it has one. */
  readonly configuration?: Readonly<Record<string, unknown>> | undefined;
  /** `false` if a reader that does not know the extension may ignore it. */
  readonly must_understand?: boolean | undefined;
}

/** An extension's metadata with all members filled in. */
interface Extension {
  readonly name: string;
  readonly configuration: Record<string, unknown>;
  readonly mustUnderstand: boolean;
}

/**
 * Parses an extension's metadata: `{ name, configuration?, must_understand? }`, or
 * the name alone.
 *
 * @param what The kind of extension for messages, such as "codec".
 * @throws {MetadataError} If the metadata is not valid.
 */
export function parseExtension(metadata: unknown, what: string): Extension {
  if (typeof metadata === "string") {
    const name = checkName(metadata);
    return { name, configuration: {}, mustUnderstand: true };
  }
  if (!isMembers(metadata)) {
    refuse(`a ${what}, a name or an object with a name`, metadata);
  }
  const { name, configuration = {}, must_understand = true } = checkMembers(
    metadata,
    `a ${what}`,
    ["name"],
    ["configuration", "must_understand"],
  );
  if (!isMembers(configuration)) {
    refuse("a configuration object", configuration, "/configuration");
  }
  if (typeof must_understand !== "boolean") {
    refuse("true or false", must_understand, "/must_understand");
  }
  return {
    name: checkName(name, "/name"),
    configuration,
    mustUnderstand: must_understand,
  };
}

function checkName(name: unknown, path = ""): string {
  if (typeof name !== "string") refuse("a name", name, path);
  if (name !== "") return name;
  throw new MetadataError("Expected a name, found an empty string", path);
}
