/**
 * The dimensions of a file of several pages, as its first page describes them: OME-XML, and
 * the hyperstacks of ImageJ.
 *
 * Sources: OME-TIFF 6, https://docs.openmicroscopy.org/ome-model/6.3.1/ome-tiff/specification.html;
 * OME-XML 2016-06, https://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd
 */
import { describe, describeAll, sentence } from "../errors/mod.ts";
import { unitSymbols } from "./ome_xml.ts";
import { elementOf, listOf, parseXml, type XmlElement } from "./xml_element.ts";
import type { PyramidChannel } from "./geo_attributes.ts";
import type { TiffAxis, TiffPage } from "./describe_tiff.ts";
import { PageProblem } from "./tiff_tags.ts";

/** The dimensions that pages are numbered along. */
type PlaneAxis = "t" | "c" | "z";

/** An image of several pages. */
export interface TiffSeries {
  readonly name?: string;
  /** The number of planes along each dimension; several bands of a page are one plane. */
  readonly counts: Readonly<Record<PlaneAxis, number>>;
  /** The places of the pages in C order of `t`, `c` and `z`. */
  readonly pages: readonly number[];
  /** The distances between elements along dimensions, if they are known. */
  readonly scales: Readonly<Record<string, { scale: number; unit?: string }>>;
  /** The channels, if they have names or colors. */
  readonly channels?: readonly PyramidChannel[];
}

/** Whether the first page of a file describes the dimensions of all pages. */
export function hasSeries([page]: readonly TiffPage[]): boolean {
  const { description = "" } = page ?? {};
  return isOme(description) || isHyperstack(description);
}

function isOme(description: string): boolean {
  return /<(?:\w+:)?OME[\s>]/.test(description) &&
    /<\/(?:\w+:)?OME>\s*$/.test(description);
}

/** A stack of ImageJ whose planes are numbered along several dimensions. */
function isHyperstack(description: string): boolean {
  return /^ImageJ=/.test(description) &&
    /^(?:channels|slices|frames)=[2-9]|^(?:channels|slices|frames)=1\d/m.test(
      description,
    );
}

/**
 * Reads one image of a file.
 *
 * @param series The number of the image, from 0; may be left out if there is one.
 * @returns `undefined` if the file describes no image.
 * @throws {PageProblem} If there is no such image, or its pages are not all in the file.
 */
export async function readSeries(
  pages: readonly TiffPage[],
  series: number | undefined,
): Promise<{ place: number; series: TiffSeries } | undefined> {
  const { description = "", axes = [], shape = [] } = pages[0] ?? {};
  const bands = shape[axes.indexOf("band")] ?? 1;
  if (isOme(description)) {
    const images = await omeImages(description);
    const place = series ?? (images.length === 1 ? 0 : undefined);
    const image = images[place ?? -1];
    if (image !== undefined) {
      return { place: place!, series: omeSeries(image, pages) };
    }
    const names = describeAll(images.map(({ name = "" }) => name));
    const last = images.length - 1;
    const advice = place === undefined
      ? `choose one by the option "series"`
      : `expected a series from 0 to ${last}, found ${place}`;
    throw new PageProblem(`has ${images.length} images, ${names}: ${advice}`);
  }
  if (isHyperstack(description) && (series ?? 0) === 0) {
    const stack = imageJSeries(description, pages.length, bands);
    return { place: 0, series: stack };
  }
  if (series === undefined) return undefined;
  const only = isHyperstack(description) ? ", where the only series is 0" : "";
  throw new PageProblem(
    `has no series ${series}: expected OME-XML or a hyperstack of ImageJ in the description of its first page${only}`,
  );
}

/** An image of OME-XML. */
interface OmeImage {
  readonly name?: string;
  readonly pixels: XmlElement;
  /** The identifier of the file. */
  readonly uuid: string;
}

async function omeImages(
  description: string,
): Promise<OmeImage[]> {
  const document = await parseXml(
    description,
    ["Image", "Pixels", "Channel", "TiffData", "UUID"],
  );
  if (document === undefined) throw omeError("that cannot be read");
  const ome = elementOf(document.OME);
  const companion = elementOf(ome.BinaryOnly)["@MetadataFile"];
  if (companion !== undefined) {
    throw new PageProblem(
      sentence`has its OME-XML in another file, ${companion}: choose a page by the option "page", or convert the image to one file, such as by bfconvert`,
    );
  }
  const images = listOf(ome.Image).flatMap((image): OmeImage[] => {
    const [pixels] = listOf(image.Pixels);
    const { "@Name": name } = image;
    return pixels === undefined ? [] : [{
      ...typeof name === "string" && { name },
      pixels,
      uuid: String(ome["@UUID"] ?? ""),
    }];
  });
  if (images.length > 0) return images;
  throw omeError("without an image");
}

