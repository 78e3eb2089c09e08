/**
 * Conversions in place that are killed, or get an error, at each of their operations on
 * files, and run again.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { convertInPlace } from "../../jobs.ts";
import { FileSystemStore, openArrayChunks, recover } from "../../mod.ts";
import type { ConvertInPlaceOptions } from "../../src/jobs/in_place/convert_in_place.ts";
import { encodeJson, V2_GROUP } from "../support/documents.ts";
import {
  addV2Documents,
  assertConsolidated,
  assertReadableOrRefused,
  assertRightOrError,
  assertV2Consolidated,
  assertV2Reads,
  convertedState,
  createExample,
  createGroup,
  type Disturbance,
  disturbed,
  memoryFolder,
  stateOf,
} from "./in_place_support.ts";

interface Scenario {
  readonly name: string;
  readonly create: (store: FileSystemStore) => Promise<void>;
  /** The arrays whose elements are compared. */
  readonly paths: readonly string[];
  readonly options: ConvertInPlaceOptions;
  /** Whether there is metadata of Zarr v2, whose readers find all chunks or no array. */
  readonly hasV2?: boolean;
}

/** A scenario of one array. */
function array(
  name: string,
  from: ConvertInPlaceOptions,
  options: ConvertInPlaceOptions,
  more: Partial<Scenario> = {},
): Scenario {
  const create = (store: FileSystemStore) => createExample(store, from);
  return { name, create, paths: [""], options, ...more };
}

const INDEX: ConvertInPlaceOptions = { parts: ["", ".index:7"] };
const SCENARIOS: Scenario[] = [
  array("cut and rename", {}, { ...INDEX, suffix: ".s" }),
  array("join", INDEX, { parts: [] }),
  array("join of several parts", {
    suffix: ".s",
    parts: [".h:2", "", ".x/a:3", ".b:5"],
  }, { suffix: ".t", parts: [".g:1", ".h:1", ".data", ".x/c:2"] }),
  array("rename", INDEX, { keyEncoding: "v2" }),
  array("other parts at the end", { parts: ["", ".a:3", ".b:4"] }, INDEX),
  array("cut with metadata of Zarr v2", { keyEncoding: "v2" }, INDEX, {
    create: async (store) => {
      await createExample(store, { keyEncoding: "v2" });
      await addV2Documents(store);
    },
    hasV2: true,
  }),
  {
    name: "a group with a group of Zarr v2",
    create: async (store) => {
      await createGroup(store, { keyEncoding: "v2" }, { keyEncoding: "v2" });
      for (const path of ["a", "sub/b"]) await addV2Documents(store, path);
      await store.delete("/sub/zarr.json");
      await store.set("/sub/.zgroup", encodeJson(V2_GROUP));
      const metadata = { ".zgroup": 1, "b/.zarray": 2, "b/.zattrs": 3 };
      await store.set("/sub/.zmetadata", encodeJson({ metadata }));
      await store.set("/.zgroup", encodeJson(V2_GROUP));
    },
    paths: ["a", "sub/b"],
    options: INDEX,
    hasV2: true,
  },
  {
    name: "a group",
    create: (store) => createGroup(store, {}, INDEX),
    paths: ["a", "sub/b"],
    options: {
      metadata: (metadata, path) =>
        path === "a"
          ? {
            ...metadata,
            storage_transformers: [{
              name: "concat-parts",
              configuration: {
                parts: [{ key_suffix: "" }, { key_suffix: ".i", size: 5 }],
              },
            }],
          }
          : { ...metadata, storage_transformers: [] },
    },
  },
];

/** Runs a scenario with a disturbance. Returns the number of operations, and the error. */
function disturb(
  folder: string,
  { options }: Scenario,
  disturbance?: Disturbance,
): ReturnType<typeof disturbed> {
  const store = new FileSystemStore(folder);
  return disturbed(
    () => convertInPlace(store, { ...options, concurrency: 1 }),
    { disturbance },
  );
}

