/** TIFFs with overviews that other programs wrote, adopted as groups, and read by other programs. */
import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { verify } from "../../jobs.ts";
import {
  FileSystemStore,
  plainView,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { adoptPyramid } from "../../tiff.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

registerCodecs(zarr);

/** A case of the script that writes files. */
interface Case {
  readonly name: string;
  readonly files: { key: StoreKey; coordinates: number[] }[];
  readonly levels: { elements: string; shape: number[] }[];
}

/** The bytes of the elements of an array in C order. */
async function elementsOf(
  store: Store,
  path: string,
): Promise<[number[], Uint8Array]> {
  const root = zarr.root(withZarrParts(store)).resolve(path);
  const array = await zarr.open(root, { kind: "array" });
  const { data, shape, stride } = await zarr.get(array);
  const elements = data as Uint16Array;
  const ordered = elements.slice();
  for (let i = 0; i < ordered.length; i++) {
    let [rest, at] = [i, 0];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      at += rest % shape[axis]! * stride[axis]!;
      rest = Math.floor(rest / shape[axis]!);
    }
    ordered[i] = elements[at]!;
  }
  return [shape, new Uint8Array(ordered.buffer)];
}

testWith(
  PYTHON,
  "pyramids of tifffile and GDAL are read with the same bits and the same places, by zarrita, zarr-python and ome-zarr-models",
  async (python) => {
    await inTempDir(async (folder) => {
      await runScript(python, "make_pyramids.py", folder);
      const cases: Case[] = JSON.parse(
        await Deno.readTextFile(`${folder}/cases.json`),
      );
      assert(cases.length >= 24, `${cases.length} cases`);
      const store = new FileSystemStore(folder);
      const wrong: string[] = [];
      const check = async ({ name, files, levels }: Case) => {
        const group = `${name}.zarr`;
        const adopted = await adoptPyramid(store, group, { files });
        assertEquals(adopted.levels.length, levels.length);
        for (const [i, { path }] of adopted.levels.entries()) {
          const { elements, shape } = levels[i]!;
          const [found, bytes] = await elementsOf(store, `${group}/${path}`);
          assertEquals(found, shape);
          const expected = await Deno.readFile(elements);
          assertEquals(bytes.length, expected.length);
          // The difference of long lists would take minutes to print.
          const place = bytes.findIndex((byte, i) => byte !== expected[i]);
          assertEquals(place, -1, `level ${i} has another byte at ${place}`);
        }
        const { findings } = await verify(store, group, { deep: true });
        assertEquals(findings, []);
        const view = plainView(store);
        const plain = new FileSystemStore(`${folder}/plain/${name}`);
        for await (const key of view.list!(`/${group}/`)) {
          const shown = key.slice(group.length + 1) as StoreKey;
          if (!/\.(?:index|tif)$/.test(key)) {
            await plain.set(shown, (await view.get(key))!);
          }
        }
      };
      for (const each of cases) {
        await check(each).catch((error) => {
          wrong.push(`${each.name}: ${error.message.slice(0, 400)}`);
        });
      }
      assertEquals(wrong, []);
      const read = cases.map((each) => ({
        ...each,
        path: `${folder}/plain/${each.name}`,
      }));
      const list = `${folder}/read.json`;
      await Deno.writeTextFile(list, JSON.stringify(read));
      await runScript(python, "read_pyramids.py", list);
    });
  },
);
