import { assertMember, checkMembers, refuse } from "../metadata/check.ts";
import { describe, describeAll } from "../metadata/describe.ts";
import { parseExtension } from "../metadata/extension.ts";
import { atPath, below, MetadataError } from "../metadata/metadata_error.ts";
import type { ChunkKeyEncoding } from "./chunk_key_encoding.ts";
import { DefaultChunkKeyEncoding } from "./default_chunk_key_encoding.ts";
import { FanoutChunkKeyEncoding } from "./fanout_chunk_key_encoding.ts";
import {
  type BuiltInName,
  knownNames,
  type ParseConfiguration,
  registeredParser,
} from "./registry.ts";
import { parseSeparator } from "./separator.ts";
import {
  MAX_NESTING,
  SuffixChunkKeyEncoding,
} from "./suffix_chunk_key_encoding.ts";
import { TemplateChunkKeyEncoding } from "./template_chunk_key_encoding.ts";
import { V2ChunkKeyEncoding } from "./v2_chunk_key_encoding.ts";

function builtInParser(name: string): ParseConfiguration | undefined {
  switch (name as BuiltInName) {
    case "default":
      return (configuration) =>
        new DefaultChunkKeyEncoding(parseSeparator(name, configuration));
    case "v2":
      return (configuration) =>
        new V2ChunkKeyEncoding(parseSeparator(name, configuration));
    case "suffix":
      return parseSuffix;
    case "template":
      return parseTemplate;
    case "fanout":
      return parseFanout;
  }
}

/** The depth of nested calls of the parser below. */
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
  // Counted here, since registered encodings may call this function, too.
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
    const parse = builtInParser(name) ?? registeredParser(name);
    if (parse === undefined) {
      throw new MetadataError(
        `Unknown chunk key encoding ${describe(name)}; known are ${
          describeAll(knownNames())
        }`,
        typeof metadata === "string" ? "" : "/name",
      );
    }
    if (!mustUnderstand) {
      throw new MetadataError(
        "Expected true or no such member, since chunk keys cannot be found without understanding their encoding, found false",
        "/must_understand",
      );
    }
    const encoding = below("/configuration", () => parse(configuration));
    if (typeof encoding?.encode === "function") return encoding;
    throw new TypeError(
      `Expected the parser of ${
        describe(name)
      } to return a chunk key encoding, found ${describe(encoding)}`,
    );
  } finally {
    nesting--;
  }
}

function parseSuffix(
  configuration: Record<string, unknown>,
): SuffixChunkKeyEncoding {
  const parsed = checkMembers(
    configuration,
    'the configuration of "suffix"',
    ["suffix"],
    ["base_encoding", "base-encoding"],
  );
  const { suffix } = parsed;
  if (typeof suffix !== "string") refuse("a suffix", suffix, "/suffix");
  const spelling = spellingOf(parsed, "base_encoding", "base-encoding");
  const { [spelling]: base = "default" } = parsed;
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
  const parsed = checkMembers(configuration, what, [], [
    "format",
    "template",
    "separator",
  ]);
  const spelling = spellingOf(parsed, "format", "template");
  assertMember(parsed, spelling, what);
  const { [spelling]: format, separator } = parsed;
  if (typeof format !== "string") refuse("a format", format, `/${spelling}`);
  if (separator !== undefined && typeof separator !== "string") {
    refuse("a separator", separator, "/separator");
  }
  return atPath(
    `/${spelling}`,
    () => new TemplateChunkKeyEncoding(format, separator),
  );
}

function parseFanout(
  configuration: Record<string, unknown>,
): FanoutChunkKeyEncoding {
  const { max_children } = checkMembers(
    configuration,
    'the configuration of "fanout"',
    [],
    ["max_children"],
  );
  return atPath(
    "/max_children",
    () => new FanoutChunkKeyEncoding(max_children as number | undefined),
  );
}

/** Returns the spelling of a member that a document spells in two ways. */
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
