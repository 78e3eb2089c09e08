import { below, MetadataError } from "../errors/mod.ts";
import { changeZarrJson, isMembers, type Members, numberOf } from "./json.ts";
import { assertMember, checkLengths, checkOneOf, refuse } from "./schema.ts";
import { convertV2Codecs, listV2Codecs, objectCodecOf } from "./v2_codecs.ts";
import { parseV2DataType } from "./v2_data_type.ts";
import { withXarrayFillValue } from "./xarray_fill_value.ts";

/** How nodes of Zarr v2 are converted. */
export interface ConvertV2Options {
  /**
   * Whether arrays that xarray has written get the attribute `_FillValue`, by which xarray
   * finds missing elements in Zarr v3. In Zarr v2, it takes the fill value for this. Default:
   * `true`.
   */
  readonly fillValueAttribute?: boolean | undefined;
}

/**
 * Converts a Zarr v2 array to the metadata of a Zarr v3 array with the same chunks, by the
 * chunk key encoding `v2`.
 *
 * @param array The parsed `.zarray`.
 * @param attributes The attributes, checked by {@linkcode checkV2Attributes}.
 * @throws {MetadataError} If the array is not valid, or Zarr v3 cannot represent it. The path
 * of the error is one in `.zarray`.
 */
export function convertV2Array(
  array: unknown,
  attributes: Members,
  { fillValueAttribute = true }: ConvertV2Options = {},
): Members {
  const what = "the metadata of a Zarr v2 array";
  if (!isMembers(array)) refuse(`${what} to be an object`, array);
  for (const name of ["zarr_format", "shape", "chunks", "dtype"]) {
    assertMember(array, name, what);
  }
  assertVersion(array);
  const shape = lengthsOf(array.shape, "shape");
  const chunks = lengthsOf(array.chunks, "chunks");
  if (chunks.length !== shape.length) {
    refuse(
      `chunks of as many dimensions as the array, ${shape.length}`,
      array.chunks,
      "/chunks",
    );
  }
  const chunkShape = chunks.map((length, i) => {
    // An empty array has no chunks, whatever their shape.
    if (length > 0 || shape[i] === 0) return Math.max(length, 1);
    refuse("a length from 1 to 2^53−1", length, `/chunks/${i}`);
  });
  const order = checkOneOf(
    array.order ?? "C",
    ["C", "F"],
    '"C" or "F" as order',
    "/order",
  );
  const separator = checkOneOf(
    array.dimension_separator ?? ".",
    [".", "/"],
    '"." or "/" as dimension_separator',
    "/dimension_separator",
  );
  const codecs = listV2Codecs(array.filters, array.compressor);
  const type = below(
    "/dtype",
    () => parseV2DataType(array.dtype, objectCodecOf(codecs)),
  );
  const stored = array.fill_value ?? null;
  const fill = stored === null
    ? undefined
    : below("/fill_value", () => type.fill(stored));
  const names = dimensionNames(attributes, shape.length);
  return {
    zarr_format: 3,
    node_type: "array",
    shape,
    data_type: type.json,
    chunk_grid: { name: "regular", configuration: { chunk_shape: chunkShape } },
    chunk_key_encoding: { name: "v2", configuration: { separator } },
    fill_value: fill ?? type.defaultFill,
    codecs: convertV2Codecs(codecs, type, order, shape.length),
    attributes: fillValueAttribute
      ? withXarrayFillValue(attributes, type, fill)
      : attributes,
    ...names && { dimension_names: names },
  };
}

/**
 * Converts a Zarr v2 group to the metadata of a Zarr v3 group. OME-Zarr 0.4 becomes 0.5.
 *
 * @param path The path of the group.
 * @param group The parsed `.zgroup`.
 * @param attributes The attributes, checked by {@linkcode checkV2Attributes}.
 * @param nodes The documents of the nodes below, by path, for consolidated metadata.
 * @throws {MetadataError} If the group is not valid. The path is one in `.zgroup`.
 */
export function convertV2Group(
  path: string,
  group: unknown,
  attributes: Members,
  nodes?: ReadonlyMap<string, unknown>,
): Members {
  const what = "the metadata of a Zarr v2 group";
  if (!isMembers(group)) refuse(`${what} to be an object`, group);
  assertMember(group, "zarr_format", what);
  assertVersion(group);
  return {
    zarr_format: 3,
    node_type: "group",
    attributes: withOmeInOne(attributes, path),
    ...nodes && { consolidated_metadata: consolidate(nodes) },
  };
}

