import { sentence } from "../errors/mod.ts";
import { coordinatesInShard } from "../shards/mod.ts";
import type { Picture, TiffArray } from "./tiff_array.ts";
import type { TiffDataType } from "./tiff_codecs.ts";
import type { OmeImage } from "./tiff_options.ts";
import { type Attributes, element } from "./xml_element.ts";

const NAMESPACE = "http://www.openmicroscopy.org/Schemas/OME/2016-06";

/** The names of data types in OME-XML. */
const TYPES: Readonly<Record<string, string>> = {
  bool8: "uint8",
  uint8: "uint8",
  uint16: "uint16",
  uint32: "uint32",
  int8: "int8",
  int16: "int16",
  int32: "int32",
  float32: "float",
  float64: "double",
  complex64: "complex",
  complex128: "double-complex",
};

/** Whether OME-XML has a name for a data type. */
export function isOmeType(type: TiffDataType): boolean {
  return nameOfType(type) !== undefined;
}

function nameOfType({ kind, bits }: TiffDataType): string | undefined {
  return TYPES[`${kind}${bits}`];
}

/** The symbols of the prefixes that OME-Zarr allows before meters and seconds. */
const PREFIXES = {
  "": "",
  yotta: "Y",
  zetta: "Z",
  exa: "E",
  peta: "P",
  tera: "T",
  giga: "G",
  mega: "M",
  kilo: "k",
  hecto: "h",
  deci: "d",
  centi: "c",
  milli: "m",
  micro: "µ",
  nano: "n",
  pico: "p",
  femto: "f",
  atto: "a",
  zepto: "z",
  yocto: "y",
};

/** The units without prefixes. Both sets are closed, in OME-Zarr and OME-XML. */
const UNITS = {
  meter: {
    angstrom: "Å",
    foot: "ft",
    inch: "in",
    mile: "mi",
    parsec: "pc",
    yard: "yd",
  },
  second: { day: "d", hour: "h", minute: "min" },
};

/** The symbols of lengths, or of times, in OME-XML by their names in OME-Zarr. */
export function unitSymbols(
  unit: keyof typeof UNITS,
): ReadonlyMap<string, string> {
  const prefixed = Object.entries(PREFIXES)
    .map(([prefix, short]) => [prefix + unit, short + unit[0]] as const);
  return new Map([...prefixed, ...Object.entries(UNITS[unit])]);
}

/** Whether OME-XML has dimensions of these names, with the picture where it is in an array. */
export function isOmePicture(
  names: readonly string[],
  { y, x, bands }: TiffArray["axes"],
): boolean {
  return new Set(names).size === names.length &&
    names.every((name) => ["t", "c", "z", "y", "x"].includes(name)) &&
    names[y] === "y" && names[x] === "x" &&
    (bands === undefined || names[bands] === "c");
}

/**
 * Refuses an array that OME-XML cannot represent.
 *
 * @throws {RangeError} If OME-XML has no name for the data type, or not these dimensions.
 */
export function assertOme(
  array: TiffArray,
  { axes, ...lists }: OmeImage,
): void {
  const { shape, kind, bits, axes: meanings } = array;
  if (!isOmeType(array)) {
    throw new RangeError(
      `Expected a data type that OME-XML has, found "${kind}${bits}": leave out ome`,
    );
  }
  const isFitting = Array.isArray(axes) && axes.length === shape.length &&
    isOmePicture(axes, meanings);
  if (!isFitting) {
    throw new RangeError(
      sentence`Expected ome.axes to be "t", "c", "z", "y" and "x", one for each of the ${shape.length} dimensions, with "y" and "x" where the picture has them and "c" for bands, found ${axes}`,
    );
  }
  for (const name of ["scale", "translation", "units"] as const) {
    const list = lists[name];
    if (list === undefined || list.length === shape.length) continue;
    throw new RangeError(
      `Expected ome.${name} with one member for each of the ` +
        sentence`${shape.length} dimensions, found ${list}`,
    );
  }
}

/**
 * Composes the OME-XML of a file with one image: a part of an array, whose pages are its
 * planes in C order.
 *
 * Source: https://docs.openmicroscopy.org/ome-model/6.3.1/ome-tiff/specification.html
 *
 * @param image The description of the array, checked by `assertOme`.
 */
