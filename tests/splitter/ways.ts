import { assertEquals } from "@std/assert";
import {
  type ByteReader,
  type ByteWriter,
  FileSystemStore,
  type Part,
} from "../../mod.ts";
import { inPieces, joined } from "./stream_support.ts";

/** All that bytes can come from. */
export const SOURCES = [
  "stream",
  "byte stream",
  "reader",
  "file",
  "file.readable",
  "store.stream",
] as const;
export type SourceKind = typeof SOURCES[number];

/** All that the bytes of a part can go to. */
export const SINKS = ["stream", "writer", "file", "file.writable"] as const;
export type SinkKind = typeof SINKS[number];

/**
 * Something that gives bytes.
 *
 * @param lengths How long its pieces are, where that is not the system's affair.
 * @param folder Where files may be made.
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

/** Reads less than there is room for, in memory that it spoils elsewhere. */
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

/** What parts were written to. */
export interface Collected {
  open(part: Part): Promise<WritableStream<Uint8Array> | ByteWriter>;
  /** The bytes of the parts in the order in which they were opened; all must be closed. */
  parts(): Promise<Uint8Array[]>;
}

/** Sinks that keep what is written to them; streams keep the pieces themselves. */
export function collector(kind: SinkKind, folder: string): Collected {
  const pieces = new Map<string, Uint8Array[]>();
  const closed = new Set<string>();
  const pathOf = (suffix: string) => `${folder}/part${suffix}`;
  async function open({ keySuffix }: Part) {
    assertEquals(pieces.has(keySuffix), false, "A part is opened twice");
    const kept: Uint8Array[] = [];
    pieces.set(keySuffix, kept);
    const close = () => void closed.add(keySuffix);
    if (kind === "stream") {
      return new WritableStream({
        write: (bytes) => void kept.push(bytes),
        close,
      });
    }
    if (kind === "writer") {
      return {
        // Half of the bytes, which are others once this is over.
        async write(bytes: Uint8Array) {
          await Promise.resolve();
          const count = Math.ceil(bytes.length / 2);
          kept.push(bytes.slice(0, count));
          return count;
        },
        close,
      };
    }
    const file = await Deno.create(pathOf(keySuffix));
    close(); // A file that is left open fails the test.
    return kind === "file" ? file : file.writable;
  }
  async function parts() {
    assertEquals([...closed].sort(), [...pieces.keys()].sort());
    if (kind === "stream" || kind === "writer") {
      return Array.from(pieces.values(), joined);
    }
    return await Promise.all(
      Array.from(pieces.keys(), (suffix) => Deno.readFile(pathOf(suffix))),
    );
  }
  return { open, parts };
}
