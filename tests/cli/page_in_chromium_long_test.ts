import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { convert } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  MemoryStore,
} from "../../mod.ts";
import { paint, PALETTES, rangeOf } from "../../page/colors.ts";
import { withZarrParts } from "../../zarrita.ts";
import { testInChromium } from "../browser/chromium.ts";
import { encodeJson } from "../support/documents.ts";
import { withPages } from "./chromium_pages.ts";

const SOURCE = new FileSystemStore("tests/fixtures/dem.zarr");

/** An elevation model in parts, and a stack of three times the model in four shards each. */
async function exampleStore(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await convert(SOURCE, { store, path: "dem" }, {
    suffix: ".shard",
    parts: ["", ".index"],
  });
  const root = zarr.root(withZarrParts(store));
  const stack = await zarr.create(root.resolve("stack"), {
    shape: [3, 20, 30],
    chunkShape: [1, 10, 30],
    dtype: "int32",
    fillValue: 0,
  });
  const elements = Int32Array.from({ length: 600 }, (_, i) => i + 1);
  await zarr.set(stack, [2, null, null], {
    data: elements,
    shape: [20, 30],
    stride: [30, 1],
  });
  const group = { zarr_format: 3, node_type: "group" };
  const document = encodeJson(group);
  await store.set("/group/zarr.json", document);
  await convert(SOURCE, { store, path: "damaged" }, { parts: ["", ".index"] });
  await store.delete("/damaged/c/0/0.index");
  const metadata = arrayMetadata({
    shape: [9, 8, 8],
    dataType: "uint8",
    shardShape: [9, 8, 8],
    chunkShape: [1, 8, 8],
  });
  const chunks = await createArrayChunks(store, "slow", metadata);
  const slices = Array.from(
    { length: 9 },
    (_, i) => new Uint8Array(64).fill(i),
  );
  const shard = encodeShard(slices, {
    chunksPerShard: [9, 1, 1],
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: true,
  });
  await chunks.set([0, 0, 0], shard);
  return store;
}

/** The picture of elements, as red, green, blue and alpha. */
function pictureOf(values: ArrayLike<number>, fill: number) {
  return paint(values, rangeOf(values, fill)!, PALETTES.Dusk!, fill);
}

