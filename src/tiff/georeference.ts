/**
 * Tags of GeoTIFF from numbers and the name of a coordinate reference system.
 *
 * Sources: OGC GeoTIFF 1.1, https://docs.ogc.org/is/19-008r4/19-008r4.html; well-known
 * text, https://docs.ogc.org/is/18-010r11/18-010r11.pdf
 */
import { sentence } from "../errors/mod.ts";
import { isMembers } from "../metadata/mod.ts";
import { type Affine, GEO_KEY } from "./geo_attributes.ts";
import type { TiffArray } from "./tiff_array.ts";
import type { TiffGeoreference, TiffMapPlace } from "./tiff_options.ts";

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
  const [rows, columns] = size ?? [height, width];
  if (rows !== height || columns !== width) {
    throw new RangeError(
      `Expected the georeference of an array of ${height} × ${width} elements along y and x, found one for ${rows} × ${columns}: give a bounding box instead`,
    );
  }
  if (!isMapPlace(place)) return place as TiffGeoreference;
  const { transform, bbox, crs, isPoint = false } = place;
  const affine = transform === undefined
    ? boxTransform(bbox!, { height, width, isPoint })
    : transform as unknown as Affine;
  if (affine === undefined) {
    throw new RangeError(
      sentence`Expected a bounding box [xmin, ymin, xmax, ymax] that is not empty, for a picture that is not empty either, found ${bbox} for ${height} × ${width} elements`,
    );
  }
  const keys = crs === undefined ? undefined : geoKeysOf(crs);
  return composeGeoreference(affine, { isPoint, keys });
}

/** Whether a georeference has a transform or a bounding box in place of tags. */
export function isMapPlace(value: unknown): value is TiffMapPlace {
  const { transform, bbox } = Object(value);
  return transform !== undefined || bbox !== undefined;
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
    const name = code === undefined ? nameOf(system) : `EPSG:${code}`;
    throw new RangeError(
      sentence`Expected a coordinate reference system that is geographic or projected, with a code of EPSG such as "EPSG:32632", found ${name}: give the georeference of a GeoTIFF with this system, or none`,
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
  return code === undefined ? codeOfWkt(text) : { code: short(code) };
}

/** The most systems in one another; no real system has as many. */
const DEEPEST = 50;

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

/** A text, an identifier of EPSG with its code, a keyword before a bracket, and the end of brackets. */
const WKT_TOKEN =
  /"(?:[^"]|"")*"|\b(?:ID|AUTHORITY)\s*[[(]\s*"EPSG"\s*,\s*"?(\d+)"?|\b(\w+)\s*[[(]|([\])])/gi;

/**
 * Finds the code of the system of x and y in well-known text of any version.
 *
 * Source: https://docs.ogc.org/is/18-010r11/18-010r11.pdf
 *
 * @returns `undefined` without a code, or if brackets do not match.
 */
function codeOfWkt(text: string): FoundCode | undefined {
  const open: string[] = [];
  let found: FoundCode | undefined;
  for (const [, code, keyword, end] of text.matchAll(WKT_TOKEN)) {
    if (code !== undefined && open.length <= DEEPEST) {
      const [inner = "", ...outer] = open.toReversed();
      const isHorizontal = Object.hasOwn(KINDS, inner) &&
        outer.every((keyword) => HOLDERS.includes(keyword));
      if (isHorizontal) found ??= { code: short(code), kind: KINDS[inner] };
    }
    if (end !== undefined && open.pop() === undefined) return undefined;
    if (code !== undefined || keyword !== undefined) {
      open.push((keyword ?? "ID").toUpperCase());
    }
  }
  return open.length === 0 ? found : undefined;
}

/**
 * The codes of geographic systems of two dimensions in EPSG 12.029, since GeoTIFF needs the kind
 * beside the code. A test compares the lists with the database of PROJ. Ranges have codes in them
 * that are not given out.
 */
