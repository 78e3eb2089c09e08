/**
 * The tag GDAL_METADATA: XML with the scales, offsets, units and descriptions of bands.
 *
 * Source: https://gdal.org/en/stable/drivers/raster/gtiff.html#metadata
 */
import type { TiffValues } from "./tiff_options.ts";
import {
  element,
  elementOf,
  escaped,
  listOf,
  parseXml,
} from "./xml_element.ts";

/** The meaning of the elements of a band. */
export interface BandValues {
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
export async function parseGdalMetadata(
  text: string,
  bands: number,
): Promise<readonly BandValues[] | undefined> {
  const document = await parseXml(text, ["Item"]);
  if (document === undefined) return undefined;
  const items = listOf(elementOf(document.GDALMetadata).Item);
  const values = Array.from({ length: bands }, () => ({ ...PLAIN }));
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
