import { html, raw } from "hono/html";
import type {
  InspectedArray,
  InspectedChunk,
} from "../../jobs/inspect/inspection.ts";
import { bytesText, countText, jsonText, shapeText } from "../format.ts";
import type { ChunkMap } from "./chunk_map.ts";
import {
  drawChunkMap,
  drawInnerChunks,
  drawParts,
  type Html,
} from "./drawings.ts";
import { fieldsOf } from "../array_fields.ts";
import type { PictureAxes } from "./picture_axes.ts";
import { snippetsFor } from "./snippets.ts";

/**
 * Describes an array.
 *
 * @param url The URL of the array, without a last `/`.
 */
export function arrayPage(
  array: InspectedArray,
  axes: PictureAxes,
  map: ChunkMap | undefined,
  url: string,
): Html {
  const { metadata, chunk, innerChunkShape } = array;
  const unit = innerChunkShape ? "shard" : "chunk";
  const attributes = metadata.attributes ?? {};
  const picture = html`<div id="view"></div>
<noscript>The picture needs JavaScript.</noscript>`;
  return html`
    <div class="columns">
      <div>
    ${section("Picture", picture)}
    ${section("Open it in", openIn(array, url))}
      </div>
      <div>
    ${section("Layout", describeLayout(array, url))}
    ${section(`Stored ${unit}s`, describeMap(array, axes, map, unit))}
    ${chunk && describeChunk(array, axes, chunk, unit)}
    ${Object.keys(attributes).length === 0
      ? ""
      : section("Attributes", html`<pre>${jsonText(attributes)}</pre>`)}
      </div>
    </div>
    <script type="application/json" id="array">${raw(scriptText({
      url,
      shape: metadata.shape,
      names: metadata.dimension_names ?? [],
      axes,
      chunk: chunk?.size === undefined ? undefined : chunk.coordinates,
      chunkShape: array.chunkShape,
      innerChunkShape,
    }))}</script>
  `;
}

function section(title: string, content: Html): Html {
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

function openIn(
  { metadata, innerChunkShape }: InspectedArray,
  url: string,
): Html {
  const hasShards = innerChunkShape !== undefined;
  const snippets = snippetsFor(url, metadata.shape.length, hasShards);
  return html`${
    snippets.map(({ program, code, note }, i) =>
      html`<details name="program" ${i === 0 ? raw("open") : ""}>
<summary>${program}</summary>
<pre>${code}</pre>
${note && html`<p class="muted">${note}</p>`}
</details>`
    )
  }`;
}

function describeMap(
  { gridShape, chunk }: InspectedArray,
  axes: PictureAxes,
  map: ChunkMap | undefined,
  unit: string,
): Html {
  if (map === undefined) {
    return html`<p class="muted">The store cannot list its keys.</p>`;
  }
  const { stored, isCut, most } = map;
  const all = gridShape.reduce((product, length) => product * length, 1);
  const text = isCut
    ? `More than ${countText(stored)} of ${countText(all)} ${unit}s`
    : `${countText(stored)} of ${countText(all)} ${unit}s`;
  return html`<p>${text} ${stored === 1 ? "is" : "are"} stored.</p>
  ${drawChunkMap(map, axes, chunk?.coordinates, text)}
  ${
    most > 1
      ? html`<p class="muted">A cell stands for up to ${
        countText(most)
      } ${unit}s.</p>`
      : ""
  }`;
}

function describeChunk(
  array: InspectedArray,
  axes: PictureAxes,
  chunk: InspectedChunk,
  unit: string,
): Html {
  const title = `${unit === "shard" ? "Shard" : "Chunk"} ${
    chunk.coordinates.join(", ")
  }`;
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
