/**
 * A source of bytes that reads into memory of the caller, as `Deno.FsFile` does.
 * It saves the copy that a stream of chunks would need.
 *
 * @example A file
 * ```ts
 * import { type ByteReader, ConcatParts, splitStream } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const path = await Deno.makeTempFile();
 * await Deno.writeFile(path, new Uint8Array([1, 2, 3, 4, 5]));
 * const file: ByteReader = await Deno.open(path);
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 2 }]);
 * const { size } = await splitStream(file, parts, () => new WritableStream());
 * assertEquals(size, 5);
 * await Deno.remove(path);
 * ```
 */
export interface ByteReader {
  /**
   * Reads the next bytes.
   *
   * @param memory Memory of at least one byte, filled from its start. It must not
   * be used once the promise has settled.
   * @returns How many bytes were read, at least one, or `null` at the end.
   */
  read(memory: Uint8Array): Promise<number | null>;
  /** Closes the source, after its end or when the rest is not needed. */
  close?(): void | Promise<void>;
}

/**
 * A sink for bytes in memory of the caller, as `Deno.FsFile` is. The caller may
 * change the memory once `write` has settled.
 *
 * @example Files for the parts
 * ```ts
 * import { type ByteWriter, ConcatParts, splitStream } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 2 }]);
 * await splitStream(
 *   new Blob([new Uint8Array([1, 2, 3, 4, 5])]).stream(),
 *   parts,
 *   ({ keySuffix }): Promise<ByteWriter> => Deno.create(`${folder}/0${keySuffix}`),
 * );
 * assertEquals(await Deno.readFile(`${folder}/0.index`), new Uint8Array([4, 5]));
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export interface ByteWriter {
  /**
   * Writes bytes, or the first of them.
   *
   * @param bytes At least one byte, which may change once the promise has settled.
   * @returns How many were written, at least one.
   */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends the writing. */
  close(): void | Promise<void>;
  /**
   * Gives up the bytes written so far. It may be called before the last `write`
   * has settled. Where it is missing, `close` is called.
   *
   * @param reason Why.
   */
  abort?(reason: unknown): void | Promise<void>;
}

/** Writes all bytes, in as many writes as it takes. */
export async function writeAll(
  writer: ByteWriter,
  bytes: Uint8Array,
): Promise<void> {
  while (bytes.length > 0) {
    const written = await writer.write(bytes);
    if (!Number.isInteger(written) || written < 1 || written > bytes.length) {
      throw new RangeError(
        `Expected a writer to write 1 to ${bytes.length} bytes of ${bytes.length}, found ${written}`,
      );
    }
    bytes = bytes.subarray(written);
  }
}

/** Returns whether a value is a stream of Node, whose `read` and `write` are not those of readers and writers. */
export function isNodeStream(value: unknown): boolean {
  return typeof (value as { pipe?: unknown } | undefined)?.pipe === "function";
}
