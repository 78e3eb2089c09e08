import type { ByteReader, ByteWriter } from "../stores/byte_io.ts";
import { sinkOf } from "./byte_sink.ts";
import { sourceOf } from "./byte_source.ts";
import { openerOf } from "./engine.ts";
import type { Part } from "./part.ts";
import { PartSinks } from "./part_sinks.ts";
import { splitSource } from "./split_source.ts";
import type { SplitOptions, SplitReport } from "./stream_options.ts";

/**
 * Cuts a chunk that comes as a stream into its parts, whatever its length, in
 * constant memory: no more is kept than some pieces on their way and, if the
 * chunk's length is not known, as many bytes as the parts after the unsized one
 * take. A checksum is computed in the same pass.
 *
 * Parts are opened in their order, each when its first byte comes. All stay open
 * until everything has gone through and was checked; then they are closed, the
 * unsized part first, then the parts before and after it. If anything fails, the
 * source is cancelled, and all parts are aborted that are not closed yet: what
 * stores its bytes on `close` stores nothing of a chunk that was not right.
 *
 * @param source The chunk: a stream, or what fills memory as `Deno.FsFile` does. It
 * is read to its end, or cancelled or closed.
 * @param parts How the chunk is cut: a `ConcatParts`, or anything that has its
 * `parts`. At most one part may lack a size.
 * @param open Gives what a part is written to: a stream, or what takes memory as
 * `Deno.FsFile` does. Called once for each part.
 * @param options Checks, the engine, a signal, and a callback for progress.
 * @returns The lengths and checksums of the chunk and of its parts.
 * @throws {PartSizeError} A chunk of a length that the parts or `chunkSize` do not
 * allow, or that is too short for its checksum.
 * @throws {ChecksumError} With `crc32c: "verify"`, a chunk that does not end with
 * its checksum. The last four bytes have not been written then.
 * @throws {TypeError} More than one part without a size; a source or what `open`
 * gives being neither of the two; a stream that is locked.
 * @throws {RangeError} Options that are none.
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
  { parts }: { readonly parts: readonly Part[] },
  open: (
    part: Part,
  ) =>
    | WritableStream<Uint8Array>
    | ByteWriter
    | Promise<WritableStream<Uint8Array> | ByteWriter>,
  options: SplitOptions = {},
): Promise<SplitReport> {
  const { engine = "auto" } = options;
  const sinks = new PartSinks(parts, async (part) => sinkOf(await open(part)));
  return await splitSource(
    sourceOf(source),
    parts,
    sinks,
    options,
    (hasChecksums) => openerOf(engine, hasChecksums),
  );
}
