/**
 * Tags of GeoTIFF from numbers and the name of a coordinate reference system.
 *
 * Sources: OGC GeoTIFF 1.1, https://docs.ogc.org/is/19-008r4/19-008r4.html; well-known
 * text, https://docs.ogc.org/is/18-010r11/18-010r11.pdf
 */
import { describe } from "../errors/mod.ts";
import { isMembers } from "../metadata/mod.ts";
import { type CrsKind, kindOfEpsg } from "./epsg_codes.ts";
import { type Affine, GEO_KEY } from "./geo_attributes.ts";
import type { TiffArray } from "./tiff_array.ts";
import {
  isMapPlace,
  type TiffGeoreference,
  type TiffMapPlace,
} from "./tiff_options.ts";

/** The GeoKeys of a coordinate reference system, without the one for areas and points. */
export type GeoKeys = Pick<
  TiffGeoreference,
  "geoKeyDirectory" | "geoDoubleParams" | "geoAsciiParams"
>;

/**
 * The tags of GeoTIFF for an array.
 *
 * @throws {RangeError} If the georeference is meant for an array of another size, its bounding
 * box is empty, or its coordinate reference system has no code.
 */
export function tagsOf(
  { shape, axes }: Pick<TiffArray, "shape" | "axes">,
  georeference: TiffGeoreference | TiffMapPlace,
): TiffGeoreference {
  const { size, ...place } = georeference;
  const [height, width] = [shape[axes.y]!, shape[axes.x]!];
  if (size !== undefined && (size[0] !== height || size[1] !== width)) {
    throw new RangeError(
      `Expected the georeference of an array of ${height} × ${width} elements along y and x, found one for ${
        size[0]
      } × ${size[1]}: give a bounding box instead`,
    );
  }
  if (!isMapPlace(place)) return place as TiffGeoreference;
  const { transform, bbox, crs, isPoint = false } = place;
  const affine = transform === undefined
    ? boxTransform(bbox!, { height, width, isPoint })
    : transform as unknown as Affine;
  if (affine === undefined) {
    throw new RangeError(
      `Expected a bounding box [xmin, ymin, xmax, ymax] that is not empty, for a picture that is not empty either, found ${
        describe(bbox)
      } for ${height} × ${width} elements`,
    );
  }
  const keys = crs === undefined ? undefined : geoKeysOf(crs);
  return composeGeoreference(affine, { isPoint, keys });
}

/** Maps columns and rows to a bounding box, the top row first; `undefined` if the box or the picture is empty. */
export function boxTransform(
  bbox: readonly number[],
  { height, width, isPoint }: {
    height: number;
    width: number;
    isPoint: boolean;
  },
): Affine | undefined {
  const [left, bottom, right, top] = bbox as [number, number, number, number];
  const [rows, columns] = isPoint ? [height - 1, width - 1] : [height, width];
  return left < right && bottom < top && rows > 0 && columns > 0
    ? [(right - left) / columns, 0, left, 0, (bottom - top) / rows, top]
    : undefined;
}

/**
 * Composes the tags of GeoTIFF.
 *
 * @param transform Maps columns and rows to coordinates.
 * @param options `keys`: the coordinate reference system; `isPoint`: whether the transform
 * gives the places of elements that are values at points, as opposed to the corners of those
 * that are values of areas.
 */
export function composeGeoreference(
  [a, b, c, d, e, f]: Affine,
  { keys, isPoint = false }: { keys?: GeoKeys | undefined; isPoint?: boolean },
): TiffGeoreference {
  const isUpright = b === 0 && d === 0 && a > 0 && e < 0;
  return {
    // Programs read the second number of the scale without its sign.
    ...isUpright
      ? {
        modelPixelScale: [a, -e, 0],
        modelTiepoint: [0, 0, 0, c, f, 0],
      }
      : {
        modelTransformation: [
          ...[a, b, 0, c],
          ...[d, e, 0, f],
          ...[0, 0, 0, 0],
          ...[0, 0, 0, 1],
        ],
      },
    ...keys,
    geoKeyDirectory: withRasterType(keys?.geoKeyDirectory, isPoint),
  };
}

/** Sets the key that distinguishes areas from points. */
function withRasterType(
  directory: readonly number[] = [1, 1, 0, 0],
  isPoint: boolean,
): number[] {
  const [version, revision, minor] = directory;
  const keys: number[][] = [[GEO_KEY.rasterType, 0, 1, isPoint ? 2 : 1]];
  for (let i = 4; i + 3 < directory.length; i += 4) {
    const key = directory.slice(i, i + 4);
    if (key[0] !== GEO_KEY.rasterType) keys.push(key);
  }
  keys.sort(([one], [other]) => one! - other!);
  return [version!, revision!, minor!, keys.length, ...keys.flat()];
}

/**
 * Finds the GeoKeys of a coordinate reference system by its code.
 *
 * @param system A code such as `EPSG:32632`, also as a URN or a URL, well-known text, or
 * PROJJSON.
 * @throws {RangeError} If the system is neither geographic nor projected, or has no code.
 */
