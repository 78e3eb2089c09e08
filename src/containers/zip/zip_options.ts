import type { ChunkKeyEncoding } from "../../chunk_key_encoding/mod.ts";
import { describe, describeAll } from "../../errors/mod.ts";
import type { NamedConfiguration } from "../../metadata/mod.ts";

/**
 * The options of `zipContainer`.
 *
 * @example
 * ```ts
 * import type { ZipOptions } from "@zarr-parts/zarr-parts/zip";
 *
 * const options: ZipOptions = {
 *   names: ([y, x]) => `tiles/row_${y}/column_${x}.bin`,
 *   modified: new Date("2026-01-31T12:00:00Z"),
 * };
 * ```
 */
export interface ZipOptions {
  /**
   * The names of the entries: a chunk key encoding, by its name, its metadata or an
   * instance, or a function. Both name an inner chunk by its grid coordinates in the
   * shard. Defaults to `"default"`, with names such as `c/0/1`.
   */
  names?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | ((chunk: readonly number[]) => string)
    | undefined;
  /**
   * The place of an entry `zarr.json`, with which a reader of zip files opens the shard
   * as an array of its own. By default there is no such entry.
   */
  zarrJson?: "first" | "last" | undefined;
  /**
   * The time at which the entries were modified, from 1980 to 2107. Zip files have no
   * time zones; this one is written in UTC, in steps of two seconds. Defaults to the
   * start of 1980, so that equal shards are equal files.
   */
  modified?: Date | undefined;
}

const KNOWN: readonly string[] = ["names", "zarrJson", "modified"];

/** Refuses options that are unknown or of a wrong type. */
export function assertZipOptions(options: ZipOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(
      `Expected the options of a zip as an object, found ${describe(options)}`,
    );
  }
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue;
    throw new TypeError(
      `Unknown option ${describe(name)} of zipContainer; known are ${
        describeAll(KNOWN)
      }`,
    );
  }
  const { names, zarrJson, modified } = options;
  const isNames = ["undefined", "string", "function", "object"]
    .includes(typeof names) && names !== null;
  if (!isNames) {
    throw new TypeError(
      `Expected the option "names" to be a chunk key encoding or a function, found ${
        describe(names)
      }`,
    );
  }
  if (![undefined, "first", "last"].includes(zarrJson)) {
    throw new TypeError(
      `Expected the option "zarrJson" to be "first" or "last", found ${
        describe(zarrJson)
      }`,
    );
  }
  if (zarrJson !== undefined && typeof names === "function") {
    throw new TypeError(
      'Expected names by a chunk key encoding, which zarr.json can specify, found a function beside "zarrJson"',
    );
  }
  if (modified !== undefined && !(modified instanceof Date)) {
    throw new TypeError(
      `Expected the option "modified" to be a Date, found ${
        describe(modified)
      }`,
    );
  }
}

/** Returns a time as the date and the time of MS-DOS, in one number of 32 bits. */
export function dosTime(time: Date | undefined): number {
  if (time === undefined) return 1 << 21 | 1 << 16; // 1980-01-01, 00:00
  const year = time.getUTCFullYear();
  if (!(year >= 1980 && year <= 2107)) {
    throw new RangeError(
      `Expected the option "modified" to be from 1980 to 2107, which is the range of zip files, found ${
        Number.isNaN(year) ? "an invalid date" : time.toISOString()
      }`,
    );
  }
  const date = (year - 1980) << 9 | (time.getUTCMonth() + 1) << 5 |
    time.getUTCDate();
  const clock = time.getUTCHours() << 11 | time.getUTCMinutes() << 5 |
    time.getUTCSeconds() >> 1;
  return (date << 16 | clock) >>> 0;
}
