import { describe, sentence } from "../errors/mod.ts";
import { rejectOnAbort } from "../runtime/mod.ts";
import type { ByteReader, ByteWriter } from "../stores/mod.ts";
import {
  type ByteSource,
  PartSinks,
  pump,
  sinkOf,
  sourceOf,
} from "./sources_and_sinks.ts";
import { JoinedSource, streamOf } from "./joined_source.ts";
import {
  chunkSizes,
  type ConcatOptions,
  type Part,
  type Settings,
  settingsOf,
  type SplitOptions,
  type SplitReport,
} from "./stream_options.ts";
import { type Cut, Splitter } from "./splitter.ts";
import { openerOf } from "./engines.ts";

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
  const { engine = "auto", signal } = options;
  assertArguments(parts, open, "a WritableStream or a writer");
  const from = sourceOf(source);
  const sinks = new PartSinks(
    parts.parts,
    async (part) => sinkOf(await open(part)),
  );
  try {
    signal?.throwIfAborted();
    const limits = [chunkSizes(parts.parts)];
    const settings = settingsOf(parts.parts, limits, options);
    const opener = openerOf(engine, settings.hasChecksums);
    const splitter = new Splitter(settings, true, opener);
    const splitting = split(from, splitter, sinks, settings);
    const report = await rejectOnAbort(splitting, signal, sinks.failure);
    signal?.throwIfAborted();
    await sinks.close();
    return report;
  } catch (error) {
    from.cancel(error);
    await sinks.abort(error);
    throw error;
  }
}

/**
 * Joins the parts of a chunk of any length to a stream, in constant memory. A
 * checksum is computed in the same pass.
 *
 * Each part is opened when the previous part has been read to its end. If anything
 * fails, the stream fails and the open part is cancelled. The open part is cancelled
 * too if the stream is cancelled.
 *
 * `FileSystemStore.set` writes such a stream straight from the memory into which the
 * parts were read, several times as fast as a pipe.
 *
 * @param parts How the chunk was cut: a `ConcatParts`, or anything that has its
 * `parts`. Any number of parts may lack a size.
 * @param open Returns the bytes of a part: a stream, or a reader that fills memory,
 * such as `Deno.FsFile`. It is called once for each part, when the part is read.
 * @param options Checks, the engine, a signal, and callbacks.
 * @returns A stream of the chunk. It fails with a {@linkcode PartSizeError} if a part
 * does not have its size or the chunk does not have its `chunkSize`. If `crc32c` is
 * `"verify"` and the chunk does not end with its checksum, the stream fails with a
 * {@linkcode ChecksumError} before its last bytes.
 * @throws {RangeError} If an option is outside its range.
 *
 * @example Served with its checksum verified
 * ```ts
 * import { concatStream, ConcatParts, crc32c } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const data = new TextEncoder().encode("123456789");
 * const stored: Record<string, BlobPart> = {
 *   "": data,
 *   ".crc32c": new Uint32Array([crc32c(data)]),
 * };
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 *
 * const chunk = concatStream(
 *   parts,
 *   ({ keySuffix }) => new Blob([stored[keySuffix]!]).stream(),
 *   { crc32c: "verify" },
 * );
 * assertEquals((await new Response(chunk).bytes()).length, 13);
 * ```
 */
export function concatStream(
  parts: { readonly parts: readonly Part[] },
  open: (
    part: Part,
  ) =>
    | ReadableStream<Uint8Array>
    | ByteReader
    | Promise<ReadableStream<Uint8Array> | ByteReader>,
  options: ConcatOptions = {},
): ReadableStream<Uint8Array> {
  assertArguments(parts, open, "a ReadableStream or a reader");
  const settings = settingsOf(parts.parts, [], options);
  const { engine = "auto", onReport } = options;
  return streamOf(
    new JoinedSource(settings, openerOf(engine, settings.hasChecksums), {
      open: async (part) => sourceOf(await open(parts.parts[part]!)),
      onReport,
    }),
  );
}

/**
 * Throws if the arguments of `splitStream` or `concatStream` are not of the right
 * kind, for callers without type checks.
 *
 * @param returns What `open` must return, for the message.
 */
function assertArguments(
  chunk: { readonly parts: readonly Part[] },
  open: unknown,
  returns: string,
): void {
  if (!Array.isArray((chunk as { parts?: unknown } | undefined)?.parts)) {
    throw new TypeError(
      sentence`Expected the parts as a ConcatParts, found ${chunk}`,
    );
  }
  if (typeof open !== "function") {
    throw new TypeError(
      `Expected a function that opens a part and returns ${returns}, found ${
        describe(open)
      }`,
    );
  }
}

/** Writes all bytes of a source to the sinks of their parts, and closes no sink. */
async function split(
  source: ByteSource,
  splitter: Splitter,
  sinks: PartSinks,
  { parts, signal, onProgress }: Settings,
): Promise<SplitReport> {
  let written = 0;
  async function write(cuts: readonly Cut[]): Promise<void> {
    for (const { part, bytes, isLent } of cuts) {
      const sink = await sinks.of(part);
      await sink.write(bytes, isLent);
      written += bytes.length;
      onProgress?.(written);
    }
  }
  const pumping = pump({
    read: () => source.next(() => splitter.window()),
    take: (piece) => splitter.take(piece),
    write: async (cuts, before) => {
      splitter.sum(cuts);
      await before;
      await write(cuts);
    },
  }, signal);
  try {
    await pumping.done;
    await write(splitter.end());
    // Parts without bytes are stored, too.
    await sinks.of(parts.length - 1);
    await sinks.flush();
    return splitter.report;
  } finally {
    pumping.settled.then(() => splitter.release());
  }
}
