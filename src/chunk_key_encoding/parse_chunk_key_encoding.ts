import {
  atPath,
  below,
  describe,
  describeAll,
  MetadataError,
  sentence,
} from "../errors/mod.ts";
import {
  assertMember,
  checkMembers,
  type NamedConfiguration,
  parseExtension,
  refuse,
} from "../metadata/mod.ts";
import {
  type ChunkKeyEncoding,
  DefaultChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  V2ChunkKeyEncoding,
} from "./chunk_key_encoding.ts";
import { FanoutChunkKeyEncoding } from "./fanout_chunk_key_encoding.ts";
import { TemplateChunkKeyEncoding } from "./template_chunk_key_encoding.ts";

/** Creates an encoding from its configuration; a missing configuration is an empty object. */
type ParseConfiguration = (
  configuration: Record<string, unknown>,
) => ChunkKeyEncoding;

/** The encodings of this package, and those that programs have registered, by name. */
const ENCODINGS = /* @__PURE__ */ new Map<string, ParseConfiguration>([
  [
    "default",
    /* @__PURE__ */ parserOf("default", "separator", DefaultChunkKeyEncoding),
  ],
  ["v2", /* @__PURE__ */ parserOf("v2", "separator", V2ChunkKeyEncoding)],
  ["suffix", parseSuffix],
  ["template", parseTemplate],
  [
    "fanout",
    /* @__PURE__ */ parserOf("fanout", "max_children", FanoutChunkKeyEncoding),
  ],
]);

/** The greatest depth of nested encodings, counting the innermost base. */
const MAX_NESTING = 32;

/** The number of nested calls of `parseChunkKeyEncoding` that are running. */
let nesting = 0;

/**
 * Parses the `chunk_key_encoding` of an array's metadata: `default`, `v2`, `suffix`,
 * `template`, `fanout` or a registered encoding.
 *
 * @param metadata The encoding's name, or an object with the name and a configuration.
 * @returns The encoding. Missing members of the configuration have their defaults.
 * @throws {MetadataError} If the metadata is not valid, has an unknown name or
 *   member, has `must_understand: false`, allows keys outside the array's folder or
 *   of metadata documents, or nests more than 32 encodings.
 *
 * @example
 * ```ts
 * import { MetadataError, parseChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const encoding = parseChunkKeyEncoding({
 *   name: "suffix",
 *   configuration: { suffix: ".tiff", base_encoding: "v2" },
 * });
 * assertEquals(encoding.encode([1, 2]), "1.2.tiff");
 * assertThrows(() => parseChunkKeyEncoding("v3"), MetadataError, "known are");
 * ```
 */
export function parseChunkKeyEncoding(metadata: unknown): ChunkKeyEncoding {
  // Calls are counted, since registered encodings may call this function, too.
  if (nesting === MAX_NESTING) {
    throw new MetadataError(
      `Expected at most ${MAX_NESTING} nested chunk key encodings, found more`,
    );
  }
  nesting++;
  try {
    const { name, configuration, mustUnderstand } = parseExtension(
      metadata,
      "chunk key encoding",
    );
    const parse = ENCODINGS.get(name);
    if (parse === undefined) {
      const known = describeAll(ENCODINGS.keys());
      throw new MetadataError(
        `Unknown chunk key encoding ${describe(name)}; known are ${known}`,
        typeof metadata === "string" ? "" : "/name",
      );
    }
    if (!mustUnderstand) {
      throw new MetadataError(
        "Expected true or no such member, since chunk keys depend on their encoding, found false",
        "/must_understand",
      );
    }
    const encoding = below("/configuration", () => parse(configuration));
    if (typeof encoding?.encode === "function") return encoding;
    const found = describe(encoding);
    throw new TypeError(
      `Expected the parser of "${name}" to return a chunk key encoding, found ${found}`,
    );
  } finally {
    nesting--;
  }
}

/**
 * Returns a chunk key encoding from its name, its metadata or an instance.
 *
 * @throws {MetadataError} If the metadata is not valid.
 */
export function toChunkKeyEncoding(
  given: string | NamedConfiguration | ChunkKeyEncoding,
): ChunkKeyEncoding {
  const isEncoding = typeof (given as ChunkKeyEncoding)?.encode === "function";
  return isEncoding ? given as ChunkKeyEncoding : parseChunkKeyEncoding(given);
}

