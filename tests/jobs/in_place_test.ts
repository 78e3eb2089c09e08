import { assert, assertEquals, assertRejects } from "@std/assert";
import { convertInPlace } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import type { ConvertInPlaceOptions } from "../../src/jobs/in_place/convert_in_place.ts";
import { stride } from "../support/runs.ts";
import {
  assertReadableOrRefused,
  convertedState,
  createExample,
  memoryFolder,
  stateOf,
} from "./in_place_support.ts";

/** Layouts by the size of the parts before the part without a size. */
const LAYOUTS: Record<number, ConvertInPlaceOptions[]> = {
  0: [
    { keyEncoding: "default", suffix: "", parts: [] },
    { keyEncoding: "v2", suffix: "", parts: [] },
    { keyEncoding: "default", suffix: ".s", parts: [] },
    { keyEncoding: "default", suffix: "", parts: ["", ".index:7"] },
    { keyEncoding: "default", suffix: ".s", parts: [".data", ".x/index:7"] },
    { keyEncoding: "fanout", suffix: "", parts: ["", ".a:3", ".b:4"] },
    { keyEncoding: "default", suffix: "", parts: ["", ".end:12"] },
    { keyEncoding: "default", suffix: "", parts: [".none:0", "", ".e:0"] },
  ],
  5: [
    { keyEncoding: "default", suffix: "", parts: [".head:5", ""] },
    { keyEncoding: "v2", suffix: "", parts: [".h:2", ".i:3", "", ".t:4"] },
    { keyEncoding: "default", suffix: ".s", parts: [".head:5", "", ".t:7"] },
  ],
};

Deno.test("in place, every layout becomes every other one with the same head", async () => {
  const pairs = Object.values(LAYOUTS).flatMap((layouts) =>
    layouts.flatMap((from) => layouts.map((to) => ({ from, to })))
  );
  const step = stride(11);
  for (let i = 0; i < pairs.length; i += step) {
    const { from, to } = pairs[i]!;
    const folder = await memoryFolder();
    const store = new FileSystemStore(folder);
    await createExample(store, from);
    const expected = await convertedState(folder, to);
    await convertInPlace(store, to);
    assertEquals(await stateOf(folder), expected, JSON.stringify([from, to]));
    await assertReadableOrRefused(folder, "");
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("in place, layouts with heads of different sizes are refused, and nothing changes", async () => {
  const folder = await memoryFolder();
  const store = new FileSystemStore(folder);
  for (const from of LAYOUTS[0]!) {
    await createExample(store, from);
    const before = await stateOf(folder);
    for (const to of LAYOUTS[5]!) {
      await assertRejects(
        () => convertInPlace(store, to),
        RangeError,
        "a conversion to another place",
      );
    }
    assertEquals(await stateOf(folder), before);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("in place, each changed file waits for the disk if the store does so", async () => {
  const { sync } = Deno.FsFile.prototype;
  let count = 0;
  Deno.FsFile.prototype.sync = function () {
    count++;
    return sync.call(this);
  };
  try {
    for (const isSynced of [false, true]) {
      const folder = await memoryFolder();
      await createExample(new FileSystemStore(folder), {});
      const store = new FileSystemStore(folder, { sync: isSynced });
      for (const parts of [["", ".end:7"], []]) {
        count = 0;
        await convertInPlace(store, { parts });
        // Three files are cut, or made longer, beside those that are new and the folders.
        if (isSynced) assert(count > 9, String(count));
        else assertEquals(count, 0);
      }
      await Deno.remove(folder, { recursive: true });
    }
  } finally {
    Deno.FsFile.prototype.sync = sync;
  }
});
