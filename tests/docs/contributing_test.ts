import { assertEquals } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import { pathOf } from "./pages.ts";

const TEXT = await Deno.readTextFile(pathOf("CONTRIBUTING.md"));

/** The names in the first column of the table under a heading. */
function firstColumn(heading: string): string[] {
  const section = TEXT.split(/^#+ /m).find((text) => text.startsWith(heading))!;
  const cells = section.matchAll(/^\| `([^`]+)` +\|/gm);
  return Array.from(cells, ([, name]) => name!);
}

Deno.test("CONTRIBUTING gives a reason for every dependency", () => {
  const packages = Object.keys(config.imports)
    .map((name) => name.match(/^(@[^/]+\/)?[^/]+/)![0]);
  const expected = [...new Set(packages)].sort();
  assertEquals(firstColumn("Dependencies").sort(), expected);
});

Deno.test("CONTRIBUTING describes every task", () => {
  assertEquals(
    firstColumn("Working").sort(),
    Object.keys(config.tasks).map((task) => `deno task ${task}`).sort(),
  );
});
