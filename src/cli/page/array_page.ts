import { html, raw } from "hono/html";
import { openArrayChunks, parseArray } from "../../arrays/mod.ts";
import type { InspectedArray, InspectedChunk } from "../../jobs/mod.ts";
import { fieldsOf, imagecodecsFor } from "../draw_array.ts";
import { bytesText, countText, shapeText, unitsText } from "../format.ts";
import {
  arrayScript,
  choosePictureAxes,
  type ChunkMap,
  drawChunkMap,
  drawInnerChunks,
  drawParts,
  mapChunks,
  type PictureAxes,
  pictureBox,
} from "./drawings.ts";
import {
  documentOf,
  explain,
  inspectArray,
  type PageRequest,
  urlOf,
} from "./hierarchy.ts";
import {
  alert,
  columns,
  documentLink,
  fieldList,
  type Html,
  jsonBlock,
  muted,
  section,
} from "./templates.ts";

/** Describes an array, and the chunk that the query of the request names. */
export async function arrayPage(
  request: PageRequest,
  signal: AbortSignal,
): Promise<Html> {
  const { store, path, query, root } = request;
  const chunks = await openArrayChunks(store, path, { signal });
  const { metadata, gridShape } = chunks;
  const { shape, dimension_names, data_type } = metadata;
  const attributes = metadata.attributes ?? {};
  const axes = choosePictureAxes(shape, dimension_names ?? [], data_type);
  const hasMap = store.list !== undefined && !gridShape.includes(0);
  const map = hasMap
    ? await mapChunks(chunks, axes, { signal }).catch((error) =>
      explain(request, error, documentOf(path))
    )
    : undefined;
  const chosen = coordinatesOf(query.getAll("chunk").join(), gridShape) ??
    (typeof map === "object" ? map.first : undefined);
  let problem: string | undefined;
  const array = await inspectArray(request, path, signal, chosen)
    .catch(async (error) => {
      const key = chunks.key(chosen ?? gridShape.map(() => 0));
      problem = explain(request, error, key);
      return await inspectArray(request, path, signal, null);
    });
  const { chunk, chunkShape, innerChunkShape } = array;
  const unit = innerChunkShape ? "shard" : "chunk";
  const shown = problem === undefined
    ? chunk?.coordinates
    : chosen ?? gridShape.map(() => 0);
  const url = urlOf(root, path);
  const codecs = parseArray(metadata).innermost.codecs.map(({ name }) => name);
  const title = `${unit === "shard" ? "Shard" : "Chunk"} ${shown?.join(", ")}`;
  const described = problem === undefined
    ? chunk && describeChunk(array, axes, chunk)
    : alert(problem);
  const isAbsent = problem === undefined && chunk?.size === undefined;
  return html`${
    columns([
      section("Picture", pictureBox()),
      section(
        "Open it in",
        openIn(snippetsFor(url, shape.length, !!innerChunkShape, codecs)),
      ),
    ], [
      section(
        "Layout",
        html`${fieldList(fieldsOf(array))}${documentLink(url)}`,
      ),
      section(`Stored ${unit}s`, describeMap(array, axes, map, shown, unit)),
      described ? section(title, described) : "",
      Object.keys(attributes).length > 0
        ? section("Attributes", jsonBlock(attributes))
        : "",
    ])
  }${
    arrayScript({
      path,
      url,
      shape,
      names: dimension_names ?? [],
      axes,
      chunk: isAbsent ? undefined : shown,
      chunkShape,
      innerChunkShape,
    })
  }`;
}

/** Parses coordinates of the chunk grid. */
function coordinatesOf(
  text: string,
  gridShape: readonly number[],
): number[] | undefined {
  if (!/^\d{1,15}(,\d{1,15})*$/.test(text)) return undefined;
  const coordinates = text.split(",").map(Number);
  const isInGrid = coordinates.length === gridShape.length &&
    coordinates.every((each, i) => each < gridShape[i]!);
  return isInGrid ? coordinates : undefined;
}

/** Shows how programs open a node. The script of the page adds buttons that copy. */
export function openIn(snippets: readonly Snippet[]): Html {
  return html`${
    snippets.map(({ program, code, note }, i) =>
      html`<details name="program" ${i === 0 ? raw("open") : ""}>
<summary>${program}</summary>
<pre tabindex="0" data-copy="the lines for ${program}">${code}</pre>
${note && muted(note)}
</details>`
    )
  }`;
}

