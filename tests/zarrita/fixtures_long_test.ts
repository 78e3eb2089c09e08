import { assert, assertEquals } from "@std/assert";
import { inTempDir } from "../stores/temp_dir.ts";
import { FolderComparison } from "./fixtures_folder.ts";
import { nodesIn } from "./fixtures_found.ts";
import { madeElements, makeFolder, makeGroups } from "./fixtures_made.ts";
import { BEYOND_ZARRITA, MATRIX, UNREADABLE } from "./fixtures_matrix.ts";
import { assertSameOutcome, inCOrder } from "./fixtures_outcome.ts";

const ARRAYS = [...MATRIX, ...BEYOND_ZARRITA, ...Object.values(UNREADABLE)];

Deno.test("zarrita reads arrays through withZarrParts as directly, as they are and stored again", async (t) => {
  await inTempDir(async (folder) => {
    await makeFolder(folder, ARRAYS);
    const made = new Map(ARRAYS.map((array) => [array.path, array]));
    const nodes = await nodesIn(folder);
    assertEquals(nodes.map(({ path }) => path), [...made.keys()].sort());
    const comparison = new FolderComparison(folder, {
      everyPair: false,
      selections: 2,
    });
    for (const [turn, node] of nodes.entries()) {
      await t.step(node.path, async () => {
        const { whole } = await comparison.compareArray(node, turn);
        if ("error" in whole) return;
        const right = { value: madeElements(made.get(node.path)!) };
        assertSameOutcome(inCOrder(whole), right, "What zarrita reads");
      });
    }
    await t.step("no array is left out without its reason", () => {
      const { otherwise } = comparison.tally;
      assertEquals(
        [...otherwise.keys()],
        [
          ...BEYOND_ZARRITA.map(({ path }) => path),
          ...Object.values(UNREADABLE).map(({ path }) => path),
        ].sort(),
      );
      for (const [error, { path }] of Object.entries(UNREADABLE)) {
        assert(otherwise.get(path)!.startsWith(error), otherwise.get(path));
      }
    });
  });
});

Deno.test("zarrita reads groups with consolidated metadata through withZarrParts as directly", async () => {
  await inTempDir(async (folder) => {
    const arrays = MATRIX.filter((_, i) => i % 5 === 0);
    await makeFolder(folder, arrays);
    await makeGroups(folder);
    const nodes = await nodesIn(folder);
    const comparison = new FolderComparison(folder, {
      everyPair: false,
      selections: 2,
    });
    const groups = nodes.filter(({ kind }) => kind === "group");
    assert(groups.some(({ path }) => path !== ""));
    for (const group of groups) await comparison.compareConsolidated(group);
  });
});
