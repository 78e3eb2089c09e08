import { partsBackend } from "../../concat_parts/mod.ts";
import { storingOrder } from "../../splitter/mod.ts";
import {
  backendOf,
  type ByteWriter,
  canCopyFiles,
  copyFile,
  fileStamp,
  type StoreKey,
  type StoreOptions,
  writeAll,
} from "../../stores/mod.ts";
import { ChunkCheck, type ChunkChecks } from "../chunk_checks.ts";
import type { StoredValue } from "./convert_work.ts";

/**
 * Copies a chunk between file stores: the operating system copies files, and their ends are
 * cut off or appended. This takes half of the processor time of a stream. The checksum of an
 * index is verified.
 *
 * @param source A chunk that was found to be complete.
 * @param chunk The length of the chunk in bytes; `isNew`: whether the target is known not to
 * have the chunk; the checksums of the chunk.
 * @returns Whether the chunk was copied. If not, nothing has changed, and the chunk must be
 * copied by a stream, which reports any damage.
 * @throws {DamageError} If the checksum of the index is wrong.
 */
export async function copyBySystem(
  source: StoredValue,
  target: StoredValue,
  { size, isNew, checks }: {
    readonly size: number;
    readonly isNew: boolean;
    readonly checks: ChunkChecks | undefined;
  },
  options: StoreOptions,
): Promise<boolean> {
  if (!canCopyFiles(source.store, target.store)) return false;
  // The checksum of a whole chunk needs all bytes.
  if (checks?.hasChecksum || size > LONGEST) return false;
  const files = filesToWrite(filesOf(source, size), filesOf(target, size));
  if (files === undefined) return false;
  const check = checks && new ChunkCheck(checks, source.key, size);
  const read = files.reduce((sum, { copied, end }) => sum + end - copied, 0);
  if (read + (check?.index?.length ?? 0) > MOST_READ) return false;
  // A stored chunk may begin with bytes of another format, which must not be lost.
  for (const { key } of isNew ? [] : files) {
    if (await target.store.size!(key, options) !== undefined) return false;
  }
  try {
    const stamps = await stampsOf(source, options);
    if (check) await verifyIndex(source, check, size, options);
    await writeFiles(source, target, files, async () => {
      if (await stampsOf(source, options) !== stamps) throw new ChangedSource();
    }, options);
    return true;
  } catch (error) {
    if (error instanceof ChangedSource) return false;
    throw error;
  }
}

/** Files are copied if they have more bytes than this in common. */
const LEAST_COPIED = 1024 * 1024;

/** The most bytes of a chunk that are read to copy it: its index, and the bytes that are in no copied file. */
const MOST_READ = 8 * 1024 * 1024;

/** The longest chunk, since the copying of a file cannot be aborted. */
const LONGEST = 1024 * 1024 * 1024;

/** A file, and the range of the chunk that it holds. */
interface ChunkFile {
  readonly key: StoreKey;
  readonly start: number;
  readonly end: number;
}

/** A file of the target. */
interface FileToWrite extends ChunkFile {
  /** The file of the source that has the first bytes of this file. */
  readonly source: ChunkFile | undefined;
  /** The place in the chunk up to which bytes are copied from `source`. */
  readonly copied: number;
}

/** Thrown if a file of the source has changed since it was first looked at. */
class ChangedSource extends Error {}

/** The files of a chunk in order; `undefined` if their lengths do not follow from that of the chunk. */
function filesOf(
  { parts, key }: StoredValue,
  size: number,
): ChunkFile[] | undefined {
  const rest = parts.reduce((rest, { size = 0 }) => rest - size, size);
  const unsized = parts.filter(({ size }) => size === undefined);
  if (unsized.length !== 1 || rest < 0) return undefined;
  let end = 0;
  return parts.map(({ keySuffix, size = rest }) => {
    const start = end;
    end += size;
    return { key: `${key}${keySuffix}`, start, end };
  });
}

/**
 * Finds the files of the source that can be copied: those that begin at the same place of the
 * chunk as a file of the target. Returns `undefined` if there is none.
 */
function filesToWrite(
  sources: readonly ChunkFile[] = [],
  targets: readonly ChunkFile[] = [],
): FileToWrite[] | undefined {
  const files = targets.map((target) => {
    const { start, end } = target;
    const source = sources.find((source) =>
      source.start === start && Math.min(source.end, end) - start > LEAST_COPIED
    );
    const copied = source ? Math.min(source.end, end) : start;
    return { ...target, source, copied };
  });
  return files.some(({ source }) => source) ? files : undefined;
}

/** The stamps of all files of a chunk, which change with each write. */
async function stampsOf(
  { store, key, parts }: StoredValue,
  options: StoreOptions,
): Promise<string> {
  const stamps: (string | undefined)[] = [];
  for (const { keySuffix } of parts) {
    stamps.push(await fileStamp(store, `${key}${keySuffix}`, options));
  }
  return stamps.join("\n");
}

async function verifyIndex(
  chunk: StoredValue,
  check: ChunkCheck,
  size: number,
  options: StoreOptions,
): Promise<void> {
  const { offset, length } = check.index ?? { offset: size, length: 0 };
  check.skip(offset);
  check.take(await readBytes(chunk, offset, offset + length, options));
  check.skip(size - offset - length);
  check.finish();
}

/** @param assertUnchanged Called before each file is complete, so that no file has bytes of two writes. */
async function writeFiles(
  from: StoredValue,
  { store, key, parts }: StoredValue,
  files: readonly FileToWrite[],
  assertUnchanged: () => Promise<void>,
  options: StoreOptions,
): Promise<void> {
  const keys = storingOrder(parts)
    .map(({ keySuffix }): StoreKey => `${key}${keySuffix}`);
  const pending = await backendOf(store)
    .prepare!(keys, { ...options, name: key });
  try {
    for (const file of files) {
      const writer = await pending.writer(file.key);
      await writeFile(from, file, writer, options);
      await assertUnchanged();
      await writer.close();
    }
    await pending.commit();
  } catch (error) {
    await pending.abort(error);
    throw error;
  }
}

async function writeFile(
  from: StoredValue,
  { source, start, copied, end }: FileToWrite,
  writer: ByteWriter,
  options: StoreOptions,
): Promise<void> {
  if (source !== undefined) {
    const { store } = from;
    const file = { store, key: source.key, size: source.end - source.start };
    const isCopied = await copyFile(file, writer, copied - start, options);
    if (!isCopied) throw new ChangedSource();
  }
  await writeAll(writer, await readBytes(from, copied, end, options));
}

async function readBytes(
  { store, key, parts }: StoredValue,
  start: number,
  end: number,
  options: StoreOptions,
): Promise<Uint8Array> {
  const range = { offset: start, length: end - start };
  if (range.length === 0) return new Uint8Array();
  const bytes = await partsBackend(backendOf(store), parts)
    .read([key], (values) => values.read(key, range), options);
  if (bytes?.length !== range.length) throw new ChangedSource();
  return bytes;
}
