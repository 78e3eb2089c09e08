/** Other programs, which read arrays while they are converted in place, or wrote them for Zarr v2. */
import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { convert, convertInPlace, verify } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { disturbed } from "../jobs/in_place_support.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

const DEM = "tests/fixtures/dem.zarr";
const PARTS = { parts: ["", ".index"] };
const PLAIN = { keyEncoding: "v2", parts: [] };

testWith(
  PYTHON,
  "in place, zarr-python and TensorStore read right elements or none in every state",
  async (python) => {
    await inTempDir(async (folder) => {
      const states = `${folder}/states`;
      for (const [from, to] of [[PLAIN, PARTS], [PARTS, PLAIN]] as const) {
        for (let at = 0, isKilled = true; isKilled; at += 5) {
          const name = `${states}/${to === PARTS ? "cut" : "joined"}-${at}`;
          const store = new FileSystemStore(name);
          await convert(new FileSystemStore(DEM), store, from);
          const disturbance = { at, kind: "kill" } as const;
          const run = await disturbed(
            () => convertInPlace(store, { ...to, concurrency: 1 }),
            { disturbance },
          );
          isKilled = run.disturbed !== undefined;
        }
      }
      await runScript(python, "read_in_place.py", DEM, states);
    });
  },
);

registerCodecs(zarr);

/** Asserts that zarrita reads the arrays of `migrate.py`, whichever version it looks for first. */
async function assertRead(
  folder: string,
  { isOldV2 = true }: { isOldV2?: boolean } = {},
): Promise<void> {
  for (const isV2First of [true, false]) {
    const store = withZarrParts(new FileSystemStore(folder));
    const root = zarr.root(store);
    for (let i = 0; i < 3; i++) {
      if (isV2First && isOldV2) await zarr.open.v2(root.resolve("old"));
      else await zarr.open.v3(root.resolve("a"));
    }
    for (const path of ["a", "sub/b", "old"]) {
      const array = await zarr.open(root.resolve(path), { kind: "array" });
      const { data } = await zarr.get(array);
      const numbers = Array.from({ length: 48 }, (_, i) => i + 1);
      assertEquals(Array.from(data as Int32Array), numbers, path);
      if (path === "old") continue;
      const { nan, least } = array.attrs;
      assertEquals([nan, least], ["NaN", "-Infinity"]);
    }
  }
}

testWith(
  PYTHON,
  "arrays that zarr-python migrated to Zarr v3 are converted without their Zarr v2 metadata, and read by zarr-python and zarrita",
  async (python) => {
    await inTempDir(async (folder) => {
      const [source, target] = [`${folder}/a`, `${folder}/b`];
      await runScript(python, "migrate.py", "write", source);
      await runScript(python, "migrate.py", "read", source, "any", "2", "3");
      await assertRead(source);
      const store = new FileSystemStore(source);
      const { counts } = await verify(store);
      assertEquals([counts["v2-metadata"], counts["metadata-not-json"]], [
        9,
        2,
      ]);

      const options = { keyEncoding: "default" };
      await convert(store, new FileSystemStore(target), options);
      await convertInPlace(store, options);
      for (const converted of [target, source]) {
        await runScript(python, "migrate.py", "read", converted, "any", "3");
        // In place, a node of Zarr v2 stays as it is.
        await assertRead(converted, { isOldV2: converted === source });
        const { counts } = await verify(new FileSystemStore(converted));
        assertEquals(counts, { "metadata-not-json": 2 });
      }
    });
  },
);
