import {
  type ByteReader,
  type ByteWriter,
  writeAll,
} from "../stores/byte_io.ts";
import { offerShortcut } from "../stores/shortcut.ts";
import type { StoreOptions } from "../stores/store.ts";
import { unlessAborted } from "../stores/abort.ts";
import { type ByteSource, sourceOf } from "./byte_source.ts";
import { ConcatSource } from "./concat_source.ts";
import type { Part } from "./part.ts";
import { Passage } from "./passage.ts";
import { pump } from "./pump.ts";
import type { ConcatOptions } from "./stream_options.ts";

/** How much memory a part is read into at once, where it fills memory. */
const PIECE = 64 * 1024;

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
  const passage = new Passage(parts, [], options);
  const source = new ConcatSource(
    passage,
    async (part) => sourceOf(await open(parts[part]!)),
    options.onReport,
  );
  return streamOf(source, passage);
}

/** A source as a stream, which writes itself where memory is taken. */
export function streamOf(
  source: ByteSource,
  passage: Passage,
): ReadableStream<Uint8Array> {
  const { signal } = passage.options;
  let stop = () => {};
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      stop = () => {
        controller.error(signal!.reason);
        source.cancel(signal!.reason);
      };
      if (signal?.aborted) stop();
      else signal?.addEventListener("abort", stop);
    },
    async pull(controller) {
      try {
        let piece = await source.next(newWindow);
        while (piece?.length === 0) piece = await source.next(newWindow);
        if (signal?.aborted) return;
        if (piece !== undefined) return controller.enqueue(piece);
        signal?.removeEventListener("abort", stop);
        controller.close();
      } catch (error) {
        signal?.removeEventListener("abort", stop);
        source.cancel(error);
        throw error;
      }
    },
    cancel(reason) {
      signal?.removeEventListener("abort", stop);
      source.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return offerShortcut(stream, {
    drain(writer, options) {
      signal?.removeEventListener("abort", stop);
      return drain(source, passage, writer, options);
    },
  });
}

function newWindow(): Uint8Array {
  return new Uint8Array(PIECE);
}

/** Writes all that is left of a source. */
async function drain(
  source: ByteSource,
  passage: Passage,
  writer: ByteWriter,
  options: StoreOptions = {},
): Promise<void> {
  const signal = AbortSignal.any(
    [options.signal, passage.options.signal].filter((each) =>
      each !== undefined
    ),
  );
  try {
    signal.throwIfAborted();
    const writing = pump(
      source,
      passage.windows(),
      async (piece, _isLent, before) => {
        await before;
        await writeAll(writer, piece);
      },
      signal,
    );
    await unlessAborted(writing, signal);
  } catch (error) {
    source.cancel(error);
    throw error;
  }
}
