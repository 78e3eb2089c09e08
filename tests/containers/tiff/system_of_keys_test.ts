import { assert, assertEquals } from "@std/assert";
import { systemOfKeys } from "../../../src/containers/tiff/system_of_keys.ts";
import { geoKeysOf } from "../../../src/containers/tiff/georeference.ts";

type Keys = Readonly<Record<number, number | null>>;

/** Writes keys as tags; numbers of the ellipsoid and of parameters lie among the fractions. */
function tagsOf(keys: Keys) {
  const geoDoubleParams: number[] = [];
  const directory = Object.entries(keys).flatMap(([key, value]) => {
    const code = Number(key);
    if (value === null) return [];
    const isFraction = code >= 3078 || code >= 2057 && code <= 2061;
    return isFraction
      ? [code, 34736, 1, geoDoubleParams.push(value) - 1]
      : [code, 0, 1, value];
  });
  return {
    geoKeyDirectory: [1, 1, 0, directory.length / 4, ...directory],
    geoDoubleParams,
  };
}

/** Transverse Mercator on an ellipsoid. */
const MERCATOR: Keys = {
  ...{ 1024: 1, 2048: 32767, 2054: 9102, 2057: 6378000, 2059: 298 },
  ...{ 2061: 0, 3072: 32767, 3074: 32767, 3075: 1, 3076: 9001 },
  ...{ 3080: 9, 3081: 48, 3082: 5000, 3083: -300, 3092: 0.9996 },
};
const POLAR: Keys = {
  ...MERCATOR,
  ...{ 3075: 15, 3080: null, 3081: 71, 3092: 1, 3095: -40 },
};
const CONIC: Keys = {
  ...MERCATOR,
  ...{ 3075: 8, 3080: null, 3081: null, 3092: null, 3082: null, 3083: null },
  ...{ 3078: 33, 3079: 45, 3084: -97, 3085: 23, 3086: 0, 3087: 0 },
};

Deno.test("systemOfKeys writes the keys of a system as well-known text, from which they follow again", () => {
  assertEquals(
    systemOfKeys(tagsOf(MERCATOR)),
    'PROJCRS["unknown",BASEGEOGCRS["unknown",DATUM["unknown",ELLIPSOID["unknown",6378000,298,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],CONVERSION["unknown",METHOD["Transverse Mercator",ID["EPSG",9807]],PARAMETER["Latitude of natural origin",48,ANGLEUNIT["degree",0.0174532925199433],ID["EPSG",8801]],PARAMETER["Longitude of natural origin",9,ANGLEUNIT["degree",0.0174532925199433],ID["EPSG",8802]],PARAMETER["Scale factor at natural origin",0.9996,SCALEUNIT["unity",1],ID["EPSG",8805]],PARAMETER["False easting",5000,LENGTHUNIT["metre",1],ID["EPSG",8806]],PARAMETER["False northing",-300,LENGTHUNIT["metre",1],ID["EPSG",8807]]],CS[Cartesian,2],AXIS["(E)",east,ORDER[1],LENGTHUNIT["metre",1]],AXIS["(N)",north,ORDER[2],LENGTHUNIT["metre",1]]]',
  );
  for (
    const keys of [
      MERCATOR,
      { ...MERCATOR, 3076: 9003 },
      { ...MERCATOR, 2061: 2.5 },
      { ...CONIC },
      { ...MERCATOR, 3075: 9 },
      { ...MERCATOR, 3075: 16 },
      { ...POLAR, 3092: null },
      { ...POLAR, 3081: -90, 3092: 0.994 },
    ]
  ) {
    const text = systemOfKeys(tagsOf(keys));
    assert(text !== undefined, JSON.stringify(keys));
    const { geoKeyDirectory = [], geoDoubleParams = [] } = geoKeysOf(text);
    const again = systemOfKeys({ geoKeyDirectory, geoDoubleParams });
    assertEquals(again, text);
  }
});

Deno.test("systemOfKeys writes nothing where keys leave a doubt", () => {
  const doubts: [what: string, base: Keys, change: Keys][] = [
    ["another unit of angles", MERCATOR, { 2054: 9105 }],
    ["another unit of the ellipsoid", MERCATOR, { 2052: 9002 }],
    ["another unit of lengths", MERCATOR, { 3076: 9036 }],
    ["no unit of lengths", MERCATOR, { 3076: null }],
    ["another meridian", MERCATOR, { 2051: 8903 }],
    ["a meridian without its longitude", MERCATOR, { 2051: 32767, 2061: null }],
    ["a shift of the datum", MERCATOR, { 2062: 7 }],
    ["an unknown geographic system", MERCATOR, { 2048: 4202 }],
    ["an unknown datum", MERCATOR, { 2050: 6202 }],
    ["an unknown ellipsoid", MERCATOR, { 2056: 7003 }],
    ["an ellipsoid without its shape", MERCATOR, { 2059: null }],
    ["an ellipsoid of no size", MERCATOR, { 2057: 0 }],
    ["an ellipsoid that is longer at its poles", MERCATOR, { 2059: -3 }],
    ["a system with a code", MERCATOR, { 3072: 25832 }],
    ["another projection with a code", MERCATOR, { 3074: 16061 }],
    ["no method", MERCATOR, { 3075: null }],
    ["another method", MERCATOR, { 3075: 3 }],
    ["no origin", MERCATOR, { 3081: null }],
    ["no model", MERCATOR, { 1024: null }],
    ["a geocentric model", MERCATOR, { 1024: 3 }],
    ["Mercator of a latitude and a scale", MERCATOR, { 3075: 7 }],
    ["Mercator of a parallel and a scale", MERCATOR, { 3075: 7, 3078: 5 }],
    ["a parallel and a scale", POLAR, { 3092: 0.9 }],
    ["a cone of one parallel", CONIC, { 3079: null }],
    ["a cone with the origin in other keys", CONIC, { 3085: null, 3081: 23 }],
  ];
  for (const [what, base, change] of doubts) {
    assert(systemOfKeys(tagsOf(base)) !== undefined);
    assertEquals(systemOfKeys(tagsOf({ ...base, ...change })), undefined, what);
  }
  const tags = tagsOf(MERCATOR);
  const geoAsciiParams = 'ESRI PE String = PROJCS["other"]|';
  assertEquals(systemOfKeys({ ...tags, geoAsciiParams }), undefined);
  assertEquals(systemOfKeys({ ...tags, geoDoubleParams: [] }), undefined);
  assertEquals(systemOfKeys({ geoKeyDirectory: [1, 1, 0, 9] }), undefined);
  assertEquals(systemOfKeys({}), undefined);
});
