import {
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  assertAdoption,
} from "../adoption/adoption_options.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import { describe, describeAll } from "../metadata/describe.ts";
import type { StoreKey } from "../stores/store.ts";
import { assertStoreKey } from "../stores/store_key.ts";

/**
 * The options of `adoptZip`.
 *
 * @example A year of files by their names
 * ```ts
 * import { TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import type { AdoptZipOptions } from "@zarr-parts/zarr-parts/zip";
 *
 * const options: AdoptZipOptions = {
 *   chunkKeyEncoding: new TemplateChunkKeyEncoding("month_{0:02}_{1}_{2}.zip"),
 *   array: "temperature",
 * };
 * ```
 */
export interface AdoptZipOptions extends AdoptionOptions {
  /** The key of the only zip. By default, all files are adopted whose keys `chunkKeyEncoding` decodes. */
  key?: StoreKey | undefined;
  /** The zips: the grid coordinates of each shard, and the key of its file. */
  files?:
    | readonly {
      readonly coordinates: readonly number[];
      readonly key: StoreKey;
    }[]
    | undefined;
  /**
   * The chunk key encoding of the array, by its name, its metadata or as an instance.
   * Defaults to `suffix` with `.zip`.
   */
  chunkKeyEncoding?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | undefined;
  /** The path of the array inside the zips. Defaults to `""`, the root. */
  array?: string | undefined;
}

/** For each option: what it must be, and whether a value is that. */
const OPTIONS: Readonly<
  Record<keyof AdoptZipOptions, readonly [string, (value: unknown) => boolean]>
> = {
  ...ADOPTION_OPTIONS,
  key: ["the key of a zip", (value) => typeof value === "string"],
  files: ["a list of coordinates and keys", isFiles],
  chunkKeyEncoding: [
    "a chunk key encoding",
    (value) => ["string", "object"].includes(typeof value) && value !== null,
  ],
  array: ["a path", (value) => typeof value === "string"],
};

/** Refuses options that are unknown or of a wrong type. */
export function assertAdoptZipOptions(options: AdoptZipOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(
      `Expected the options of adoptZip as an object, found ${
        describe(options)
      }`,
    );
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTIONS, name)) {
      throw new TypeError(
        `Unknown option ${describe(name)} of adoptZip; known are ${
          describeAll(Object.keys(OPTIONS))
        }`,
      );
    }
    const [expected, isValid] = OPTIONS[name as keyof AdoptZipOptions];
    if (value === undefined || isValid(value)) continue;
    throw new TypeError(
      `Expected the option "${name}" to be ${expected}, found ${
        describe(value)
      }`,
    );
  }
  assertAdoption(options);
  const { key, files } = options;
  if (key !== undefined && files !== undefined) {
    throw new TypeError('Expected the option "key" or "files", found both');
  }
  for (const each of [...key === undefined ? [] : [{ key }], ...files ?? []]) {
    assertStoreKey(each.key);
  }
}

function isFiles(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 &&
    value.every((file) =>
      typeof file?.key === "string" && Array.isArray(file.coordinates) &&
      file.coordinates.every((c: unknown) =>
        Number.isSafeInteger(c) && c as number >= 0
      )
    );
}