export function geoKeysOf(system: unknown): GeoKeys {
  const found = typeof system === "string"
    ? codeOfText(system.trim())
    : isMembers(system)
    ? codeOfProjjson(system)
    : undefined;
  const code = found?.code;
  const kind = code === undefined ? undefined : found?.kind ?? kindOfEpsg(code);
  if (code === undefined || kind === undefined) {
    throw new RangeError(
      `Expected a coordinate reference system that is geographic or projected, with a code of EPSG such as "EPSG:32632", found ${
        code === undefined ? describe(nameOf(system)) : `"EPSG:${code}"`
      }: give the georeference of a GeoTIFF with this system, or none`,
    );
  }
  const isProjected = kind === "projected";
  return {
    geoKeyDirectory: [
      ...[1, 1, 0, 2],
      ...[GEO_KEY.modelType, 0, 1, isProjected ? 1 : 2],
      ...[isProjected ? GEO_KEY.projectedCrs : GEO_KEY.geodeticCrs, 0, 1, code],
    ],
  };
}

/** A code of EPSG, and the kind of system if the text has it. */
interface FoundCode {
  readonly code: number | undefined;
  readonly kind?: CrsKind | undefined;
}

/** A short name for messages. */
function nameOf(system: unknown): unknown {
  if (isMembers(system)) return system.name ?? system;
  const quoted = typeof system === "string" && /^\w+\s*[[(]\s*"([^"]*)/
    .exec(system);
  return quoted ? quoted[1] : system;
}

const CODE =
  /^(?:urn:ogc:def:crs:|https?:\/\/www\.opengis\.net\/def\/crs\/)?EPSG(?::[\d.]*:|\/[\d.]+\/|:)(\d{4,6})$/i;
/** Longitude and latitude in WGS 84, whose order of axes GeoTIFF does not have. */
const CRS84 =
  /^(?:(?:urn:ogc:def:crs:)?OGC:[\d.]*:?|https?:\/\/www\.opengis\.net\/def\/crs\/OGC\/[\d.]+\/)CRS84$/i;

function codeOfText(text: string): FoundCode | undefined {
  if (CRS84.test(text)) return { code: 4326 };
  const [, code] = CODE.exec(text) ?? [];
  if (code !== undefined) return { code: short(code) };
  const system = horizontalOf(parseWkt(text));
  return system && { code: short(epsgOf(system)), kind: KINDS[system[0]] };
}

function codeOfProjjson(
  { id, type, components, source_crs }: Readonly<Record<string, unknown>>,
  depth = 0,
): FoundCode | undefined {
  const inner = type === "CompoundCRS" && Array.isArray(components)
    ? components[0]
    : type === "BoundCRS"
    ? source_crs
    : undefined;
  if (isMembers(inner) && depth < DEEPEST) {
    return codeOfProjjson(inner, depth + 1);
  }
  const isEpsg = isMembers(id) && id.authority === "EPSG";
  return isEpsg ? { code: short(id.code) } : undefined;
}

/** A code that fits a GeoKey. */
function short(code: unknown): number | undefined {
  const number = Number(code);
  return Number.isInteger(number) && number > 0 && number < 32767
    ? number
    : undefined;
}

/** The keywords of systems whose code GeoTIFF takes, in all versions of well-known text. */
const KINDS: Readonly<Record<string, CrsKind>> = {
  GEOGCS: "geographic",
  GEOGCRS: "geographic",
  GEOGRAPHICCRS: "geographic",
  PROJCS: "projected",
  PROJCRS: "projected",
  PROJECTEDCRS: "projected",
};
/** The keywords of systems that hold another one, whose place counts. */
const HOLDERS = ["COMPD_CS", "COMPOUNDCRS", "BOUNDCRS", "SOURCECRS"];

/** A node of well-known text, `KEYWORD[value, …]`: its keyword in capitals, and its values. */
type WktNode = readonly [keyword: string, ...values: unknown[]];

function isNode(value: unknown): value is WktNode {
  return Array.isArray(value);
}

/** The system of x and y, among those that a node holds. */
function horizontalOf(node: unknown): WktNode | undefined {
  if (!isNode(node)) return undefined;
  const [keyword, ...values] = node;
  if (Object.hasOwn(KINDS, keyword)) return node;
  if (!HOLDERS.includes(keyword)) return undefined;
  return horizontalOf(
    values.filter(isNode).find(([keyword]) =>
      Object.hasOwn(KINDS, keyword) || HOLDERS.includes(keyword)
    ),
  );
}

/** The code of EPSG that a node has. */
function epsgOf([, ...values]: WktNode): unknown {
  return values.filter(isNode).find(([keyword, authority]) =>
    ["ID", "AUTHORITY"].includes(keyword) &&
    String(authority).toUpperCase() === "EPSG"
  )?.[2];
}

/** The most systems in one another, and the most brackets in one another; no real system has as many. */
const DEEPEST = 50;

/**
 * Parses well-known text of coordinate reference systems, of all versions.
 *
 * Source: https://docs.ogc.org/is/18-010r11/18-010r11.pdf
 *
 * @returns `undefined` if the text is none.
 */
function parseWkt(text: string): unknown {
  const open: unknown[][] = [[]];
  for (
    const [token] of text.matchAll(/"(?:[^"]|"")*"|[[\](),]|[^\s[\](),"]+/g)
  ) {
    const values = open.at(-1)!;
    if (token === "[" || token === "(") {
      const keyword = values.pop();
      if (typeof keyword !== "string" || open.length === DEEPEST) {
        return undefined;
      }
      open.push([keyword.toUpperCase()]);
      values.push(open.at(-1));
    } else if (token === "]" || token === ")") {
      open.pop();
      if (open.length === 0) return undefined;
    } else if (token !== ",") {
      const isQuoted = token.startsWith('"');
      values.push(
        isQuoted ? token.slice(1, -1).replaceAll('""', '"') : token,
      );
    }
  }
  return open.length === 1 ? open[0]![0] : undefined;
}
