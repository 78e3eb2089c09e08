/**
 * Well-known text of coordinate reference systems that GeoKeys define: by an ellipsoid or a
 * common geographic system, and by the method and the parameters of a projection. Where a key
 * leaves a doubt, there is no text.
 *
 * Sources: OGC GeoTIFF 1.1, annex C, https://docs.ogc.org/is/19-008r4/19-008r4.html; the names
 * and codes of https://epsg.org; well-known text, https://docs.ogc.org/is/18-010r11/18-010r11.pdf
 */
import type { TiffPlace } from "./tiff_page.ts";

const KEY = {
  modelType: 1024,
  geodeticCrs: 2048,
  datum: 2050,
  meridian: 2051,
  geodeticUnit: 2052,
  angularUnit: 2054,
  ellipsoid: 2056,
  semiMajorAxis: 2057,
  semiMinorAxis: 2058,
  inverseFlattening: 2059,
  meridianLongitude: 2061,
  datumShift: 2062,
  projectedCrs: 3072,
  projection: 3074,
  method: 3075,
  linearUnit: 3076,
} as const;
const [USER_DEFINED, DEGREE, GREENWICH] = [32767, 9102, 8901];
/** The tag that holds numbers with fractions. */
const DOUBLES = 34736;

/** A common geographic system: its name, the name of its datum, and its ellipsoid. */
type Geographic = readonly [name: string, datum: string, ellipsoid: number];

/** Ellipsoids by their codes in EPSG: the name, the semi-major axis in metres, and the inverse flattening. */
const ELLIPSOIDS: Readonly<
  Record<number, readonly [name: string, axis: number, inverse: number]>
> = {
  7001: ["Airy 1830", 6377563.396, 299.3249646],
  7004: ["Bessel 1841", 6377397.155, 299.1528128],
  7008: ["Clarke 1866", 6378206.4, 294.978698213898],
  7019: ["GRS 1980", 6378137, 298.257222101],
  7022: ["International 1924", 6378388, 297],
  7030: ["WGS 84", 6378137, 298.257223563],
};

/** Common geographic systems by their codes in EPSG; the codes of their datums are greater by 2000. */
const GEOGRAPHIC: Readonly<Record<number, Geographic>> = {
  4258: ["ETRS89", "European Terrestrial Reference System 1989", 7019],
  4267: ["NAD27", "North American Datum 1927", 7008],
  4269: ["NAD83", "North American Datum 1983", 7019],
  4326: ["WGS 84", "World Geodetic System 1984", 7030],
};

/** Units of lengths by their codes in EPSG, with their lengths in metres. */
const LENGTHS: Readonly<Record<number, readonly [string, string]>> = {
  9001: ["metre", "1"],
  9002: ["foot", "0.3048"],
  9003: ["US survey foot", "0.304800609601219"],
};

/** The names of parameters by their codes in EPSG. */
const PARAMETERS: Readonly<Record<number, string>> = {
  8801: "Latitude of natural origin",
  8802: "Longitude of natural origin",
  8805: "Scale factor at natural origin",
  8806: "False easting",
  8807: "False northing",
  8821: "Latitude of false origin",
  8822: "Longitude of false origin",
  8823: "Latitude of 1st standard parallel",
  8824: "Latitude of 2nd standard parallel",
  8826: "Easting at false origin",
  8827: "Northing at false origin",
  8832: "Latitude of standard parallel",
  8833: "Longitude of origin",
};
const [SCALE, LENGTH_PARAMETERS] = [8805, [8806, 8807, 8826, 8827]];

/** A method of projection: its name and its code in EPSG, and the GeoKeys of its parameters by their codes. */
interface Method {
  readonly name: string;
  readonly id?: number;
  readonly keys: Readonly<Record<number, number>>;
  /** Whether the method is meant by the values of keys, if several methods have the same code. */
  readonly isMeant?: (keys: GeoKeys) => boolean;
}

const SHIFT = { 8806: 3082, 8807: 3083 };
const ORIGIN = { 8801: 3081, 8802: 3080, 8805: 3092, ...SHIFT };
const CENTER = { 8801: 3089, 8802: 3088, ...SHIFT };
const isAtPole = (keys: GeoKeys) => Math.abs(keys.number(3081) ?? 0) === 90;