export function omeXml(
  array: Pick<
    TiffArray,
    | "axes"
    | "shardShape"
    | "kind"
    | "bits"
    | "isLittleEndian"
  >,
  { shard, shape }: Picture,
  image: OmeImage,
): string {
  const { axes, shardShape } = array;
  const starts = shard.map((place, i) => place * shardShape[i]!);
  const sizeOf = (name: string) => shape[image.axes.indexOf(name)] ?? 1;
  const samples = axes.bands === undefined ? 1 : shape[axes.bands]!;
  const planes = axes.pages.map((axis) => image.axes[axis]!);
  // The first letter after XY changes fastest; dimensions without pages may come last.
  const order = [
    ...axes.bands === undefined ? [] : ["c"],
    ...planes.toReversed(),
  ];
  const rest = ["z", "c", "t"].filter((name) => !order.includes(name));
  const pixels = element("Pixels", {
    ID: "Pixels:0",
    DimensionOrder: `XY${[...order, ...rest].join("").toUpperCase()}`,
    Type: nameOfType(array),
    BigEndian: !array.isLittleEndian,
    Interleaved: axes.bands === axes.x + 1 ? true : undefined,
    SizeX: sizeOf("x"),
    SizeY: sizeOf("y"),
    SizeZ: sizeOf("z"),
    SizeC: sizeOf("c"),
    SizeT: sizeOf("t"),
    ...physicalSizes(image),
  }, [
    ...channels(array, { starts, count: sizeOf("c"), samples }, image),
    element("TiffData", { IFD: 0, PlaneCount: countOf(axes.pages, shape) }),
    ...placedPlanes(planes, { starts, shape: shape }, { axes, image }),
  ]);
  const document = element("OME", {
    xmlns: NAMESPACE,
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "xsi:schemaLocation": `${NAMESPACE} ${NAMESPACE}/ome.xsd`,
    Creator: "zarr-parts",
  }, [element("Image", { ID: "Image:0", Name: image.name }, [pixels])]);
  return `<?xml version="1.0" encoding="UTF-8"?>${document}`;
}

/** The physical sizes of pixels, and the time between two planes. */
function physicalSizes({ axes, scale, units }: OmeImage): Attributes {
  const sizes: Record<string, string | number | undefined> = {};
  const lengths = unitSymbols("meter");
  for (const name of ["x", "y", "z"]) {
    const axis = axes.indexOf(name);
    const unit = lengths.get(units?.[axis] ?? "");
    const size = scale?.[axis];
    // Sizes in OME-XML are above 0, and in micrometers unless they have another unit.
    if (size === undefined || size <= 0 || unit === undefined) continue;
    const key = `PhysicalSize${name.toUpperCase()}`;
    sizes[key] = size;
    sizes[`${key}Unit`] = unit;
  }
  const time = axes.indexOf("t");
  const unit = unitSymbols("second").get(units?.[time] ?? "");
  const increment = scale?.[time];
  if (unit === undefined || increment === undefined) return sizes;
  return { ...sizes, TimeIncrement: increment, TimeIncrementUnit: unit };
}

/** The channels of a file: one for each plane of colors, or one with all bands of a page. */
function channels(
  { axes }: Pick<TiffArray, "axes">,
  { starts, count, samples }: {
    starts: readonly number[];
    count: number;
    samples: number;
  },
  image: OmeImage,
): string[] {
  const first = starts[image.axes.indexOf("c")] ?? 0;
  const isOne = axes.bands !== undefined;
  return Array.from({ length: isOne ? 1 : count }, (_, i) => {
    const { label, color } = (!isOne && image.channels?.[first + i]) || {};
    return element("Channel", {
      ID: `Channel:0:${i}`,
      Name: label,
      SamplesPerPixel: samples,
      Color: color === undefined ? undefined : colorOf(color),
    });
  });
}

/** A color as OME-XML has it: red, green, blue and alpha in a signed number of 32 bits. */
function colorOf(color: string): number | undefined {
  return /^[\da-f]{6}$/i.test(color)
    ? Number.parseInt(`${color}ff`, 16) | 0
    : undefined;
}

/** Composes the position of each plane in the units of the image, which differs between the files. */
function placedPlanes(
  names: readonly string[],
  { starts, shape }: { starts: readonly number[]; shape: readonly number[] },
  { axes, image }: { axes: TiffArray["axes"]; image: OmeImage },
): string[] {
  const { scale, translation, units } = image;
  const lengths = unitSymbols("meter");
  const position = (name: string, within: number) => {
    const axis = image.axes.indexOf(name);
    const unit = lengths.get(units?.[axis] ?? "");
    if (unit === undefined || scale?.[axis] === undefined) return {};
    const key = `Position${name.toUpperCase()}`;
    const place = (starts[axis]! + within) * scale[axis]! +
      (translation?.[axis] ?? 0);
    return { [key]: place, [`${key}Unit`]: unit };
  };
  if (Object.keys(position("x", 0)).length === 0) return [];
  const chunksPerShard = axes.pages.map((axis) => shape[axis]!);
  return Array.from({ length: countOf(axes.pages, shape) }, (_, i) => {
    const page = coordinatesInShard(i, { chunksPerShard });
    const at = (name: string) => page[names.indexOf(name)] ?? 0;
    return element("Plane", {
      TheZ: at("z"),
      TheC: at("c"),
      TheT: at("t"),
      ...position("x", 0),
      ...position("y", 0),
      ...position("z", at("z")),
    });
  });
}

function countOf(axes: readonly number[], shape: readonly number[]): number {
  return axes.reduce((product, axis) => product * shape[axis]!, 1);
}
