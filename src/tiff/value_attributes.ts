/**
 * The scale, offset, unit and fill value of elements: attributes of CF, and tags of GDAL.
 *
 * Sources: CF 1.12, section 8.1, https://cfconventions.org; the names of bands as rioxarray
 * has them, https://corteva.github.io/rioxarray
 */
import {
  decodeXarrayFillValue,
  encodeXarrayFillValue,
  isMembers,
  numberOf,
} from "../metadata/mod.ts";
import { type BandValues, parseGdalMetadata } from "./gdal_metadata.ts";
import type { TiffPage } from "./tiff_page.ts";
import type { TiffOptions, TiffValues } from "./tiff_options.ts";

/** The tags of a page with the meaning of its elements. */
export type PageValues = Pick<TiffPage, "noData" | "gdalMetadata"> & {
  /** The number of bands of the page. */
  readonly bands: number;
};

/** Returns the tags of a page with the meaning of its elements. */
export function pageValues(
  { noData, gdalMetadata, axes, shape }: TiffPage,
): PageValues {
  const bands = shape[axes.indexOf("band")] ?? 1;
  return {
    ...noData !== undefined && { noData },
    ...gdalMetadata !== undefined && { gdalMetadata },
    bands,
  };
}

/**
 * Returns the attributes of an array of pages.
 *
 * @param pages The pages of all files, which may have the same tags several times.
 * @param dataType The data type of the array.
 */
export async function valueAttributes(
  pages: readonly PageValues[],
  dataType: string,
): Promise<
  { attributes: Readonly<Record<string, unknown>>; notes: readonly string[] }
> {
  const all = [...new Map(
    pages.map((page) => [
      `${page.noData} ${page.bands} ${page.gdalMetadata}`,
      page,
    ]),
  ).values()];
  const bands: (readonly BandValues[])[] = [];
  const notes: string[] = [];
  for (const { gdalMetadata = "", bands: count } of all) {
    const parsed = await parseGdalMetadata(gdalMetadata, count);
    if (parsed !== undefined) bands.push(parsed);
    else notes.push("The tag GDAL_METADATA is left out, since it is no XML");
  }
  /** The one of several values that are all the same. */
  const only = <Value>(attribute: string, values: readonly Value[]) => {
    const different = new Map(
      values.map((value) => [JSON.stringify(value), value]),
    );
    if (different.size > 1) {
      notes.push(
        `${attribute} left out, since the bands, pages or files differ in GDAL_METADATA`,
      );
    }
    return different.size === 1 ? [...different.values()][0] : undefined;
  };
  const noData = new Set(all.map(({ noData }) => noData));
  const [missing] = noData.size === 1 ? noData : [];
  if (noData.size > 1) {
    notes.push(
      "The attribute _FillValue is left out, since only some pages or files have GDAL_NODATA",
    );
  }
  const isFloat = dataType.startsWith("float");
  const names = only(
    "The attribute long_name is",
    bands.map((page) => page.map(({ description }) => description)),
  ) ?? [];
  // Neither number is right without the other.
  const [scale, offset] = only(
    "The attributes scale_factor and add_offset are",
    bands.flat().map(({ scale, offset }) => [scale, offset] as const),
  ) ?? [1, 0];
  const unit = only(
    "The attribute units is",
    bands.flat().map(({ unit }) => unit),
  ) ?? "";
  return {
    attributes: {
      ...missing !== undefined && !dataType.startsWith("complex") && {
        _FillValue: encodeXarrayFillValue(missing, isFloat),
      },
      ...scale !== 1 && { scale_factor: scale },
      ...offset !== 0 && { add_offset: offset },
      ...unit !== "" && { units: unit },
      ...names.some((name) => name !== "") && {
        long_name: new Set(names).size === 1 ? names[0] : names,
      },
    },
    notes: [...new Set(notes)],
  };
}

/**
 * Reads the attributes of an array.
 *
 * @param bands The number of bands of the array; 1 if it has none.
 */
export function readValueAttributes(
  attributes: unknown,
  dataType: unknown,
  bands: number,
): Pick<TiffOptions, "noData" | "values"> {
  if (!isMembers(attributes) || typeof dataType !== "string") return {};
  const { _FillValue, missing_value, units, long_name } = attributes;
  const noData = decodeXarrayFillValue(_FillValue, dataType) ??
    decodeXarrayFillValue(missing_value, dataType);
  const [scale, offset] = [attributes.scale_factor, attributes.add_offset]
    .map(numberOf);
  const values: TiffValues = {
    ...isNumber(scale) && { scale },
    ...isNumber(offset) && { offset },
    ...isText(units) && { unit: units },
    ...isText(long_name) && { description: long_name },
    ...Array.isArray(long_name) && long_name.length === bands &&
      long_name.every(isText) && { description: long_name },
  };
  return {
    ...noData !== undefined && { noData },
    ...Object.keys(values).length > 0 && { values },
  };
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Whether a value is a text that a tag of TIFF can hold. */
function isText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}
