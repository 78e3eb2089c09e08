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
  run: (args, io) => copyFile(args, io, "split"),
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
  run: (args, io) => copyFile(args, io, "joined"),
};

/** A value of a store, and the paths of its files. */
interface StoredFiles {
  readonly store: FileSystemStore | ComposedStore<FileSystemStore>;
  readonly key: StoreKey;
  readonly paths: readonly string[];
}

/** Copies a file to its parts, or the parts to the file, and says their lengths. */
async function copyFile(
  args: Arguments,
  io: Io,
  done: "split" | "joined",
): Promise<Result> {
  const [given] = args.operands as [string];
  const to = args.text("to") ?? given;
  const isSplit = done === "split";
  const [path, name] = isSplit ? [given, to] : [to, given];
  const concat = partsOf(args);
  for (const place of [path, name]) assertPath(place);
  const folderOf = (place: string) =>
    new FileSystemStore(dirname(resolve(place)));
  const file: StoredFiles = {
    store: folderOf(path),
    key: `/${basename(path)}`,
    paths: [path],
  };
  const parts: StoredFiles = {
    store: concat.apply(folderOf(name)),
    key: `/${basename(name)}`,
    paths: concat.parts.map(({ keySuffix }) => `${name}${keySuffix}`),
  };
  const [source, target] = isSplit ? [file, parts] : [parts, file];
  await assertReplaceable(args, source.paths, target.paths);
  const { signal } = io;
  const size = await source.store.size(source.key, { signal });
  const stream = await source.store.stream(source.key);
  if (size === undefined || stream === undefined) {
    const names = source.paths.map(quoted).join(", ");
    throw new Error(
      isSplit
        ? `There is no file ${names}`
        : `There are no parts: expected ${names}`,
    );
  }
  try {
    const checks = { hasChecksum: args.has("crc32c") };
    const checked = checkedStream(stream, checks, {
      key: path,
      size,
      onProgress: (done) => io.progress({ done, total: size, bytes: done }),
    });
    await target.store.set(target.key, checked, { signal });
  } catch (error) {
    throw withFolder(error, dirname(resolve(to)));
  }
  const written = await Promise.all(parts.paths.map(async (path) => {
    const { size } = await Deno.stat(path);
    return { path, size };
  }));
  return {
    output: { size, parts: written } satisfies Outputs["split"],
    lines: [
      `${path} ${done}, ${bytesText(size)}`,
      ...drawParts(written.map(({ path, size }) => ({
        key: path,
        size: countText(size),
        holds: "",
      }))),
    ],
  };
}

/** Parses `--parts`. */
function partsOf(args: Arguments): ConcatParts {
  const list = args.text("parts");
  if (list === undefined) {
    throw new UsageError(
      "Expected --parts=LIST, such as --parts .header:64,,.index:1024, found none",
    );
  }
  const concat = new ConcatParts(list.split(",").map(parsePart));
  const unsized = concat.parts.filter(({ size }) => size === undefined);
  if (unsized.length <= 1) return concat;
  const found = unsized.map(({ keySuffix }) => quoted(keySuffix));
  throw new UsageError(
    `Expected --parts of which one has no size, found ${found.join(" and ")}`,
  );
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
  const example = `${text.replace(/:.*/, "")}:64`;
  throw new UsageError(
    `Expected --parts with a size in bytes after ${
      quoted(text)
    }, such as ${example}`,
  );
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
