import { parseChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { MetadataError } from "../errors/mod.ts";
import {
  type ConvertOptions,
  LayoutError,
  type LayoutOptions,
  type Recoding,
} from "../jobs/mod.ts";
import type { NamedConfiguration } from "../metadata/mod.ts";
import {
  type Arguments,
  type Command,
  type OptionGroup,
  UsageError,
  usageError,
  valueOf,
} from "./command.ts";
import { quoted } from "./format.ts";
import { CODECS, THREADS } from "./shared_options.ts";

/** The options of the keys and parts of chunks. */
export const LAYOUT = {
  options: {
    "--suffix <TEXT>":
      "end all chunk keys with this text, such as .tiff; '' for none",
    "--parts <LIST>":
      "divide each chunk into parts: the suffixes of their keys, with sizes in bytes, such as .header:64,,.index; the sizes of .index and .crc32c follow from the codecs; '-' for no parts",
    "--encoding <NAME>":
      "the chunk key encoding: default, v2 or fanout, with a separator such as in default:.",
    "--template <FORMAT>":
      "the format of chunk keys, such as tile_{0:03}_{1:03}",
    "--plain":
      "default chunk keys and chunks without parts, which all Zarr programs read that have the codecs; --codecs zstd beside it leaves codecs that all have",
  },
  read(args): LayoutOptions {
    const suffix = args.text("suffix");
    // Such a suffix runs into the last coordinate, as in `c/0/0shard`.
    if (suffix !== undefined && /^[a-z\d]/i.test(suffix)) {
      const found = quoted(suffix);
      throw new UsageError(
        `Expected --suffix to start with a dot, such as --suffix .${suffix}, found ${found}`,
      );
    }
    const parts = args.text("parts");
    const keyEncoding = encodingOf(args);
    return {
      ...keyEncoding && { keyEncoding },
      ...suffix !== undefined && { suffix },
      ...parts !== undefined &&
        { parts: parts === "-" ? [] : parts.split(",") },
      ...args.has("plain") && { plain: true },
    };
  },
} satisfies OptionGroup;

/** The options of the speed of a recoding, which {@linkcode RECODING} reads, too. */
export const SPEED_OPTIONS: Command["options"] = {
  ...THREADS.options,
  "--memory <SIZE>":
    "the approximate limit of the memory for decoded and encoded chunks, such as 1GiB; 256MiB by default",
};

/** The options of arrays that are encoded anew. */
export const RECODING = {
  options: {
    "--codecs <LIST>":
      "encode chunks by these codecs, such as zstd:5, blosc:lz4, gzip,crc32c or none, or by metadata as JSON",
    "--chunks <SHAPE>":
      "divide the array into chunks of this shape, such as 1,256,256",
    "--shards <SHAPE>":
      "gather chunks in shards of this shape, such as 1,2048,2048, or none",
  },
  read(args): Pick<ConvertOptions, "threads" | "memory" | "codecs"> & {
    recode?: Recoding;
  } {
    const codecs = args.text("codecs");
    const chunks = shapeOf(args, "chunks");
    const shards = args.text("shards") === "none"
      ? null
      : shapeOf(args, "shards");
    const recode: Recoding = {
      ...codecs !== undefined && { codecs },
      ...chunks !== undefined && { chunks },
      ...shards !== undefined && { shards },
    };
    const memory = memoryOf(args);
    return {
      ...Object.keys(recode).length > 0 && { recode },
      ...THREADS.read(args),
      ...memory !== undefined && { memory },
      codecs: CODECS,
    };
  },
} satisfies OptionGroup;

/** Converts an error about a layout to a {@linkcode UsageError}, and returns other errors as they are. */
export function withUsage(error: unknown): unknown {
  return error instanceof LayoutError ? new UsageError(error.message) : error;
}

/** Parses `--encoding NAME`, `--encoding NAME:SEPARATOR` and `--template FORMAT`. */
function encodingOf(args: Arguments): NamedConfiguration | undefined {
  const format = args.text("template");
  const text = args.text("encoding");
  const named = text === undefined
    ? undefined
    : /^(default|v2|fanout)(?::(.*))?$/s.exec(text);
  if (named === null) {
    throw usageError`Expected --encoding default, v2 or fanout, found ${text!}; for others, use --suffix or --template`;
  }
  const separator = format?.includes("{*}") ? "/" : named?.[2];
  const encoding = {
    name: named?.[1] ?? "template",
    configuration: {
      ...format !== undefined && { format },
      ...separator !== undefined && { separator },
    },
  };
  if (format === undefined && named === undefined) return undefined;
  try {
    parseChunkKeyEncoding(encoding);
    return encoding;
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    const option = named === undefined ? "template" : "encoding";
    throw new UsageError(`Cannot use --${option}: ${error.problem}`);
  }
}

function shapeOf(
  args: Arguments,
  name: "chunks" | "shards",
): number[] | undefined {
  const none = name === "shards" ? ", or none" : "";
  return valueOf(
    args,
    name,
    ` with the length along each dimension, such as --${name}=1,256,256${none}`,
    (text) => {
      if (text === "") return [];
      return /^\d{1,15}(?:,\d{1,15})*$/.test(text)
        ? text.split(",").map(Number)
        : undefined;
    },
  );
}

const UNITS = ["", "k", "m", "g", "t"];
/** The least value of `--memory` in bytes; with less, every job would exceed it. */
const LEAST_MEMORY = 2 ** 20;

function memoryOf(args: Arguments): number | undefined {
  return valueOf(
    args,
    "memory",
    " with a number of bytes from 1MiB, such as --memory=512MiB",
    (text) => {
      const [, digits, unit = "", binary] =
        /^(\d{1,15}) ?([kmgt]?)(i?)b?$/.exec(text.toLowerCase()) ?? [];
      const bytes = Number(digits) *
        (binary ? 1024 : 1000) ** UNITS.indexOf(unit);
      const isValid = Number.isSafeInteger(bytes) && bytes >= LEAST_MEMORY;
      return isValid ? bytes : undefined;
    },
  );
}
