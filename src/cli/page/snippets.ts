/** A program that opens an array, and how. */
export interface Snippet {
  readonly program: string;
  readonly code: string;
  readonly note?: string;
}

/** The first version of imagecodecs that registers its codecs in zarr-python. */
const IMAGECODECS = "imagecodecs>=2026.5.10";
/** The codec of imagecodecs that is another one in later versions, and the last version before. */
const [FLOATPRED, LAST] = ["imagecodecs_floatpred", "<=2026.6.26"];

/**
 * Describes how other programs open an array that is served as plain Zarr.
 *
 * @param codecs The names of the codecs of its chunks, or of its inner chunks.
 */
export function snippetsFor(
  url: string,
  rank: number,
  hasShards: boolean,
  codecs: readonly string[] = [],
): Snippet[] {
  const text = JSON.stringify(url);
  const gdal = `ZARR:"/vsicurl/${url}"`;
  const indices = Array.from({ length: Math.max(0, rank - 2) }, () => ":0");
  const gdalNote = hasShards
    ? "GDAL reads shards from version 3.13 on; serve with --inner-chunks for older ones."
    : undefined;
  const needsImagecodecs = codecs.some((name) =>
    name.startsWith("imagecodecs_")
  );
  return [
    {
      program: "zarr-python",
      code: `import zarr${
        needsImagecodecs
          ? "\nfrom imagecodecs.zarr import register_codecs\n\nregister_codecs()"
          : "\n"
      }
array = zarr.open_array(${text}, mode="r")
print(array.shape, array.dtype)`,
      note: `pip install zarr fsspec aiohttp requests${
        needsImagecodecs
          ? ` "${IMAGECODECS}${codecs.includes(FLOATPRED) ? `,${LAST}` : ""}"`
          : ""
      }`,
    },
    {
      program: "zarrita",
      code: `import * as zarr from "zarrita";

const store = new zarr.FetchStore(${text});
const array = await zarr.open(store, { kind: "array" });
console.log(array.shape, array.dtype);`,
    },
    {
      program: "TensorStore",
      code: `import tensorstore as ts

array = ts.open({
    "driver": "zarr3",
    "kvstore": ${JSON.stringify(`${url}/`)},
}).result()
print(array.shape, array.dtype)`,
    },
    {
      program: "GDAL",
      code: `gdalmdiminfo '${gdal}'`,
      ...gdalNote && { note: gdalNote },
    },
    {
      program: "QGIS",
      code: `layer = QgsRasterLayer('${gdal}${
        indices.length > 0 ? `:/${indices.join("")}` : ""
      }', "array")
QgsProject.instance().addMapLayer(layer)`,
      note: `In the Python console.${gdalNote ? ` ${gdalNote}` : ""}`,
    },
  ];
}

/**
 * Describes how other programs open a group that is served as plain Zarr.
 *
 * @param array The path of an array in the group, if it has one.
 */
export function groupSnippetsFor(
  url: string,
  array: string | undefined,
): Snippet[] {
  const text = JSON.stringify(url);
  const name = JSON.stringify(array ?? "");
  return [
    {
      program: "zarr-python",
      code: `import zarr

group = zarr.open_group(${text}, mode="r")
${array === undefined ? "print(dict(group.attrs))" : `print(group[${name}])`}`,
      note: "pip install zarr fsspec aiohttp requests",
    },
    {
      program: "zarrita",
      code: `import * as zarr from "zarrita";

const store = new zarr.FetchStore(${text});
const group = await zarr.open(store, { kind: "group" });
${
        array === undefined
          ? "console.log(group.attrs);"
          : `const array = await zarr.open(group.resolve(${name}), { kind: "array" });
console.log(array.shape, array.dtype);`
      }`,
    },
  ];
}
