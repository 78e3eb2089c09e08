import type { FileRecoding } from "../arrays/mod.ts";
import type { LayoutOptions, NodeLocation, Recoding } from "../jobs/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import { v2View } from "../views/mod.ts";
import { type Arguments, type Command, oneOf, UsageError } from "./command.ts";
import { parseGeoreference } from "./georeference_argument.ts";

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
  const georeference = await parseGeoreference(args.text("georeference"));
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
