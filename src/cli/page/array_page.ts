import { html, raw } from "hono/html";
import type { InspectedArray, InspectedChunk } from "../../jobs/mod.ts";
import { parseExtension } from "../../metadata/mod.ts";
import { innermostCodecs } from "../../zarrita/mod.ts";
import { fieldsOf } from "../draw_array.ts";
import { imagecodecsFor, REGISTRATION } from "../needed_codecs.ts";
import {
  bytesText,
  countText,
  jsonText,
  shapeText,
  unitsText,
} from "../format.ts";
import type { ChunkMap, PictureAxes } from "./chunk_map.ts";
import {
  drawChunkMap,
  drawInnerChunks,
  drawParts,
  type Html,
} from "./drawings.ts";

/** The reason for which a chunk cannot be described. */
export interface ChunkProblem {
  readonly coordinates: readonly number[];
  readonly message: string;
}

/** The properties of an array that its page shows. */
interface DescribedArray {
  readonly array: InspectedArray;
  readonly axes: PictureAxes;
  /** The map of its chunks, or the reason for which there is none. */
  readonly map: ChunkMap | string | undefined;
  /** The URL of the array, without a last `/`. */
  readonly url: string;
  readonly problem: ChunkProblem | undefined;
}

/** Describes an array. */
export function arrayPage(described: DescribedArray): Html {
  const { array, axes, url, problem } = described;
  const { metadata, chunk, chunkShape, innerChunkShape } = array;
  const unit = innerChunkShape ? "shard" : "chunk";
  const shown = problem?.coordinates ??
    (chunk?.size === undefined ? undefined : chunk.coordinates);
  const attributes = metadata.attributes ?? {};
  const picture = html`<div id="view"></div>
<noscript>The picture needs JavaScript.</noscript>`;
  const codecs = innermostCodecs(metadata.codecs)
    .map((codec) => parseExtension(codec, "codec").name);
  const snippets = snippetsFor(
    url,
    metadata.shape.length,
    !!innerChunkShape,
    codecs,
  );
  return html`
    <div class="columns">
      <div>
    ${section("Picture", picture)}
    ${section("Open it in", openIn(snippets))}
      </div>
      <div>
    ${section("Layout", describeLayout(array, url))}
    ${section(`Stored ${unit}s`, describeMap(described, unit))}
    ${problem
      ? section(
        titleOf(unit, problem.coordinates),
        html`<p class="alert" role="alert">${problem.message}.</p>`,
      )
      : chunk && describeChunk(array, axes, chunk, unit)}
    ${Object.keys(attributes).length === 0 ? "" : section(
      "Attributes",
      html`<pre tabindex="0">${jsonText(attributes)}</pre>`,
    )}
      </div>
    </div>
    ${arrayScript({
      url,
      shape: metadata.shape,
      names: metadata.dimension_names ?? [],
      axes,
      chunk: shown,
      chunkShape,
      innerChunkShape,
    })}
  `;
}

/** Composes the description of the array for the script of the page. */
export function arrayScript(array: object): Html {
  return html`
    <script type="application/json" id="array">${raw(
      scriptText(array),
    )}</script>
  `;
}

/** A part of a page with a heading. */
export function section(title: string, content: Html): Html {
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, "-");
  return html`<section class="${id}" aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${content}
</section>`;
}

function describeLayout(array: InspectedArray, url: string): Html {
  const fields = fieldsOf(array).map(([name, text]) =>
    html`
      <div>
        <dt>${name}</dt>
        <dd>${text}</dd>
      </div>
    `
  );
  return html`
    <dl>${fields}</dl>
    <p><a href="${url}/zarr.json">zarr.json</a></p>
  `;
}

/** Shows how programs open a node. The script of the page adds buttons that copy. */
export function openIn(snippets: readonly Snippet[]): Html {
  return html`${
    snippets.map(({ program, code, note }, i) =>
      html`<details name="program" ${i === 0 ? raw("open") : ""}>
<summary>${program}</summary>
<pre tabindex="0" data-copy="the lines for ${program}">${code}</pre>
${note && html`<p class="muted">${note}</p>`}
</details>`
    )
  }`;
}

