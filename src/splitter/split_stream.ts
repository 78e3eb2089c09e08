import { type Cut, PartCutter } from "./part_cutter.ts";
import { CHECKSUM_SIZE } from "../checksum/stored_checksum.ts";
import type { ByteReader, ByteWriter } from "../stores/byte_io.ts";
import { unlessAborted } from "../stores/abort.ts";
import { sinkOf } from "./byte_sink.ts";
import { type ByteSource, sourceOf } from "./byte_source.ts";
import { chunkSizes } from "./chunk_size.ts";
import type { Part } from "./part.ts";
import { PartSinks } from "./part_sinks.ts";
import { Passage } from "./passage.ts";
import { pump } from "./pump.ts";
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
  const sinks = new PartSinks(
    parts,
    async (part) => sinkOf(await open(part)),
  );
  return await splitSource(sourceOf(source), parts, sinks, options);
}

/**
 * Cuts a chunk into parts.
 *
 * @param store Closes the sinks, once the parts are known to be right.
 */
export async function splitSource(
  source: ByteSource,
  parts: readonly Part[],
  sinks: PartSinks,
  options: SplitOptions,
  store: () => Promise<void> = () => sinks.close(),
): Promise<SplitReport> {
  const { signal } = options;
  try {
    signal?.throwIfAborted();
    const passage = new Passage(parts, [chunkSizes(parts)], options);
    const writing = writeParts(source, passage, sinks);
    await unlessAborted(writing, signal, sinks.failure);
    signal?.throwIfAborted();
    await store();
    return passage.report();
  } catch (error) {
    source.cancel(error);
    await sinks.abort(error);
    throw error;
  }
}

/** Writes all bytes to where they belong, and closes nothing. */
async function writeParts(
  source: ByteSource,
  passage: Passage,
  sinks: PartSinks,
): Promise<void> {
  const { parts, options } = passage;
  const cutter = new PartCutter(parts.map((part) => part.size), {
    total: options.chunkSize,
    withheld: passage.isVerified ? CHECKSUM_SIZE : 0,
  });

  function add(cuts: Iterable<Cut>): Cut[] {
    return Array.from(cuts, (cut) => {
      passage.add(cut.part, cut.bytes);
      return cut;
    });
  }
  async function write(cuts: readonly Cut[], isLent: boolean): Promise<void> {
    for (const { part, bytes, isHeld } of cuts) {
      const sink = await sinks.of(part);
      await sink.write(bytes, isLent && !isHeld);
      passage.progress(bytes.length);
    }
  }

  await pump(source, passage.windows(), async (piece, isLent, before) => {
    passage.receive(piece.length);
    const cuts = apart(add(cutter.cut(piece)), isLent);
    await before;
    await write(cuts, isLent);
  }, options.signal);
  passage.assertEnd();
  const rest = apart(add(cutter.finish()), false);
  passage.assertChecksum();
  await write(rest, false);
  await sinks.of(parts.length - 1);
}

/**
 * Gives all but the largest cut of one piece of memory memory of their own, if it
 * is not lent: a stream may pass on the memory of what it is given.
 */
function apart(cuts: readonly Cut[], isLent: boolean): Cut[] {
  const largest = new Map<ArrayBufferLike, Cut>();
  for (const cut of cuts) {
    const { buffer, length } = cut.bytes;
    if (length > (largest.get(buffer)?.bytes.length ?? -1)) {
      largest.set(buffer, cut);
    }
  }
  return cuts.map((cut) =>
    isLent && !cut.isHeld || largest.get(cut.bytes.buffer) === cut
      ? cut
      : { ...cut, bytes: new Uint8Array(cut.bytes) }
  );
}
