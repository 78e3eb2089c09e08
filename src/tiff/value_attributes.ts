/**
 * The scale, offset, unit and fill value of elements: attributes of CF, and tags of GDAL.
 *
 * Sources: CF 1.12, section 8.1, https://cfconventions.org; the names of bands as rioxarray
 * has them, https://corteva.github.io/rioxarray; the tag GDAL_METADATA,
 * https://gdal.org/en/stable/drivers/raster/gtiff.html#metadata
 */
import {
  decodeXarrayFillValue,
  encodeXarrayFillValue,
  isMembers,
  numberOf,
} from "../metadata/mod.ts";
import type { TiffOptions, TiffValues } from "./tiff_options.ts";
import type { TiffPage } from "./describe_tiff.ts";
import {
  element,
  elementOf,
  escaped,
  listOf,
  parseXml,
} from "./xml_element.ts";

/**
 * Returns the attributes of an array of pages.
 *
 * @param pages The pages of all files, which may have the same tags several times.
 * @param dataType The data type of the array.
 */
export async function valueAttributes(
  pages: readonly TiffPage[],
  dataType: string,
): Promise<
  { attributes: Readonly<Record<string, unknown>>; notes: readonly string[] }
> {
  const notes: string[] = [];
  const parsed = new Map<string, readonly BandValues[] | undefined>();
  for (const { gdalMetadata = "", axes, shape } of pages) {
    const count = shape[axes.indexOf("band")] ?? 1;
    const key = `${count} ${gdalMetadata}`;
    if (parsed.has(key)) continue;
    parsed.set(key, await parseGdalMetadata(gdalMetadata, count));
  }
  const bands = [...parsed.values()].filter((each) => each !== undefined);
  if (bands.length < parsed.size) {
    notes.push("The tag GDAL_METADATA is left out, since it is no XML");
  }
  /** The one of several values that are all the same. */
  const only = <Value>(attribute: string, values: readonly Value[]) => {
    const different = new Map(values.map((value) => [
      typeof value === "object" ? JSON.stringify(value) : String(value),
      value,
    ]));
    if (different.size > 1) {
      notes.push(
        `The ${attribute} left out, since the bands, pages or files differ in it`,
      );
    }
    return different.size === 1 ? [...different.values()][0] : undefined;
  };
  const missing = only(
    "attribute _FillValue is",
    pages.map(({ noData }) => noData),
  );
  const names = only(
    "attribute long_name is",
    bands.map((page) => page.map(({ description }) => description)),
  ) ?? [];
  const flat = bands.flat();
  // Neither number is right without the other.
  const [scale, offset] = only(
    "attributes scale_factor and add_offset are",
    flat.map(({ scale, offset }) => [scale, offset] as const),
  ) ?? [1, 0];
  const unit = only("attribute units is", flat.map(({ unit }) => unit)) ?? "";
  return {
    attributes: {
      ...missing !== undefined && !dataType.startsWith("complex") && {
        _FillValue: encodeXarrayFillValue(
          missing,
          dataType.startsWith("float"),
        ),
      },
      ...scale !== 1 && { scale_factor: scale },
      ...offset !== 0 && { add_offset: offset },
      ...unit !== "" && { units: unit },
      ...names.some((name) => name !== "") && {
        long_name: new Set(names).size === 1 ? names[0] : names,
      },
    },
    notes,
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

/** The meaning of the elements of a band. */
interface BandValues {
  /** The number by which elements are multiplied. */
  readonly scale: number;
  /** The number that is added then. */
  readonly offset: number;
  readonly unit: string;
  readonly description: string;
}

const PLAIN: BandValues = { scale: 1, offset: 0, unit: "", description: "" };

/**
 * Composes the tag.
 *
 * @param bands The number of bands of a page.
 * @param first The place of the first of them among the bands of the array.
 * @returns `undefined` if no band has a meaning to store.
 */
export function gdalMetadata(
  { scale = 1, offset = 0, unit = "", description = "" }: TiffValues,
  bands: number,
  first: number,
): string | undefined {
  const isScaled = scale !== 1 || offset !== 0;
  const items = Array.from({ length: bands }, (_, sample) => {
    const own = typeof description === "string"
      ? description
      : description[first + sample] ?? "";
    return [
      ...own === "" ? [] : [itemOf("DESCRIPTION", own, sample)],
      ...isScaled
        ? [
          itemOf("OFFSET", String(offset), sample),
          itemOf("SCALE", String(scale), sample),
        ]
        : [],
      ...unit === "" ? [] : [itemOf("UNITTYPE", unit, sample)],
    ];
  }).flat();
  return items.length === 0 ? undefined : element("GDALMetadata", {}, items);
}

function itemOf(name: string, value: string, sample: number): string {
  const attributes = { name, sample, role: name.toLowerCase() };
  // GDAL escapes texts before it makes XML of them.
  return element("Item", attributes, [escaped(escaped(value))]);
}

/**
 * Parses the tag.
 *
 * @param bands The number of bands of the page.
 * @returns The scale, offset, unit and description of each band; `undefined` if the tag is no XML.
 */
async function parseGdalMetadata(
  text: string,
  bands: number,
): Promise<readonly BandValues[] | undefined> {
  const values = Array.from({ length: bands }, () => ({ ...PLAIN }));
  if (text === "") return values;
  const document = await parseXml(text, ["Item"]);
  if (document === undefined) return undefined;
  const items = listOf(elementOf(document.GDALMetadata).Item);
  for (const item of items) {
    const { "@sample": sample, "@role": role, "#text": escapedValue } = item;
    const band = values[
      /^\d{1,5}$/.test(String(sample)) ? Number(sample) : -1
    ];
    if (band === undefined || typeof escapedValue !== "string") continue;
    const value = unescaped(escapedValue);
    const number = value.trim() === "" ? NaN : Number(value);
    switch (String(role).toLowerCase()) {
      case "scale":
        if (Number.isFinite(number)) band.scale = number;
        break;
      case "offset":
        if (Number.isFinite(number)) band.offset = number;
        break;
      case "unittype":
        band.unit = value;
        break;
      case "description":
        band.description = value;
    }
  }
  return values;
}

const CHARACTERS: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

/** Undoes the escapes that GDAL makes before those of XML. */
function unescaped(text: string): string {
  return text.replaceAll(
    /&(amp|lt|gt|quot|apos);/g,
    (_, name) => CHARACTERS[name]!,
  );
}
