import { basename, dirname, resolve } from "node:path";
import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import { type ComposedStore, ConcatParts } from "../concat_parts/mod.ts";
import { checkedStream } from "../jobs/mod.ts";
import { FileSystemStore, type StoreKey } from "../stores/mod.ts";
import {
  type Arguments,
  type Command,
  type Io,
  type Result,
  UsageError,
  usageError,
} from "./command.ts";
import { drawParts } from "./draw_array.ts";
import { withFolder } from "./error_output.ts";
import { bytesText, countText, quoted } from "./format.ts";
import { assertPath, stateOf } from "./open_store.ts";
import type { Outputs } from "./outputs.ts";

/** The options of the commands that split and join single files. */
const FILE_PARTS_OPTIONS: Command["options"] = {
  "--parts <LIST>":
    "the suffixes of the names of all parts, with their sizes in bytes, such as .header:64,,.index:1024; one part has no size, and .crc32c has 4 bytes",
  "--crc32c": "check that the file ends with the CRC32C of all bytes before it",
  "--overwrite": "replace existing files",
};

/** `zarr-parts split FILE` */
export const SPLIT: Command = {
  name: "split",
  operands: ["FILE"],
  summary:
    "Splits a file into parts, which appear together once all are written. The file is kept.",
  options: {
    "--to <NAME>": "the start of the names of the parts; FILE by default",
    ...FILE_PARTS_OPTIONS,
  },
  examples: [
    "zarr-parts split shard.bin --parts .header:64,.data,.index:1024",
    "zarr-parts split shard.bin --to c/0/0 --parts ,.index:1024,.crc32c --crc32c",
  ],
  async run(args, io) {
    const [path] = args.operands as [string];
    const { file, parts } = filePartsOf(args, path, args.text("to") ?? path);
    const size = await copyFiles(file, parts, path, args, io);
    return await reportOf(`${path} split`, size, parts.paths);
  },
};

/** `zarr-parts join NAME` */
export const JOIN: Command = {
  name: "join",
  operands: ["NAME"],
  summary:
    "Joins the parts whose names start with NAME to a file, which appears once it is whole. The parts are kept.",
  options: {
    "--to <FILE>": "the file to write; NAME by default",
    ...FILE_PARTS_OPTIONS,
  },
  examples: [
    "zarr-parts join shard.bin --parts .header:64,.data,.index:1024",
    "zarr-parts join c/0/0 --to shard.bin --parts ,.index:1024,.crc32c --crc32c",
  ],
  async run(args, io) {
    const [name] = args.operands as [string];
    const path = args.text("to") ?? name;
    const { file, parts } = filePartsOf(args, path, name);
    const size = await copyFiles(parts, file, path, args, io);
    return await reportOf(`${path} joined`, size, parts.paths);
  },
};

/** A value of a store, and the paths of its files. */
interface StoredFiles {
  readonly store: FileSystemStore | ComposedStore<FileSystemStore>;
  readonly key: StoreKey;
  readonly paths: readonly string[];
}

/** A file, and the parts that it is split into or joined from. */
interface FileParts {
  readonly file: StoredFiles;
  readonly parts: StoredFiles;
}

/**
 * Finds a file and its parts.
 *
 * @param path The path of the file.
 * @param name The path of the parts without the ends of their names.
 */
function filePartsOf(
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
    const found = unsized.map(({ keySuffix }) => quoted(keySuffix));
    throw new UsageError(
      `Expected --parts of which one has no size, found ${found.join(" and ")}`,
    );
  }
  for (const place of [path, name]) assertPath(place);
  const [from, to] = [resolve(path), resolve(name)];
  return {
    file: {
      store: new FileSystemStore(dirname(from)),
      key: `/${basename(from)}`,
      paths: [path],
    },
    parts: {
      store: parts.apply(new FileSystemStore(dirname(to))),
      key: `/${basename(to)}`,
      paths: parts.parts.map(({ keySuffix }) => `${name}${keySuffix}`),
    },
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
 * Copies the file to its parts, or the parts to the file.
 *
 * @param path The path of the file, for messages.
 * @returns The length in bytes.
 */
async function copyFiles(
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
    const names = from.paths.map(quoted).join(", ");
    throw new Error(
      from.paths.length === 1
        ? `There is no file ${names}`
        : `There are no parts: expected ${names}`,
    );
  }
  try {
    const checks = { hasChecksum: args.has("crc32c") };
    const checked = checkedStream(stream, checks, {
      key: path,
      size,
      onProgress: (done) => io.progress(done, size, done),
    });
    await to.store.set(to.key, checked, { signal });
  } catch (error) {
    throw withFolder(error, dirname(resolve(to.paths[0]!)));
  }
  return size;
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
    throw usageError`Expected a file, found a folder: ${folder}`;
  }
  for (const path of to) {
    const found = await stateOf(path);
    if (found === undefined) continue;
    const isRead = read.some((file) =>
      file?.ino === found.ino && file.dev === found.dev
    );
    if (isRead) {
      throw usageError`Cannot replace ${path}, which is read: expected --to with another name`;
    }
    if (found.isDirectory) {
      throw usageError`Expected the name of a new file, found a folder: ${path}`;
    }
    if (args.has("overwrite")) continue;
    throw new Error(
      `There is ${quoted(path)} already: expected no file, or --overwrite`,
    );
  }
}

/** Says the lengths of the file and of its parts. */
async function reportOf(
  text: string,
  size: number,
  paths: readonly string[],
): Promise<Result> {
  const parts = await Promise.all(
    paths.map(async (path) => ({ path, size: (await Deno.stat(path)).size })),
  );
  return {
    output: { size, parts } satisfies Outputs["split"],
    lines: [
      `${text}, ${bytesText(size)}`,
      ...drawParts(parts.map(({ path, size }) => ({
        key: path,
        size: countText(size),
        holds: "",
      }))),
    ],
  };
}
