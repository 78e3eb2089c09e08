import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { convert } from "../../jobs.ts";
import { MemoryStore, type StoreKey } from "../../mod.ts";
import {
  paint,
  paintChannels,
  paintSamples,
  PALETTES,
  rangeOf,
} from "../../page/colors.ts";
import { withZarrParts } from "../../zarrita.ts";
import { testInChromium } from "../browser/chromium.ts";
import { encodeJson } from "../support/documents.ts";
import { withPages } from "./chromium_pages.ts";

const CHANNELS = [
  { label: "DAPI", color: "0000FF", window: { start: 100, end: 900 } },
  { label: "GFP", color: "00FF00" },
  { label: "off", color: "FF0000", active: false },
];
const AXES = [
  { name: "c", type: "channel" },
  ...["z", "y", "x"].map((name) => ({ name, type: "space" })),
];

/** The elements of the smallest level: 3 channels of 4 planes of 9 × 16. */
const SMALL = Uint16Array.from(
  { length: 3 * 4 * 9 * 16 },
  (_, i) => i * 7 % 1000,
);

function group(attributes: unknown): Uint8Array {
  return encodeJson({ zarr_format: 3, node_type: "group", attributes });
}

function datasets(...paths: string[]) {
  return paths.map((path) => ({ path }));
}

/** Groups with levels: of channels, of one channel, of colors, and hostile ones. */
async function exampleStore(): Promise<MemoryStore> {
  const plain = new MemoryStore();
  const root = zarr.root(withZarrParts(plain));
  const small = { shape: [3, 4, 9, 16], chunkShape: [1, 1, 9, 8] };
  const image = await zarr.create(root.resolve("1"), {
    ...{ ...small, dtype: "uint16", fillValue: 0 },
    dimensionNames: ["c", "z", "y", "x"],
  });
  const data = { data: SMALL, shape: small.shape, stride: [576, 144, 16, 1] };
  await zarr.set(image, null, data);
  await zarr.create(root.resolve("0"), {
    ...{ shape: [3, 4, 18, 32], chunkShape: [1, 1, 9, 8] },
    ...{ dtype: "uint16", fillValue: 0 },
  });
  await plain.set("/zarr.json", group({}));
  const store = new MemoryStore();
  const image05 = {
    version: "0.5",
    multiscales: [{ axes: AXES, datasets: datasets("0", "1") }],
  };
  const all: Record<string, unknown> = {
    mixed: { ome: { ...image05, omero: { channels: CHANNELS } } },
    first: { multiscales: [{ axes: AXES.slice(1), datasets: datasets("s") }] },
    colors: { multiscales: { layout: [{ asset: "rgb" }] } },
    text: { multiscales: [{ datasets: datasets("strings") }] },
    hostile: {
      multiscales: [{
        name: "</script><img src=//evil.example/x onerror=alert(1)>",
        axes: [{ name: "<b>c", type: "channel" }, ...AXES.slice(1)],
        datasets: datasets("../mixed/1", "../..", "<img src=x>", "1"),
      }],
      omero: {
        channels: [{
          label: "<img src=x onerror=alert(1)>",
          color: "</style>",
        }],
        rdefs: { defaultZ: 1e15 },
      },
    },
  };
  for (const [path, attributes] of Object.entries(all)) {
    // Programs other than this one could not read these keys.
    await convert(plain, { store, path }, { suffix: ".part" });
    await store.set(`/${path}/zarr.json` as StoreKey, group(attributes));
  }
  const target = zarr.root(withZarrParts(store));
  const rgb = await zarr.create(target.resolve("colors/rgb"), {
    ...{ shape: [6, 7, 3], chunkShape: [6, 7, 3] },
    ...{ dtype: "uint8", fillValue: 0 },
  });
  const samples = Uint8Array.from({ length: 126 }, (_, i) => i * 2);
  await zarr.set(rgb, null, {
    data: samples,
    shape: [6, 7, 3],
    stride: [21, 3, 1],
  });
  const plane = await zarr.create(target.resolve("first/s"), {
    ...{ shape: [5, 8, 8], chunkShape: [1, 8, 8] },
    ...{ dtype: "int32", fillValue: -1 },
  });
  const planes = Int32Array.from({ length: 320 }, (_, i) => i);
  await zarr.set(plane, null, {
    data: planes,
    shape: [5, 8, 8],
    stride: [64, 8, 1],
  });
  const strings = {
    ...{
      zarr_format: 3,
      node_type: "array",
      shape: [4, 4],
      data_type: "string",
    },
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 4] } },
    ...{ chunk_key_encoding: { name: "default" }, fill_value: "" },
    codecs: [{ name: "vlen-utf8" }],
  };
  await store.set("/text/strings/zarr.json", encodeJson(strings));
  return store;
}

