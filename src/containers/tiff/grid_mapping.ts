/**
 * Coordinate reference systems by the parameters of a grid mapping.
 *
 * Source: CF 1.12, section 5.6 and appendix F, https://cfconventions.org
 */
import { type Members, numberOf } from "../../metadata/mod.ts";

/** A projection: its name in EPSG, and the attributes of its parameters by their codes in EPSG. */
interface Projection {
  readonly name: string;
  readonly id?: number;
  readonly parameters: Readonly<Record<number, string>>;
}

/** The place of a parallel among those of the attribute. */
const PARALLEL = /^standard_parallel (\d)$/;
const SHIFT = { 8806: "false_easting", 8807: "false_northing" };
const CENTER = {
  8801: "latitude_of_projection_origin",
  8802: "longitude_of_projection_origin",
  ...SHIFT,
};
const CONIC = {
  8821: "latitude_of_projection_origin",
  8822: "longitude_of_central_meridian",
  8823: "standard_parallel 0",
  8824: "standard_parallel 1",
  8826: "false_easting",
  8827: "false_northing",
};

/** The projections by `grid_mapping_name`: the first one whose parameters are all there, and no others. */
const PROJECTIONS: Readonly<Record<string, readonly Projection[]>> = {
  albers_conical_equal_area: [
    { name: "Albers Equal Area", id: 9822, parameters: CONIC },
  ],
  azimuthal_equidistant: [
    { name: "Azimuthal Equidistant", id: 1125, parameters: CENTER },
  ],
  lambert_azimuthal_equal_area: [
    { name: "Lambert Azimuthal Equal Area", id: 9820, parameters: CENTER },
  ],
  lambert_conformal_conic: [
    { name: "Lambert Conic Conformal (2SP)", id: 9802, parameters: CONIC },
  ],
  mercator: [
    {
      name: "Mercator (variant B)",
      id: 9805,
      parameters: {
        8823: "standard_parallel 0",
        8802: "longitude_of_projection_origin",
        ...SHIFT,
      },
    },
    {
      name: "Mercator (variant A)",
      id: 9804,
      parameters: {
        8802: "longitude_of_projection_origin",
        8805: "scale_factor_at_projection_origin",
        ...SHIFT,
      },
    },
  ],
  orthographic: [{ name: "Orthographic", id: 9840, parameters: CENTER }],
  polar_stereographic: [
    {
      name: "Polar Stereographic (variant B)",
      id: 9829,
      parameters: {
        8832: "standard_parallel 0",
        8833: "straight_vertical_longitude_from_pole",
        ...SHIFT,
      },
    },
    {
      name: "Polar Stereographic (variant A)",
      id: 9810,
      parameters: {
        8801: "latitude_of_projection_origin",
        8802: "straight_vertical_longitude_from_pole",
        8805: "scale_factor_at_projection_origin",
        ...SHIFT,
      },
    },
  ],
  sinusoidal: [{
    name: "Sinusoidal",
    parameters: { 8802: "longitude_of_projection_origin", ...SHIFT },
  }],
  transverse_mercator: [{
    name: "Transverse Mercator",
    id: 9807,
    parameters: {
      8801: "latitude_of_projection_origin",
      8802: "longitude_of_central_meridian",
      8805: "scale_factor_at_central_meridian",
      ...SHIFT,
    },
  }],
};

/** Attributes that change the meaning of others. */
const OTHERS = ["towgs84", "geoid_name", "azimuth_of_central_line"];

/** A system of a grid mapping. */
export interface MappedSystem {
  /** The system as PROJJSON, as far as GeoKeys follow from it. */
  readonly projjson: Members;
  /** Whether coordinates are lengths, as opposed to degrees. */
  readonly isProjected: boolean;
  /** Whether the origin is not at 0, by lengths in the unit of the coordinates. */
  readonly isShifted: boolean;
}

/**
 * Composes the system of a grid mapping.
 *
 * @returns `undefined` if the attributes do not tell the ellipsoid and all parameters.
 */
