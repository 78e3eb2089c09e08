/// <reference lib="dom" />
/** The script of pages: pictures of arrays, and maps that choose chunks. */
import * as zarr from "zarrita";
import { registerCodecs } from "../src/codecs/register_codecs.ts";
import type { DescribedArray } from "../src/cli/page/drawings.ts";
import { append } from "./elements.ts";
import { showPicture } from "./picture.ts";

for (const code of document.querySelectorAll<HTMLElement>("pre[data-copy]")) {
  addCopyButton(code);
}
const view = document.querySelector<HTMLElement>("#view");
const text = document.querySelector("script#array")?.textContent;
if (view && text) {
  const array: DescribedArray = JSON.parse(text);
  const map = document.querySelector<SVGSVGElement>("svg[data-steps]");
  map?.addEventListener("click", (event) => showChunk(map, event, array));
  registerCodecs(zarr);
  await showPicture(view, array);
}

/** Adds a button that copies lines. */
function addCopyButton(code: HTMLElement): void {
  const bar = document.createElement("p");
  bar.className = "copy";
  code.before(bar);
  const button = append(bar, "button", "Copy");
  button.type = "button";
  button.ariaLabel = `Copy ${code.dataset.copy}`;
  const done = append(bar, "span");
  done.role = "status";
  button.onclick = async () => {
    const isCopied = await copy(code);
    done.textContent = isCopied ? "Copied" : "Selected: press Ctrl+C";
  };
}

/** Copies the text of an element, or selects it where a page may not copy. */
async function copy(element: HTMLElement): Promise<boolean> {
  try {
    // Browsers have a clipboard for pages of this machine and of https: alone.
    await navigator.clipboard.writeText(element.textContent ?? "");
    return true;
  } catch {
    getSelection()?.selectAllChildren(element);
    return document.execCommand("copy");
  }
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
  target.search = "";
  target.searchParams.set("chunk", coordinates.join());
  location.assign(target);
}
