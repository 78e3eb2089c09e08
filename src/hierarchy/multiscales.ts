/**
 * The levels of multiscale groups, as attributes describe them.
 *
 * Sources: OME-Zarr 0.4 and 0.5, https://ngff.openmicroscopy.org/0.5/;
 * GeoZarr, https://github.com/zarr-conventions/multiscales;
 * ndpyramid, https://github.com/carbonplan/ndpyramid
 */
import { isMembers, type Members } from "../metadata/mod.ts";
import { resolvePath } from "./named_nodes.ts";

/** The most lists of levels, levels and channels that a page shows. */
const [MOST_LISTS, MOST_LEVELS, MOST_CHANNELS] = [8, 64, 16];
/** The most characters of a text that a page shows. */
const LONGEST_TEXT = 200;

/** The levels of an image, in the order of the attributes. */
export interface Multiscale {
  readonly name: string | undefined;
  /** The conventions that the attributes follow, such as `OME-Zarr 0.5`. */
  readonly conventions: readonly string[];
  /** The dimensions of all levels; empty if the attributes do not have them. */
  readonly axes: readonly MultiscaleAxis[];
  /** How the levels were made. */
  readonly method: string | undefined;
  readonly projection: string | undefined;
  readonly levels: readonly MultiscaleLevel[];
  /** The number of levels that are not listed. */
  readonly more: number;
}

/** A dimension of the levels of an image. */
interface MultiscaleAxis {
  readonly name: string;
  /** Such as `space`, `time` or `channel`. */
  readonly type: string | undefined;
  /** The unit of pixel sizes, such as `micrometer`. */
  readonly unit: string | undefined;
}

/** A level of an image: an array, or a group of arrays. */
export interface MultiscaleLevel {
  /** The path as the attributes have it. */
  readonly name: string;
  /** The path in the store; `undefined` for a path that leads out of the group. */
  readonly path: string | undefined;
  /** The pixel sizes along all dimensions, or along those of rows and columns. */
  readonly scale: readonly number[] | undefined;
  /** The coordinates of the first element along all dimensions. */
  readonly translation?: readonly number[] | undefined;
}

/** A channel of an image, as OME-Zarr has it in `omero`. */
export interface ImageChannel {
  /** The place of the channel along its dimension. */
  readonly index: number;
  readonly label: string;
  /** The color, such as `#00ff00`. */
  readonly color: string;
  /** The values of the darkest and of the brightest pixel. */
  readonly window: readonly [low: number, high: number] | undefined;
  readonly isActive: boolean;
}

/**
 * Reads the lists of levels in the attributes of a group. Members that do not have the form
 * of the conventions are left out.
 *
 * @param group The path of the group.
 */
export function multiscalesOf(
  attributes: Members,
  group: string,
): Multiscale[] {
  const found = [
    ...imagesOf(attributes, group),
    ...layoutOf(attributes, group),
  ];
  const different: Multiscale[] = [];
  for (const each of found) {
    const same = different.findIndex((other) => hasSameLevels(other, each));
    if (same < 0) different.push(each);
    else different[same] = joined(different[same]!, each);
  }
  return different.slice(0, MOST_LISTS);
}

/** Reads the images of OME-Zarr and ndpyramid in the attributes of a group, as `multiscalesOf` does. */
export function imagesOf(attributes: Members, group: string): Multiscale[] {
  const { ome } = attributes;
  return [
    ...isMembers(ome)
      ? datasetsOf(ome, group, nameWithVersion(ome.version))
      : [],
    ...datasetsOf(attributes, group),
  ];
}

