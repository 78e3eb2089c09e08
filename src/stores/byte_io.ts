/**
 * What fills memory with bytes, as `Deno.FsFile` does: where a stream of pieces
 * would mean a copy, this saves it.
 *
 * @example A file as it is
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
   * Reads what comes next.
   *
   * @param memory What is filled from its start on, and not looked at any more
   * once the promise has settled. It has at least one byte.
   * @returns How many bytes were read, at least one, or `null` at the end.
   */
  read(memory: Uint8Array): Promise<number | null>;
  /** Lets go of what is read, when the end has come or nobody wants it any more. */
  close?(): void | Promise<void>;
}

/**
 * What takes bytes out of memory that is not its own, as `Deno.FsFile` does:
 * once `write` has settled, the memory may hold something else.
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
   * @param bytes At least one byte. They may change once the promise has settled.
   * @returns How many were written, at least one.
   */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends what is written. */
  close(): void | Promise<void>;
  /**
   * Gives up what was written so far, maybe before the last `write` has settled.
   * Where it is missing, `close` is called.
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
