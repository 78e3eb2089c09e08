/// <reference lib="dom" />
/**
 * A page that reads an elevation model in parts over HTTP and draws it.
 *
 *     deno bundle --platform browser -o examples/browser/main.js examples/browser/main.ts
 *
 * writes the script of index.html. Any web server can serve both files. The query
 * string names the array: `?array=https://example.com/dem.zarr`
 */
import { HttpStore } from "@zarr-parts/zarr-parts";
import { readElevationModel } from "./read_elevation_model.ts";
import { type ElevationModel, elevationRange, relief } from "./relief.ts";

const canvas = document.querySelector("canvas")!;
// Not in the status element, which screen readers read aloud at each change.
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
  // The distances between points can differ between the two directions.
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

/** Joins the messages of an error and its causes, one per line. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause === undefined ? message : `${message}\n${explain(cause)}`;
}
