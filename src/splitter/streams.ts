import { describe } from "../errors/mod.ts";
import { copyBytes, rejectOnAbort } from "../runtime/mod.ts";
import type { ByteReader, ByteWriter } from "../stores/mod.ts";
import { PartSinks, sinkOf } from "./byte_sink.ts";
import { type ByteSource, sourceOf } from "./byte_source.ts";
import { openerOf } from "./engine.ts";
import { JoinedSource, joinedStream } from "./joined_source.ts";
import type { OpenSplitter, Part, Splitter } from "./splitter.ts";
import {
  assertStoredChecksum,
  chunkSizes,
  type ConcatOptions,
  refuseLength,
  reportOf,
  type Settings,
  settingsOf,
  type SplitOptions,
  type SplitReport,
  startSplitter,
} from "./stream_options.ts";
import { pump } from "./windows.ts";

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
      `Expected the parts as a ConcatParts, found ${describe(chunk)}`,
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

/**
 * Cuts a chunk into parts. If anything fails, the source is cancelled, and all sinks that
 * are not closed yet are aborted.
 *
 * @param engine Returns the engine for a chunk with or without checksums.
 * @param store Closes the sinks, once the parts are known to be right.
 */
export async function splitSource(
  source: ByteSource,
  parts: readonly Part[],
  sinks: PartSinks,
  options: SplitOptions,
  engine: (hasChecksums: boolean) => OpenSplitter,
  store: () => Promise<void> = () => sinks.close(),
): Promise<SplitReport> {
  const { signal } = options;
  try {
    signal?.throwIfAborted();
    const settings = settingsOf(parts, [chunkSizes(parts)], options);
    const open = engine(settings.hasChecksums);
    const splitter = startSplitter(settings, open, true);
    const split = new Split(source, sinks, settings, splitter);
    const report = await rejectOnAbort(split.run(), signal, sinks.failure);
    signal?.throwIfAborted();
    await store();
    return report;
  } catch (error) {
    source.cancel(error);
    await sinks.abort(error);
    throw error;
  }
}

/** Bytes that go on, in the order of the chunk. */
interface Cuts {
  /** The parts that the bytes belong to. */
  readonly parts: number[];
  readonly bytes: Uint8Array[];
  /** Whether the bytes lie in memory that is used again. */
  readonly areLent: boolean;
}

/** A chunk on its way from a source to the sinks of its parts. */
class Split {
  readonly #source: ByteSource;
  readonly #sinks: PartSinks;
  readonly #settings: Settings;
  readonly #splitter: Splitter;
  #received = 0;
  #written = 0;

  constructor(
    source: ByteSource,
    sinks: PartSinks,
    settings: Settings,
    splitter: Splitter,
  ) {
    this.#source = source;
    this.#sinks = sinks;
    this.#settings = settings;
    this.#splitter = splitter;
  }

  /** Writes all bytes to the sinks of their parts, and closes no sink. */
  async run(): Promise<SplitReport> {
    const window = () => this.#splitter.window();
    const pumping = pump({
      read: () => this.#source.next(window),
      take: (piece) => this.#take(piece),
      write: async (cuts, before) => {
        this.#sum(cuts);
        await before;
        await this.#write(cuts);
      },
    }, this.#settings.signal);
    try {
      await pumping.done;
      const rest = this.#end();
      await this.#write(rest);
      // Parts without bytes are stored, too.
      await this.#sinks.of(this.#settings.parts.length - 1);
      await this.#sinks.flush();
      return reportOf(this.#settings, this.#splitter);
    } finally {
      pumping.settled.then(() => this.#splitter.release());
    }
  }

  #take(piece: Uint8Array): Cuts {
    this.#received += piece.length;
    if (!this.#splitter.take(piece)) {
      refuseLength(this.#settings, this.#received, false);
    }
    return this.#cuts(piece);
  }

  /** Takes the end of the chunk, and refuses a chunk that is not right. */
  #end(): Cuts {
    if (!this.#splitter.finish()) {
      refuseLength(this.#settings, this.#received, true);
    }
    const rest = this.#cuts();
    this.#sum(rest);
    assertStoredChecksum(this.#settings, this.#splitter);
    return rest;
  }

  /**
   * Returns the bytes that the splitter cut: first those in its memory, then those of
   * the piece that it took.
   */
  #cuts(piece?: Uint8Array): Cuts {
    const splitter = this.#splitter;
    const held = splitter.cutInMemory();
    const areLent = piece === undefined || this.#source.fillsWindows;
    // Held bytes move when others are held; those in a window do not.
    const heldMove = piece !== undefined && held.buffer !== piece.buffer;
    const parts: number[] = [];
    const bytes: Uint8Array[] = [];
    let end = 0;
    for (let part = splitter.firstPart; part <= splitter.lastPart; part++) {
      const start = end;
      end += splitter.cutLength(part);
      if (start < held.length && start < end) {
        const cut = held.subarray(start, end);
        parts.push(part);
        bytes.push(heldMove ? copyBytes(cut) : cut);
      }
      if (end > held.length && start < end) {
        const from = Math.max(start, held.length) - held.length;
        parts.push(part);
        bytes.push(piece!.subarray(from, end - held.length));
      }
    }
    if (piece !== undefined) {
      splitter.keep(piece.subarray(end - held.length));
      if (!areLent) separate(bytes, piece);
    }
    return { parts, bytes, areLent };
  }

  #sum({ bytes }: Cuts): void {
    if (!this.#settings.hasChecksums) return;
    for (const cut of bytes) this.#splitter.sum(cut);
  }

  async #write({ parts, bytes, areLent }: Cuts): Promise<void> {
    const { onProgress } = this.#settings;
    for (let i = 0; i < bytes.length; i++) {
      const cut = bytes[i]!;
      const sink = await this.#sinks.of(parts[i]!);
      await sink.write(cut, areLent);
      this.#written += cut.length;
      onProgress?.(this.#written);
    }
  }
}

/**
 * Copies all cuts of a piece except the longest one, since a stream may transfer the
 * memory of the bytes that are written to it.
 */
function separate(cuts: Uint8Array[], { buffer }: Uint8Array): void {
  if (cuts.length < 2) return;
  let longest = -1;
  for (let i = 0; i < cuts.length; i++) {
    if (cuts[i]!.buffer !== buffer) continue;
    const length = longest < 0 ? -1 : cuts[longest]!.length;
    if (cuts[i]!.length > length) longest = i;
  }
  for (let i = 0; i < cuts.length; i++) {
    if (i !== longest && cuts[i]!.buffer === buffer) {
      cuts[i] = copyBytes(cuts[i]!);
    }
  }
}