function describeMap(
  { array, axes, map, problem }: DescribedArray,
  unit: string,
): Html {
  const { gridShape, chunk } = array;
  if (gridShape.includes(0)) {
    return html`<p class="muted">The array has no elements.</p>`;
  }
  const shown = problem?.coordinates ?? chunk?.coordinates;
  if (typeof map !== "object") {
    return html`${
      map === undefined
        ? html`<p class="muted">The store cannot list its keys.</p>`
        : html`<p class="alert" role="alert">${map}.</p>`
    }${chooseChunk(array, shown, unit)}`;
  }
  const { stored, isCut, most } = map;
  const all = gridShape.reduce((product, length) => product * length, 1);
  const text = isCut
    ? `More than ${countText(stored)} of ${unitsText(all, unit)}`
    : `${countText(stored)} of ${unitsText(all, unit)}`;
  return html`<p>${text} ${stored === 1 ? "is" : "are"} stored.</p>
  ${drawChunkMap(map, axes, shown, text)}
  ${
    most > 1
      ? html`<p class="muted">A cell stands for up to ${
        unitsText(most, unit)
      }.</p>`
      : ""
  }
  ${chooseChunk(array, shown, unit)}`;
}

/** A form that goes to any chunk, for those who do not point at the map. */
function chooseChunk(
  { gridShape, metadata }: InspectedArray,
  shown: readonly number[] | undefined,
  unit: string,
): Html | "" {
  if (gridShape.length === 0) return "";
  return html`
    <form class="choose"
      aria-label="Choose a ${unit}">${gridShape.map((length, i) =>
        html`<label><span>${
          metadata.dimension_names?.[i] ?? `dimension ${i}`
        }</span><input type="number" name="chunk" min="0" max="${
          length - 1
        }" value="${shown?.[i] ?? 0}" required></label>`
      )}<button>Show ${unit}</button></form>
  `;
}

/** The heading of the part about a chunk. */
function titleOf(unit: string, coordinates: readonly number[]): string {
  return `${unit === "shard" ? "Shard" : "Chunk"} ${coordinates.join(", ")}`;
}

function describeChunk(
  array: InspectedArray,
  axes: PictureAxes,
  chunk: InspectedChunk,
  unit: string,
): Html {
  const title = titleOf(unit, chunk.coordinates);
  if (chunk.size === undefined) {
    return section(
      title,
      html`<p>Absent: all its elements have the fill value. Its key is <code>${chunk.key}</code>.</p>`,
    );
  }
  const { index, parts, size } = chunk;
  const objects = parts.length === 1 ? "one object" : `${parts.length} objects`;
  const inner = index && describeIndex(index, array.innerChunkShape!);
  return section(
    title,
    html`<p>${bytesText(size)} in ${objects}${inner && `, with ${inner}`}.</p>
${drawParts(array, chunk)}
${index && drawInnerChunks(index, axes, inner!)}`,
  );
}

function describeIndex(
  { present, chunksInArray }: NonNullable<InspectedChunk["index"]>,
  shape: readonly number[],
): string {
  const count = chunksInArray.reduce((product, n) => product * n, 1);
  return `${countText(present)} of ${countText(count)} inner chunks of ${
    shapeText(shape)
  }`;
}

/** JSON for a script element, which a text of the store cannot end. */
function scriptText(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

/** A program that opens an array, and how. */
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
  const text = JSON.stringify(url);
  const gdal = `ZARR:"/vsicurl/${url}"`;
  const indices = Array.from({ length: Math.max(0, rank - 2) }, () => ":0");
  const gdalNote = hasShards
    ? "GDAL reads shards from version 3.13 on; serve with --inner-chunks for older ones."
    : undefined;
  const imagecodecs = imagecodecsFor(codecs);
  return [
    {
      program: "zarr-python",
      code: `import zarr${imagecodecs ? `\n${REGISTRATION.join("\n\n")}` : "\n"}
array = zarr.open_array(${text}, mode="r")
print(array.shape, array.dtype)`,
      note: `pip install zarr fsspec aiohttp requests${
        imagecodecs ? ` "${imagecodecs}"` : ""
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
  const name = array === undefined ? undefined : JSON.stringify(array);
  return [
    {
      program: "zarr-python",
      code: `import zarr

group = zarr.open_group(${text}, mode="r")
print(group${name === undefined ? ".attrs" : `[${name}]`})`,
      note: "pip install zarr fsspec aiohttp requests",
    },
    {
      program: "zarrita",
      code: `import * as zarr from "zarrita";

const store = new zarr.FetchStore(${text});
const group = await zarr.open(store, { kind: "group" });
console.log(${
        name === undefined
          ? "group.attrs"
          : `await zarr.open(group.resolve(${name}), { kind: "array" })`
      });`,
    },
  ];
}
