import type { LayoutOptions, NodeLocation, Recoding } from "../jobs/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import { v2View } from "../views/mod.ts";
import { type Arguments, type Command, UsageError } from "./command.ts";
import { parseGeoreference } from "./georeference_argument.ts";

type Containers =
  & typeof import("../tiff/mod.ts")
  & typeof import("../zip/mod.ts");
type TiffOptions = NonNullable<Parameters<Containers["tiffContainer"]>[1]>;
type FitTiffOptions = NonNullable<Parameters<Containers["fitTiff"]>[1]>;

/** The options of the files that shards become. */
export const CONTAINER_OPTIONS: Command["options"] = {
  "--container <FORMAT>": "make each shard a file of this format, tiff or zip",
  "--recode":
    "with --container, encode arrays that the format cannot hold with the nearest codecs, chunks and shards that it can hold",
  "--bands <PLACE>":
    "the dimension of bands in a TIFF: first for the one before y and x, last, or none; by default, it follows from the names and lengths of the dimensions",
  "--page <DIMENSIONS>":
    "with --recode, the dimensions before y and x whose elements are pages of one TIFF, by names or numbers from 0, such as c,z; none for a file for each plane",
  "--colors <KIND>":
    "rgb if the first three bands of a TIFF are red, green and blue, or gray",
  "--georeference <PLACE>":
    "the georeference of the TIFFs: xmin,ymin,xmax,ymax,EPSG:N, the six numbers of an affine transform and EPSG:N, or the path of a GeoTIFF, a world file or a JSON file; none for no georeference; by default, that of the attributes",
  "--description <TEXT>": "the description in each TIFF",
  "--nodata <NUMBER>":
    "the element that stands for missing data in TIFFs, or none; else that of the attributes",
  "--sparse": "store no bytes for absent inner chunks in TIFFs",
  "--big-tiff":
    "write all TIFFs as BigTIFF; by default, only those of more than 4 GiB",
};

/** The options about TIFF alone. */
const OF_TIFF: readonly string[] = [
  ...["bands", "page", "colors", "georeference", "description"],
  ...["nodata", "sparse", "big-tiff"],
];

/** The names of {@linkcode CONTAINER_OPTIONS}. */
export const CONTAINER_NAMES: readonly string[] = [
  "container",
  "recode",
  ...OF_TIFF,
];

/**
 * The container of all arrays that get the layout, and their encoding where the container
 * needs another one.
 *
 * @param recode The encoding that other options give to all arrays.
 * @param around The source in the outermost group around it, whose attributes may describe the
 * arrays; `undefined` where no groups can be around it.
 */
export async function containerOf(
  args: Arguments,
  recode: LayoutOptions["recode"],
  around: () => Promise<NodeLocation | undefined>,
): Promise<Pick<LayoutOptions, "container" | "recode">> {
  const format = args.text("container");
  const misplaced = [
    ...format === undefined ? ["recode"] : [],
    ...format === "tiff" ? [] : OF_TIFF,
  ].find((name) => args.has(name));
  if (misplaced !== undefined && (format ?? "tiff") in FITTING) {
    throw new UsageError(
      `Expected --container${
        misplaced === "recode" ? "" : "=tiff"
      } with --${misplaced}${
        format === undefined ? "" : `, found --container=${format}`
      }`,
    );
  }
  if (format === undefined) return {};
  if (!Object.hasOwn(FITTING, format)) {
    throw new UsageError(
      `Expected --container=tiff or zip, found ${JSON.stringify(format)}`,
    );
  }
  const containers = {
    ...await import("../tiff/mod.ts"),
    ...await import("../zip/mod.ts"),
  };
  const outer = await around();
  const { fit, container } = await FITTING[format as keyof typeof FITTING](
    args,
    containers,
    typeof recode === "object" ? recode : {},
  );
  return {
    ...args.has("recode") && { recode: fit },
    async container(metadata, path, source) {
      try {
        return await container(metadata, outer ? below(outer, path) : source);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        throw new RangeError(
          error.message + adviceOf(args, metadata, path, fit),
          { cause: error },
        );
      }
    },
  };
}

/** The place of an array below a node. */
function below({ store, path = "" }: NodeLocation, name: string): ArrayPlace {
  const names = [path, name].filter((each) => each !== "");
  return {
    store: v2View(store, { fillValueAttribute: true }),
    path: names.join("/"),
  };
}

type ArrayPlace = Parameters<NonNullable<LayoutOptions["container"]>>[2];

/** How arrays become files of a format. */
interface Fitting {
  /** Finds the nearest encoding that the format can hold; `undefined` for an array that it can hold as it is. */
  fit(metadata: ArrayMetadata, path: string): Recoding | undefined;
  container(
    metadata: ArrayMetadata,
    source: ArrayPlace,
  ): ReturnType<NonNullable<LayoutOptions["container"]>>;
}