/**
 * Returns the attributes of a Zarr v2 node.
 *
 * @param attributes The parsed `.zattrs`; `undefined` if there is none.
 * @throws {MetadataError} If the attributes are not an object.
 */
export function checkV2Attributes(attributes: unknown): Members {
  if (attributes === undefined) return {};
  if (isMembers(attributes)) return attributes;
  refuse("attributes to be an object", attributes);
}

/** The documents of a node in consolidated metadata of Zarr v2. */
interface V2Node {
  array?: unknown;
  group?: unknown;
  attributes?: unknown;
}

/**
 * Converts the nodes in consolidated metadata of Zarr v2, without the outermost one. Nodes
 * that are not valid are left out, so that their own documents are read.
 *
 * @param consolidated The parsed `.zmetadata`.
 * @returns The documents by path, or `undefined` if the metadata is not understood.
 */
export function convertV2Consolidated(
  consolidated: unknown,
  settings?: ConvertV2Options,
): Map<string, Members> | undefined {
  if (!isMembers(consolidated) || !isMembers(consolidated.metadata)) {
    return undefined;
  }
  const nodes = new Map<string, V2Node>();
  for (const [key, value] of Object.entries(consolidated.metadata)) {
    const [, path, name] = /^(?:(.+)\/)?\.z(array|group|attrs)$/.exec(key) ??
      [];
    if (path === undefined) continue;
    const node: V2Node = nodes.get(path) ?? {};
    nodes.set(path, node);
    if (name === "array") node.array = value;
    else if (name === "group") node.group = value;
    else node.attributes = value;
  }
  const documents = new Map<string, Members>();
  for (const [path, { array, group, attributes }] of nodes) {
    try {
      const checked = checkV2Attributes(attributes);
      if (array !== undefined) {
        documents.set(path, convertV2Array(array, checked, settings));
      } else if (group !== undefined) {
        documents.set(path, convertV2Group(path, group, checked));
      }
    } catch (error) {
      if (!(error instanceof MetadataError)) throw error;
    }
  }
  return documents;
}

/**
 * The names of the documents of Zarr v2. Programs that migrate arrays to Zarr v3 leave them
 * beside `zarr.json`. They then describe chunk keys that no chunk has any more.
 */
export const V2_DOCUMENTS: readonly string[] = [
  ".zarray",
  ".zgroup",
  ".zattrs",
  ".zmetadata",
];

const V2_DOCUMENT = /\/\.z(?:array|group|attrs|metadata)$/;

/** Whether a key is that of a document of Zarr v2. */
export function isV2Document(key: string): boolean {
  return V2_DOCUMENT.test(key);
}

/** The folders of the nodes in consolidated metadata of Zarr v2, such as `a/b/`. */
export function v2Folders(bytes: Uint8Array): Set<string> {
  const folders = new Set<string>();
  withoutV2Nodes(bytes, (folder) => {
    folders.add(folder);
    return false;
  });
  return folders;
}

/**
 * Leaves nodes out of consolidated metadata of Zarr v2.
 *
 * @param isLeftOut Called with the folder of each node, such as `a/b/`.
 * @returns The same bytes if nothing changes.
 * @throws {MetadataError} If the document is not JSON.
 */
export function withoutV2Nodes(
  bytes: Uint8Array,
  isLeftOut: (folder: string) => boolean,
): Uint8Array {
  return changeZarrJson(bytes, (document) => {
    if (!isMembers(document) || !isMembers(document.metadata)) return document;
    const all = Object.entries(document.metadata);
    const left = all.filter(([name]) =>
      !isV2Document(`/${name}`) ||
      !isLeftOut(name.slice(0, name.lastIndexOf("/") + 1))
    );
    return left.length === all.length
      ? document
      : { ...document, metadata: Object.fromEntries(left) };
  });
}

/**
 * The member `consolidated_metadata`. zarr-python expects the nodes in the order of their
 * depths, and all groups above each node.
 */
function consolidate(nodes: ReadonlyMap<string, unknown>): Members {
  const sorted = [...nodes.keys()].sort((a, b) =>
    depthOf(a) - depthOf(b) || (a < b ? -1 : a > b ? 1 : 0)
  );
  const metadata = new Map<string, unknown>();
  for (const path of sorted) {
    const end = path.lastIndexOf("/");
    const above = end < 0 ? undefined : metadata.get(path.slice(0, end));
    const isReachable = end < 0 ||
      isMembers(above) && above.node_type === "group";
    if (isReachable) metadata.set(path, nodes.get(path));
  }
  return {
    kind: "inline",
    must_understand: false,
    metadata: Object.fromEntries(metadata),
  };
}

