import { describe } from "../metadata/describe.ts";
import { parseExtension } from "../metadata/extension.ts";
import { below, MetadataError } from "../metadata/metadata_error.ts";
import { assertStore } from "../stores/assert_store.ts";
import type { Store } from "../stores/store.ts";
import {
  type ApplyOptions,
  applyParts,
  type ComposedStore,
} from "./composed_store.ts";
import { joinBytes } from "./join_bytes.ts";
import { checkConfiguration, checkParts } from "./part_schema.ts";
import type { Part } from "../splitter/part.ts";
import { assertPartSize } from "../splitter/part_size_error.ts";
import { assertBytes, splitChunk } from "./split_chunk.ts";

/**
 * The `concat-parts` storage transformer: a chunk that is stored as several
 * objects and read as one. See the document "Concatenate Parts Storage
 * Transformer", version 0.1.
 *
 * @example A chunk with its checksum in a file of its own
 * ```ts
 * import { ConcatParts, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 * const stored = new MemoryStore();
 * const store = parts.apply(stored);
 *
 * await store.set("/c/0/0", new Uint8Array([1, 2, 3, 10, 11, 12, 13]));
 * assertEquals(await stored.get("/c/0/0"), new Uint8Array([1, 2, 3]));
 * assertEquals(await stored.get("/c/0/0.crc32c"), new Uint8Array([10, 11, 12, 13]));
 * assertEquals(await store.size("/c/0/0"), 7);
 * ```
 */
export class ConcatParts {
  /** The parts, in the order in which they make up the chunk. */
  readonly parts: readonly Part[];

  /**
   * A transformer with these parts.
   *
   * @param parts At least one part, each with its own key suffix. At most one
   * may lack a size if chunks are to be written; with more they can be read.
   * @throws {TypeError} A part that is no part, or a member of a wrong type.
   * @throws {RangeError} No parts, a repeated or unusable key suffix, or a size
   * that is not a whole number from 0 to 2^53−1.
   *
   * @example
   * ```ts
   * import { ConcatParts } from "@zarr-parts/zarr-parts";
   *
   * new ConcatParts([
   *   { keySuffix: ".header", size: 64 },
   *   { keySuffix: "" },
   *   { keySuffix: ".index", size: 1604 },
   * ]);
   * ```
   */
  constructor(parts: readonly Part[]) {
    this.parts = Object.freeze(
      checkParts(parts).map((part) => Object.freeze(part)),
    );
  }

  /**
   * Reads the transformer's metadata.
   *
   * @param metadata `{ name: "concat-parts", configuration: { parts } }`, a
   * member of an array's `storage_transformers`.
   * @returns The transformer.
   * @throws {MetadataError} Metadata that the document does not allow, with
   * the place as a JSON pointer.
   *
   * @example
   * ```ts
   * import { ConcatParts } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const { parts } = ConcatParts.parse({
   *   name: "concat-parts",
   *   configuration: { parts: [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }] },
   * });
   * assertEquals(parts[1], { keySuffix: ".crc32c", size: 4 });
   * ```
   */
  static parse(metadata: unknown): ConcatParts {
    const { name, configuration } = parseExtension(
      metadata,
      "storage transformer",
    );
    if (name !== "concat-parts") {
      throw new MetadataError(
        `Expected the storage transformer "concat-parts", found ${
          describe(name)
        }`,
        typeof metadata === "string" ? "" : "/name",
      );
    }
    return new ConcatParts(
      below("/configuration", () => checkConfiguration(configuration)),
    );
  }

  /**
   * Cuts a chunk into its parts.
   *
   * @param chunk The whole chunk.
   * @returns Views of `chunk`, one a part and in the order of `parts`; no byte is copied.
   * @throws {PartSizeError} A chunk too small for the sized parts, or of another
   * length than theirs where all are sized.
   * @throws {TypeError} More than one part without a size.
   *
   * @example
   * ```ts
   * import { ConcatParts } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const parts = new ConcatParts([{ keySuffix: ".head", size: 1 }, { keySuffix: "" }]);
   * const [head, rest] = parts.split(new Uint8Array([7, 8, 9]));
   * assertEquals(head, new Uint8Array([7]));
   * assertEquals(rest, new Uint8Array([8, 9]));
   * ```
   */
  split(chunk: Uint8Array): Uint8Array[] {
    return splitChunk(this.parts, chunk);
  }

