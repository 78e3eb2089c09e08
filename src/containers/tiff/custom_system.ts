/**
 * GeoKeys of coordinate reference systems that have no code: by their ellipsoid, and by the
 * method and the parameters of their projection.
 *
 * Sources: OGC GeoTIFF 1.1, annex C, https://docs.ogc.org/is/19-008r4/19-008r4.html; the names
 * and codes of methods and parameters in https://epsg.org and in well-known text
 */
import { isMembers, type Members } from "../../metadata/mod.ts";
import type { TiffGeoreference } from "./tiff_options.ts";
import { DEEPEST, epsgOf, nodesIn, type WktNode } from "./well_known_text.ts";

const KEY = {
  modelType: 1024,
  geodeticCrs: 2048,
  angularUnit: 2054,
  semiMajorAxis: 2057,
  inverseFlattening: 2059,
  primeMeridian: 2061,
  projectedCrs: 3072,
  projection: 3074,
  method: 3075,
  linearUnit: 3076,
} as const;
const [USER_DEFINED, DEGREE] = [32767, 9102];
/** The units of lengths by their codes in EPSG, with their lengths in metres. */
const LENGTHS: Readonly<Record<number, number>> = {
  9001: 1,
  9002: 0.3048,
  9003: 1200 / 3937,
};
/** The relative difference up to which two units are the same. */
const TOLERANCE = 1e-9;

/** The parameters of projections. */
type Parameter =
  | "lat"
  | "lon"
  | "scale"
  | "first"
  | "second"
  | "east"
  | "north";

/** A method of projection. */
interface Method {
  /** Its code in EPSG, and its names in well-known text, in small letters without spaces. */
  readonly names: readonly string[];
  /** The value of ProjMethodGeoKey. */
  readonly code: number;
  /** The keys of its parameters. */
  readonly keys: Readonly<Partial<Record<Parameter, number>>>;
  /** The values of its own parameters that may be left out. */
  readonly usual?: Readonly<Partial<Record<Parameter, number>>>;
}

const ORIGIN = { lat: 3081, lon: 3080, scale: 3092, east: 3082, north: 3083 };
const CENTER = { lat: 3089, lon: 3088, east: 3082, north: 3083 };
const PARALLELS = { first: 3078, second: 3079 };
const SHIFT = { east: 3082, north: 3083 };

const METHODS: readonly Method[] = [
  { names: ["9807", "transverse_mercator"], code: 1, keys: ORIGIN },
  {
    names: ["9804", "mercator_1sp"],
    code: 7,
    keys: ORIGIN,
    usual: { lat: 0 },
  },
  {
    names: ["9805", "mercator_2sp"],
    code: 7,
    keys: { first: 3078, lon: 3080, ...SHIFT },
  },
  {
    names: ["9802", "lambert_conformal_conic_2sp"],
    code: 8,
    keys: { lat: 3085, lon: 3084, ...PARALLELS, east: 3086, north: 3087 },
  },
  { names: ["9801", "lambert_conformal_conic_1sp"], code: 9, keys: ORIGIN },
  {
    names: ["9820", "1027", "lambert_azimuthal_equal_area"],
    code: 10,
    keys: CENTER,
  },
  {
    names: ["9822", "albers_conic_equal_area", "albers_equal_area"],
    code: 11,
    keys: { lat: 3081, lon: 3080, ...PARALLELS, ...SHIFT },
  },
  {
    names: ["1125", "9832", "azimuthal_equidistant"],
    code: 12,
    keys: CENTER,
  },
  {
    names: ["9810", "polar_stereographic"],
    code: 15,
    keys: { lat: 3081, lon: 3095, scale: 3092, ...SHIFT },
  },
  {
    names: ["9829"],
    code: 15,
    keys: { lat: 3081, lon: 3095, ...SHIFT },
  },
  { names: ["9809", "oblique_stereographic"], code: 16, keys: ORIGIN },
  { names: ["9840", "orthographic"], code: 21, keys: CENTER },
  {
    names: ["sinusoidal"],
    code: 24,
    keys: { lon: 3088, ...SHIFT },
  },
];

/** The parameters by their codes in EPSG and their names in well-known text. */
const PARAMETERS: Readonly<Record<Parameter, readonly string[]>> = {
  lat: [
    ...["8801", "8821", "8832", "latitude_of_origin", "latitude_of_center"],
    "latitude_of_natural_origin",
  ],
  lon: [
    ...["8802", "8822", "8833", "central_meridian", "longitude_of_center"],
    ...["longitude_of_origin", "longitude_of_natural_origin"],
  ],
  scale: ["8805", "scale_factor"],
  first: ["8823", "standard_parallel_1"],
  second: ["8824", "standard_parallel_2"],
  east: ["8806", "8826", "false_easting"],
  north: ["8807", "8827", "false_northing"],
};
/** The values of parameters that may be left out. */
const USUAL: Readonly<Partial<Record<Parameter, number>>> = {
  scale: 1,
  east: 0,
  north: 0,
};