/** The samples of a plane of the smallest level, pixel by pixel. */
function samplesOf(z: number): number[] {
  return Array.from(
    { length: 3 * 144 },
    (_, i) => SMALL[i % 3 * 576 + z * 144 + Math.floor(i / 3)]!,
  );
}

testInChromium(
  "a page of a group draws the smallest of its levels",
  async (browser, t) => {
    const store = await exampleStore();
    const channel = (index: number) => {
      const { color, window } = CHANNELS[index]!;
      return {
        ...{ index, color: `#${color.toLowerCase()}` },
        window: window && [window.start, window.end] as const,
      };
    };
    await withPages(
      browser,
      store,
      async ({ page, origin, waitFor, picture, assertNarrow }) => {
        const pixels = async () => (await picture()).pixels;
        await t.step("of several channels in their colors", async () => {
          await page.goto(`${origin}/mixed`);
          await waitFor("values from");
          const both = paintChannels(samplesOf(2), 3, [channel(0), channel(1)]);
          assertEquals(await pixels(), both);
          await page.getByText("The smallest of 2 levels, 1.").waitFor();
        });
        await t.step("and of those that are chosen", async () => {
          const changed = page.waitForFunction((first) => {
            const canvas = document.querySelector("canvas")!;
            const { data } = canvas.getContext("2d")!.getImageData(0, 0, 16, 9);
            return data.join() !== first;
          }, (await pixels()).join());
          await page.getByRole("checkbox", { name: "GFP" }).uncheck();
          await changed;
          assertEquals(
            await pixels(),
            paintChannels(samplesOf(2), 3, [channel(0)]),
          );
          await page.getByRole("slider", { name: "z" }).fill("3");
          await page.waitForURL(`${origin}/mixed?at=0%2C3%2C0%2C0`);
          await page.reload();
          await waitFor("values from");
          assertEquals(
            await pixels(),
            paintChannels(samplesOf(3), 3, [channel(0), channel(1)]),
          );
        });
        await t.step("of one channel in a palette", async () => {
          await page.goto(`${origin}/first`);
          await waitFor("values from 128 to 191"); // The plane in the middle.
          const values = Array.from({ length: 64 }, (_, i) => 128 + i);
          assertEquals(
            await pixels(),
            paint(values, rangeOf(values, -1)!, PALETTES.Dusk!, -1),
          );
        });
        await t.step("of colors", async () => {
          await page.goto(`${origin}/colors`);
          await waitFor("values from 2 to 250");
          const samples = Array.from({ length: 126 }, (_, i) => i * 2);
          assertEquals(await pixels(), paintSamples(samples, 3, 255));
        });
        await t.step("and says why there is none", async () => {
          await page.goto(`${origin}/text`);
          await page.locator("#view [role=status]").filter({
            hasText: /no picture|No picture/,
          }).waitFor();
        });
        await t.step("with hostile attributes, as texts", async () => {
          await page.goto(`${origin}/hostile`);
          await waitFor("values from");
          assertEquals(await page.locator("img").count(), 0);
          await page.getByRole("checkbox", { name: "<img src=x" }).waitFor();
          await page.getByText("not below this group").first().waitFor();
        });
        await t.step(
          "whose table leads to the pages of the levels",
          async () => {
            await page.goto(`${origin}/mixed`);
            await page.locator("table.levels").getByRole("link", { name: "0" })
              .click();
            await page.waitForURL(`${origin}/mixed/0`);
            await waitFor("values from 0 to 0");
          },
        );
        await t.step(
          "in the width of a phone, light and dark",
          () => assertNarrow(["/mixed", "/hostile", "/colors"]),
        );
      },
      (path) => path.startsWith("/hostile") || /\/c\//.test(path),
    );
  },
);
