import { checkMembers, refuse } from "../metadata/check.ts";
import { describe, describeAll } from "../metadata/describe.ts";
import { parseExtension } from "../metadata/extension.ts";
import { atPath, below, MetadataError } from "../metadata/metadata_error.ts";
import type { ChunkKeyEncoding } from "./chunk_key_encoding.ts";
import { DefaultChunkKeyEncoding } from "./default_chunk_key_encoding.ts";
import {
  type BuiltInName,
  encodingOnDemand,
  knownNames,
  type NameOnDemand,
  type ParseConfiguration,
  registeredParser,
} from "./registry.ts";
import { parseSeparator } from "./separator.ts";
import { spellingOf } from "./spelling.ts";
import {
  MAX_NESTING,
  SuffixChunkKeyEncoding,
} from "./suffix_chunk_key_encoding.ts";

function builtInParser(name: string): ParseConfiguration | undefined {
  switch (name as BuiltInName) {
    case "default":
      return (configuration) =>
        new DefaultChunkKeyEncoding(parseSeparator(name, configuration));
    case "suffix":
      return parseSuffix;
    case "v2":
    case "template":
    case "fanout":
      return encodingOnDemand(name as NameOnDemand);
  }
}

/** The depth of nested calls of the parser below. */
let nesting = 0;

/**
 * Parses a chunk key encoding like `parseChunkKeyEncoding`, and finds encodings on
 * demand only once they are loaded.
 */
export function parseEncoding(metadata: unknown): ChunkKeyEncoding {
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
        "Expected true or no such member, since chunk keys depend on their encoding, found false",
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
  const baseEncoding = below(`/${spelling}`, () => parseEncoding(base));
  return atPath(
    "/suffix",
    () => new SuffixChunkKeyEncoding(suffix, baseEncoding),
  );
}