/** @param map The map of the chunks, or the reason for which there is none. */
function describeMap(
  array: InspectedArray,
  axes: PictureAxes,
  map: ChunkMap | string | undefined,
  shown: readonly number[] | undefined,
  unit: string,
): Html {
  const { gridShape } = array;
  if (gridShape.includes(0)) return muted("The array has no elements.");
  const form = chooseChunk(array, shown, unit);
  if (map === undefined) {
    return html`${muted("The store cannot list its keys.")}${form}`;
  }
  if (typeof map === "string") return html`${alert(map)}${form}`;
  const { stored, isCut, most } = map;
  const all = gridShape.reduce((product, length) => product * length, 1);
  const text = `${isCut ? "More than " : ""}${countText(stored)} of ${
    unitsText(all, unit)
  }`;
  return html`<p>${text} ${stored === 1 ? "is" : "are"} stored.</p>
  ${drawChunkMap(map, axes, shown, text)}
  ${most > 1 ? muted(`A cell stands for up to ${unitsText(most, unit)}.`) : ""}
  ${form}`;
}

/** A form that goes to any chunk, for those who do not point at the map. */
function chooseChunk(
  { gridShape, metadata: { dimension_names } }: InspectedArray,
  shown: readonly number[] | undefined,
  unit: string,
): Html | "" {
  if (gridShape.length === 0) return "";
  const inputs = gridShape.map((length, i) => {
    const name = dimension_names?.[i] ?? `dimension ${i}`;
    return html`<label><span>${name}</span><input type="number" name="chunk" min="0" max="${
      length - 1
    }" value="${shown?.[i] ?? 0}" required></label>`;
  });
  return html`
    <form class="choose"
      aria-label="Choose a ${unit}">${inputs}<button>Show ${unit}</button></form>
  `;
}

function describeChunk(
  array: InspectedArray,
  axes: PictureAxes,
  chunk: InspectedChunk,
): Html {
  const { index, parts, size, key } = chunk;
  if (size === undefined) {
    return html`<p>Absent: all its elements have the fill value. Its key is <code>${key}</code>.</p>`;
  }
  const objects = parts.length === 1 ? "one object" : `${parts.length} objects`;
  const count = index?.chunksInArray.reduce((product, n) => product * n, 1);
  const inner = index &&
    `${countText(index.present)} of ${countText(count!)} inner chunks of ${
      shapeText(array.innerChunkShape!)
    }`;
  return html`<p>${bytesText(size)} in ${objects}${
    inner && `, with ${inner}`
  }.</p>
${drawParts(array, chunk)}
${index && drawInnerChunks(index, axes, inner!)}`;
}

/** A program that opens a node, and how. */
interface Snippet {
  readonly program: string;
  readonly code: string;
  readonly note?: string;
}

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
  const gdal = `ZARR:"/vsicurl/${url}"`;
  const indices = rank > 2 ? `:/${":0".repeat(rank - 2)}` : "";
  const gdalNote = hasShards
    ? "GDAL reads shards from version 3.13 on; serve with --inner-chunks for older ones."
    : "";
  return [
    pythonSnippet(url, "array", "array.shape, array.dtype", codecs),
    zarritaSnippet(url, "array", "array.shape, array.dtype"),
    {
      program: "TensorStore",
      code: `import tensorstore as ts

array = ts.open({
    "driver": "zarr3",
    "kvstore": ${JSON.stringify(`${url}/`)},
}).result()
print(array.shape, array.dtype)`,
    },
    { program: "GDAL", code: `gdalmdiminfo '${gdal}'`, note: gdalNote },
    {
      program: "QGIS",
      code: `layer = QgsRasterLayer('${gdal}${indices}', "array")
QgsProject.instance().addMapLayer(layer)`,
      note: `In the Python console. ${gdalNote}`,
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
  const path = JSON.stringify(array);
  const [python, zarrita] = array === undefined
    ? ["group.attrs", "group.attrs"]
    : [
      `group[${path}]`,
      `await zarr.open(group.resolve(${path}), { kind: "array" })`,
    ];
  return [
    pythonSnippet(url, "group", python),
    zarritaSnippet(url, "group", zarrita),
  ];
}

function pythonSnippet(
  url: string,
  kind: "array" | "group",
  printed: string,
  codecs: readonly string[] = [],
): Snippet {
  const imagecodecs = imagecodecsFor(codecs);
  const registration = imagecodecs
    ? "from imagecodecs.zarr import register_codecs\n\nregister_codecs()\n"
    : "\n";
  return {
    program: "zarr-python",
    code: `import zarr
${registration}${kind} = zarr.open_${kind}(${JSON.stringify(url)}, mode="r")
print(${printed})`,
    note: `pip install zarr fsspec aiohttp requests${
      imagecodecs ? ` "${imagecodecs}"` : ""
    }`,
  };
}

function zarritaSnippet(
  url: string,
  kind: "array" | "group",
  printed: string,
): Snippet {
  return {
    program: "zarrita",
    code: `import * as zarr from "zarrita";

const store = new zarr.FetchStore(${JSON.stringify(url)});
const ${kind} = await zarr.open(store, { kind: "${kind}" });
console.log(${printed});`,
  };
}