/** Runs a scenario in a folder of its own. */
async function inExample(
  { create }: Scenario,
  task: (folder: string, before: Record<string, string>) => Promise<void>,
): Promise<void> {
  const folder = await memoryFolder();
  try {
    await create(new FileSystemStore(folder));
    await task(folder, await stateOf(folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function filesOf(state: Record<string, string>): [string, string][] {
  return Object.entries(state).filter(([_, what]) => what !== "folder");
}

/** Checks that each reader finds all chunks, or no array. */
async function assertReadable(
  folder: string,
  { paths, hasV2 = false }: Scenario,
): Promise<void> {
  for (const path of hasV2 ? paths : []) await assertV2Reads(folder, path);
  if (hasV2 && paths.length > 1) await assertV2Consolidated(folder);
  for (const path of paths) await assertReadableOrRefused(folder, path);
  if (paths.length > 1) await assertConsolidated(folder);
}

for (const scenario of SCENARIOS) {
  const { name, options } = scenario;

  Deno.test(`in place, ${name}: killed at any operation, or after half of it, and run again`, async () => {
    let expected: Record<string, string> = {};
    let count = 0;
    await inExample(scenario, async (folder) => {
      expected = await convertedState(folder, options);
      ({ count } = await disturb(folder, scenario));
      assertEquals(await stateOf(folder), expected);
    });
    assert(count > 20, String(count));
    for (let at = 0; at < count; at++) {
      // Only files that are created or made longer can be written in half.
      const kind = at % 2 === 0 ? "kill" : "half";
      await inExample(scenario, async (folder) => {
        const store = new FileSystemStore(folder);
        // Earlier readers find no parts that are gone. Only the checksum of an index
        // tells them that a chunk was cut, and nothing that a chunk has another key.
        const earlier = name === "join"
          ? await openArrayChunks(store)
          : undefined;
        const run = await disturb(folder, scenario, { at, kind });
        assert(run.disturbed !== undefined, String(at));
        if (earlier) await assertRightOrError(earlier);
        await assertReadable(folder, scenario);
        // The second run is killed or has no space, some operations later.
        const next = {
          at: at % 7,
          kind: at % 3 === 0 ? "no space" : kind,
        } as const;
        await disturb(folder, scenario, next);
        await assertReadable(folder, scenario);
        // A run that was killed before its marker was written has to be repeated.
        await convertInPlace(store, at % 4 < 2 ? options : {});
        if (at % 4 >= 2) await convertInPlace(store, options);
        // Temporary files that could not be removed keep their folders.
        const state = await stateOf(folder);
        assertEquals(filesOf(state), filesOf(expected), String(at));
      });
    }
  });

  Deno.test(`in place, ${name}: an error of any operation leaves what is readable, or is finished by the next run`, async () => {
    const outcomes = new Set<string>();
    for (let at = 0;; at++) {
      let isOver = false;
      await inExample(scenario, async (folder, before) => {
        const expected = await convertedState(folder, options);
        const disturbance = { at, kind: "no space" } as const;
        const { error, ...run } = await disturb(folder, scenario, disturbance);
        if (error === undefined) {
          isOver = run.disturbed === undefined;
          await recover(new FileSystemStore(folder));
          assertEquals(filesOf(await stateOf(folder)), filesOf(expected));
          return;
        }
        const state = await stateOf(folder);
        outcomes.add(
          state["/zarr.json"] === before["/zarr.json"] ? "undone" : "left",
        );
        await assertReadable(folder, scenario);
        await convertInPlace(new FileSystemStore(folder), options);
        assertEquals(await stateOf(folder), expected, String(at));
      });
      if (isOver) break;
    }
    assert(outcomes.has("undone"));
  });
}

Deno.test("in place, another layout than that of the unfinished run is refused", async () => {
  for (const scenario of SCENARIOS.slice(0, 2)) {
    await inExample(scenario, async (folder) => {
      const expected = await convertedState(folder, scenario.options);
      await disturb(folder, scenario, { at: 20, kind: "kill" });
      const store = new FileSystemStore(folder);
      await assertRejects(
        () => convertInPlace(store, { suffix: ".other" }),
        Error,
        "another layout is unfinished",
      );
      await convertInPlace(store);
      assertEquals(await stateOf(folder), expected);
    });
  }
});
