import {
  ArrayChunks,
  arrayRoot,
  parseArray,
  readDocument,
} from "../arrays/mod.ts";
import {
  ElementCodecs,
  elementForm,
  EncodedChunks,
  fillBytes,
  innermostChunks,
  readBlock,
} from "../blocks/mod.ts";
import { TYPED_ARRAYS } from "../codecs/mod.ts";
import { checkOptions, MetadataError, SIGNAL } from "../errors/mod.ts";
import { imagesOf } from "../hierarchy/mod.ts";
import {
  type ArrayMetadata,
  isMembers,
  isWhole,
  type Members,
  parseZarrJson,
} from "../metadata/mod.ts";
import {
  assertStore,
  backendOf,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import type { Affine } from "./geo_attributes.ts";
import {
  boxTransform,
  composeGeoreference,
  type GeoKeys,
  geoKeysOf,
} from "./georeference.ts";
import { isOmePicture, isOmeType } from "./ome_xml.ts";
import { type Axes, axesOf, parseDataType } from "./tiff_array.ts";
import {
  BANDS,
  type OmeChannel,
  type OmeImage,
  type TiffOptions,
} from "./tiff_options.ts";
import { readValueAttributes } from "./value_attributes.ts";

/**
 * Reads options of `tiffContainer` from the attributes of an array and of the groups around
 * it: its place on the earth, and the meanings and sizes of its dimensions.
 *
 * The place comes from the first of these:
 *
 * - `spatial:transform` with `proj:code`, `proj:wkt2` or `proj:projjson`, of the array, of
 *   its level in `multiscales` of the group around it, or of that group, or `spatial:bbox`
 *   (GeoZarr);
 * - `GeoTransform` of the array that `grid_mapping` names, with `crs_wkt` or `spatial_ref`
 *   (CF, rioxarray);
 * - arrays with the names of the dimensions beside the array, with evenly spaced
 *   coordinates of the middles of pixels, and the coordinate reference system of one of the
 *   above, or of `_CRS` (GDAL).
 *
 * The dimensions come from `multiscales` of OME-Zarr in a group around the array, if OME-XML
 * can represent them.
 *
 * The missing element comes from `_FillValue`, also as xarray encodes it, or `missing_value`
 * (CF). `scale_factor`, `add_offset`, `units` and `long_name` give the scale, the unit and
 * the names of bands.
 *
 * Sources: https://github.com/zarr-conventions/spatial; https://github.com/zarr-conventions/geo-proj;
 * CF 1.12, https://cfconventions.org; https://gdal.org/en/stable/drivers/raster/zarr.html;
 * OME-Zarr 0.4 and 0.5, https://ngff.openmicroscopy.org/0.5/
 *
 * @param store The store.
 * @param path The path of the array.
 * @param options `bands`: the place of the bands, as `tiffContainer` takes it; `georeference`:
 * whether the place on the earth is read, `true` by default.
 * @returns The options of `tiffContainer` for which the attributes have values. With OME-XML,
 * channels before y and x are pages, also for `bands: "auto"`.
 * @throws {MetadataError} If the array has no valid metadata.
 * @throws {RangeError} If GeoTIFF cannot represent the coordinate reference system of the array.
 * @throws {TypeError} If an option is unknown or of a wrong type.
 *
 * @example
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { readTiffOptions } from "@zarr-parts/zarr-parts/tiff";
 * import { assert, assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [1200, 1000],
 *   dataType: "uint16",
 *   chunkShape: [256, 256],
 *   dimensionNames: ["y", "x"],
 *   attributes: {
 *     "spatial:dimensions": ["y", "x"],
 *     "spatial:transform": [30, 0, 399_960, 0, -30, 5_300_040],
 *     "proj:code": "EPSG:32632",
 *   },
 * });
 * await createArrayChunks(store, "height", metadata);
 *
 * const { georeference } = await readTiffOptions(store, "height");
 * assert(georeference !== undefined && "modelPixelScale" in georeference);
 * assertEquals(georeference.modelPixelScale, [30, 30, 0]);
 * assertEquals(georeference.modelTiepoint, [0, 0, 0, 399_960, 5_300_040, 0]);
 * ```
 */
export async function readTiffOptions(
  store: Store,
  path: string,
  { bands, georeference = true, ...options }: StoreOptions & {
    bands?: TiffOptions["bands"];
    georeference?: boolean | undefined;
  } = {},
): Promise<
  Pick<TiffOptions, "bands" | "georeference" | "ome" | "noData" | "values">
> {
  assertStore(store);
  checkOptions(
    { bands, ...options },
    { bands: BANDS, signal: SIGNAL },
    "readTiffOptions",
  );
  const nodes = new Nodes(store, options);
  const document = await nodes.document(path);
  const { metadata } = new ArrayChunks(store, path, document);
  const axes = axesOf(metadata, bands);
  const array: ArrayPlace = { path, metadata, axes };
  const ome = await omeOf(nodes, array);
  const place = georeference ? await placeOf(nodes, array) : undefined;
  const areChannels = ome !== undefined && bands === "auto" &&
    axes.bands !== undefined && axes.bands < axes.x;
  return {
    ...place && { georeference: place },
    ...readValueAttributes(
      metadata.attributes,
      metadata.data_type,
      axes.bands === undefined || areChannels ? 1 : metadata.shape[axes.bands]!,
    ),
    // OME-TIFF has a page for each channel, and only colors as bands of one page.
    ...ome && {
      ome,
      ...bands === "auto" && axes.bands !== undefined && {
        bands: areChannels ? undefined : "last",
      },
    },
  };
}

/** An array in a store. */
interface ArrayPlace {
  readonly path: string;
  readonly metadata: ArrayMetadata;
  readonly axes: Axes;
}

/** The nodes of a store. */
class Nodes {
  readonly #store: Store;
  readonly #options: StoreOptions;

  constructor(store: Store, options: StoreOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** The document of a node; `undefined` if there is none. */
  async document(path: string): Promise<Members | undefined> {
    const key = `${arrayRoot(path)}/zarr.json` as StoreKey;
    const bytes = await readDocument(this.#store, key, this.#options);
    const document = bytes && parseZarrJson(bytes);
    return isMembers(document) ? document : undefined;
  }

  /** The attributes of a node; none if it has no valid document. */
  async attributes(path: string): Promise<Members> {
    const document = await ifValid(() => this.document(path));
    return isMembers(document?.attributes) ? document.attributes : {};
  }

  /** The elements of an array of numbers of one dimension; `undefined` if it is another one. */
  async line(path: string): Promise<number[] | undefined> {
    const array = await ifValid(async () => {
      const document = await this.document(path);
      return document && parseArray(document);
    });
    if (array === undefined) return undefined;
    const { metadata, innermost, shape: [length = 0, ...others] } = array;
    const { data_type } = metadata;
    const Elements = Object.hasOwn(TYPED_ARRAYS, String(data_type))
      ? TYPED_ARRAYS[data_type as keyof typeof TYPED_ARRAYS]
      : undefined;
    const form = elementForm(data_type);
    const isLine = others.length === 0 && length > 1 &&
      Math.max(length, innermost.shape[0]!) <= LONGEST_LINE;
    if (!isLine || Elements === undefined || form === undefined) {
      return undefined;
    }
    const codecs = await ElementCodecs.create(
      innermost.codecs,
      form,
      innermost.shape,
      undefined,
      metadata,
    ).catch(() => undefined);
    if (codecs === undefined) return undefined;
    const chunks = new EncodedChunks(
      backendOf(this.#store),
      arrayRoot(path),
      array,
      innermostChunks(array),
    );
    const line = new Elements(length);
    const bytes = new Uint8Array(line.buffer);
    await readBlock(
      { chunks, codecs, fill: fillBytes(metadata, form) },
      [{ start: 0, stop: length, step: 1 }],
      { bytes, offset: 0, strides: [1] },
      this.#options,
    );
    return Array.from(line, Number);
  }
}

/** Runs a task; returns `undefined` if a document is not valid, since an array can be converted without the nodes around it. */
async function ifValid<T>(task: () => Promise<T>): Promise<T | undefined> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}

/** The most coordinates that are read. */
const LONGEST_LINE = 2 ** 20;

/** The path of the group around a node; `undefined` for the root. */
function groupOf(path: string): string | undefined {
  if (path === "") return undefined;
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** The path of a node beside another one. */
function beside(path: string, name: string): string | undefined {
  const group = groupOf(path);
  if (group === undefined || !/^[^/]+$/.test(name)) return undefined;
  return group === "" ? name : `${group}/${name}`;
}

/** The place of an array, and what it counts from. */
interface Place {
  readonly transform: Affine;
  readonly isPoint?: boolean | undefined;
}

async function placeOf(
  nodes: Nodes,
  array: ArrayPlace,
): Promise<TiffOptions["georeference"]> {
  const own = isMembers(array.metadata.attributes)
    ? array.metadata.attributes
    : {};
  const parent = groupOf(array.path);
  const group = parent === undefined ? {} : await nodes.attributes(parent);
  const mapping = await gridMappingOf(nodes, array, own);
  const place = spatialPlace(own, group, array) ??
    geoTransformOf(mapping) ??
    await coordinatesOf(nodes, array);
  if (place === undefined) return undefined;
  const { transform, isPoint = false } = place;
  const keys = systemOf(own) ?? systemOf(group) ??
    firstSystem([mapping.crs_wkt, mapping.spatial_ref]);
  return composeGeoreference(transform, { keys, isPoint });
}

/** Returns the place in the attributes of GeoZarr. */
function spatialPlace(
  own: Members,
  group: Members,
  { path, metadata, axes }: ArrayPlace,
): Place | undefined {
  const [height, width] = [metadata.shape[axes.y]!, metadata.shape[axes.x]!];
  const dimensions = own["spatial:dimensions"] ?? group["spatial:dimensions"];
  const names = metadata.dimension_names;
  const isOther = Array.isArray(dimensions) && names !== undefined &&
    [axes.y, axes.x].some((axis, i) => names[axis] !== dimensions[i]);
  if (isOther) return undefined;
  const { layout } = isMembers(group.multiscales) ? group.multiscales : {};
  const level = Array.isArray(layout)
    ? layout.find((each) =>
      isMembers(each) && each.asset === path.slice(path.lastIndexOf("/") + 1)
    )
    : undefined;
  const all: Members = isMembers(level) ? { ...group, ...level } : group;
  const shape = all["spatial:shape"];
  const isSameShape = Array.isArray(shape)
    ? shape[0] === height && shape[1] === width
    : group.multiscales === undefined;
  const isPointIn = (attributes: Members) =>
    (attributes["spatial:registration"] ?? group["spatial:registration"]) ===
      "node";
  for (const attributes of [own, ...isSameShape ? [all] : []]) {
    const numbers = numbersOf(attributes["spatial:transform"], 6);
    const type = attributes["spatial:transform_type"] ?? "affine";
    if (numbers === undefined || type !== "affine") continue;
    const transform = numbers as unknown as Affine;
    return { transform, isPoint: isPointIn(attributes) };
  }
  for (const attributes of [own, all]) {
    const box = numbersOf(attributes["spatial:bbox"], 4);
    if (box === undefined) continue;
    const isPoint = isPointIn(attributes);
    const transform = boxTransform(box, { height, width, isPoint });
    if (transform !== undefined) return { transform, isPoint };
  }
  return undefined;
}

/** The coordinate reference system that attributes of GeoZarr or GDAL name. */
function systemOf(attributes: Members): GeoKeys | undefined {
  const { geotiff, _CRS: gdal } = attributes;
  const keys = isMembers(geotiff) ? adoptedKeys(geotiff) : undefined;
  if (keys !== undefined) return keys;
  const given = [
    ...["proj:code", "proj:wkt2", "proj:projjson"].map((name) =>
      attributes[name]
    ),
    ...isMembers(gdal) ? [gdal.wkt, gdal.projjson, gdal.url] : [],
  ];
  return firstSystem(given);
}

/** The GeoKeys that the adoption of files has put into an attribute. */
function adoptedKeys(
  { geoKeyDirectory, geoDoubleParams, geoAsciiParams }: Members,
): GeoKeys | undefined {
  const isDirectory = Array.isArray(geoKeyDirectory) &&
    geoKeyDirectory.every((key) => isWhole(key) && key <= 0xffff);
  if (!isDirectory) return undefined;
  const doubles = Array.isArray(geoDoubleParams)
    ? numbersOf(geoDoubleParams, geoDoubleParams.length)
    : undefined;
  return {
    geoKeyDirectory,
    ...doubles && { geoDoubleParams: doubles },
    ...typeof geoAsciiParams === "string" && { geoAsciiParams },
  };
}

/** The GeoKeys of the first of several descriptions of a system that has a code. */
function firstSystem(given: readonly unknown[]): GeoKeys | undefined {
  const systems = given.filter((each) =>
    each !== undefined && each !== null && each !== ""
  );
  let failure: unknown;
  for (const system of systems) {
    try {
      return geoKeysOf(system);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

/** The attributes of the array that holds the grid mapping of CF; none if there is no such array. */
async function gridMappingOf(
  nodes: Nodes,
  { path }: ArrayPlace,
  { grid_mapping }: Members,
): Promise<Members> {
  // The long form is "name: coordinates …".
  const [, name = "spatial_ref"] = typeof grid_mapping === "string"
    ? /^\s*([^\s:]+)/.exec(grid_mapping) ?? []
    : [];
  const mapping = beside(path, name);
  return mapping === undefined ? {} : await nodes.attributes(mapping);
}

/** The numbers of GDAL's GeoTransform, as rioxarray writes them. */
function geoTransformOf({ GeoTransform: text }: Members): Place | undefined {
  const given = typeof text === "string" ? text.trim().split(/\s+/) : text;
  const numbers = Array.isArray(given)
    ? numbersOf(given.map(Number), 6)
    : undefined;
  if (numbers === undefined) return undefined;
  const [c, a, b, f, d, e] = numbers;
  return { transform: [a!, b!, c!, d!, e!, f!] };
}

/** The part of a step by which evenly spaced coordinates may differ from their places. */
const UNEVENNESS = 0.01;

/** Returns the place that follows from coordinates beside an array. */
async function coordinatesOf(
  nodes: Nodes,
  { path, metadata, axes }: ArrayPlace,
): Promise<Place | undefined> {
  const steps: [step: number, first: number][] = [];
  for (const axis of [axes.x, axes.y]) {
    const name = metadata.dimension_names?.[axis];
    const place = typeof name === "string" ? beside(path, name) : undefined;
    const line = place === undefined ? undefined : await nodes.line(place);
    if (line === undefined || line.length !== metadata.shape[axis]) {
      return undefined;
    }
    const [first, last] = [line[0]!, line.at(-1)!];
    const step = (last - first) / (line.length - 1);
    const isEven = step !== 0 &&
      line.every((value, i) =>
        Math.abs(value - (first + i * step)) <= Math.abs(step) * UNEVENNESS
      );
    if (!isEven) return undefined;
    steps.push([step, first - step / 2]);
  }
  const [[a, c], [e, f]] = steps as [[number, number], [number, number]];
  return { transform: [a, 0, c, 0, e, f] };
}

/** Returns the meanings of the dimensions in the attributes of OME-Zarr. */
async function omeOf(
  nodes: Nodes,
  { path, metadata, axes }: ArrayPlace,
): Promise<OmeImage | undefined> {
  for (
    let group = groupOf(path);
    group !== undefined;
    group = groupOf(group)
  ) {
    const attributes = await nodes.attributes(group);
    const image = omeImage(attributes, group, path, metadata.shape.length);
    if (image === undefined) continue;
    const isPicture = isOmePicture(image.axes, axes) &&
      isOmeType(parseDataType(metadata.data_type));
    return isPicture ? image : undefined;
  }
  return undefined;
}

/** The names of axes that OME-XML has, by their types in OME-Zarr. */
const OME_AXES: Readonly<Record<string, string>> = { time: "t", channel: "c" };

/** The image of a group that has an array as a level; `undefined` if none has. */
function omeImage(
  attributes: Members,
  group: string,
  path: string,
  rank: number,
): OmeImage | undefined {
  for (const { name, axes, levels } of imagesOf(attributes, group)) {
    const level = levels.find((level) => level.path === path);
    // Before version 0.3, all arrays had the same five dimensions.
    const isOld = axes.length === 0 && rank === 5;
    if (level === undefined || !isOld && axes.length !== rank) continue;
    const { scale, translation } = level;
    const { omero } = isMembers(attributes.ome) ? attributes.ome : attributes;
    const { channels } = isMembers(omero) ? omero : {};
    return {
      axes: isOld
        ? ["t", "c", "z", "y", "x"]
        : axes.map(({ name, type = "" }) =>
          (OME_AXES[type] ?? name).toLowerCase()
        ),
      ...name !== undefined && { name },
      scale: numbersOf(scale, rank) ?? new Array(rank).fill(1),
      translation: numbersOf(translation, rank) ?? new Array(rank).fill(0),
      units: isOld ? new Array(rank) : axes.map(({ unit }) => unit),
      ...Array.isArray(channels) && { channels: channels.map(omeChannel) },
    };
  }
  return undefined;
}

function omeChannel(channel: unknown): OmeChannel {
  const { label, color } = isMembers(channel) ? channel : {};
  return {
    ...typeof label === "string" && { label },
    ...typeof color === "string" && { color },
  };
}

/** The first members of a list, if they are numbers. */
function numbersOf(value: unknown, count: number): number[] | undefined {
  const isList = Array.isArray(value) && value.length >= count &&
    value.slice(0, count).every((each) => Number.isFinite(each));
  return isList ? value.slice(0, count) : undefined;
}
