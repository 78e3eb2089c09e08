import { describe } from "../metadata/describe.ts";
import type { ChunkKeyEncoding } from "./chunk_key_encoding.ts";

/** Makes an encoding of its configuration, which is empty where metadata has none. */
export type ParseConfiguration = (
  configuration: Record<string, unknown>,
) => ChunkKeyEncoding;

const BUILT_IN = ["default", "v2", "suffix"] as const;

/** The name of an encoding that this package brings. */
export type BuiltInName = typeof BUILT_IN[number];

const registered = new Map<string, ParseConfiguration>();

/**
 * Makes an encoding known to `parseChunkKeyEncoding`, by its name, for as long as
 * the program runs.
 *
 * @param name The name in metadata: not empty, not one of `default`, `v2` and
 *   `suffix`, and not registered before.
 * @param parse Makes the encoding of its configuration, which is an empty object
 *   where metadata has none. It should refuse members it does not know with a
 *   `MetadataError`, whose `path` starts at the configuration.
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

/** What was registered under a name, if anything was. */
export function registeredParser(name: string): ParseConfiguration | undefined {
  return registered.get(name);
}

/** All names, the built-in ones first. */
export function knownNames(): string[] {
  return [...BUILT_IN, ...registered.keys()];
}