/** The classes of this package, besides that of `suffix`. Their keys are valid where those of a few chunks are. */
const OWN_CLASSES: readonly unknown[] = [
  DefaultChunkKeyEncoding,
  V2ChunkKeyEncoding,
  TemplateChunkKeyEncoding,
  FanoutChunkKeyEncoding,
];

/** Whether an encoding is one of this package, and no other that may return any text for a key. */
export function isOwnEncoding(encoding: ChunkKeyEncoding): boolean {
  return encoding.constructor === SuffixChunkKeyEncoding
    ? isOwnEncoding((encoding as SuffixChunkKeyEncoding).baseEncoding)
    : OWN_CLASSES.includes(encoding.constructor);
}

/**
 * Registers an encoding, which `parseChunkKeyEncoding` then finds by its name.
 *
 * @param name The name in metadata. It must not be empty, and not be taken.
 * @param parse Creates the encoding from its configuration; a missing configuration
 *   is an empty object. It should throw a `MetadataError` for unknown members, with
 *   a `path` that starts at the configuration.
 *
 * @example
 * ```ts
 * import {
 *   DefaultChunkKeyEncoding,
 *   parseChunkKeyEncoding,
 *   registerChunkKeyEncoding,
 * } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * registerChunkKeyEncoding("example.dotted", () => new DefaultChunkKeyEncoding("."));
 * assertEquals(parseChunkKeyEncoding("example.dotted").encode([1, 2]), "c.1.2");
 * assertThrows(
 *   () => registerChunkKeyEncoding("v2", () => new DefaultChunkKeyEncoding(".")),
 *   RangeError,
 *   "registered already",
 * );
 * ```
 */
export function registerChunkKeyEncoding(
  name: string,
  parse: (configuration: Record<string, unknown>) => ChunkKeyEncoding,
): void {
  if (typeof name !== "string") {
    throw new TypeError(
      sentence`Expected the name of a chunk key encoding, found ${name}`,
    );
  }
  if (typeof parse !== "function") {
    const found = describe(parse);
    throw new TypeError(
      `Expected a function that parses the configuration of "${name}", found ${found}`,
    );
  }
  if (name === "" || ENCODINGS.has(name)) {
    const reason = name === "" ? "" : ", which is registered already";
    throw new RangeError(
      `Expected a new name for the chunk key encoding, found "${name}"${reason}`,
    );
  }
  ENCODINGS.set(name, parse);
}

/** Parses the configuration of an encoding with one optional member, which its class checks. */
function parserOf<T>(
  name: string,
  member: string,
  Encoding: new (value?: T) => ChunkKeyEncoding,
): ParseConfiguration {
  return (configuration) => {
    const what = `the configuration of "${name}"`;
    const { [member]: value } = checkMembers(configuration, what, [], [member]);
    return atPath(`/${member}`, () => new Encoding(value as T | undefined));
  };
}

function parseSuffix(
  configuration: Record<string, unknown>,
): SuffixChunkKeyEncoding {
  const members = checkMembers(
    configuration,
    'the configuration of "suffix"',
    ["suffix"],
    ["base_encoding", "base-encoding"],
  );
  const { suffix } = members;
  if (typeof suffix !== "string") refuse("a suffix", suffix, "/suffix");
  const spelling = spellingOf(members, "base_encoding", "base-encoding");
  const { [spelling]: base = "default" } = members;
  const baseEncoding = below(`/${spelling}`, () => parseChunkKeyEncoding(base));
  return atPath(
    "/suffix",
    () => new SuffixChunkKeyEncoding(suffix, baseEncoding),
  );
}

function parseTemplate(
  configuration: Record<string, unknown>,
): TemplateChunkKeyEncoding {
  const what = 'the configuration of "template"';
  const names = ["format", "template", "separator"] as const;
  const members = checkMembers(configuration, what, [], names);
  const spelling = spellingOf(members, "format", "template");
  assertMember(members, spelling, what);
  const { [spelling]: format, separator } = members;
  if (typeof format !== "string") refuse("a format", format, `/${spelling}`);
  if (separator !== undefined && typeof separator !== "string") {
    refuse("a separator", separator, "/separator");
  }
  return atPath(
    `/${spelling}`,
    () => new TemplateChunkKeyEncoding(format, separator),
  );
}

/** Returns the spelling that metadata uses of a member with two spellings; `written` if the member is missing. */
function spellingOf<Written extends string, Other extends string>(
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
