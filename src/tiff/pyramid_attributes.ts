/**
 * The attributes of a group whose arrays are the levels of a pyramid.
 *
 * Sources: https://github.com/zarr-conventions/multiscales;
 * OME-Zarr 0.5, https://ngff.openmicroscopy.org/0.5/
 */
import {
  CONVENTIONS,
  geoAttributes,
  type GeoLevel,
  geoLevelAttributes,
  type GeoPlace,
  joinAttributes,
} from "./geo_attributes.ts";

/** A dimension of all levels. */
export interface PyramidAxis {
  readonly name: string;
  /** The distance between two elements of the largest level. Defaults to 1. */
  readonly scale?: number | undefined;
  /** The unit of `scale` by its name in UDUNITS-2, such as `micrometer`. */
  readonly unit?: string | undefined;
}

/** A channel, as OME-Zarr has it in `omero`. */
export interface PyramidChannel {
  readonly label?: string | undefined;
  /** The color as six hexadecimal digits. */
  readonly color?: string | undefined;
}

/** The levels of a pyramid, and the properties in its attributes. */
export interface Pyramid {
  readonly name: string;
  readonly axes: readonly PyramidAxis[];
  /** The levels, the largest first. */
  readonly levels: readonly PyramidLevel[];
  readonly channels?: readonly PyramidChannel[] | undefined;
  /** The data type by its Zarr name. */
  readonly dataType: string;
  readonly place?: GeoPlace | undefined;
  /** The names of the dimensions of rows and columns. */
  readonly dimensions: readonly [string, string];
}

/** An array of a pyramid. */
interface PyramidLevel extends GeoLevel {
  /** The path of the array in the group. */
  readonly path: string;
}

/** Composes the attributes of the group. */
export function pyramidAttributes(
  pyramid: Pyramid,
): { attributes: Record<string, unknown>; notes: string[] } {
  const { levels, axes, place, dimensions } = pyramid;
  const ome = omeAttributes(pyramid);
  const factors = levels.map((level) => factorsOf(level, axes, dimensions));
  return {
    attributes: joinAttributes({
      ...typeof ome === "string" ? {} : { ome },
      multiscales: {
        layout: levels.map((level, i) => ({
          asset: level.path,
          ...i > 0 && { derived_from: levels[i - 1]!.path },
          transform: {
            scale: factors[i]!.map((factor, axis) =>
              i === 0 ? 1 : factor / factors[i - 1]![axis]!
            ),
            translation: axes.map(() => 0),
          },
          ...place && geoLevelAttributes(place, level),
        })),
      },
      zarr_conventions: [CONVENTIONS.multiscales],
    }, geoAttributes(place, levels[0]!, dimensions)),
    // Programs for maps read the other conventions.
    notes: typeof ome === "string" && place === undefined ? [ome] : [],
  };
}

/** The number of elements of the largest level for each one of a level. */
function factorsOf(
  { factorX, factorY }: GeoLevel,
  axes: readonly PyramidAxis[],
  [y, x]: readonly [string, string],
): number[] {
  return axes.map(({ name }) =>
    name === y ? factorY : name === x ? factorX : 1
  );
}

/** The types of axes by their names; all others are of the user's own types. */
const AXIS_TYPES: Readonly<Record<string, string>> = {
  t: "time",
  c: "channel",
  band: "channel",
  z: "space",
  y: "space",
  x: "space",
};

/** Composes the attribute `ome`, or a note with the reason why there is none. */
function omeAttributes(
  { name, axes, levels, channels, dataType, dimensions }: Pyramid,
): Record<string, unknown> | string {
  const types = axes.map(({ name }) =>
    dimensions.includes(name) ? "space" : AXIS_TYPES[name]
  );
  const order = types.map((type) => (type ?? "custom")[0]).join("");
  // Time, then one channel or dimension of the user's own, then two or three of space.
  const isOrdered = /^t?[c]?s{2,3}$/.test(order);
  if (!isOrdered) {
    return `There is no attribute ome, since OME-Zarr has no dimensions ${
      axes.map(({ name }) => name).join(", ")
    }: the option "dimensionNames", or --dimension-names, can name them t, c, z, y and x, in this order`;
  }
  return {
    version: "0.5",
    multiscales: [{
      name,
      axes: axes.map(({ name, unit }, i) => ({
        name,
        ...types[i] !== undefined && { type: types[i] },
        ...unit !== undefined && { unit },
      })),
      datasets: levels.map((level) => ({
        path: level.path,
        coordinateTransformations: [{
          type: "scale",
          scale: factorsOf(level, axes, dimensions)
            .map((factor, i) => factor * (axes[i]!.scale ?? 1)),
        }],
      })),
    }],
    ...channels && omeroOf(channels, dataType),
  };
}

/** The colors of channels that have none. */
const WHITE = "FFFFFF";

/** The member `omero`, which needs the least and the greatest element, and so a data type of integers. */
function omeroOf(
  channels: readonly PyramidChannel[],
  dataType: string,
): Record<string, unknown> {
  const [, kind, digits] = /^(u?)int(\d+)$/.exec(dataType) ?? [];
  if (kind === undefined) return {};
  const bits = Number(digits);
  const [min, max] = kind === "u"
    ? [0, 2 ** bits - 1]
    : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
  return {
    omero: {
      channels: channels.map(({ label, color = WHITE }) => ({
        ...label !== undefined && { label },
        color,
        active: true,
        window: { min, max, start: min, end: max },
      })),
    },
  };
}
