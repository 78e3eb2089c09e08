import { assertEquals, assertStringIncludes } from "@std/assert";
import * as zarr from "zarrita";
import { relief } from "../../examples/browser/relief.ts";
import { spacingOf } from "../../examples/browser/spacing.ts";
import { FileSystemStore } from "../../mod.ts";
import { serveFolder } from "./file_server.ts";
import { openPage, pixelsOf, shownOn, SOURCE, testOnSite } from "./page.ts";

/** The number of shards of the demo's elevation model. */
const SHARDS = 2 * 2;

/** Draws the source, which zarrita can read without this package. */
async function expectedPixels(): Promise<Uint8ClampedArray> {
  const store = new FileSystemStore(SOURCE);
  const array = await zarr.open.v3(store, { kind: "array" });
  const { data } = await zarr.get(
    array as zarr.Array<"int16", FileSystemStore>,
  );
  const [height, width] = array.shape as [number, number];
  return relief({
    elevations: data,
    width,
    height,
    fillValue: -32768,
    spacing: spacingOf(array.attrs, { width, height }),
  });
}

/** Changes or removes a file while a test runs, and restores it. */
async function withFile(
  path: string,
  change: (bytes: Uint8Array) => Uint8Array | undefined,
  test: () => Promise<void>,
): Promise<void> {
  const bytes = await Deno.readFile(path);
  const changed = change(bytes.slice());
  if (changed) await Deno.writeFile(path, changed);
  else await Deno.remove(path);
  try {
    await test();
  } finally {
    await Deno.writeFile(path, bytes);
  }
}

function withBitFlipped(bytes: Uint8Array): Uint8Array {
  bytes[3]! ^= 1;
  return bytes;
}

testOnSite(
  "the page draws an elevation model in parts",
  async ({ browser, server, folder }, t) => {
    const { log } = server;
    const label = "A map of 403 × 344 points, 236 to 1076 metres high";

    await t.step("with the same pixels as the source", async () => {
      const page = await openPage(browser, server, "dem.zarr");
      const { width, pixels } = await pixelsOf(page);
      const expected = await expectedPixels();
      assertEquals([width, pixels.length], [403, expected.length]);
      assertEquals(pixels.findIndex((value, i) => value !== expected[i]), -1);
      const requests = log.filter((line) => line.includes("/dem.zarr/"));
      assertEquals(await shownOn(page), {
        status: [`${label}. ${requests.length} requests`],
        alert: [],
        img: [label],
        progressbar: [],
      });
    });

    await t.step(
      "with one request for each index and the inner chunks of each shard",
      () => {
        const counts: Record<string, number> = {};
        for (const line of log.filter((line) => line.includes("/dem.zarr/"))) {
          const kind = line.replaceAll(/\d+/g, "0");
          counts[kind] = (counts[kind] ?? 0) + 1;
        }
        assertEquals(counts, {
          "GET /dem.zarr/zarr.json": 1,
          "GET /dem.zarr/c/0/0.tiff.index": SHARDS,
          // All inner chunks of a shard are one request.
          "GET /dem.zarr/c/0/0.tiff bytes=0-0": SHARDS,
        });
      },
    );

    await t.step("from the URL in the form", async () => {
      const page = await browser.newPage();
      await page.goto(`${server.url}/index.html`);
      const nothing = { status: [], alert: [], img: [], progressbar: [] };
      assertEquals(await shownOn(page), nothing);
      const field = page.getByLabel("URL of the array");
      await field.fill(`${server.url}/dem.zarr`);
      await page.getByRole("button", { name: "Draw" }).click();
      await page.getByRole("img", { name: label }).waitFor();
      assertStringIncludes(page.url(), "?array=http");
      assertEquals(await field.inputValue(), `${server.url}/dem.zarr`);
    });

    await t.step("and shows its progress", async () => {
      const page = await browser.newPage();
      const lastShard = Promise.withResolvers<void>();
      await page.route("**/c/1/1.tiff", async (route) => {
        await lastShard.promise;
        await route.continue();
      });
      await page.goto(`${server.url}/index.html?array=dem.zarr`);
      await page.getByText("33 of 42 chunks").waitFor();
      const progress = page.getByRole("progressbar", { name: "Chunks read" });
      assertEquals(await progress.getAttribute("value"), "33");
      assertEquals(await progress.getAttribute("max"), "42");
      assertEquals(await shownOn(page), {
        status: [`Reading ${server.url}/dem.zarr`],
        alert: [],
        img: [],
        progressbar: ["Chunks read"],
      });
      lastShard.resolve();
      await page.getByRole("img", { name: label }).waitFor();
    });

    await t.step("from another origin", async () => {
      const other = serveFolder(folder, {
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "content-range, content-encoding",
      });
      try {
        const page = await openPage(browser, server, `${other.url}/dem.zarr`);
        assertEquals((await shownOn(page)).img, [label]);
      } finally {
        await other.close();
      }
    });

    await t.step(
      "and shows the URL and the reason when a connection is lost",
      async () => {
        const context = await browser.newContext();
        await context.route("**/c/1/0.tiff", (route) => route.abort());
        const page = await openPage(context, server, "dem.zarr");
        const [url, reason] = (await shownOn(page)).alert!.join().split("\n");
        assertStringIncludes(url!, `${server.url}/dem.zarr/c/1/0.tiff`);
        assertStringIncludes(reason!, "Failed to fetch");
      },
    );

    await t.step("and shows what is wrong with a damaged array", async () => {
      const shard = `${folder}/dem.zarr/c/1/0.tiff`;
      const assertAlert = async (...texts: string[]) => {
        const { alert, ...shown } = await shownOn(
          await openPage(browser, server, "dem.zarr"),
        );
        assertEquals(shown, {
          status: ["Could not read dem.zarr"],
          img: [],
          progressbar: [],
        });
        for (const text of texts) assertStringIncludes(alert!.join(), text);
      };
      await withFile(
        `${shard}.index`,
        withBitFlipped,
        () => assertAlert('The index of "/c/1/0.tiff" has the CRC32C'),
      );
      await withFile(
        `${shard}.index`,
        (index) => index.subarray(1),
        () => assertAlert("/c/1/0.tiff.index", "195 bytes"),
      );
      await withFile(
        shard,
        () => undefined,
        () => assertAlert("/c/1/0.tiff"),
      );
      await withFile(
        `${folder}/dem.zarr/zarr.json`,
        () => undefined,
        () => assertAlert("Not found"),
      );
      await withFile(
        `${folder}/dem.zarr/zarr.json`,
        (bytes) =>
          new TextEncoder().encode(
            new TextDecoder().decode(bytes).replace("int16", "int64"),
          ),
        () => assertAlert("Expected an array of numbers", "found int64 in 2"),
      );
    });
  },
);
