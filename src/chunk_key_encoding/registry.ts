import { describe } from "../errors/mod.ts";
import type { ChunkKeyEncoding } from "./chunk_key_encoding.ts";

/** Creates an encoding from its configuration; a missing configuration is an empty object. */
export type ParseConfiguration = (
  configuration: Record<string, unknown>,
) => ChunkKeyEncoding;

/** The name of an encoding that is loaded when a document names it. */
export type NameOnDemand = "v2" | "template" | "fanout";

/** The parsers of the encodings on demand. */
export type ParseOnDemand = Readonly<Record<NameOnDemand, ParseConfiguration>>;

const BUILT_IN = ["default", "v2", "suffix", "template", "fanout"] as const;

/** The name of an encoding that is part of this package. */
export type BuiltInName = typeof BUILT_IN[number];

const registered = new Map<string, ParseConfiguration>();
let onDemand: ParseOnDemand | undefined;

/** Makes the encodings on demand known. */
export function provideOnDemand(parsers: ParseOnDemand): void {
  onDemand = parsers;
}

/** Whether the encodings on demand are known. */
export function isOnDemandLoaded(): boolean {
  return onDemand !== undefined;
}

/** Returns the parser of an encoding on demand. */
export function encodingOnDemand(name: NameOnDemand): ParseConfiguration {
  if (onDemand !== undefined) return onDemand[name];
  throw new Error(
    `Chunk key encoding ${
      describe(name)
    } is not in this bundle yet; call parseChunkKeyEncoding or openArrayChunks first`,
  );
}

/**
 * Registers an encoding, which `parseChunkKeyEncoding` then finds by its name.
 *
 * @param name The name in metadata. It must not be empty, that of an encoding of
 *   this package, or registered already.
 * @param parse Creates the encoding from its configuration; a missing configuration
 *   is an empty object. It should throw a `MetadataError` for unknown members, with
 *   a `path` that starts at the configuration.
 * @throws {TypeError} If the name is not a string or `parse` not a function.
 * @throws {RangeError} If the name is empty or taken.
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
 *   "is built in",
 * );
 * ```
 */
export function registerChunkKeyEncoding(
  name: string,
  parse: (configuration: Record<string, unknown>) => ChunkKeyEncoding,
): void {
  if (typeof name !== "string") {
    throw new TypeError(
      `Expected the name of a chunk key encoding, found ${describe(name)}`,
    );
  }
  if (typeof parse !== "function") {
    throw new TypeError(
      `Expected a function that parses the configuration of ${
        describe(name)
      }, found ${describe(parse)}`,
    );
  }
  if (name === "") {
    throw new RangeError(
      "Expected the name of a chunk key encoding, found an empty string",
    );
  }
  if ((BUILT_IN as readonly string[]).includes(name)) {
    throw new RangeError(
      `Chunk key encoding ${
        describe(name)
      } is built in; expected a name of its own`,
    );
  }
  if (registered.has(name)) {
    throw new RangeError(
      `Chunk key encoding ${
        describe(name)
      } is registered already; expected a name of its own`,
    );
  }
  registered.set(name, parse);
}

/** Returns the parser that is registered under a name. */
export function registeredParser(name: string): ParseConfiguration | undefined {
  return registered.get(name);
}

/** Returns all names, the built-in ones first. */
export function knownNames(): string[] {
  return [...BUILT_IN, ...registered.keys()];
}
