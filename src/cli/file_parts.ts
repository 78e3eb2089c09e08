import { basename, dirname, resolve } from "node:path";
import { CHECKSUM_SIZE } from "../checksum/stored_checksum.ts";
import { ConcatParts } from "../concat_parts/concat_parts.ts";
import type { ComposedStore } from "../concat_parts/composed_store.ts";
import { FileSystemStore } from "../stores/file_system/file_system_store.ts";
import type { StoreKey } from "../stores/store.ts";
import { type Arguments, type CommandOption, UsageError } from "./command.ts";
import { assertPath } from "./open_store.ts";

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

/** A value of a store, and the paths of its files. */
export interface StoredFiles {
  readonly store: FileSystemStore | ComposedStore<FileSystemStore>;
  readonly key: StoreKey;
  readonly paths: readonly string[];
}

/** A file, and the parts that it is split into or joined from. */
export interface FileParts {
  readonly file: StoredFiles;
  readonly parts: StoredFiles;
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