testInChromium(
  "a page draws pictures of its array, and shows other chunks",
  async (browser, t) => {
    const store = await exampleStore();
    // Answers to requests for /slow/c wait until the test lets them go.
    let slow = Promise.withResolvers<void>();
    slow.resolve();
    const isMissing = (path: string) =>
      /^\/(?:stack\/c\/1\/|damaged\/c\/0\/0)/.test(path);
    const before = async (path: string) => {
      if (path.startsWith("/slow/c")) await slow.promise;
    };
    await withPages(
      browser,
      store,
      async ({ page, origin, waitFor, picture, assertNarrow }) => {
        await t.step("of two dimensions", async () => {
          await page.goto(`${origin}/dem`);
          await waitFor("values from");
          const array = await zarr.open.v3(SOURCE, { kind: "array" });
          const { data } = await zarr.get(
            array as zarr.Array<"int16", FileSystemStore>,
          );
          const { width, pixels } = await picture();
          assertEquals(width, 403);
          assertEquals(pixels, pictureOf(data, Number(array.fillValue)));
        });
        await t.step("of other colors", async () => {
          const before = (await picture()).pixels;
          await page.locator("select").selectOption("Gray");
          await page.waitForFunction((first) => {
            const canvas = document.querySelector("canvas")!;
            const { data } = canvas.getContext("2d")!.getImageData(0, 0, 1, 1);
            return data.join() !== first;
          }, before.slice(0, 4).join());
        });
        await t.step("of the slice that a slider chooses", async () => {
          await page.goto(`${origin}/stack`);
          await waitFor("values from"); // The first stored slice.
          const elements = Array.from({ length: 600 }, (_, i) => i + 1);
          assertEquals((await picture()).pixels, pictureOf(elements, 0));
          await page.locator("input[type=range]").fill("1");
          await waitFor("values from 0 to 0");
        });
        await t.step("with the value under the pointer", async () => {
          await page.goto(`${origin}/stack`);
          await waitFor("values from");
          const box = (await page.locator("canvas").boundingBox())!;
          await page.locator("canvas").hover({
            position: { x: box.width * 4.5 / 30, y: box.height * 3.5 / 20 },
          });
          await waitFor("[2, 3, 4] 95");
        });
        await t.step(
          "and goes to the chunk that is clicked on the map",
          async () => {
            const map = page.locator("svg[data-steps]");
            const box = (await map.boundingBox())!;
            await map.click({
              position: { x: box.width / 2, y: box.height * 3 / 4 },
            });
            await page.waitForURL(`${origin}/stack?chunk=2%2C1%2C0`);
            await page.getByRole("heading", { name: "Chunk 2, 1, 0" })
              .waitFor();
            await waitFor("values from");
          },
        );
        await t.step(
          "whose place is in the URL, also after back and forward",
          async () => {
            await page.goto(`${origin}/slow`);
            const slider = page.getByRole("slider", { name: "dimension 0" });
            await waitFor("values from 0 to 0");
            for (const slice of [3, 5]) {
              await slider.fill(`${slice}`);
              await waitFor(`values from ${slice} to ${slice}`);
            }
            await page.waitForURL(`${origin}/slow?at=5%2C0%2C0`);
            for (
              const [go, slice] of [["goBack", 3], ["goBack", 0], [
                "goForward",
                3,
              ]] as const
            ) {
              await page[go]();
              await waitFor(`values from ${slice} to ${slice}`);
              assertEquals(await slider.inputValue(), `${slice}`);
            }
            await page.reload();
            await waitFor("values from 3 to 3");
            assertEquals(await slider.inputValue(), "3");
            for (const place of ["9,0,0", "1,2", "x", "-1,0,0"]) {
              await page.goto(`${origin}/slow?at=${place}`);
              await waitFor("values from 0 to 0");
            }
          },
        );
        await t.step(
          "of the last slice that a quick hand chooses",
          async () => {
            slow = Promise.withResolvers();
            await page.goto(`${origin}/slow`);
            const slider = page.getByRole("slider", { name: "dimension 0" });
            for (const slice of [2, 4, 7]) {
              await slider.fill(`${slice}`);
            }
            slow.resolve();
            await waitFor("values from 7 to 7");
            slow = Promise.withResolvers();
            await slider.fill("8");
            await slider.press("ArrowLeft");
            await slider.press("ArrowLeft");
            slow.resolve();
            await waitFor("values from 6 to 6");
          },
        );
        await t.step("without the chunks that are damaged", async () => {
          await page.goto(`${origin}/damaged`);
          await waitFor(
            "12 chunks cannot be read, such as 0, 0: The stored data is damaged",
          );
          const { width, pixels } = await picture();
          assertEquals([width, pixels[3], pixels[4 * 402 + 3]], [403, 0, 255]);
          await page.getByRole("heading", { name: "Shard 0, 0" }).waitFor();
          await page.getByLabel("longitude").fill("3");
          await page.getByRole("button", { name: "Show shard" }).click();
          await page.getByRole("heading", { name: "Shard 0, 3" }).waitFor();
        });
        await t.step("and copies lines that open it", async () => {
          await page.context().grantPermissions([
            "clipboard-read",
            "clipboard-write",
          ]);
          for (const path of ["/dem", "/group"]) {
            await page.goto(origin + path);
            await page.getByRole("button", {
              name: "Copy the lines for zarr-python",
            })
              .click();
            await page.getByText("Copied").waitFor();
            const text = await page.evaluate(() =>
              navigator.clipboard.readText()
            );
            assertEquals(text.startsWith("import zarr\n\n"), true, text);
          }
        });
        await t.step(
          "in the width of a phone, light and dark",
          () => assertNarrow(["/", "/dem", "/stack", "/damaged"]),
        );
      },
      isMissing,
      before,
    );
  },
);
