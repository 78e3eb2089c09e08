import { DamageError } from "../errors/damage_error.ts";
import { describe, describeAll } from "../metadata/describe.ts";

/**
 * Thrown if some parts of a chunk are stored and others are not.
 *
 * @example
 * ```ts
 * import { ConcatParts, MemoryStore, MissingPartError } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 2 }]);
 * const stored = new MemoryStore([["/c/0", new Uint8Array(10)]]);
 * const error = await assertRejects(() => parts.apply(stored).get("/c/0"), MissingPartError);
 * assertEquals(error.missing, ["/c/0.index"]);
 * ```
 */
export class MissingPartError extends DamageError {
  /** The name of the class, as error reports show it. */
  override readonly name = "MissingPartError";
  /** The key of the chunk. */
  readonly chunkKey: string;
  /** The keys of the parts that are not stored. */
  readonly missing: readonly string[];
  /** The keys of the parts that are stored. */
  readonly present: readonly string[];

  /**
   * Constructs an error that names the parts.
   *
   * @param chunkKey The chunk's key.
   * @param missing The keys of the parts that are not stored.
   * @param present The keys of the parts that are stored.
   *
   * @example
   * ```ts
   * import { MissingPartError } from "@zarr-parts/zarr-parts";
   * import { assertStringIncludes } from "@std/assert";
   *
   * const error = new MissingPartError("/c/0", ["/c/0.index"], ["/c/0"]);
   * assertStringIncludes(error.message, 'lacks "/c/0.index" but has "/c/0"');
   * ```
   */
  constructor(
    chunkKey: string,
    missing: readonly string[],
    present: readonly string[],
  ) {
    super(
      `Chunk ${describe(chunkKey)} lacks ${describeAll(missing)} but has ${
        describeAll(present)
      }: a chunk is stored with all of its parts or not at all`,
      { key: chunkKey },
    );
    this.chunkKey = chunkKey;
    this.missing = missing;
    this.present = present;
  }
}