function depthOf(path: string): number {
  return path.split("/").length;
}

function assertVersion({ zarr_format }: Members): void {
  if (numberOf(zarr_format) === 2 || zarr_format === "2") return;
  refuse("2 as zarr_format", zarr_format, "/zarr_format");
}

function lengthsOf(value: unknown, name: string): readonly number[] {
  const numbers = Array.isArray(value) ? value.map(numberOf) : value;
  return checkLengths(numbers, name, 0);
}

/** The names that xarray gives the dimensions; `undefined` if there are none for each. */
function dimensionNames(
  { _ARRAY_DIMENSIONS: names }: Members,
  rank: number,
): readonly string[] | undefined {
  const areNames = Array.isArray(names) && names.length === rank && rank > 0 &&
    names.every((name) => typeof name === "string");
  return areNames ? names : undefined;
}

const [BEFORE, AFTER] = ["0.4", "0.5"];

/** The members that 0.4 has among the attributes, and 0.5 in the attribute `ome`. */
const MOVED = [
  ...["multiscales", "omero", "labels", "image-label"],
  ...["plate", "well", "bioformats2raw.layout", "series"],
];

/**
 * Moves the attributes of OME-Zarr 0.4, which is an extension of Zarr v2, to where 0.5, which
 * is one of Zarr v3, has them: into the attribute `ome`, with its version. Other attributes,
 * and those of earlier versions, which lack members that 0.5 requires, stay as they are.
 *
 * Sources: https://ngff.openmicroscopy.org/0.4/ and https://ngff.openmicroscopy.org/0.5/
 *
 * @param path The path of the group, whose last name tells a group of labels.
 */
function withOmeInOne(attributes: Members, path: string): Members {
  if (!isOme(attributes, path.slice(path.lastIndexOf("/") + 1))) {
    return attributes;
  }
  const ome: Record<string, unknown> = { version: AFTER };
  const others: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (!MOVED.includes(name)) others[name] = value;
    else if (Array.isArray(value)) ome[name] = value.map(withoutVersion);
    else if (name === "plate") {
      ome[name] = { ...value as Members, version: AFTER };
    } else ome[name] = withoutVersion(value);
  }
  return { ...others, ome };
}

/**
 * The names of the axes of a level of OME-Zarr 0.4, which 0.5 requires as names of the dimensions
 * of the array; `undefined` for an array that is no level.
 *
 * @param group The attributes of the group around the array.
 * @param name The name of the array in the group.
 */
export function omeAxes(
  group: Members,
  name: string,
): readonly string[] | undefined {
  if (!Array.isArray(group.multiscales) || !isOme(group, "")) return undefined;
  const image = (group.multiscales as Members[]).find(({ datasets }) =>
    (datasets as unknown[]).some((level) =>
      isMembers(level) && level.path === name
    )
  );
  const axes = Array.isArray(image?.axes) ? image.axes : [];
  const names = axes.map((axis) => isMembers(axis) ? axis.name : undefined);
  return areNames(names) ? names as string[] : undefined;
}

function isOme(attributes: Members, name: string): boolean {
  const { multiscales, labels, series, ome } = attributes;
  if (ome !== undefined) return false;
  if (multiscales !== undefined) {
    return Array.isArray(multiscales) && multiscales.length > 0 &&
      multiscales.every((image) =>
        isMembers(image) && image.version === BEFORE &&
        Array.isArray(image.datasets)
      );
  }
  for (const [member, list] of [["plate", "wells"], ["well", "images"]]) {
    const value = attributes[member!];
    if (!isMembers(value) || !Array.isArray(value[list!])) continue;
    return (value.version ?? BEFORE) === BEFORE;
  }
  return attributes["bioformats2raw.layout"] !== undefined ||
    name === "labels" && areNames(labels) ||
    name === "OME" && areNames(series);
}

function areNames(value: unknown): boolean {
  return Array.isArray(value) &&
    value.every((name) => typeof name === "string");
}

function withoutVersion(value: unknown): unknown {
  if (!isMembers(value)) return value;
  const { version: _, ...rest } = value;
  return rest;
}
