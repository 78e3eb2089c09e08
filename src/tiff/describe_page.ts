import { coreDataType } from "../metadata/data_type.ts";
import type { Directory } from "./directory_reader.ts";
import {
  codecsOf,
  dataTypeOf,
  packedBits,
  PageDamage,
  PageProblem,
} from "./page_codecs.ts";
import { PageTags } from "./page_tags.ts";
import {
  type PageShape,
  pageShapeOf,
  pageTilesOf,
  type TiffFileFacts,
} from "./page_tiles.ts";
import type { TiffPage, TiffPlace } from "./tiff_page.ts";

const PLACE_TAGS = [
  "modelPixelScale",
  "modelTiepoint",
  "modelTransformation",
  "geoKeyDirectory",
  "geoDoubleParams",
] as const;
/** The value of PhotometricInterpretation for masks. */
const MASK = 4;

/**
 * Describes a page in the terms of Zarr.
 *
 * @param file Facts about the file.
 */
export function describePage(
  { parent, values }: Directory,
  file: TiffFileFacts & { readonly isLittleEndian: boolean },
): TiffPage {
  const tags = new PageTags(values);
  let problem: string | undefined;
  let isDamaged = false;
  const attempt = <T>(task: () => T): T | undefined => {
    try {
      return problem === undefined ? task() : undefined;
    } catch (error) {
      if (!(error instanceof PageProblem)) throw error;
      problem = error.message;
      isDamaged = error instanceof PageDamage;
    }
  };
  const shape: PageShape = attempt(() => pageShapeOf(tags)) ?? {
    axes: [],
    shape: [],
    tileShape: [],
  };
  const dataType = attempt(() => dataTypeOf(tags));
  const codecs = attempt(() =>
    codecsOf(tags, dataType!, file.isLittleEndian, shape)
  );
  const bits = packedBits(tags) ?? coreDataType(dataType ?? "")?.bits;
  const tiles = attempt(() => pageTilesOf(tags, shape, bits!, file));
  const description = tags.text("description");
  const place = placeOf(tags);
  return {
    kind: kindOf(tags),
    ...parent !== undefined && { parent },
    ...shape,
    dataType,
    fillValue: fillValueOf(tags.text("gdalNoData"), dataType),
    codecs,
    tiles: tiles ?? [],
    ...problem !== undefined && { problem },
    ...isDamaged ? { isDamaged } : {},
    ...description !== undefined && { description },
    ...place && { place },
  };
}

function kindOf(tags: PageTags): TiffPage["kind"] {
  const flags = tags.number("newSubfileType", 0);
  if ((flags & 4) !== 0 || tags.number("photometric", 1) === MASK) {
    return "mask";
  }
  const isReduced = (flags & 1) !== 0 || tags.number("subfileType", 1) === 2;
  return isReduced ? "overview" : "image";
}

function placeOf(tags: PageTags): TiffPlace | undefined {
  const place: Record<string, unknown> = {};
  for (const name of PLACE_TAGS) {
    const values = tags.list(name);
    if (values !== undefined) place[name] = values;
  }
  const text = tags.text("geoAsciiParams");
  if (text !== undefined) place.geoAsciiParams = text;
  return Object.keys(place).length > 0 ? place as TiffPlace : undefined;
}

/** The number that GDAL_NODATA names; 0 if there is none of the data type, as then no element can be missing. */
function fillValueOf(
  text: string | undefined,
  dataType: string | undefined,
): number | bigint {
  const trimmed = text?.trim() ?? "";
  if (dataType === undefined || trimmed === "") return 0;
  const [, kind, digits] = /^(u?int|float|complex)(\d+)$/.exec(dataType)!;
  if (kind === "float" || kind === "complex") {
    const number = floatOf(trimmed);
    if (number === undefined) return 0;
    const bits = Number(digits) / (kind === "complex" ? 2 : 1);
    return bits === 32 ? Math.fround(number) : number;
  }
  const number = integerOf(trimmed);
  const fit = kind === "int" ? BigInt.asIntN : BigInt.asUintN;
  if (number === undefined || fit(Number(digits), number) !== number) return 0;
  const isSafe = BigInt.asIntN(53, number) === number;
  return isSafe ? Number(number) : number;
}

function floatOf(text: string): number | undefined {
  const special = /^([+-]?)(?:(inf)|(nan))/i.exec(text);
  if (special?.[3]) return NaN;
  if (special) return special[1] === "-" ? -Infinity : Infinity;
  const number = Number(text);
  return Number.isNaN(number) ? undefined : number;
}

/** An integer, which programs also write as `255.0` or `1e3`. */
function integerOf(text: string): bigint | undefined {
  if (/^[+-]?\d+$/.test(text)) return BigInt(text.replace("+", ""));
  const number = Number(text);
  return Number.isInteger(number) ? BigInt(number) : undefined;
}
