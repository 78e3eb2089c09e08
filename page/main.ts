/// <reference lib="dom" />
/** The script of pages: pictures of arrays, and maps that choose chunks. */
import * as zarr from "zarrita";
import { registerCodecs } from "../src/zarrita/register_codecs.ts";
import { type DescribedArray, showPicture } from "./picture.ts";

const view = document.querySelector<HTMLElement>("#view");
const text = document.querySelector("script#array")?.textContent;
if (view && text) {
  const array: DescribedArray = JSON.parse(text);
  const map = document.querySelector<SVGSVGElement>("svg[data-steps]");
  map?.addEventListener("click", (event) => showChunk(map, event, array));
  registerCodecs(zarr);
  await showPicture(view, array);
}

/** Goes to the page of the first chunk in the cell of a map that was clicked. */
function showChunk(
  map: SVGSVGElement,
  { clientX, clientY }: MouseEvent,
  { shape, axes, chunk = shape.map(() => 0) }: DescribedArray,
): void {
  const { left, top, width, height } = map.getBoundingClientRect();
  const cells = map.viewBox.baseVal;
  const [rowStep = 1, columnStep = 1] = map.dataset.steps!.split(",").map(
    Number,
  );
  const row = Math.floor((clientY - top) / height * cells.height) * rowStep;
  const column = Math.floor((clientX - left) / width * cells.width) *
    columnStep;
  const coordinates = chunk.map((each, i) =>
    i === axes.rows ? row : i === axes.columns ? column : each
  );
  const target = new URL(location.href);
  target.searchParams.set("chunk", coordinates.join());
  location.assign(target);
}