/**
 * Composes the GeoKeys of a system.
 *
 * @param node A geographic or a projected system.
 * @returns `undefined` if GeoTIFF does not have its method, or its units are others than
 * degrees, metres and feet.
 */
export function customKeys(
  node: WktNode,
): Pick<TiffGeoreference, "geoKeyDirectory" | "geoDoubleParams"> | undefined {
  const isProjected = node.keyword.startsWith("PROJ");
  const [base] = isProjected
    ? nodesIn(node, "GEOGCS", "BASEGEOGCRS", "BASEGEODCRS")
    : [node];
  const earth = base && geodeticKeys(base);
  const projection = isProjected ? projectionKeys(node) : [];
  if (earth === undefined || projection === undefined) return undefined;
  const entries: readonly KeyEntry[] = [
    [KEY.modelType, isProjected ? 1 : 2],
    ...earth,
    ...projection,
  ];
  const doubles: number[] = [];
  const directory = entries.toSorted(([a], [b]) => a - b).flatMap((entry) => {
    const [key, value, isDouble] = entry;
    if (!isDouble) return [key, 0, 1, value];
    return [key, DOUBLES, 1, doubles.push(value) - 1];
  });
  return {
    geoKeyDirectory: [1, 1, 0, entries.length, ...directory],
    geoDoubleParams: doubles,
  };
}

/** The tag that holds numbers with fractions. */
const DOUBLES = 34736;

/** A key with its value, which lies among the numbers with fractions or in the key itself. */
type KeyEntry = readonly [key: number, value: number, isDouble?: true];

/** The keys of a geographic system: its code, or its ellipsoid. */
function geodeticKeys(node: WktNode): KeyEntry[] | undefined {
  const code = epsgOf(node);
  if (code !== undefined && code < USER_DEFINED) {
    return [[KEY.geodeticCrs, code]];
  }
  const [datum] = nodesIn(node, "DATUM", "ENSEMBLE", "TRF", "GEODETICDATUM");
  const [ellipsoid] = datum ? nodesIn(datum, "ELLIPSOID", "SPHEROID") : [];
  const [axis, flattening] = ellipsoid?.values.slice(1, 3).map(Number) ?? [];
  const [meridian] = nodesIn(node, "PRIMEM", "PRIMEMERIDIAN");
  const longitude = Number(meridian?.values[1] ?? 0);
  const isKnown = axis! > 0 && flattening! >= 0 && Number.isFinite(longitude);
  if (!isKnown || !isDegree(node)) return undefined;
  return [
    [KEY.geodeticCrs, USER_DEFINED],
    [KEY.angularUnit, DEGREE],
    [KEY.semiMajorAxis, axis!, true],
    [KEY.inverseFlattening, flattening!, true],
    [KEY.primeMeridian, longitude, true],
  ];
}

/** Whether a node has no other unit of angles than degrees. */
function isDegree(node: WktNode): boolean {
  return nodesIn(node, "UNIT", "ANGLEUNIT").every(({ values }) =>
    isSame(Number(values[1]), Math.PI / 180)
  );
}

function isSame(one: number, other: number): boolean {
  return Math.abs(one - other) <= TOLERANCE * Math.abs(other);
}

/** The keys of the projection of a projected system. */
function projectionKeys(node: WktNode): KeyEntry[] | undefined {
  const [conversion = node] = nodesIn(node, "CONVERSION");
  const [named] = nodesIn(conversion, "METHOD", "PROJECTION");
  const method = named && METHODS.find(({ names }) => isNamed(named, names));
  const unit = lengthOf(node);
  if (method === undefined || unit === undefined) return undefined;
  const values: Partial<Record<Parameter, number>> = {
    ...USUAL,
    ...method.usual,
  };
  for (const given of nodesIn(conversion, "PARAMETER")) {
    const name = (Object.keys(PARAMETERS) as Parameter[])
      .find((each) => isNamed(given, PARAMETERS[each]));
    const value = Number(given.values[1]);
    const isLength = name === "east" || name === "north";
    const isInUnit = isLength
      ? nodesIn(given, "LENGTHUNIT", "UNIT").every(({ values }) =>
        value === 0 || isSame(Number(values[1]), LENGTHS[unit]!)
      )
      : name === "scale" || isDegree(given);
    const isTaken = name !== undefined && Number.isFinite(value) && isInUnit &&
      (name in method.keys || value === USUAL[name] ||
        value === 0 && name === "lat");
    if (!isTaken) return undefined;
    values[name] = value;
  }
  const parameters = Object.entries(method.keys).map((
    [name, key],
  ): KeyEntry => [
    key,
    values[name as Parameter] ?? NaN,
    true,
  ]);
  if (parameters.some(([, value]) => Number.isNaN(value))) return undefined;
  return [
    [KEY.projectedCrs, USER_DEFINED],
    [KEY.projection, USER_DEFINED],
    [KEY.method, method.code],
    [KEY.linearUnit, unit],
    ...parameters,
  ];
}

