import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import { toChunkKeyEncoding } from "../chunk_key_encoding/to_chunk_key_encoding.ts";
import { describe } from "../metadata/describe.ts";
import { coordinatesInShard } from "../shards/inner_extents.ts";
import type { ShardLayout } from "../shards/shard_layout.ts";
import { chunkKeyProblem } from "../stores/store_key.ts";
import type { ZipOptions } from "./zip_options.ts";
import { MOST_16 } from "./zip_records.ts";

/** The chunk key encoding of the names of entries; `undefined` for a function. */
export function nameEncoding(
  names: ZipOptions["names"] = "default",
): ChunkKeyEncoding | undefined {
  return typeof names === "function" ? undefined : toChunkKeyEncoding(names);
}

/** The names of the inner chunks of a shard, each made and checked once. */
export class EntryNames {
  readonly #nameOf: (chunk: readonly number[]) => string;
  readonly #layout: ShardLayout;
  readonly #encoded = new Map<number, Uint8Array>();
  readonly #places = new Map<string, number>();

  constructor(
    nameOf: (chunk: readonly number[]) => string,
    layout: ShardLayout,
  ) {
    this.#nameOf = nameOf;
    this.#layout = layout;
  }

  /**
   * The name of an inner chunk in UTF-8.
   *
   * @param place The place of the inner chunk in the index.
   * @throws {RangeError} If an entry cannot have the name, or another one has it.
   * @throws {TypeError} If the name is not a string.
   */
  at(place: number): Uint8Array {
    const known = this.#encoded.get(place);
    if (known !== undefined) return known;
    const chunk = coordinatesInShard(place, this.#layout);
    const name = this.#nameOf(chunk);
    if (typeof name !== "string") {
      throw new TypeError(
        `Expected a name for inner chunk ${describe(chunk)}, found ${
          describe(name)
        }`,
      );
    }
    const encoded = new TextEncoder().encode(name);
    const problem = chunkKeyProblem(name) ??
      (encoded.length > MOST_16
        ? `takes ${encoded.length} bytes, of at most ${MOST_16}`
        : undefined);
    if (problem !== undefined) {
      throw new RangeError(
        `The name ${describe(name)} of inner chunk ${
          describe(chunk)
        } ${problem}: expected names joined by "/"`,
      );
    }
    const other = this.#places.get(name);
    if (other !== undefined) {
      throw new RangeError(
        `Expected a name of its own for each inner chunk, found ${
          describe(name)
        } for ${describe(coordinatesInShard(other, this.#layout))} and ${
          describe(chunk)
        }`,
      );
    }
    this.#encoded.set(place, encoded);
    this.#places.set(name, place);
    return encoded;
  }
}
