import type { ByteReader } from "../stores/byte_io.ts";
import { sourceOf } from "./byte_source.ts";
import { openerOf } from "./engine.ts";
import { JoinedSource } from "./joined_source.ts";
import { joinedStream } from "./joined_stream.ts";
import type { Part } from "./part.ts";
import { settingsOf } from "./settings.ts";
import type { ConcatOptions } from "./stream_options.ts";

/**
 * Joins the parts of a chunk as a stream, whatever its length, in constant
 * memory. A checksum is computed in the same pass.
 *
 * Each part is opened when the one before has been read to its end. If anything
 * fails, the stream fails, and the part that is open is cancelled; so it is if
 * the stream is cancelled.
 *
 * A `FileSystemStore` that is given the stream to store takes the bytes of parts
 * that are files without making pieces of a stream of them.
 *
 * @param parts How the chunk was cut: a `ConcatParts`, or anything that has its
 * `parts`. Any number of parts may lack a size.
 * @param open Gives the bytes of a part: a stream, or what fills memory as
 * `Deno.FsFile` does. Called once for each part, when something is read of it.
 * @param options Checks, the engine, a signal, and callbacks.
 * @returns A stream of the chunk. It fails with a {@linkcode PartSizeError} where a
 * part has not its size or the chunk not its `chunkSize`, and with
 * `crc32c: "verify"` with a {@linkcode ChecksumError} instead of the last bytes of
 * a chunk that does not end with its checksum.
 * @throws {RangeError} Options that are none.
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
  { parts }: { readonly parts: readonly Part[] },
  open: (
    part: Part,
  ) =>
    | ReadableStream<Uint8Array>
    | ByteReader
    | Promise<ReadableStream<Uint8Array> | ByteReader>,
  options: ConcatOptions = {},
): ReadableStream<Uint8Array> {
  const settings = settingsOf(parts, [], options);
  const { engine = "auto", onReport } = options;
  return joinedStream(
    new JoinedSource(settings, openerOf(engine, settings.hasChecksums), {
      open: async (part) => sourceOf(await open(parts[part]!)),
      onReport,
    }),
  );
}
