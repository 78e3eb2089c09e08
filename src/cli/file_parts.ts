import { basename, dirname, resolve } from "node:path";
import { CHECKSUM_SIZE } from "../checksum/stored_checksum.ts";
import { ConcatParts } from "../concat_parts/concat_parts.ts";
import type { ComposedStore } from "../concat_parts/composed_store.ts";
import { checkedStream } from "../jobs/chunks/checked_stream.ts";
import { ChunkCheck } from "../jobs/chunks/chunk_checks.ts";
import { FileSystemStore } from "../stores/file_system/file_system_store.ts";
import type { StoreKey } from "../stores/store.ts";
import {
  type Arguments,
  type CommandOption,
  type Io,
  UsageError,
} from "./command.ts";
import { bytesText, countText, jsonText } from "./format.ts";
import { assertPath } from "./open_store.ts";
import { ProgressLine } from "./progress.ts";
import { withFolder } from "./with_folder.ts";

/** The options of the commands that split and join single files. */
export const FILE_PARTS_OPTIONS: Readonly<Record<string, CommandOption>> = {
  parts: {
    type: "string",
    value: "LIST",
    help:
      "the ends of the names of all parts, with their sizes in bytes, such as .header:64,,.index:1024; one part has no size, and .crc32c has 4",
  },
  crc32c: {
    type: "boolean",
    help: "check that the file ends with the CRC32C of all bytes before",
  },
  overwrite: { type: "boolean", help: "replace files that are there already" },
};

/** A file, and the parts that it is split into or joined from. */
export interface FileParts {
  readonly file: { readonly store: FileSystemStore; readonly key: StoreKey };
  /** The store in which the parts are one value. */
  readonly joined: ComposedStore<FileSystemStore>;
  readonly key: StoreKey;
  /** The paths of the parts. */
  readonly paths: readonly string[];
}

/**
 * Finds a file and its parts.
 *
 * @param path The path of the file.
 * @param name The path of the parts without the ends of their names.
 */
export function filePartsOf(
  args: Arguments,
  path: string,
  name: string,
): FileParts {
  const list = args.text("parts");
  if (list === undefined) {
    throw new UsageError(
      "Expected --parts=LIST, such as --parts .header:64,,.index:1024, found none",
    );
  }
  const parts = new ConcatParts(list.split(",").map(parsePart));
  const unsized = parts.parts.filter(({ size }) => size === undefined);
  if (unsized.length > 1) {
    throw new UsageError(
      `Expected --parts of which one has no size, found ${
        unsized.map(({ keySuffix }) => JSON.stringify(keySuffix)).join(" and ")
      }`,
    );
  }
  for (const place of [path, name]) assertPath(place);
  const [from, to] = [resolve(path), resolve(name)];
  return {
    file: {
      store: new FileSystemStore(dirname(from)),
      key: `/${basename(from)}`,
    },
    joined: parts.apply(new FileSystemStore(dirname(to))),
    key: `/${basename(to)}`,
    paths: parts.parts.map(({ keySuffix }) => `${name}${keySuffix}`),
  };
}

function parsePart(text: string): { keySuffix: string; size?: number } {
  const [, keySuffix, digits] = /^(.*):(\d+)$/.exec(text) ?? [];
  if (keySuffix !== undefined) return { keySuffix, size: Number(digits) };
  if (text.endsWith(".crc32c")) {
    return { keySuffix: text, size: CHECKSUM_SIZE };
  }
  if (!text.includes(":") && !text.endsWith(".index")) {
    return { keySuffix: text };
  }
  throw new UsageError(
    `Expected --parts with a size in bytes after ${
      JSON.stringify(text)
    }, such as ${text.replace(/:.*/, "")}:64`,
  );
}

/**
 * Refuses to replace files.
 *
 * @param from The paths of files that are read, which are never replaced.
 * @param to The paths of files that are written.
 */
export async function assertReplaceable(
  args: Arguments,
  from: readonly string[],
  to: readonly string[],
): Promise<void> {
  const read = await Promise.all(from.map(stateOf));
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
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Copies a file or its joined parts, which are checked on the way if the options say so. */
export async function copyWatched(
  stream: ReadableStream<Uint8Array>,
  { path, size }: { path: string; size: number },
  write: (stream: ReadableStream<Uint8Array>) => Promise<void>,
  args: Arguments,
  io: Io,
): Promise<void> {
  const progress = new ProgressLine(io, args.has("quiet"));
  const checks = {
    hasChecksum: args.has("crc32c"),
    index: undefined,
    afterIndex: 0,
  };
  const check = new ChunkCheck(checks, path, size);
  let done = 0;
  const watched = checkedStream(stream, {
    take(bytes) {
      check.take(bytes);
      done += bytes.length;
      progress.update(done, size, done);
    },
    finish: () => check.finish(),
  });
  try {
    await write(watched);
  } catch (error) {
    throw withFolder(error, dirname(resolve(path)));
  } finally {
    progress.clear();
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