const GEOGRAPHIC = `
  3819-3821 3824 3889 3906 4001-4016 4018-4025 4027-4036 4041-4047 4052-4055 4075 4081
  4120-4216 4218-4326 4463 4470 4475 4483 4490 4555 4558 4600-4646 4657-4765 4801-4811
  4813-4821 4823-4824 4901-4904 5013 5132 5228-5233 5246 5252 5264 5324 5340 5354 5360
  5365 5371 5373 5381 5393 5451 5464 5467 5489 5524-5527 5546 5561 5593 5681 5886 6135
  6207 6311 6318 6322 6325 6365 6668 6706 6783 6881-6883 6892 6894 6980 6983 6987 6990
  7035 7037 7039 7041 7073 7084 7086 7088 7133 7136 7139 7373 7683 7686 7798 7844 7881
  7886 8042-8043 8086 8232 8237 8240 8246 8249 8252 8255 8351 8427-8428 8431 8449 8545
  8685 8694 8699 8818 8860 8888 8900 8902 8907 8949 8972-9000 9003 9006 9009 9012 9014
  9017 9019 9053-9069 9072 9075 9140 9148 9153 9184 9248 9251 9253 9294 9299 9309 9333
  9364 9372 9380-9384 9403 9453 9470 9474-9475 9547 9696 9702 9739 9755-9758 9763 9777
  9779 9782 9784 9866 9871 9939 9964 9969 9974 9990 10158 10175 10178 10185 10191 10196
  10204 10209 10214 10219 10224 10229 10237 10249 10252 10256 10260 10265 10268 10272
  10277 10284 10299 10305 10307 10310 10312 10328 10345-10346 10414 10468 10475 10571
  10606 10623 10628 10636 10639 10671 10673 10690 10725 10736 10739 10758 10762 10781
  10785 10791 10800 10807 10831 10849 10860 10875 10892-10898 10910 10941 10952 10956
  10959 10968 11043 20033 20041 20046
`;

/** The codes of projected systems. */
const PROJECTED = `
  2000-3816 3825-3854 3857-3885 3890-3893 3907-3997 4026 4037-4038 4048-4051 4056-4071
  4082-4096 4217 4390-4439 4455-4457 4462 4467 4471 4474 4484-4489 4491-4554 4559-4589
  4647-4656 4766-4800 4812 4822 4826-4880 5014-5130 5167-5188 5221-5225 5234-5235 5243
  5247 5253-5259 5266-5316 5320-5321 5325-5331 5337 5343-5349 5355-5357 5361-5362 5367
  5382-5389 5396 5456-5463 5466 5469-5482 5490 5513-5523 5530-5539 5550-5552 5559
  5562-5589 5596 5623-5627 5629-5680 5682-5685 5700 5825 5836-5842 5844 5858 5875-5880
  5887-5940 6050-6129 6141 6200-6204 6210-6307 6312-6316 6328-6348 6350-6356 6362
  6366-6637 6646 6669-6692 6703 6707-6709 6720-6738 6784-6870 6875-6880 6884-6887 6915
  6922-6925 6931-6933 6956-6966 6984 6991-7007 7057-7070 7074-7082 7109-7132 7142-7370
  7374-7376 7528-7645 7692-7696 7755-7787 7791-7795 7799-7805 7825-7831 7845-7878
  7882-7883 7887 7899 7991-8036 8044-8045 8058-8083 8088 8090-8226 8311-8348 8352-8353
  8379-8395 8433 8441 8455-8540 8677-8682 8686-8687 8692-8693 8826-8840 8857-8859 8903
  8908-8910 8950-8951 9039-9040 9141 9149-9150 9154-9159 9191-9222 9249-9250 9252 9254
  9265 9271-9273 9284-9285 9295-9297 9300 9311 9354-9360 9367 9373 9377 9387 9391
  9404-9407 9456 9473 9476-9498 9549 9674 9678-9680 9697-9699 9709 9712-9713 9716 9741
  9748-9749 9761 9766 9793-9865 9869 9874-9880 9895 9943 9945-9947 9967 9972 9977 10160
  10183 10188 10194 10199 10207 10212 10217 10222 10227 10235 10240 10250 10254 10258
  10262 10266 10270 10275 10280 10285-10291 10306 10314-10317 10329 10448-10465 10471
  10477-10481 10516 10592-10603 10622 10626 10632 10641 10665 10674 10699-10702
  10726-10733 10744-10745 10759 10773 10788 10792-10795 10801-10802 10820 10833-10837
  10851 10857 10863 10899 10911-10917 10921-10926 10942-10949 10979-10987 11012-11027
  11114-11118 20002 20004-20032 20042 20047-32766
`;

const RANGES = { geographic: GEOGRAPHIC, projected: PROJECTED } as const;

/** The kinds of systems that GeoTIFF has codes for. */
type CrsKind = keyof typeof RANGES;

/** Returns the kind of a system by its code in EPSG; `undefined` for others, and for codes that are not known. */
function kindOfEpsg(code: number): CrsKind | undefined {
  const kinds = Object.keys(RANGES) as CrsKind[];
  return kinds.find((kind) =>
    RANGES[kind].trim().split(/\s+/).some((range) => {
      const [first, last = first] = range.split("-").map(Number);
      return code >= first! && code <= last!;
    })
  );
}
