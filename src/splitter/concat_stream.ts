import type { ByteReader } from "../stores/byte_io.ts";
import { assertArguments } from "./assert_arguments.ts";
import { sourceOf } from "./byte_source.ts";
import { openerOf } from "./engine.ts";
import { JoinedSource } from "./joined_source.ts";
import { joinedStream } from "./joined_stream.ts";
import type { Part } from "./part.ts";
import { settingsOf } from "./settings.ts";
import type { ConcatOptions } from "./stream_options.ts";

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
  return joinedStream(
    new JoinedSource(settings, openerOf(engine, settings.hasChecksums), {
      open: async (part) => sourceOf(await open(parts.parts[part]!)),
      onReport,
    }),
  );
}