/** The methods by the values of ProjMethodGeoKey. */
const METHODS: Readonly<Record<number, readonly Method[]>> = {
  1: [{ name: "Transverse Mercator", id: 9807, keys: ORIGIN }],
  7: [
    {
      name: "Mercator (variant A)",
      id: 9804,
      keys: ORIGIN,
      isMeant: (keys) => !keys.has(3078) && keys.number(3081) === 0,
    },
    {
      name: "Mercator (variant B)",
      id: 9805,
      keys: { 8823: 3078, 8802: 3080, ...SHIFT },
      isMeant: (keys) =>
        keys.has(3078) && !keys.has(3092) &&
        (keys.number(3081) ?? 0) === 0,
    },
  ],
  8: [{
    name: "Lambert Conic Conformal (2SP)",
    id: 9802,
    keys: {
      ...{ 8821: 3085, 8822: 3084, 8823: 3078, 8824: 3079 },
      ...{ 8826: 3086, 8827: 3087 },
    },
  }],
  9: [{ name: "Lambert Conic Conformal (1SP)", id: 9801, keys: ORIGIN }],
  10: [{ name: "Lambert Azimuthal Equal Area", id: 9820, keys: CENTER }],
  11: [{
    name: "Albers Equal Area",
    id: 9822,
    keys: {
      ...{ 8821: 3081, 8822: 3080, 8823: 3078, 8824: 3079 },
      ...{ 8826: 3082, 8827: 3083 },
    },
  }],
  15: [
    {
      name: "Polar Stereographic (variant A)",
      id: 9810,
      keys: { ...ORIGIN, 8802: 3095 },
      isMeant: isAtPole,
    },
    {
      name: "Polar Stereographic (variant B)",
      id: 9829,
      keys: { 8832: 3081, 8833: 3095, ...SHIFT },
      isMeant: (keys) => !isAtPole(keys) && (keys.number(3092) ?? 1) === 1,
    },
  ],
  16: [{ name: "Oblique Stereographic", id: 9809, keys: ORIGIN }],
  21: [{ name: "Orthographic", id: 9840, keys: CENTER }],
  24: [{ name: "Sinusoidal", keys: { 8802: 3088, ...SHIFT } }],
};

/** The keys with numbers, whose values lie in the directory or in the tag for fractions. */
class GeoKeys {
  readonly #values = new Map<number, number | undefined>();

  constructor({ geoKeyDirectory = [], geoDoubleParams = [] }: TiffPlace) {
    const count = geoKeyDirectory[3] ?? 0;
    for (let i = 1; i <= count && 4 * i + 3 < geoKeyDirectory.length; i++) {
      const [key, tag, length, value] = geoKeyDirectory
        .slice(4 * i, 4 * i + 4) as [number, number, number, number];
      const number = tag === 0
        ? value
        : tag === DOUBLES && length === 1
        ? geoDoubleParams[value]
        : undefined;
      this.#values.set(key, Number.isFinite(number) ? number : undefined);
    }
  }

  /** Whether there is a key, also without a number. */
  has(key: number): boolean {
    return this.#values.has(key);
  }

  number(key: number): number | undefined {
    return this.#values.get(key);
  }

  /** Whether a key is missing, or has one of some values. */
  isOneOf(key: number, ...values: readonly number[]): boolean {
    return !this.has(key) || values.includes(this.number(key) ?? NaN);
  }
}

/**
 * Composes the well-known text of a system that has no code.
 *
 * @returns `undefined` if the keys leave open what they mean.
 */
export function systemOfKeys(place: TiffPlace): string | undefined {
  // A text of ESRI in a citation contradicts the keys in some programs.
  if (/ESRI PE String/i.test(place.geoAsciiParams ?? "")) return undefined;
  const keys = new GeoKeys(place);
  const isClear = keys.isOneOf(KEY.angularUnit, DEGREE) &&
    keys.isOneOf(KEY.geodeticUnit, 9001) &&
    keys.isOneOf(KEY.meridian, GREENWICH, USER_DEFINED) &&
    !keys.has(KEY.datumShift);
  const earth = isClear ? earthOf(keys) : undefined;
  if (earth === undefined) return undefined;
  const [name, datum, id] = earth;
  if (keys.number(KEY.modelType) === 2) {
    if (id !== undefined) return undefined; // The system has a code.
    return `GEOGCRS[${name},${datum},CS[ellipsoidal,2],AXIS["longitude",east,ORDER[1],${DEGREES}],AXIS["latitude",north,ORDER[2],${DEGREES}]]`;
  }
  if (keys.number(KEY.modelType) !== 1) return undefined;
  const unit = LENGTHS[keys.number(KEY.linearUnit) ?? 0];
  const length = unit && `LENGTHUNIT["${unit[0]}",${unit[1]}]`;
  const isDefined = keys.number(KEY.projectedCrs) === USER_DEFINED;
  if (length === undefined || !isDefined) return undefined;
  const conversion = keys.isOneOf(KEY.projection, USER_DEFINED)
    ? conversionOf(keys, length)
    : utmOf(keys.number(KEY.projection)!);
  if (conversion === undefined) return undefined;
  const base = `BASEGEOGCRS[${name},${datum}${
    id === undefined ? "" : `,ID["EPSG",${id}]`
  }]`;
  return `PROJCRS["unknown",${base},${conversion},CS[Cartesian,2],AXIS["(E)",east,ORDER[1],${length}],AXIS["(N)",north,ORDER[2],${length}]]`;
}

