/// <reference lib="dom" />
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { chromium, type Page } from "playwright-core";
import { FileSystemStore } from "../../mod.ts";
import { createHandler } from "../../serve.ts";
import { CHROMIUM } from "../browser/chromium.ts";
import { serveFolder } from "../browser/file_server.ts";
import { serve } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith, type Tool } from "../support/tools.ts";
import { makeServedArrays, type ServedArray } from "./served_arrays.ts";

/** Names the folder into which `neuroglancer/build.cjs` has bundled Neuroglancer. */
const VARIABLE = "ZARR_PARTS_NEUROGLANCER";
const FOLDER = Deno.env.get(VARIABLE);
const TOOL: Tool = "missing" in CHROMIUM
  ? CHROMIUM
  : FOLDER
  ? { path: FOLDER }
  : {
    missing:
      `${VARIABLE} is not set; tests/interop/README.md says how to bundle Neuroglancer`,
  };

/** Draws by the processor, where there is no graphics card. */
const WITHOUT_GRAPHICS = [
  ...["--use-gl=angle", "--use-angle=swiftshader"],
  ...["--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
];

/** The most requests that it takes to show an array, or a part of Neuroglancer's error. */
const ARRAYS: Readonly<Record<string, number | string>> = {
  "parts.zarr": 146,
  "checked.zarr": 5,
  "dem.zarr": 'Unknown codec: "numcodecs.zlib"',
  "packed.zarr": 'Unknown codec: "packbits"',
};

testWith(
  TOOL,
  "Neuroglancer shows what createHandler serves, by few requests",
  (bundle, t) =>
    inTempDir(async (folder) => {
      const arrays = await makeServedArrays(folder);
      await Deno.writeTextFile(`${folder}/index.html`, PAGE);
      for (const name of ["main.js", "main.css", ...WORKERS]) {
        await Deno.copyFile(`${bundle}/${name}`, `${folder}/${name}`);
      }
      const files = serveFolder(folder);
      const handler = createHandler(new FileSystemStore(folder));
      let requests = 0;
      const server = serve((request) => {
        requests++;
        return handler(request);
      });
      const browser = await chromium.launch({
        executablePath: (CHROMIUM as { path: string }).path,
        args: WITHOUT_GRAPHICS,
      });
      try {
        const page = await browser.newPage({
          viewport: { width: 800, height: 800 },
        });
        await page.goto(`${files.url}/index.html`);
        for (const [path, expected] of Object.entries(ARRAYS)) {
          await t.step(path, async () => {
            requests = 0;
            const array = arrays.find((each) => each.path === path)!;
            const shown = await show(page, `${server.url}/${path}`, array);
            if (typeof expected === "string") {
              assertStringIncludes(shown.error ?? "", expected);
              return;
            }
            assertEquals(shown.error, undefined);
            assertEquals(shown.values, valuesOf(array));
            assert(
              requests > 0 && requests <= expected,
              `${requests} requests`,
            );
          });
        }
      } finally {
        await browser.close();
        await server.close();
        await files.close();
      }
    }),
);

const WORKERS = ["chunk_worker.bundle.js", "async_computation.bundle.js"];
const PAGE = `<!doctype html>
<link rel="stylesheet" href="main.css">
<div id="neuroglancer-container" style="width: 800px; height: 800px"></div>
<script type="module" src="main.js"></script>
`;

/** Places all over an array. */
function placesIn({ shape }: ServedArray): number[][] {
  return Array.from(
    { length: 60 },
    (_, i) =>
      shape.map((length, axis) => (i * [37, 53][axis]! * length / 101) % length)
        .map(Math.floor),
  );
}

function valuesOf(array: ServedArray): number[] {
  const { shape: [, width], elements } = array;
  const is16Bits = array.path === "parts.zarr";
  const typed = is16Bits ? new Int16Array(elements.slice().buffer) : elements;
  return placesIn(array).map(([y, x]) => typed[y! * width! + x!]!);
}

/** The description of an array by Neuroglancer. */
interface Shown {
  readonly error?: string;
  readonly values?: readonly number[];
}

/** Shows an array, and returns its values at the places, as soon as all are there. */
async function show(
  page: Page,
  url: string,
  array: ServedArray,
): Promise<Shown> {
  await page.waitForFunction("globalThis.viewer");
  return await page.evaluate(async ({ url, places }) => {
    // deno-lint-ignore no-explicit-any -- Neuroglancer's viewer
    const { viewer } = globalThis as any;
    viewer.state.restoreState({
      layers: [{ name: url, type: "image", source: `${url}/|zarr3:` }],
      layout: "xy",
      crossSectionScale: 2,
    });
    for (let tries = 0; tries < 300; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const layer = viewer.layerManager.managedLayers[0]?.layer;
      const { error } = layer?.dataSources?.[0]?.loadState ?? {};
      if (error) return { error: String(error.message) };
      if (!layer?.isReady || !viewer.position.value.length) continue;
      const values = places.map((place) => {
        const center = Float32Array.from(place, (each) => each + 0.5);
        const nothing = { pickedRenderLayer: null, pickedValue: 0n };
        const value = layer.getValueAt(center, { ...nothing, pickedOffset: 0 });
        return typeof value === "number" ? value : undefined;
      });
      if (!values.includes(undefined)) return { values: values as number[] };
    }
    return { error: "Not all values are there after 30 seconds" };
  }, { url, places: placesIn(array) });
}