/** The channels in the attributes of an image; empty if there are none. */
export function channelsOf(attributes: Members): ImageChannel[] {
  const channels = listOf(omeroOf(attributes).channels).slice(0, MOST_CHANNELS)
    .map((channel, index) => {
      const { label, color, window, active } = isMembers(channel)
        ? channel
        : {};
      const isColor = typeof color === "string" && /^[\da-f]{6}$/i.test(color);
      const { start, end } = isMembers(window) ? window : {};
      const [low, high] = [numberIn(start), numberIn(end)];
      return {
        index,
        label: textIn(label) ?? `channel ${index}`,
        color: isColor ? `#${color.toLowerCase()}` : "#ffffff",
        window: low !== undefined && high !== undefined && low < high
          ? [low, high] as const
          : undefined,
        isActive: active !== false,
      };
    });
  return channels.some(({ isActive }) => isActive)
    ? channels
    : channels.map((channel) => ({ ...channel, isActive: true }));
}

/** The plane that an image is first shown at, as OME-Zarr has it in `omero`, by the name of the axis. */
export function defaultPlaneOf(attributes: Members): Record<string, number> {
  const { rdefs } = omeroOf(attributes);
  const { defaultZ, defaultT } = isMembers(rdefs) ? rdefs : {};
  const plane: Record<string, number> = {};
  for (const [name, value] of [["z", defaultZ], ["t", defaultT]] as const) {
    if (Number.isSafeInteger(value) && value as number >= 0) {
      plane[name] = value as number;
    }
  }
  return plane;
}

/** How OME-Zarr shows an image: in `ome` from 0.5 on. */
function omeroOf({ ome, omero }: Members): Members {
  const inOme = isMembers(ome) ? ome.omero : undefined;
  return [inOme, omero].find(isMembers) ?? {};
}

/** The levels of OME-Zarr and ndpyramid. */
function datasetsOf(
  owner: Members,
  group: string,
  convention?: string,
): Multiscale[] {
  return listOf(owner.multiscales).slice(0, MOST_LISTS).flatMap((image) => {
    if (!isMembers(image) || !Array.isArray(image.datasets)) return [];
    const datasets = image.datasets.filter(isMembers);
    const { method } = isMembers(image.metadata) ? image.metadata : {};
    const isPyramid = /^pyramid_/.test(textIn(method) ?? "") ||
      datasets.some(({ pixels_per_tile }) => pixels_per_tile);
    const axes = listOf(image.axes).slice(0, MOST_LEVELS).map(axisOf);
    const [{ crs } = {} as Members] = datasets;
    return [{
      name: textIn(image.name),
      conventions: [
        convention ??
          (isPyramid ? "ndpyramid" : nameWithVersion(image.version)),
      ],
      axes,
      method: textIn(image.type),
      projection: textIn(crs),
      levels: datasets.slice(0, MOST_LEVELS).map((dataset) =>
        levelOf(
          dataset.path,
          group,
          // Those of an image follow those of each level.
          stepsOf([
            ...listOf(dataset.coordinateTransformations),
            ...listOf(image.coordinateTransformations),
          ]),
        )
      ),
      more: Math.max(0, datasets.length - MOST_LEVELS),
    }];
  });
}

/** The levels of GeoZarr. */
function layoutOf(attributes: Members, group: string): Multiscale[] {
  const { multiscales } = attributes;
  if (!isMembers(multiscales) || !Array.isArray(multiscales.layout)) return [];
  const layout = multiscales.layout.filter(isMembers);
  const dimensions = listOf(attributes["spatial:dimensions"]);
  return [{
    name: undefined,
    conventions: ["GeoZarr multiscales"],
    axes: dimensions.slice(0, 2).map((name) => axisOf({ name, type: "space" })),
    method: textIn(multiscales.resampling_method),
    projection: textIn(attributes["proj:code"]),
    levels: layout.slice(0, MOST_LEVELS).map((level) =>
      levelOf(level.asset, group, {
        scale: pixelSizes(level["spatial:transform"]),
      })
    ),
    more: Math.max(0, layout.length - MOST_LEVELS),
  }];
}