export function systemOfGridMapping(
  mapping: Members,
): MappedSystem | undefined {
  const ellipsoid = ellipsoidOf(mapping);
  const longitude = optional(mapping.longitude_of_prime_meridian, 0);
  const isClear = !OTHERS.some((name) => name in mapping);
  if (ellipsoid === undefined || longitude === undefined || !isClear) {
    return undefined;
  }
  const base = {
    type: "GeographicCRS",
    datum: { ellipsoid, prime_meridian: { longitude } },
    coordinate_system: { axis: [{ unit: "degree" }, { unit: "degree" }] },
  };
  const { grid_mapping_name: name } = mapping;
  if (name === "latitude_longitude") {
    return { projjson: base, isProjected: false, isShifted: false };
  }
  const projections = Object.hasOwn(PROJECTIONS, String(name))
    ? PROJECTIONS[String(name)]!
    : [];
  const conversion = projections
    .map((projection) => conversionOf(projection, mapping))
    .find((found) => found !== undefined);
  if (conversion === undefined) return undefined;
  const projjson = {
    type: "ProjectedCRS",
    base_crs: base,
    conversion,
    coordinate_system: { axis: [{ unit: "metre" }, { unit: "metre" }] },
  };
  const isShifted = Object.values(SHIFT)
    .some((name) => optional(mapping[name], 0) !== 0);
  return { projjson, isProjected: true, isShifted };
}

function ellipsoidOf(mapping: Members): Members | undefined {
  const [radius, major, minor, inverse] = [
    ...["earth_radius", "semi_major_axis", "semi_minor_axis"],
    "inverse_flattening",
  ].map((name) => numberOf(mapping[name]));
  if (isFinite(major)) {
    // An inverse flattening of 0 stands for a sphere.
    if (isFinite(inverse)) {
      return { semi_major_axis: major, inverse_flattening: inverse };
    }
    return isFinite(minor)
      ? { semi_major_axis: major, semi_minor_axis: minor }
      : undefined;
  }
  return isFinite(radius) ? { radius } : undefined;
}

/** The number of an attribute, or what a missing one stands for; `undefined` for an attribute that is no number. */
function optional(value: unknown, missing: number): number | undefined {
  const number = numberOf(value ?? missing);
  return isFinite(number) ? number : undefined;
}

function isFinite(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function conversionOf(
  { name, id, parameters: attributes }: Projection,
  mapping: Members,
): Members | undefined {
  const parameters: Members[] = [];
  for (const [code, attribute] of Object.entries(attributes)) {
    const isLength = attribute.startsWith("false_");
    const value = isLength
      ? optional(mapping[attribute], 0)
      : parameterOf(mapping, attribute);
    if (value === undefined) return undefined;
    parameters.push({
      name: "", // The code decides.
      value,
      unit: isLength ? "metre" : /scale/.test(attribute) ? "unity" : "degree",
      id: { authority: "EPSG", code: Number(code) },
    });
  }
  if (!isConsistent(mapping, attributes)) return undefined;
  const own = id === undefined ? {} : { id: { authority: "EPSG", code: id } };
  return { method: { name, ...own }, parameters };
}

function parameterOf(mapping: Members, attribute: string): number | undefined {
  const [, place] = PARALLEL.exec(attribute) ?? [];
  const value = numberOf(mapping[attribute]);
  if (place === undefined) return isFinite(value) ? value : undefined;
  const given = mapping.standard_parallel;
  const parallels = (Array.isArray(given) ? given : [given]).map(numberOf);
  // One parallel stands for two equal ones.
  const parallel = parallels[Number(place)] ?? parallels[0];
  return parallels.length <= 2 && isFinite(parallel) ? parallel : undefined;
}

/** Whether the attributes that no parameter takes agree with the projection. */
function isConsistent(
  mapping: Members,
  attributes: Readonly<Record<number, string>>,
): boolean {
  const taken = Object.values(attributes);
  const { grid_mapping_name: name, scale_factor_at_projection_origin } =
    mapping;
  const parallel = parameterOf(mapping, "standard_parallel 0");
  // The hemisphere of the parallel is that of the pole.
  const pole = 90 * Math.sign(parallel ?? 0);
  const isPolar = name === "polar_stereographic";
  const latitude = optional(
    mapping.latitude_of_projection_origin,
    isPolar ? pole : 0,
  );
  const scale = optional(scale_factor_at_projection_origin, 1);
  if (latitude === undefined || scale === undefined) return false;
  const isScaled = taken.includes("scale_factor_at_projection_origin");
  // A parallel where the scale is 1 anyway tells nothing beside a scale.
  const usual = isPolar ? latitude : 0;
  const isOne = isScaled
    ? parallel === undefined || parallel === usual
    : scale === 1;
  if (name === "mercator") return isOne && latitude === 0;
  if (isPolar) {
    return isOne && Math.abs(latitude) === 90 &&
      latitude * (parallel ?? latitude) > 0;
  }
  return taken.includes("latitude_of_projection_origin") || latitude === 0;
}
