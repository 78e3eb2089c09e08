import { dirname, resolve } from "node:path";
import { checkedStream } from "../jobs/chunks/checked_stream.ts";
import { ChunkCheck, NO_INDEX } from "../jobs/chunks/chunk_checks.ts";
import { isAbsence } from "../stores/file_system/absence.ts";
import { type Arguments, type Io, UsageError } from "./command.ts";
import type { StoredFiles } from "./file_parts.ts";
import { bytesText, countText, jsonText } from "./format.ts";
import { ProgressLine } from "./progress.ts";
import { withFolder } from "./with_folder.ts";

/**
 * Copies the file to its parts, or the parts to the file.
 *
 * @param path The path of the file, for messages.
 * @returns The length in bytes.
 */
export async function copyFiles(
  from: StoredFiles,
  to: StoredFiles,
  path: string,
  args: Arguments,
  io: Io,
): Promise<number> {
  await assertReplaceable(args, from.paths, to.paths);
  const { signal } = io;
  const size = await from.store.size(from.key, { signal });
  const stream = await from.store.stream(from.key);
  if (size === undefined || stream === undefined) {
    const names = from.paths.map((path) => JSON.stringify(path)).join(", ");
    throw new Error(
      from.paths.length === 1
        ? `There is no file ${names}`
        : `There are no parts: expected ${names}`,
    );
  }
  const progress = new ProgressLine(io, args.has("quiet"));
  try {
    const checked = checkedCopy(stream, { path, size }, args, progress);
    await to.store.set(to.key, checked, { signal });
  } catch (error) {
    throw withFolder(error, dirname(resolve(to.paths[0]!)));
  } finally {
    progress.clear();
  }
  return size;
}

/** Passes the bytes of a file on, and checks them on the way if the options say so. */
function checkedCopy(
  stream: ReadableStream<Uint8Array>,
  { path, size }: { path: string; size: number },
  args: Arguments,
  progress: ProgressLine,
): ReadableStream<Uint8Array> {
  const checks = { hasChecksum: args.has("crc32c"), ...NO_INDEX };
  const check = new ChunkCheck(checks, path, size);
  let done = 0;
  return checkedStream(stream, {
    take(bytes) {
      check.take(bytes);
      done += bytes.length;
      progress.update(done, size, done);
    },
    finish: () => check.finish(),
  });
}

/**
 * Refuses to replace files.
 *
 * @param from The paths of files that are read, which are never replaced.
 * @param to The paths of files that are written.
 */
async function assertReplaceable(
  args: Arguments,
  from: readonly string[],
  to: readonly string[],
): Promise<void> {
  const read = await Promise.all(from.map(stateOf));
  const folder = from.find((_, i) => read[i]?.isDirectory);
  if (folder !== undefined) {
    throw new UsageError(
      `Expected a file, found a folder: ${JSON.stringify(folder)}`,
    );
  }
  for (const path of to) {
    const found = await stateOf(path);
    if (found === undefined) continue;
    const isRead = read.some((file) =>
      file?.ino === found.ino && file.dev === found.dev
    );
    if (isRead) {
      throw new UsageError(
        `Cannot replace ${
          JSON.stringify(path)
        }, which is read: expected --to with another name`,
      );
    }
    if (found.isDirectory) {
      throw new UsageError(
        `Expected the name of a new file, found a folder: ${
          JSON.stringify(path)
        }`,
      );
    }
    if (args.has("overwrite")) continue;
    throw new Error(
      `There is ${
        JSON.stringify(path)
      } already: expected no file, or --overwrite`,
    );
  }
}

async function stateOf(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Prints the lengths of the file and of its parts. */
export async function reportParts(
  text: string,
  size: number,
  paths: readonly string[],
  args: Arguments,
  io: Io,
): Promise<void> {
  const parts = await Promise.all(
    paths.map(async (path) => ({ path, size: (await Deno.stat(path)).size })),
  );
  if (args.has("json")) return io.print(jsonText({ size, parts }));
  if (args.has("quiet")) return;
  io.print(`${text}, ${bytesText(size)}`);
  const width = Math.max(...paths.map(({ length }) => length));
  const sizes = parts.map(({ size }) => countText(size));
  const digits = Math.max(...sizes.map(({ length }) => length));
  for (const [i, path] of paths.entries()) {
    io.print(`  ${path.padEnd(width)}  ${sizes[i]!.padStart(digits)}`);
  }
}
