/**
 * Programs that are killed while they convert a group in place.
 */
import { assert, assertEquals } from "@std/assert";
import { convertInPlace } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import type { ConvertInPlaceOptions } from "../../src/jobs/in_place/convert_in_place.ts";
import { disks, temporaryFiles } from "../stores/file_system/processes.ts";
import { startProgram } from "../support/deno_program.ts";
import type { InPlaceWork } from "./in_place_program.ts";
import {
  assertReadableOrRefused,
  createExample,
  createGroup,
  stateOf,
} from "./in_place_support.ts";
import { Kills } from "./killed_program.ts";

const KILLS = 60;

/** The longest time from the first conversion of a program to its kill, in milliseconds. */
const LONGEST = 200;

/** Layouts, each of which is converted to the next one: by cutting, renaming and joining. */
const LAYOUTS: ConvertInPlaceOptions[] = [
  { keyEncoding: "default", suffix: ".s", parts: [".data", ".index:7"] },
  { keyEncoding: "v2", suffix: ".s" },
  { keyEncoding: "v2", suffix: "", parts: ["", ".a:3"] },
  { keyEncoding: "default", parts: [] },
];

/** Runs the program, which converts without a pause, and kills it. */
async function runAndKill(work: InPlaceWork): Promise<void> {
  const url = import.meta.resolve("./in_place_program.ts");
  const child = startProgram(url, work);
  await child.stdin.close();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await output.read();
  assert(value?.startsWith("ready\n"), value);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST));
  child.kill("SIGKILL");
  await child.status;
  await output.cancel();
}

Deno.test("a conversion in place that was killed and is run again equals an uninterrupted one", async () => {
  const roots = await disks();
  try {
    const paths = [
      "a",
      "sub/b",
      ...Array.from({ length: 6 }, (_, i) => `${i}`),
    ];
    const expected: Record<string, string>[] = [];
    for (const root of roots) {
      const folder = `${root}/group`;
      const store = new FileSystemStore(folder);
      await createGroup(store, {}, {});
      for (const path of paths.slice(2)) await createExample(store, {}, path);
      for (const [i, layout] of LAYOUTS.entries()) {
        await convertInPlace(store, layout);
        expected[i] = await stateOf(folder);
      }
      const kills = new Kills(Math.ceil(KILLS / roots.length));
      let first = 0;
      while (kills.areTooFew) {
        await runAndKill({ folder, layouts: LAYOUTS, first });
        const left = `${folder}/.zarr-parts-unfinished.json`;
        const isLeft = await Deno.stat(left).then(() => true, () => false);
        let isReadable = true;
        for (const path of paths) {
          if (!await assertReadableOrRefused(folder, path)) isReadable = false;
        }
        kills.add(isLeft);
        assert(isReadable || isLeft);
        await convertInPlace(store);
        assertEquals(await temporaryFiles(folder), []);
        const state = await stateOf(folder);
        const found = expected.findIndex((each) =>
          each["/a/zarr.json"] === state["/a/zarr.json"]
        );
        assertEquals(state, expected[found]);
        first = (found + 1) % LAYOUTS.length;
      }
      kills.assertUnfinished();
    }
  } finally {
    for (const root of roots) await Deno.remove(root, { recursive: true });
  }
});
