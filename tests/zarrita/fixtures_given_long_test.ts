import { assert } from "@std/assert";
import { FolderComparison } from "./fixtures_folder.ts";
import { nodesIn } from "./fixtures_found.ts";

/**
 * Any folder of Zarr v3 arrays, which zarrita is to read as it does directly:
 * those of its own repository, `fixtures/v3/data.zarr`, are one.
 */
const NAME = "ZARR_PARTS_FIXTURES";

const FOLDER = Deno.env.get(NAME);

Deno.test({
  name:
    "withZarrParts lets zarrita read the arrays of a given folder, as they are and stored again, as it reads them directly",
  ignore: FOLDER === undefined,
  fn: (t) => compareFolder(FOLDER!, t),
});

async function compareFolder(folder: string, t: Deno.TestContext) {
  const comparison = new FolderComparison(folder, {
    everyPair: true,
    selections: 4,
  });
  const nodes = await nodesIn(folder);
  const arrays = nodes.filter(({ kind }) => kind !== "group");
  assert(arrays.length > 0, `There are no arrays in ${folder}`);
  for (const [turn, node] of arrays.entries()) {
    await t.step(node.path || "/", async () => {
      await comparison.compareArray(node, turn);
    });
  }
  const consolidated = nodes.filter(({ document }) =>
    document.consolidated_metadata
  );
  for (const group of consolidated) {
    await t.step(
      `${group.path || "/"} consolidated`,
      () => comparison.compareConsolidated(group),
    );
  }
  console.log(comparison.tally);
}