  /**
   * Joins the parts of a chunk, the inverse of {@linkcode ConcatParts.split}.
   *
   * @param parts The bytes of every part, in the order of `this.parts`.
   * @returns The chunk, in new memory.
   * @throws {RangeError} Another number of parts than the transformer has.
   * @throws {PartSizeError} A part of another length than its size.
   *
   * @example
   * ```ts
   * import { ConcatParts } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const parts = new ConcatParts([{ keySuffix: ".head", size: 1 }, { keySuffix: "" }]);
   * const chunk = parts.concat([new Uint8Array([7]), new Uint8Array([8, 9])]);
   * assertEquals(chunk, new Uint8Array([7, 8, 9]));
   * ```
   */
  concat(parts: readonly Uint8Array[]): Uint8Array {
    if (parts.length !== this.parts.length) {
      throw new RangeError(
        `Expected the bytes of ${this.parts.length} parts, found ${parts.length}`,
      );
    }
    this.parts.forEach(({ keySuffix, size }, i) => {
      const part = parts[i]!;
      assertBytes("a part", part);
      assertPartSize(keySuffix, size, part.length);
    });
    return joinBytes(parts);
  }

  /**
   * Shows a store of parts as a store of whole chunks. Reads, writes and
   * listings go through `store`; nothing is kept here.
   *
   * Reading asks for as little as the parts allow: the last bytes that lie in
   * sized tail parts (a shard's index) are one `get` and no look-up of a size.
   * What is returned of a sized part was checked against its size. To that end a
   * part of up to 256 KiB is read whole; of a larger one its size is looked up
   * beside the range, and a stream of it fails where it turns out to be shorter
   * or longer.
   *
   * Writing a stream cuts it on its way, and keeps no more of it than as many of
   * its last bytes as the parts after the unsized one take, and what `store` keeps
   * of what it is given. Only when all of it is there and fits, its parts take the
   * place of earlier ones. Writing leaves a chunk as it was if any of its parts
   * cannot be written, but not if the process is killed between two parts.
   * Whoever reads a chunk while it is written, through whatever is applied to the
   * same store object, gets the chunk as it was before or after; other processes
   * may meet parts of both.
   *
   * @param store Where the parts are.
   * @param options Which keys are chunks', if not all but metadata documents.
   * @returns A store of whole chunks, able to write, delete and list if `store`
   * is. Its methods reject with a {@linkcode MissingPartError} for a chunk of
   * which some parts are stored and others are not, with a
   * {@linkcode PartSizeError} for a part of another length than its size and for
   * a chunk that does not fit, with a `TypeError` for writing with more than one
   * unsized part, with a `RangeError` for a key that is none, and with whatever
   * `store` rejects with.
   *
   * @example
   * ```ts
   * import { ConcatParts, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 2 }]);
   * const store = parts.apply(new MemoryStore([
   *   ["/c/0", new Uint8Array([1, 2, 3])],
   *   ["/c/0.index", new Uint8Array([8, 9])],
   * ]));
   * assertEquals(await store.getRange("/c/0", { suffixLength: 3 }), new Uint8Array([3, 8, 9]));
   * assertEquals(await Array.fromAsync(store.list()), ["/c/0"]);
   * ```
   */
  apply<S extends Store>(
    store: S,
    options: ApplyOptions = {},
  ): ComposedStore<S> {
    assertStore(store);
    return applyParts(this.parts, store, options);
  }

  /**
   * The transformer as metadata, which {@linkcode ConcatParts.parse} reads back.
   *
   * @returns A member for an array's `storage_transformers`.
   *
   * @example
   * ```ts
   * import { ConcatParts } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new ConcatParts([{ keySuffix: "" }]).toJSON(), {
   *   name: "concat-parts",
   *   configuration: { parts: [{ key_suffix: "" }] },
   * });
   * ```
   */
  toJSON(): {
    name: "concat-parts";
    configuration: { parts: { key_suffix: string; size?: number }[] };
  } {
    return {
      name: "concat-parts",
      configuration: {
        parts: this.parts.map(({ keySuffix, size }) => ({
          key_suffix: keySuffix,
          ...(size === undefined ? {} : { size }),
        })),
      },
    };
  }
}
