/// <reference lib="dom" />
/**
 * A page that reads an elevation model in parts over HTTP and draws it.
 *
 *     deno bundle --platform browser -o examples/browser/main.js examples/browser/main.ts
 *
 * makes the script of index.html. Any web server can serve the two; the query
 * string says which array: `?array=https://example.com/dem.zarr`
 */
import { HttpStore } from "@zarr-parts/zarr-parts";
import { readElevationModel } from "./read_elevation_model.ts";
import { type ElevationModel, elevationRange, relief } from "./relief.ts";

const canvas = document.querySelector("canvas")!;
// Apart from the status, which screen readers read aloud at each change.
const progressLine = document.querySelector<HTMLElement>("#progress")!;
const progress = progressLine.querySelector("progress")!;
const progressText = progressLine.querySelector("span")!;
const input = document.querySelector("input")!;
const status = document.querySelector("[role=status]")!;
const alert = document.querySelector<HTMLElement>("[role=alert]")!;

const array = new URLSearchParams(location.search).get("array");
if (array) {
  input.value = array;
  try {
    await show(new URL(array, location.href));
  } catch (error) {
    console.error(error);
    status.textContent = `Could not read ${array}`;
    alert.textContent = explain(error);
    alert.hidden = false;
  } finally {
    progressLine.hidden = true;
  }
}

async function show(url: URL): Promise<void> {
  status.textContent = `Reading ${url}`;
  progressLine.hidden = false;
  let requests = 0;
  const store = new HttpStore(url, {
    fetch(request) {
      requests++;
      return fetch(request);
    },
  });
  const model = await readElevationModel(store, (chunks, all) => {
    progressText.textContent = `${chunks} of ${all} chunks`;
    progress.max = all;
    progress.value = chunks;
  });
  draw(model);
  status.textContent = `${canvas.ariaLabel}. ${requests} requests`;
}

function draw(model: ElevationModel): void {
  const { width, height, spacing } = model;
  Object.assign(canvas, { width, height });
  const image = new ImageData(relief(model), width, height);
  canvas.getContext("2d")!.putImageData(image, 0, 0);
  // Points need not be as far apart from north to south as from west to east.
  canvas.style.aspectRatio = `${width * spacing.x} / ${height * spacing.y}`;
  canvas.ariaLabel = describe(model);
  canvas.hidden = false;
}

function describe(model: ElevationModel): string {
  const range = elevationRange(model);
  const heights = range
    ? `${range.lowest} to ${range.highest} metres high`
    : "none of them known";
  return `A map of ${model.width} × ${model.height} points, ${heights}`;
}

/** An error's message and those of its causes, each on a line of its own. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause === undefined ? message : `${message}\n${explain(cause)}`;
}
