import { assertEquals } from "@std/assert";
import { walk } from "@std/fs/walk";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import config from "../deno.json" with { type: "json" };
import { shortTests } from "../tools/test.ts";
import { pathOf } from "./docs/pages.ts";

const ROOT = new URL("../", import.meta.url);
const LONG = /_long_test\.ts$/;

/** Tests that need no program but Node, though they can tell that a program is missing. */
const WITH_NODE = ["tests/runtimes/runtimes_test.ts"];

/** The paths of all TypeScript files in a folder and below it. */
async function filesOf(folder: string): Promise<string[]> {
  const options = { includeDirs: false, exts: [".ts"] };
  const root = pathOf("");
  const found = await Array.fromAsync(
    walk(pathOf(folder), options),
    ({ path }) => relative(root, path).replaceAll("\\", "/"),
  );
  return found.sort();
}

const FILES = [...await filesOf("tests"), ...await filesOf("tools")];
const TESTS = FILES.filter((path) => path.endsWith("_test.ts"));

/** The files of the tests that a file imports, and those that they import. */
async function importsOf(
  path: string,
  found: Set<string> = new Set(),
): Promise<Set<string>> {
  const text = await Deno.readTextFile(pathOf(path));
  for (const [, specifier] of text.matchAll(/\bfrom\s+"(\.[^"]+\.ts)"/g)) {
    const { href } = new URL(specifier!, new URL(path, ROOT));
    const imported = href.slice(ROOT.href.length);
    if (!imported.startsWith("tests/") || found.has(imported)) continue;
    found.add(imported);
    await importsOf(imported, found);
  }
  return found;
}

Deno.test("deno task test runs all test files but the long ones, and deno task ok runs those", async () => {
  assertEquals(
    ["tests", "tools"].flatMap(shortTests).map((file) =>
      pathToFileURL(file).href.slice(ROOT.href.length)
    ),
    TESTS.filter((path) => !LONG.test(path)),
  );
  const ok = await Deno.readTextFile(pathOf("tools/ok.ts"));
  assertEquals(ok.includes('"tests/**/*_long_test.ts"'), true);
  const elsewhere = TESTS.filter((path) =>
    LONG.test(path) && !path.startsWith("tests/")
  );
  assertEquals(elsewhere, []);
  for (const folder of ["tests", "tools"]) {
    assertEquals(config.test.include.includes(folder), true, folder);
  }
});

Deno.test("every file that defines tests by itself has the name of a test", async () => {
  const wrong: string[] = [];
  for (const path of FILES) {
    if (TESTS.includes(path)) continue;
    // A support file defines tests in functions, which test files call.
    const text = await Deno.readTextFile(pathOf(path));
    if (/^(Deno\.test|testWith|testInChromium)\(/m.test(text)) wrong.push(path);
  }
  assertEquals(wrong, []);
});

Deno.test("short tests need no other programs, and kill none", async () => {
  const wrong: string[] = [];
  for (const path of TESTS) {
    if (LONG.test(path) || WITH_NODE.includes(path)) continue;
    const imports = await importsOf(path);
    const text = await Deno.readTextFile(pathOf(path));
    if (
      imports.has("tests/support/tools.ts") || /\bkill\("SIGKILL"\)/.test(text)
    ) {
      wrong.push(path);
    }
  }
  assertEquals(wrong, []);
});

Deno.test("long tests take all cases of the short tests that take some of them", async () => {
  const found: string[] = [];
  const expected: string[] = [];
  for (const path of TESTS) {
    const imports = await importsOf(path);
    if (!imports.has("tests/support/runs.ts")) continue;
    if (!LONG.test(path)) {
      expected.push(path);
      continue;
    }
    const text = await Deno.readTextFile(pathOf(path));
    assertEquals(text.includes("\ntakeAll();\n"), true, path);
    for (const [, file] of text.matchAll(/^await import\("(.*)"\);$/gm)) {
      const { href } = new URL(file!, new URL(path, ROOT));
      found.push(href.slice(ROOT.href.length));
    }
  }
  assertEquals(found.toSorted(), expected.toSorted());
});
