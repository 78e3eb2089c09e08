import { assertEquals } from "@std/assert";
import {
  type ByteReader,
  type ByteWriter,
  FileSystemStore,
  type Part,
} from "../../mod.ts";
import { inPieces, joined } from "./oracle.ts";

/** The kinds of sources. */
export const SOURCES = [
  "stream",
  "byte stream",
  "reader",
  "file",
  "file.readable",
  "store.stream",
] as const;
export type SourceKind = typeof SOURCES[number];

/** The kinds of sinks. */
export const SINKS = ["stream", "writer", "file", "file.writable"] as const;
export type SinkKind = typeof SINKS[number];

/**
 * Makes a source of bytes.
 *
 * @param lengths The lengths of its pieces, which repeat; files choose their own.
 * @param folder A folder for files.
 */
export async function sourceOf(
  kind: SourceKind,
  bytes: Uint8Array<ArrayBuffer>,
  lengths: readonly number[],
  folder: string,
): Promise<ReadableStream<Uint8Array> | ByteReader> {
  if (kind === "stream") return ReadableStream.from(inPieces(bytes, lengths));
  if (kind === "byte stream") return byteStream(inPieces(bytes, lengths));
  if (kind === "reader") return shortReader(bytes, lengths);
  const name = crypto.randomUUID();
  const path = `${folder}/${name}`;
  await Deno.writeFile(path, bytes);
  if (kind === "store.stream") {
    return (await new FileSystemStore(folder).stream(`/${name}`))!;
  }
  const file = await Deno.open(path);
  return kind === "file" ? file : file.readable;
}

function byteStream(
  pieces: Uint8Array<ArrayBuffer>[],
): ReadableStream<Uint8Array> {
  const left = pieces.filter((piece) => piece.length > 0);
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      const piece = left.shift();
      if (piece !== undefined) return controller.enqueue(piece);
      controller.close();
      controller.byobRequest?.respond(0);
    },
  });
}

/** Reads less than there is room for, and overwrites memory behind what it read. */
function shortReader(
  bytes: Uint8Array,
  lengths: readonly number[],
): ByteReader {
  const positive = lengths.filter((length) => length > 0);
  let offset = 0;
  let turn = 0;
  return {
    async read(memory) {
      if (offset === bytes.length) return null;
      await Promise.resolve();
      const length = Math.min(
        memory.length,
        positive[turn++ % positive.length]!,
        bytes.length - offset,
      );
      memory.set(bytes.subarray(offset, offset += length));
      memory.fill(0xee, length, length + 100);
      return length;
    },
  };
}

/** A reader that fills all memory it is given, and notes whose memory that is. */
export function greedyReader(
  bytes: Uint8Array,
  memories: Set<ArrayBufferLike>,
): ByteReader {
  let offset = 0;
  return {
    read(memory) {
      memories.add(memory.buffer);
      if (offset >= bytes.length) return Promise.resolve(null);
      const piece = bytes.subarray(offset, offset += memory.length);
      memory.set(piece);
      return Promise.resolve(piece.length);
    },
  };
}

/** Sinks that keep the bytes of parts. */
export interface Collected {
  open(part: Part): Promise<WritableStream<Uint8Array> | ByteWriter>;
  /** The bytes of the parts in the order in which the parts were opened. */
  parts(): Promise<Uint8Array[]>;
  /** The key suffixes of the parts that were closed, and of those that were aborted. */
  readonly closed: ReadonlySet<string>;
  readonly aborted: ReadonlySet<string>;
}

/** Makes sinks that keep the bytes of parts; streams keep the pieces without a copy. */
export function collector(kind: SinkKind, folder: string): Collected {
  const pieces = new Map<string, Uint8Array[]>();
  const closed = new Set<string>();
  const aborted = new Set<string>();
  const created: Promise<unknown>[] = [];
  const pathOf = (suffix: string) => `${folder}/part${suffix}`;
  async function open({ keySuffix }: Part) {
    assertEquals(pieces.has(keySuffix), false, "A part is opened twice");
    const kept: Uint8Array[] = [];
    pieces.set(keySuffix, kept);
    const close = () => void closed.add(keySuffix);
    const abort = () => void aborted.add(keySuffix);
    if (kind === "stream") {
      return new WritableStream({
        write: (bytes) => void kept.push(bytes),
        close,
        abort,
      });
    }
    if (kind === "writer") {
      return {
        // Takes half of the bytes.
        async write(bytes: Uint8Array) {
          await Promise.resolve();
          const count = Math.ceil(bytes.length / 2);
          kept.push(bytes.slice(0, count));
          return count;
        },
        close,
        abort,
      };
    }
    const creating = Deno.create(pathOf(keySuffix));
    created.push(creating);
    const file = await creating;
    return kind === "file" ? file : file.writable;
  }
  async function parts() {
    if (kind === "stream" || kind === "writer") {
      return Array.from(pieces.values(), joined);
    }
    // A split that fails does not wait for a file that is being created.
    await Promise.all(created);
    return await Promise.all(
      Array.from(pieces.keys(), (suffix) => Deno.readFile(pathOf(suffix))),
    );
  }
  return { open, parts, closed, aborted };
}