const METRES = 'LENGTHUNIT["metre",1]';
const DEGREES = 'ANGLEUNIT["degree",0.0174532925199433]';

/** The name, the datum with the prime meridian, and the code of the geographic system. */
function earthOf(
  keys: GeoKeys,
): readonly [name: string, datum: string, id?: number] | undefined {
  const code = keys.number(KEY.geodeticCrs) ?? USER_DEFINED;
  const known = GEOGRAPHIC[code];
  if (known !== undefined) {
    const [name, datum, ellipsoid] = known;
    return [`"${name}"`, datumOf(datum, ELLIPSOIDS[ellipsoid]!, 0), code];
  }
  if (code !== USER_DEFINED) return undefined;
  const longitude = keys.number(KEY.meridianLongitude) ??
    (keys.number(KEY.meridian) === USER_DEFINED ? undefined : 0);
  if (longitude === undefined) return undefined;
  const datum = keys.number(KEY.datum) ?? USER_DEFINED;
  const knownDatum = GEOGRAPHIC[datum - 2000];
  if (knownDatum !== undefined) {
    const [, name, ellipsoid] = knownDatum;
    const text = datumOf(name, ELLIPSOIDS[ellipsoid]!, longitude);
    return ['"unknown"', text];
  }
  const ellipsoid = datum === USER_DEFINED ? ellipsoidOf(keys) : undefined;
  return ellipsoid && ['"unknown"', datumOf("unknown", ellipsoid, longitude)];
}

function ellipsoidOf(
  keys: GeoKeys,
): readonly [name: string, axis: number, inverse: number] | undefined {
  const code = keys.number(KEY.ellipsoid) ?? USER_DEFINED;
  if (code !== USER_DEFINED) return ELLIPSOIDS[code];
  const axis = keys.number(KEY.semiMajorAxis) ?? 0;
  const minor = keys.number(KEY.semiMinorAxis);
  const inverse = keys.number(KEY.inverseFlattening) ??
    (minor === undefined ? -1 : minor === axis ? 0 : axis / (axis - minor));
  return axis > 0 && inverse >= 0 ? ["unknown", axis, inverse] : undefined;
}

function datumOf(
  name: string,
  [ellipsoid, axis, inverse]: readonly [string, number, number],
  longitude: number,
): string {
  const meridian = longitude === 0 ? "Greenwich" : "unknown";
  return `DATUM["${name}",ELLIPSOID["${ellipsoid}",${axis},${inverse},LENGTHUNIT["metre",1]]],PRIMEM["${meridian}",${longitude},${DEGREES}]`;
}

/** A zone of UTM by its code in EPSG, with lengths in metres. */
function utmOf(code: number): string | undefined {
  const zone = code % 100;
  const hemisphere = Math.floor(code / 100);
  if (zone < 1 || zone > 60 || ![160, 161].includes(hemisphere)) {
    return undefined;
  }
  const values: Readonly<Record<number, number>> = {
    8801: 0,
    8802: 6 * zone - 183,
    8805: 0.9996,
    8806: 500_000,
    8807: hemisphere === 160 ? 0 : 10_000_000,
  };
  const [method] = METHODS[1]!;
  const parameters = Object.entries(values)
    .map(([id, value]) => parameterOf(Number(id), value, METRES));
  return conversionText(method!, parameters);
}

/** The method and the parameters of the projection. */
function conversionOf(keys: GeoKeys, length: string): string | undefined {
  const methods = METHODS[keys.number(KEY.method) ?? 0] ?? [];
  const method = methods.find(({ isMeant }) => isMeant?.(keys) ?? true);
  if (method === undefined) return undefined;
  const parameters: string[] = [];
  for (const [id, key] of Object.entries(method.keys)) {
    const code = Number(id);
    const isLength = LENGTH_PARAMETERS.includes(code);
    const usual = isLength ? 0 : code === SCALE ? 1 : undefined;
    const value = keys.has(key) ? keys.number(key) : usual;
    if (value === undefined) return undefined;
    parameters.push(parameterOf(code, value, length));
  }
  return conversionText(method, parameters);
}

function parameterOf(code: number, value: number, length: string): string {
  const unit = LENGTH_PARAMETERS.includes(code)
    ? length
    : code === SCALE
    ? 'SCALEUNIT["unity",1]'
    : DEGREES;
  return `PARAMETER["${PARAMETERS[code]}",${value},${unit},ID["EPSG",${code}]]`;
}

function conversionText(
  { name, id }: Method,
  parameters: readonly string[],
): string {
  const own = id === undefined ? "" : `,ID["EPSG",${id}]`;
  return `CONVERSION["unknown",METHOD["${name}"${own}],${
    parameters.join(",")
  }]`;
}
