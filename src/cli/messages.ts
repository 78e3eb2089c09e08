import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { isDiskFull } from "../stores/mod.ts";
import { UsageError } from "./command.ts";
import { bytesText, jsonText } from "./format.ts";
import type { Outputs } from "./outputs.ts";

/** The message of an error that ends a command. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const text = error.message === ""
    ? error.name
    : withOptionNames(error.message);
  return isDiskFull(error) ? `${text}${spaceOf(text)}` : text;
}

/**
 * An error that ends a command with `--json`, as JSON in one line: its name, its message, its
 * other members, such as the key, and the exit status.
 */
export function errorJson(error: unknown, status: number): string {
  const members = Object.entries(Object(error))
    .filter(([, value]) => value !== null && typeof value !== "function");
  const output: Outputs["error"] = {
    error: {
      ...Object.fromEntries(members),
      name: error instanceof Error ? error.name : "Error",
      message: messageOf(error),
    },
    status,
  };
  return jsonText(output, 0);
}

/** Adds the folder of the store to an error that names a file by its key. */
export function withFolder(error: unknown, root: string): unknown {
  const isAboutKey = error instanceof Error &&
    !(error instanceof UsageError) && !error.message.includes(root);
  if (isAboutKey) error.message += ` (in ${root})`;
  return error;
}

/** The space on the disk of the last path in a message about a disk that is full. */
function spaceOf(message: string): string {
  let path = message.match(/'([^']+)'/g)?.at(-1)?.slice(1, -1) ?? ".";
  while (true) {
    try {
      const { bavail, blocks, bsize } = statfsSync(path);
      return `; ${bytesText(bavail * bsize)} of ${
        bytesText(blocks * bsize)
      } are free on the disk of ${path}`;
    } catch {
      if (dirname(path) === path) return "";
      path = dirname(path);
    }
  }
}

/** The options of functions that have another name on the command line. */
const RENAMED: Readonly<Record<string, string>> = {
  keyEncoding: "encoding",
  chunkKeyEncoding: "template",
};

/** The options of functions that the command line has. */
const NAMES = [
  "keyEncoding",
  "chunkKeyEncoding",
  "suffix",
  "parts",
  "plain",
  "metadata",
  "container",
  "only",
  "exclude",
  "others",
  "resume",
  "overwrite",
  "dryRun",
  "keepGoing",
  "share",
  "finish",
  "concurrency",
  "threads",
  "memory",
  "chunks",
  "shards",
  "codecs",
  "link",
  "stack",
  "page",
  "overview",
  "fillValue",
  "array",
  "dimensionNames",
];

/** Matches `the option "a"`, `the options "a" and "b"`, and `set a: true`. */
const QUOTED = new RegExp(
  `\\b(?:the )?(?:O|o)ptions? ("(?:${NAMES.join("|")})"(?:(?: and | or )"(?:${
    NAMES.join("|")
  })")*)`,
  "g",
);
const ASSIGNED = new RegExp(`\\b(?:set )?(${NAMES.join("|")}): true\\b`, "g");

/** Advice about functions, and the same advice about commands. */
const ADVICE: readonly (readonly [string | RegExp, string])[] = [
  ["by recover(store)", "by zarr-parts repair"],
  ["call adoptTiffs or adoptZip again", "run zarr-parts adopt again"],
  ["or convertInPlace, which", "or convert --in-place, which"],
  ["by migrate or zarr-parts migrate", "by zarr-parts migrate"],
  [
    "; v2View shows it as Zarr v3, and migrate or zarr-parts migrate gives it a zarr.json",
    "; zarr-parts migrate gives it a zarr.json",
  ],
  ["by convertInPlace or zarr-parts convert", "by zarr-parts convert"],
  [": give arrayMetadata a shardShape", ""],
  [
    ", or stack to the number of new ones",
    ", with --dimension-names for several",
  ],
  [
    "set stack to the number of new dimensions",
    "name all dimensions by --dimension-names, those of --stack first",
  ],
  ["Expected dimensionNames to have", "Expected --dimension-names to have"],
  [
    "or list the files with their coordinates",
    "or give --places with a table of the files and their coordinates",
  ],
  [
    /Unknown (?:chunk key encoding|codec) "unfinished, to be finished by: ([^"]+)"; known are [^(]*[^( ]/g,
    "A conversion in place is unfinished; finish it by the same command again, $1 with the folder that it was run on",
  ],
  [
    ': use "numcodecs.zlib", which compresses the same way',
    ": --codecs zlib:5 compresses the same way",
  ],
  [
    ": leave it out, or store the checksums elsewhere",
    ": --codecs leaves it out",
  ],
  [
    ": give the georeference of a GeoTIFF with this system, or none",
    ": give --georeference with the path of a GeoTIFF that has this system, or --georeference none",
  ],
  [
    ": give a bounding box instead",
    ": give --georeference xmin,ymin,xmax,ymax,EPSG:N instead",
  ],
  ['--others set to "copy"', "--others copy"],
  ["Expected the store's root to be a folder", "Expected a folder"],
  [", or give a shardShape", ""],
  ['such as ["", ".index"]', "such as --parts ,.index"],
];

/** Matches a store in a message, and its path or URL. */
const STORE = /\b(?:FileSystem|Http|S3)Store\(([^()]+)\)/g;

/** Matches a zip archive in a store, and the path of a folder in the archive. */
const ARCHIVE =
  /\bZipStore\("([^"]*)" of ((?:FileSystem|Http|S3)Store)\(([^()?]+)([^()]*)\)(?:, "([^"]*)")?\)/g;

/** Shows an archive, or a folder in one, as a store at its path or URL. */
function withArchives(message: string): string {
  return message.replaceAll(
    ARCHIVE,
    (_, key, store, root, query, path) =>
      `${store}(${root.replace(/\/$/, "")}${key}${
        path === undefined ? "" : `/${path}`
      }${query})`,
  );
}

/** Matches the root of a store, which is the folder that was typed. */
const ROOT = /"\/" in (?:FileSystem|Http|S3)Store\(([^()]+)\)/g;

/** Matches a message about a missing node that names the nodes elsewhere in the store. */
const NODES =
  /(No Zarr node at "[^"]*" in (?:FileSystem|Http|S3)Store\(([^()]+)\).*there (?:is a node|are nodes) at )(.*)/;

/** Puts the path or the URL of the store before the keys of the nodes that {@linkcode NODES} matches. */
function withPlaces(message: string): string {
  return message.replace(
    NODES,
    (_, text: string, root: string, nodes: string) =>
      text +
      nodes.replaceAll(
        /"\/([^"]*)"/g,
        (_, key: string) => `"${root.replace(/\/$/, "")}/${key}"`,
      ),
  );
}

/**
 * Puts the names of the command line in place of those of functions: `--dry-run` for
 * `the option "dryRun"`, and the path or the URL for a store.
 */
export function withOptionNames(message: string): string {
  const renamed = withPlaces(withArchives(message))
    .replaceAll(
      QUOTED,
      (_, names: string) =>
        names.replaceAll(/"(\w+)"/g, (_, name: string) => optionOf(name)),
    )
    .replaceAll(
      ASSIGNED,
      (text, name: string) =>
        `${text.startsWith("set ") ? "give " : ""}${optionOf(name)}`,
    );
  return ADVICE.reduce(
    (text, [from, to]) => text.replaceAll(from, to),
    renamed.replaceAll(ROOT, "$1").replaceAll(STORE, "$1"),
  );
}

function optionOf(name: string): string {
  const renamed = RENAMED[name] ??
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `--${renamed}`;
}
