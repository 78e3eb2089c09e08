import type { ByteReader, ByteWriter } from "../stores/byte_io.ts";
import { assertArguments } from "./assert_arguments.ts";
import { sinkOf } from "./byte_sink.ts";
import { sourceOf } from "./byte_source.ts";
import { openerOf } from "./engine.ts";
import type { Part } from "./part.ts";
import { PartSinks } from "./part_sinks.ts";
import { splitSource } from "./split_source.ts";
import type { SplitOptions, SplitReport } from "./stream_options.ts";

/**
 * Splits a chunk of any length into its parts, in constant memory. If the length
 * of the chunk is not known, memory also holds as many bytes as the parts after the
 * unsized part take. A checksum is computed in the same pass.
 *
 * Each part is opened when its first byte arrives, in the order of the parts. All
 * parts stay open until the whole chunk has been written and checked. Then the
 * unsized part is closed first, then the parts before and after it. If anything
 * fails, the source is cancelled and every part that is still open is aborted, so
 * that a store which commits on `close` keeps nothing of a wrong chunk. An abort of
 * the signal has no effect once the first part is being closed.
 *
 * @param source The chunk: a stream, or a reader that fills memory, such as
 * `Deno.FsFile`. It is read to its end, or cancelled or closed.
 * @param parts How the chunk is cut: a `ConcatParts`, or anything that has its
 * `parts`. At most one part may lack a size.
 * @param open Returns the stream, or the writer such as `Deno.FsFile`, that a part is
 * written to. It is called once for each part.
 * @param options Checks, the engine, a signal, and a callback for progress.
 * @returns The lengths and checksums of the chunk and of its parts.
 * @throws {PartSizeError} If the parts or `chunkSize` do not allow the length of the
 * chunk, or if the chunk is too short for its checksum.
 * @throws {ChecksumError} If `crc32c` is `"verify"` and the chunk does not end with its
 * checksum. The last four bytes are not written in this case.
 * @throws {TypeError} If more than one part lacks a size, if the source or a result of
 * `open` is neither a stream nor a reader or writer, or if a stream is locked.
 * @throws {RangeError} If an option is outside its range.
 *
 * @example A shard of unknown length into three files, with its checksum verified
 * ```ts
 * import { ConcatParts, crc32c, splitStream } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const data = new Uint8Array(1_000_000).fill(7);
 * const checksum = new Uint8Array(new Uint32Array([crc32c(data)]).buffer);
 * const shard = new Blob([data, checksum]).stream();
 *
 * const folder = await Deno.makeTempDir();
 * const parts = new ConcatParts([
 *   { keySuffix: ".header", size: 64 },
 *   { keySuffix: "" },
 *   { keySuffix: ".crc32c", size: 4 },
 * ]);
 * const report = await splitStream(
 *   shard,
 *   parts,
 *   ({ keySuffix }) => Deno.create(`${folder}/0${keySuffix}`),
 *   { crc32c: "verify" },
 * );
 *
 * assertEquals(report.parts.map(({ size }) => size), [64, 999_936, 4]);
 * assertEquals(await Deno.readFile(`${folder}/0.crc32c`), checksum);
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function splitStream(
  source: ReadableStream<Uint8Array> | ByteReader,
  parts: { readonly parts: readonly Part[] },
  open: (
    part: Part,
  ) =>
    | WritableStream<Uint8Array>
    | ByteWriter
    | Promise<WritableStream<Uint8Array> | ByteWriter>,
  options: SplitOptions = {},
): Promise<SplitReport> {
  const { engine = "auto" } = options;
  assertArguments(parts, open, "a WritableStream or a writer");
  const sinks = new PartSinks(
    parts.parts,
    async (part) => sinkOf(await open(part)),
  );
  return await splitSource(
    sourceOf(source),
    parts.parts,
    sinks,
    options,
    (hasChecksums) => openerOf(engine, hasChecksums),
  );
}