/** The problem of the OME-XML of a file. */
function omeError(problem: string): PageProblem {
  return new PageProblem(
    `has OME-XML ${problem}: choose a page by the option "page"`,
  );
}

function omeSeries(
  { name: imageName, pixels, uuid }: OmeImage,
  pages: readonly TiffPage[],
): TiffSeries {
  const [width, height, z, c, t] = ["X", "Y", "Z", "C", "T"]
    .map((axis) => sizeOf(pixels, axis)) as [
      number,
      number,
      number,
      number,
      number,
    ];
  // The page that OME-XML names first.
  const [data = {}] = listOf(pixels.TiffData);
  const { axes = [], shape = [], problem } = pages[numberOf(data, "IFD", 0)] ??
    {};
  const lengthOf = (axis: TiffAxis) => shape[axes.indexOf(axis)];
  const bands = lengthOf("band") ?? 1;
  if (c % bands !== 0) {
    throw omeError(
      `of ${c} channels, where its pages have ${bands} bands`,
    );
  }
  const [rows, columns] = [lengthOf("y"), lengthOf("x")];
  if (problem === undefined && (rows !== height || columns !== width)) {
    throw omeError(
      `of ${width} × ${height} pixels, where its page has ${columns} × ${rows}`,
    );
  }
  const counts = { t, c: c / bands, z };
  return {
    ...imageName !== undefined && { name: imageName },
    counts,
    pages: planesOf(pixels, counts, bands, pages.length, uuid),
    scales: scalesOf(pixels),
    ...channelsOf(listOf(pixels.Channel), c),
  };
}

function sizeOf(pixels: XmlElement, axis: string): number {
  const text = pixels[`@Size${axis}`];
  const size = Number(text);
  if (Number.isSafeInteger(size) && size > 0) return size;
  throw omeError(
    `with Size${axis} ${describe(text)}, expected a number from 1 on`,
  );
}

function numberOf(element: XmlElement, name: string, missing: number): number {
  const value = element[`@${name}`];
  const number = value === undefined ? missing : Number(value);
  return Number.isSafeInteger(number) && number >= 0 ? number : missing;
}

/** The places of the pages of an image in C order of `t`, `c` and `z`. */
function planesOf(
  pixels: XmlElement,
  counts: Readonly<Record<PlaneAxis, number>>,
  bands: number,
  pageCount: number,
  uuid: string,
): number[] {
  const blocks = listOf(pixels.TiffData);
  const other = blocks.map((data) => otherFile(data, uuid))
    .find((file) => file !== undefined);
  const elsewhere = other === undefined
    ? ""
    : sentence`, which has pages in another file such as ${other}`;
  const advice =
    `${elsewhere}: choose a page by the option "page", or convert the image to one file, such as by bfconvert`;
  const total = counts.t * counts.c * counts.z;
  if (total > pageCount) {
    throw new PageProblem(
      `has ${pageCount} pages, where its OME-XML counts ${total}${advice}`,
    );
  }
  const { "@DimensionOrder": order = "XYZCT" } = pixels;
  const axes = [...String(order).slice(2).toLowerCase()] as PlaneAxis[];
  if (axes.toSorted().join("") !== "ctz") {
    throw omeError(
      sentence`with the DimensionOrder ${order}, expected one such as XYZCT`,
    );
  }
  const planes: (number | undefined)[] = new Array(total).fill(undefined);
  for (const data of blocks.length > 0 ? blocks : [{}]) {
    if (otherFile(data, uuid) !== undefined) continue;
    const ifd = numberOf(data, "IFD", 0);
    // Planes are numbered from the dimension that changes first.
    const first = axes.reduceRight((sum, axis) => {
      const start = numberOf(data, `First${axis.toUpperCase()}`, 0);
      return sum * counts[axis] +
        (axis === "c" ? Math.floor(start / bands) : start);
    }, 0);
    const count = numberOf(data, "PlaneCount", "@IFD" in data ? 1 : total);
    for (let i = 0; i < count && first + i < total; i++) {
      const plane = placeOf(first + i, axes, counts);
      if (ifd + i < pageCount) planes[plane] ??= ifd + i;
    }
  }
  const missing = planes.indexOf(undefined);
  if (missing < 0) return planes as number[];
  const channel = Math.floor(missing / counts.z);
  const [t, c] = [Math.floor(channel / counts.c), channel % counts.c];
  const z = missing % counts.z;
  throw new PageProblem(
    `has no page for the plane t ${t}, c ${c}, z ${z} of its OME-XML${advice}`,
  );
}

/**
 * The place of a plane in C order of `t`, `c` and `z`.
 *
 * @param number The number of the plane in the order of the file.
 * @param axes The dimensions, the one that changes first before others.
 */
