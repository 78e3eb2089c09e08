import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { commandReference } from "../../tools/build_command_reference.ts";
import { codeBlocksOf, pathOf, readPages } from "./pages.ts";

const PAGES = await readPages();
const README = PAGES.find(({ path }) => path === "README.md")!;

/** Returns the URL fragment of a heading, by the rules of GitHub. */
function slugOf(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

Deno.test("the README has at most 200 lines, and the commands to try the package", () => {
  const lines = README.text.trimEnd().split("\n").length;
  assert(lines <= 200, `The README has ${lines} lines`);
  assertStringIncludes(README.text, "\nnpx -y deno@2.9.6 task demo ");
  assertStringIncludes(README.text, "\nnpx -y deno@2.9.6 task test ");
});

Deno.test("the README links to the table of contents, and this to every guide once, by its title", () => {
  assertStringIncludes(README.text, "](docs/README.md)");
  const contents = PAGES.find(({ path }) => path === "docs/README.md")!;
  const guides = PAGES.filter((page) =>
    page.path.startsWith("docs/") && page !== contents
  );
  assert(guides.length > 5);
  const links = guides.map(({ path, text }) =>
    `[${/^# (.*)/.exec(text)![1]}](${path.slice("docs/".length)})`
  );
  const found = contents.text.match(/\[[^\]]+\]\([^)]+\)/g)!;
  assertEquals(found.sort(), links.sort());
});

Deno.test("relative links of the documentation lead to files and headings", async () => {
  let count = 0;
  for (const { path, text } of PAGES) {
    for (const [, link] of text.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const [file, heading] = link!.split("#");
      const target = file === "" ? path : join(dirname(path), file!);
      await Deno.stat(pathOf(target));
      count++;
      if (heading === undefined) continue;
      const { text } = PAGES.find(({ path }) => path === target)!;
      const headings = text.match(/^#+ .*$/gm)!.map((line) =>
        slugOf(line.replace(/^#+ /, ""))
      );
      assert(headings.includes(heading), `${path}: ${link}`);
    }
  }
  assert(count > 10, `Found only ${count} links`);
});

Deno.test("commands of the documentation name tasks and files that exist", async () => {
  const commands = PAGES.flatMap(codeBlocksOf)
    .filter(({ language }) => language === "sh")
    .flatMap(({ code }) => code.split("\n"));
  const tasks = commands.flatMap((line) =>
    line.match(/(?<=\btask )[\w:]+/g) ?? []
  );
  assertEquals(tasks.filter((task) => !(task in config.tasks)), []);
  const files = commands.flatMap((line) =>
    line.match(/examples\/\S+\.ts/g) ?? []
  );
  assert(tasks.length > 1 && files.length > 1);
  for (const file of files) await Deno.stat(pathOf(file));
});

/** The names in the first column of the table under a heading. */
async function firstColumn(page: string, heading: string): Promise<string[]> {
  const text = await Deno.readTextFile(pathOf(page));
  const section = text.split(/^#+ /m).find((text) => text.startsWith(heading))!;
  const cells = section.matchAll(/^\| ([^|]+?) +\|/gm);
  return Array.from(cells, ([, cell]) => cell!.matchAll(/`([^`]+)`/g))
    .flatMap((names) => Array.from(names, ([, name]) => name!));
}

Deno.test("the decisions give a reason for every dependency", async () => {
  const packages = Object.keys(config.imports)
    .map((name) => name.match(/^(@[^/]+\/)?[^/]+/)![0]);
  const bundlers = ["rolldown", "eventemitter3"];
  const expected = [...new Set([...packages, ...bundlers])].sort();
  const found = await firstColumn("docs/decisions.md", "Libraries");
  assertEquals(found.sort(), expected);
});

Deno.test("CONTRIBUTING describes every task", async () => {
  assertEquals(
    (await firstColumn("CONTRIBUTING.md", "Working")).sort(),
    Object.keys(config.tasks).map((task) => `deno task ${task}`).sort(),
  );
});

Deno.test("the reference of the command line is made from its help", async () => {
  const page = await Deno.readTextFile(pathOf("docs/command-line.md"));
  assertEquals(page, await commandReference(), "Run: deno task build");
});