const FITTING = {
  async tiff(
    args: Arguments,
    { fitTiff, tiffContainer, readTiffOptions }: Containers,
    recode: Recoding,
  ): Promise<Fitting> {
    const bands = bandsOf(args);
    const fitOptions: FitTiffOptions = {
      bands,
      pages: pagesOf(args),
      codecs: recode.codecs,
      chunks: recode.chunks,
      shards: shardsOf(recode),
    };
    const georeference = await parseGeoreference(args.text("georeference"));
    const options = tiffOptionsOf(args);
    return {
      fit: (metadata) => fitTiff(metadata, fitOptions),
      async container(metadata, { store, path }) {
        const told = await readTiffOptions(store, path, {
          bands,
          georeference: georeference === undefined,
        });
        const place = typeof georeference === "function"
          ? georeference(metadata)
          : told.georeference;
        return tiffContainer(metadata, {
          values: told.values,
          ...!args.has("nodata") && { noData: told.noData },
          ...options,
          bands,
          ...place && { georeference: place },
          ...told.ome && options.description === undefined && {
            ome: told.ome,
            ...Object.hasOwn(told, "bands") && { bands: told.bands },
          },
        });
      },
    };
  },
  zip(
    _: Arguments,
    { fitZip, zipContainer }: Containers,
    recode: Recoding,
  ): Promise<Fitting> {
    const options = {
      codecs: recode.codecs,
      chunks: recode.chunks,
      shards: shardsOf(recode),
    };
    return Promise.resolve({
      fit: (metadata) => fitZip(metadata, options),
      container: (metadata) => zipContainer(metadata),
    });
  },
};

/** The shape of shards that files are to have. */
function shardsOf({ shards }: Recoding): readonly number[] | undefined {
  if (shards !== null) return shards;
  throw new UsageError(
    "Expected shards with --container, which makes a file of each shard, found --shards none",
  );
}

/** Says which encoding the format can hold, unless the array gets it already or there is none. */
function adviceOf(
  args: Arguments,
  metadata: ArrayMetadata,
  path: string,
  fit: Fitting["fit"],
): string {
  if (args.has("recode")) return "";
  let fitting: Recoding | undefined;
  try {
    fitting = fit(metadata, path);
  } catch (error) {
    if (error instanceof RangeError) return "";
    throw error;
  }
  if (fitting === undefined) return "";
  const { codecs, chunks, shards } = fitting;
  const names = typeof codecs === "string"
    ? [codecs]
    : codecs?.map((codec) => typeof codec === "string" ? codec : codec.name);
  return `; --recode encodes the array anew with ${
    names ? `the codecs ${names.join(", ")}, ` : ""
  }inner chunks of ${chunks?.join(" × ")} and shards of ${
    shards?.join(" × ")
  }, which fit`;
}

function bandsOf(args: Arguments): TiffOptions["bands"] {
  const text = args.text("bands") ?? "auto";
  if (text === "none") return undefined;
  if (["first", "last", "auto"].includes(text)) {
    return text as TiffOptions["bands"];
  }
  throw new UsageError(
    `Expected --bands=first, last or none, found ${JSON.stringify(text)}`,
  );
}

function pagesOf(args: Arguments): FitTiffOptions["pages"] {
  const text = args.text("page");
  if (text === undefined) return undefined;
  if (!args.has("recode")) {
    throw new UsageError(
      "Expected --recode with --page, since other pages are other shards",
    );
  }
  if (text === "none") return [];
  return text.split(",").map((each) =>
    /^\d{1,3}$/.test(each) ? Number(each) : each
  );
}

function tiffOptionsOf(args: Arguments): TiffOptions {
  const colors = args.text("colors") ?? "auto";
  if (!["gray", "rgb", "auto"].includes(colors)) {
    throw new UsageError(
      `Expected --colors=gray or rgb, found ${JSON.stringify(colors)}`,
    );
  }
  const [description, noData] = ["description", "nodata"].map((name) =>
    args.text(name)
  );
  return {
    colors: colors as TiffOptions["colors"],
    ...description !== undefined && { description },
    ...noData !== undefined && noData !== "none" && {
      noData: numberOf(noData),
    },
    ...args.has("sparse") && { sparse: true },
    ...args.has("big-tiff") && { bigTiff: true },
  };
}

function numberOf(text: string): number | bigint {
  if (/^-?\d{16,20}$/.test(text)) return BigInt(text);
  const number = /^nan$/i.test(text) ? NaN : Number(text);
  const isNumber = text.trim() !== "" &&
    (!Number.isNaN(number) || /^nan$/i.test(text));
  if (isNumber) return number;
  throw new UsageError(
    `Expected --nodata=NUMBER or none, found ${JSON.stringify(text)}`,
  );
}