function placeOf(
  number: number,
  axes: readonly PlaneAxis[],
  counts: Readonly<Record<PlaneAxis, number>>,
): number {
  const at = { t: 0, c: 0, z: 0 };
  for (const axis of axes) {
    at[axis] = number % counts[axis];
    number = Math.floor(number / counts[axis]);
  }
  return (at.t * counts.c + at.c) * counts.z + at.z;
}

/** The name of the other file that has pages of an image. */
function otherFile(data: XmlElement, own: string): string | undefined {
  const [uuid] = Array.isArray(data.UUID) ? data.UUID : [];
  if (uuid === undefined) return undefined;
  const text = typeof uuid === "string" ? uuid : elementOf(uuid)["#text"];
  if (own !== "" && String(text).trim() === own.trim()) return undefined;
  const { "@FileName": file = String(text) } = elementOf(uuid);
  return own === "" && text === undefined ? undefined : String(file);
}

/** The name of a unit by its symbol in OME-XML; `undefined` if OME-Zarr does not have it. */
function unitOf(symbol: string): string | undefined {
  const units = [...unitSymbols("meter"), ...unitSymbols("second")];
  // There are two characters for micro.
  const short = symbol.replace("\u03bc", "\u00b5");
  return units.find(([, each]) => each === short)?.[0];
}

/** The attributes with the distances along dimensions, and their units if none is given. */
const SIZES = [
  ["x", "PhysicalSizeX", "µm"],
  ["y", "PhysicalSizeY", "µm"],
  ["z", "PhysicalSizeZ", "µm"],
  ["t", "TimeIncrement", "s"],
] as const;

function scalesOf(pixels: XmlElement): TiffSeries["scales"] {
  const scales: Record<string, { scale: number; unit?: string }> = {};
  for (const [axis, name, missing] of SIZES) {
    const scale = Number(pixels[`@${name}`]);
    if (!(scale > 0) || !Number.isFinite(scale)) continue;
    const symbol = String(pixels[`@${name}Unit`] ?? missing);
    const unit = unitOf(symbol);
    scales[axis] = { scale, ...unit !== undefined && { unit } };
  }
  return scales;
}

/** The colors of the samples of RGB. */
const RGB = ["FF0000", "00FF00", "0000FF"];

function channelsOf(
  elements: readonly XmlElement[],
  count: number,
): { channels?: PyramidChannel[] } {
  const samplesOf = (element: XmlElement) =>
    Math.min(numberOf(element, "SamplesPerPixel", 1), count);
  const total = elements.reduce((sum, each) => sum + samplesOf(each), 0);
  // Before there is an object for each.
  if (total !== count) return {};
  const channels = elements.flatMap((element) => {
    const samples = samplesOf(element);
    const { "@Name": label, "@Color": color } = element;
    const own: PyramidChannel = {
      ...typeof label === "string" && label !== "" && { label },
      ...color !== undefined && { color: colorOf(Number(color)) },
    };
    return samples === 3
      ? RGB.map((color) => ({ ...own, color }))
      : Array.from({ length: samples }, () => own);
  });
  const isDescribed = channels
    .some((channel) => Object.keys(channel).length > 0);
  return isDescribed ? { channels } : {};
}

/** A color of OME-XML, which is a signed number of red, green, blue and alpha. */
function colorOf(color: number): string {
  return (color >>> 0).toString(16).padStart(8, "0").slice(0, 6).toUpperCase();
}

/** The planes of ImageJ, which are numbered by channels, slices and frames. */
function imageJSeries(
  description: string,
  pageCount: number,
  bands: number,
): TiffSeries {
  const valueOf = (key: string) =>
    new RegExp(`^${key}=(.*)$`, "m").exec(description)?.[1]?.trim();
  const [c, z, t] = ["channels", "slices", "frames"].map((key) => {
    const count = Number(valueOf(key) ?? 1);
    return Number.isSafeInteger(count) && count > 0 ? count : 1;
  }) as [number, number, number];
  if (c * z * t > pageCount) {
    throw new PageProblem(
      `has ${pageCount} pages, where ImageJ counts ${c} channels, ${z} slices and ${t} frames of ${bands} bands: choose a page by the option "page"`,
    );
  }
  const spacing = Math.abs(Number(valueOf("spacing")));
  const interval = Number(valueOf("finterval"));
  const unit = imageJUnit(valueOf("unit"));
  const counts = { t, c, z };
  const pages: number[] = [];
  for (let page = 0; page < t * c * z; page++) {
    pages[placeOf(page, ["c", "z", "t"], counts)] = page;
  }
  return {
    counts,
    pages,
    scales: {
      ...spacing > 0 && { z: { scale: spacing, ...unit && { unit } } },
      ...interval > 0 && { t: { scale: interval, unit: "second" } },
    },
  };
}

function imageJUnit(text = ""): string | undefined {
  const symbol = text.replace(/\\u00B5/i, "µ").replace(/^um$|^micron$/, "µm");
  return unitOf(symbol) ?? (unitSymbols("meter").has(text) ? text : undefined);
}
