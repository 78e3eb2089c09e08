import type { FileRecoding } from "../arrays/mod.ts";
import { parseChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { MetadataError, nearestName } from "../errors/mod.ts";
import type {
  ConvertOptions,
  LayoutOptions,
  NodeLocation,
  Recoding,
} from "../jobs/mod.ts";
import type { ArrayMetadata, NamedConfiguration } from "../metadata/mod.ts";
import { v2View } from "../views/mod.ts";
import {
  type Arguments,
  type Command,
  oneOf,
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
    if (parts !== undefined) assertParts(parts);
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

/** Parts whose sizes follow from the codecs, by the ends of their names. */
const KNOWN_PARTS = [".index", ".crc32c"];

/** Refuses lists without a part for the data, or with several where one may have a wrong name. */
function assertParts(list: string): void {
  const parts = list.split(",");
  const unsized = parts.filter((part) =>
    !part.includes(":") && !KNOWN_PARTS.some((end) => part.endsWith(end))
  );
  if (unsized.length === 0) {
    throw usageError`Expected --parts with a part without a size for the data, such as ",.index", found ${list}`;
  }
  if (unsized.length === 1) return;
  const meant = parts.map((part) =>
    unsized.includes(part) ? nearestName(part, KNOWN_PARTS) ?? part : part
  ).join(",");
  if (meant === list) return;
  throw usageError`Expected sizes of all parts but one in --parts, found ${list}; did you mean ${meant}?`;
}

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

/** The options of the files that shards become. */
export const CONTAINER_OPTIONS: Command["options"] = {
  "--container <FORMAT>": "make each shard a file of this format, tiff or zip",
  "--recode":
    "with --container, encode arrays that the format cannot hold with the nearest codecs, chunks and shards that it can hold",
  "--georeference <PLACE>":
    "the georeference of the TIFFs: xmin,ymin,xmax,ymax,EPSG:N, the six numbers of an affine transform and EPSG:N, or the path of a GeoTIFF, a world file or a JSON file; none for no georeference; by default, that of the attributes",
};

/** How arrays become files of a format. */
interface Format {
  /** Finds the nearest encoding that the format can hold; `undefined` for an array that the format can hold as it is. */
  fit(metadata: ArrayMetadata): FileRecoding | undefined;
  readonly container: NonNullable<LayoutOptions["container"]>;
}

/**
 * Parses the options of TIFF and zip files.
 *
 * @param recode The recoding that other options ask for.
 * @param around The source in the outermost group around it, whose attributes may describe the
 * arrays; `undefined` where no groups can be around it.
 */
export async function containerOf(
  args: Arguments,
  recode: Recoding = {},
  around: () => Promise<NodeLocation | undefined>,
): Promise<Pick<LayoutOptions, "container" | "recode">> {
  const name = oneOf(args, "container", ["tiff", "zip"]);
  if (name === undefined) {
    const misplaced = ["recode", "georeference"].find((each) => args.has(each));
    if (misplaced === undefined) return {};
    throw new UsageError(`Expected --container with --${misplaced}`);
  }
  if (name === "zip" && args.has("georeference")) {
    throw new UsageError(
      "Expected --container=tiff with --georeference, found --container=zip",
    );
  }
  const { codecs, chunks, shards } = recode;
  if (shards === null) {
    throw new UsageError(
      "Expected shards with --container, which makes a file of each shard, found --shards none",
    );
  }
  const format = name === "tiff" ? tiffFormat : zipFormat;
  const { fit, container } = await format({ codecs, chunks, shards }, args);
  const outer = await around();
  return {
    ...args.has("recode") && { recode: fit },
    async container(metadata, path, source) {
      const node = outer === undefined ? source : {
        store: v2View(outer.store),
        path: [outer.path, path].filter(Boolean).join("/"),
      };
      try {
        return await container(metadata, path, node);
      } catch (error) {
        if (!(error instanceof RangeError) || args.has("recode")) throw error;
        if (!canFit(metadata, fit)) throw error;
        const advice =
          "--recode encodes the array anew with codecs, chunks and shards that fit";
        throw new RangeError(`${error.message}; ${advice}`, { cause: error });
      }
    },
  };
}

async function tiffFormat(
  wanted: FileRecoding,
  args: Arguments,
): Promise<Format> {
  const { fitTiff, readTiffOptions, tiffContainer } = await import(
    "../tiff/mod.ts"
  );
  const text = args.text("georeference");
  const georeference = text === undefined
    ? undefined
    : await (await import("./georeference_argument.ts")).parseGeoreference(
      text,
    );
  return {
    fit: (metadata) => fitTiff(metadata, { bands: "auto", ...wanted }),
    async container(metadata, _, { store, path }) {
      const { georeference: described, ...options } = await readTiffOptions(
        store,
        path,
        { bands: "auto", georeference: georeference === undefined },
      );
      const place = georeference ? georeference(metadata) : described;
      return tiffContainer(metadata, {
        bands: "auto",
        colors: "auto",
        ...options,
        ...place && { georeference: place },
      });
    },
  };
}

async function zipFormat(wanted: FileRecoding): Promise<Format> {
  const { fitZip, zipContainer } = await import("../zip/mod.ts");
  return {
    fit: (metadata) => fitZip(metadata, wanted),
    container: (metadata) => zipContainer(metadata),
  };
}

/** Whether the format can hold an array that is encoded anew. */
function canFit(metadata: ArrayMetadata, fit: Format["fit"]): boolean {
  try {
    return fit(metadata) !== undefined;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
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
