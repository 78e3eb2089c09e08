/**
 * Conversions on disks that are full or read-only. They need the right to mount, and are
 * skipped without it.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { convert, convertInPlace } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import type { ConvertInPlaceOptions } from "../../src/jobs/in_place/convert_in_place.ts";
import {
  assertReadableOrRefused,
  convertedState,
  createExample,
  stateOf,
} from "./in_place_support.ts";

const PAGE = 4096;

const canMount = await mountDisk(64 * PAGE, async () => {});
if (!canMount) {
  console.warn("Ignoring tests: no disk can be mounted, but by root on Linux");
}

/** Registers a test with a disk in memory. */
function testOnDisk(name: string, task: (folder: string) => Promise<void>) {
  Deno.test({
    name,
    ignore: !canMount,
    fn: async () => assert(await mountDisk(64 * PAGE, task)),
  });
}

/** Runs a task with a disk in memory. Returns `false` if none can be mounted. */
async function mountDisk(
  size: number,
  task: (folder: string) => Promise<void>,
): Promise<boolean> {
  const folder = await Deno.makeTempDir();
  try {
    const options = `size=${size},mode=0777`;
    if (!await run("mount", "-t", "tmpfs", "-o", options, "none", folder)) {
      return false;
    }
    try {
      await task(folder);
      return true;
    } finally {
      await run("umount", "-l", folder);
    }
  } finally {
    await Deno.remove(folder);
  }
}

async function run(name: string, ...args: string[]): Promise<boolean> {
  try {
    const options = { args, stdout: "null", stderr: "null" } as const;
    return (await new Deno.Command(name, options).output()).success;
  } catch {
    return false;
  }
}

/** Fills a disk but for some pages. Returns the path of the file that fills it. */
async function fill(folder: string, free: number): Promise<string> {
  const path = `${folder}/filler`;
  const page = new Uint8Array(PAGE);
  using file = await Deno.open(path, { create: true, write: true });
  let length = 0;
  try {
    while (true) length += await file.write(page);
  } catch (error) {
    assertEquals((error as { code?: string }).code, "ENOSPC");
  }
  await file.truncate(Math.max(0, length - free * PAGE));
  return path;
}

const INDEX: ConvertInPlaceOptions = { parts: ["", ".index:7"] };
const IN_PLACE: [string, ConvertInPlaceOptions, ConvertInPlaceOptions][] = [
  ["cut", {}, INDEX],
  ["join", INDEX, { parts: [] }],
  ["rename", {}, { suffix: ".x" }],
];

for (const [name, from, to] of IN_PLACE) {
  testOnDisk(
    `in place, ${name}: a full disk leaves the array as it was, or work that the next run finishes, or the work is done`,
    async (disk) => {
      const folder = `${disk}/array`;
      const outcomes = new Set<string>();
      for (let free = 0; free < 30; free++) {
        const store = new FileSystemStore(folder);
        await createExample(store, from);
        const before = await stateOf(folder);
        const expected = await convertedState(folder, to);
        const filler = await fill(disk, free);
        const error = await convertInPlace(store, to).then(
          () => undefined,
          (error) => error as Error,
        );
        await assertReadableOrRefused(folder, "");
        const state = await stateOf(folder);
        if (error !== undefined) {
          assert(/space|os error 28/i.test(error.message), error.message);
          // The marker is there until the work is undone, which may need space, too.
          if (!("/.zarr-parts-unfinished.json" in state)) {
            assertEquals(state, before, `${free} pages free`);
          }
        } else assertEquals(state, expected);
        outcomes.add(error === undefined ? "done" : "undone");
        await Deno.remove(filler);
        await convertInPlace(store, to);
        assertEquals(await stateOf(folder), expected);
        await Deno.remove(folder, { recursive: true });
      }
      assertEquals(outcomes, new Set(["undone", "done"]));
    },
  );
}

testOnDisk(
  "convert to a full disk leaves the source as it was, and is continued when there is space",
  async (disk) => {
    const source = await Deno.makeTempDir();
    try {
      const store = new FileSystemStore(source);
      await createExample(store, {});
      const before = await stateOf(source);
      const expected = await convertedState(source, INDEX);
      let errors = 0;
      for (let free = 0; free < 20; free++) {
        const target = new FileSystemStore(`${disk}/target`);
        const filler = await fill(disk, free);
        const error = await convert(store, target, INDEX).then(
          () => undefined,
          (error) => error as Error,
        );
        if (error !== undefined) {
          errors++;
          assert(/space|os error 28/i.test(error.message), error.message);
          assertEquals(await target.get("/zarr.json"), undefined);
        }
        await Deno.remove(filler);
        await convert(store, target, { ...INDEX, resume: true });
        assertEquals(await stateOf(`${disk}/target`), expected, `${free}`);
        assertEquals(await stateOf(source), before);
        await Deno.remove(`${disk}/target`, { recursive: true });
      }
      assert(errors > 0 && errors < 20, String(errors));
    } finally {
      await Deno.remove(source, { recursive: true });
    }
  },
);

testOnDisk(
  "a read-only disk is refused as a target and in place, and read as a source",
  async (disk) => {
    const store = new FileSystemStore(`${disk}/array`);
    await createExample(store, {});
    const before = await stateOf(disk);
    assert(await run("mount", "-o", "remount,ro", disk));
    const other = await Deno.makeTempDir();
    try {
      const target = new FileSystemStore(`${disk}/target`);
      await assertRejects(() => convert(store, target), Error, "Read-only");
      await assertRejects(
        () => convertInPlace(store, INDEX),
        Error,
        "Read-only",
      );
      assertEquals(
        (await convertInPlace(store, { ...INDEX, dryRun: true })).total,
        3,
      );
      await convert(store, new FileSystemStore(`${other}/copy`), INDEX);
      assertEquals(await stateOf(disk), before);
    } finally {
      await Deno.remove(other, { recursive: true });
    }
  },
);
