import {
  atPath,
  below,
  describe,
  describeAll,
  MetadataError,
} from "../errors/mod.ts";
import {
  checkMembers,
  type NamedConfiguration,
  parseExtension,
  refuse,
} from "../metadata/mod.ts";
import {
  type ChunkKeyEncoding,
  parseSeparator,
  spellingOf,
} from "./chunk_key_encoding.ts";
import { DefaultChunkKeyEncoding } from "./default_chunk_key_encoding.ts";
import { ENCODINGS_ON_DEMAND } from "./encodings_on_demand.ts";
import {
  type BuiltInName,
  encodingOnDemand,
  knownNames,
  type NameOnDemand,
  type ParseConfiguration,
  provideOnDemand,
  registeredParser,
} from "./registry.ts";
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

/** Lets `parseEncoding` find all encodings. Bundles that call this function hold all of them. */
export function useAllEncodings(): void {
  provideOnDemand(ENCODINGS_ON_DEMAND);
}

// Without a bundler, all encodings are known from the start. Bundlers leave this call out.
/* @__PURE__ */ useAllEncodings();

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
  useAllEncodings();
  return parseEncoding(metadata);
}

/**
 * Returns a chunk key encoding that is given by its name, its metadata or as an
 * instance.
 *
 * @throws {MetadataError} If the metadata is not valid.
 */
export function toChunkKeyEncoding(
  given: string | NamedConfiguration | ChunkKeyEncoding,
): ChunkKeyEncoding {
  const isEncoding = typeof (given as ChunkKeyEncoding)?.encode === "function";
  return isEncoding ? given as ChunkKeyEncoding : parseChunkKeyEncoding(given);
}