/** The height and the width of pixels, from an affine transformation of columns and rows. */
export function pixelSizes(transform: unknown): number[] | undefined {
  const numbers = listOf(transform).map(numberIn);
  if (numbers.length < 6 || numbers.includes(undefined)) return undefined;
  const [a, b, , d, e] = numbers as number[];
  return [Math.hypot(b!, e!), Math.hypot(a!, d!)];
}

function levelOf(
  name: unknown,
  group: string,
  steps: Pick<MultiscaleLevel, "scale" | "translation">,
): MultiscaleLevel {
  const path = typeof name === "string" ? resolvePath(group, name) : undefined;
  const prefix = group === "" ? "" : `${group}/`;
  const isBelow = path !== undefined && path.startsWith(prefix) &&
    path.length > prefix.length;
  return {
    name: textIn(name) ?? "without a path",
    path: isBelow ? path : undefined,
    ...steps,
  };
}

function axisOf(axis: unknown): MultiscaleAxis {
  // Axes of OME-Zarr 0.3 are names.
  if (!isMembers(axis)) {
    return { name: textIn(axis) ?? "?", type: undefined, unit: undefined };
  }
  const { name, type, unit } = axis;
  return { name: textIn(name) ?? "?", type: textIn(type), unit: textIn(unit) };
}

/** The scale and the translation that transformations make one after another. */
function stepsOf(
  transformations: readonly unknown[],
): Pick<MultiscaleLevel, "scale" | "translation"> {
  let scale: number[] | undefined;
  let translation: number[] | undefined;
  for (const each of transformations.filter(isMembers)) {
    const isScale = each.type === "scale";
    const given = isScale
      ? each.scale
      : each.type === "translation"
      ? each.translation
      : undefined;
    const numbers = listOf(given).slice(0, MOST_LEVELS).map(numberIn);
    if (numbers.length === 0 || numbers.includes(undefined)) continue;
    const steps = numbers as number[];
    if (isScale) {
      translation = translation?.map((first, i) => first * (steps[i] ?? 1));
      scale = scale?.map((step, i) => step * (steps[i] ?? 1)) ?? steps;
    } else {
      translation = translation?.map((first, i) => first + (steps[i] ?? 0)) ??
        steps;
    }
  }
  return { scale, translation };
}

function hasSameLevels(one: Multiscale, other: Multiscale): boolean {
  const pathsOf = ({ levels }: Multiscale) =>
    levels.map(({ path, name }) => path ?? `/${name}`).sort().join("\n");
  return pathsOf(one) === pathsOf(other);
}

/** The same levels, described by two conventions. */
function joined(one: Multiscale, other: Multiscale): Multiscale {
  // With a place of GeoZarr, the sizes of OME-Zarr have no units.
  const hasUnits = one.axes.some(({ unit }) => unit !== undefined);
  const scales = new Map(other.levels.map(({ path, scale }) => [path, scale]));
  return {
    ...one,
    levels: one.levels.map((level) => {
      const scale = scales.get(level.path);
      const isOwn = scale === undefined || hasUnits && level.scale;
      return isOwn ? level : { ...level, scale };
    }),
    conventions: [...one.conventions, ...other.conventions],
    axes: one.axes.length > 0 ? one.axes : other.axes,
    method: one.method ?? other.method,
    projection: one.projection ?? other.projection,
  };
}

function nameWithVersion(version: unknown): string {
  const text = textIn(version);
  return text === undefined ? "OME-Zarr" : `OME-Zarr ${text}`;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text that can be shown; `undefined` for other values. */
function textIn(value: unknown): string | undefined {
  if (typeof value !== "string" || value.trim() === "") return undefined;
  return value.length <= LONGEST_TEXT
    ? value
    : `${value.slice(0, LONGEST_TEXT)}…`;
}

/** A finite number; `undefined` for other values. */
function numberIn(value: unknown): number | undefined {
  const isNumber = typeof value === "number" || typeof value === "bigint";
  const number = isNumber ? Number(value) : NaN;
  return Number.isFinite(number) ? number : undefined;
}