function isNamed(node: WktNode, names: readonly string[]): boolean {
  const code = epsgOf(node);
  const name = String(node.values[0]).toLowerCase().replaceAll(/[\s()]+/g, "_");
  return names.includes(code === undefined ? name : String(code)) ||
    names.includes(name);
}

/** The code of the unit of lengths; `undefined` for another one than metres and feet. */
function lengthOf(node: WktNode): number | undefined {
  const units = [node, ...nodesIn(node, "AXIS")]
    .flatMap((each) => nodesIn(each, "LENGTHUNIT", "UNIT"));
  const factors = units.map(({ values }) => Number(values[1]));
  const found = Object.entries(LENGTHS).find(([, length]) =>
    factors.every((factor) => isSame(factor, length))
  );
  return found && Number(found[0]);
}

/** Writes PROJJSON as well-known text has it, as far as {@linkcode customKeys} reads it. */
export function wktOfProjjson(
  system: Members,
  depth = 0,
): WktNode | undefined {
  const { type, components, source_crs: source } = system;
  const inner = type === "CompoundCRS" && Array.isArray(components)
    ? components[0]
    : type === "BoundCRS"
    ? source
    : undefined;
  if (isMembers(inner) && depth < DEEPEST) {
    return wktOfProjjson(inner, depth + 1);
  }
  if (type === "GeographicCRS") return geographicNode("GEOGCRS", system);
  const { base_crs: base, conversion } = system;
  if (type !== "ProjectedCRS" || !isMembers(base) || !isMembers(conversion)) {
    return undefined;
  }
  const { method, parameters } = conversion;
  return nodeOf("PROJCRS", [
    "",
    geographicNode("BASEGEOGCRS", base),
    nodeOf("CONVERSION", [
      "",
      isMembers(method) &&
      nodeOf("METHOD", [String(method.name), idNode(method)]),
      ...(Array.isArray(parameters) ? parameters : []).map((parameter) =>
        isMembers(parameter) && nodeOf("PARAMETER", [
          String(parameter.name),
          String(parameter.value),
          unitNode(parameter.unit),
          idNode(parameter),
        ])
      ),
    ]),
    ...axisUnits(system),
  ]);
}

function nodeOf(
  keyword: string,
  values: readonly (string | WktNode | false | undefined)[],
): WktNode {
  return {
    keyword,
    values: values.filter((value) => value !== undefined && value !== false),
  };
}

function idNode({ id }: Members): WktNode | undefined {
  if (!isMembers(id)) return undefined;
  return nodeOf("ID", [String(id.authority), String(id.code)]);
}

/** A unit of PROJJSON: a name, or an object with its factor. */
function unitNode(unit: unknown): WktNode | undefined {
  if (unit === "degree") return nodeOf("ANGLEUNIT", ["", `${Math.PI / 180}`]);
  if (unit === "metre") return nodeOf("LENGTHUNIT", ["", "1"]);
  if (!isMembers(unit)) return undefined;
  const keyword = { LinearUnit: "LENGTHUNIT", AngularUnit: "ANGLEUNIT" }[
    String(unit.type)
  ];
  return keyword === undefined
    ? undefined
    : nodeOf(keyword, ["", String(unit.conversion_factor)]);
}

function axisUnits({ coordinate_system: system }: Members): WktNode[] {
  const { axis } = isMembers(system) ? system : {};
  const units = Array.isArray(axis)
    ? axis.map((each) => isMembers(each) ? unitNode(each.unit) : undefined)
    : [];
  return units.filter((unit) => unit !== undefined);
}

function geographicNode(keyword: string, system: Members): WktNode {
  const { datum, datum_ensemble: ensemble } = system;
  const frame = isMembers(datum) ? datum : isMembers(ensemble) ? ensemble : {};
  const { ellipsoid, prime_meridian: meridian } = frame;
  return nodeOf(keyword, [
    "",
    isMembers(ellipsoid) &&
    nodeOf("DATUM", ["", nodeOf("ELLIPSOID", ["", ...axesOf(ellipsoid)])]),
    isMembers(meridian) &&
    nodeOf("PRIMEM", ["", String(meridian.longitude)]),
    ...axisUnits(system),
    idNode(system),
  ]);
}

/** The semi-major axis in metres and the inverse flattening of an ellipsoid, 0 for a sphere. */
function axesOf(
  {
    radius,
    semi_major_axis: major = radius,
    semi_minor_axis: minor,
    inverse_flattening: flattening,
  }: Members,
): string[] {
  const [a, b] = [Number(major), Number(minor ?? major)];
  const inverse = a === b ? 0 : a / (a - b);
  return [String(a), String(flattening ?? inverse)];
}
