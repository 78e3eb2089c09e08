/** Bytes for the benchmarks, streams of them, and chunks in parts. */
import {
  type ArrayMetadata,
  type ByteReader,
  type ByteWriter,
  ConcatParts,
  parseShardLayout,
  type Part,
  shardIndexSize,
} from "../mod.ts";
import { seededRandom } from "./measure.ts";

export const KIB = 1024;
export const MIB = 1024 * KIB;

/** A shard: a header, the inner chunks, and the index of 100 inner chunks. */
export const SHARD_PARTS: { readonly parts: readonly Part[] } = {
  parts: [
    { keySuffix: ".header", size: 64 },
    { keySuffix: "" },
    { keySuffix: ".index", size: 1604 },
  ],
};

/** Random bytes. The first 256 KiB repeat. */
export function randomBytes(size: number): Uint8Array<ArrayBuffer> {
  const random = seededRandom(20261107);
  const block = new Uint32Array(64 * KIB).map(() => random() * 2 ** 32);
  const source = new Uint8Array(block.buffer);
  const bytes = new Uint8Array(size);
  for (let start = 0; start < size; start += source.length) {
    bytes.set(source.subarray(0, size - start), start);
  }
  return bytes;
}

/** A stream of views of the bytes: nothing is copied. */
export function streamOf(
  bytes: Uint8Array,
  piece: number,
): ReadableStream<Uint8Array> {
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      if (start >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(start, start += piece));
    },
  }, { highWaterMark: 0 });
}

/** A reader that copies bytes into the given memory, as a file does. */
export function readerOf(bytes: Uint8Array): ByteReader {
  let start = 0;
  return {
    read(memory) {
      if (start >= bytes.length) return Promise.resolve(null);
      const read = bytes.subarray(start, start + memory.length);
      memory.set(read);
      start += read.length;
      return Promise.resolve(read.length);
    },
  };
}

const SCRATCH = new Uint8Array(2 * MIB);

/** A writer that copies its bytes to a place of 2 MiB, as a file copies them into the page cache. */
export function copyingWriter(): ByteWriter {
  return {
    write(bytes) {
      const written = bytes.subarray(0, SCRATCH.length);
      SCRATCH.set(written);
      return Promise.resolve(written.length);
    },
    close() {},
  };
}

/** Reads a stream to its end, and returns the number of its bytes. */
export async function drop(
  stream: ReadableStream<Uint8Array>,
): Promise<number> {
  const reader = stream.getReader();
  for (let size = 0;;) {
    const { done, value } = await reader.read();
    if (done) return size;
    size += value.length;
  }
}

/** The parts of a shard by their key suffix, as views. */
export function viewsOfParts(shard: Uint8Array): Map<string, Uint8Array> {
  const { parts } = SHARD_PARTS;
  const views = new ConcatParts(parts).split(shard);
  return new Map(parts.map(({ keySuffix }, i) => [keySuffix, views[i]!]));
}

/** The metadata of a sharded array with a file extension and the index of each shard as a part. */
export function inParts(metadata: ArrayMetadata): ArrayMetadata {
  const { chunk_shape } = metadata.chunk_grid.configuration as {
    chunk_shape: number[];
  };
  const size = shardIndexSize(
    parseShardLayout(metadata.codecs[0], chunk_shape),
  );
  const parts = [{ key_suffix: "" }, { key_suffix: ".index", size }];
  return {
    ...metadata,
    chunk_key_encoding: { name: "suffix", configuration: { suffix: ".shard" } },
    storage_transformers: [{ name: "concat-parts", configuration: { parts } }],
  };
}
