/** Nodes of a group that globs choose. */
import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { selectNodes } from "../../src/hierarchy/mod.ts";

const name = fc.constantFrom(
  "0",
  "1",
  "a",
  "ab",
  ".b",
  "a b",
  "é",
  "__proto__",
);
const path = fc.array(name, { minLength: 1, maxLength: 4 })
  .map((names) => names.join("/"));
const glob = fc.array(
  fc.oneof(name, fc.constantFrom("*", "**", "a*", "*b", "?", "[0-9]")),
  { minLength: 1, maxLength: 3 },
).map((names) => names.join("/"));

/** Paths, with globs of which most match some. */
const pathsAndGlobs = fc.uniqueArray(path, { minLength: 1, maxLength: 12 })
  .chain((paths) => {
    const near = fc.tuple(
      fc.constantFrom(...paths),
      fc.infiniteStream(fc.constantFrom("", "", "", "*", "**")),
    ).map(([path, wild]) =>
      path.split("/").map((name, depth) =>
        (depth < 3 ? wild.next().value : "") || name
      ).join("/")
    );
    const globs = fc.array(
      fc.oneof({ arbitrary: near, weight: 9 }, { arbitrary: glob, weight: 1 }),
      { maxLength: 2 },
    );
    return fc.tuple(fc.constant(paths), globs, globs);
  });

/** Whether names match a glob, name by name. */
function isMatch(glob: readonly string[], names: readonly string[]): boolean {
  const [first, ...rest] = glob;
  if (first === undefined) return names.length === 0;
  if (first === "**") {
    return names.some((_, i) => isMatch(rest, names.slice(i))) ||
      isMatch(rest, []);
  }
  const [own, ...below] = names;
  if (own === undefined) return false;
  const pattern = first.replaceAll(".", "\\.").replace("?", ".")
    .replace("*", ".*");
  return new RegExp(`^${pattern}$`).test(own) && isMatch(rest, below);
}

Deno.test("selectNodes chooses the nodes that match, those below them, and the groups above", async () => {
  let chosenOnes = 0;
  await fc.assert(
    fc.asyncProperty(
      pathsAndGlobs,
      async ([paths, only, exclude]) => {
        // Only a node that is there chooses the nodes below it.
        const globs = (globs: readonly string[], path: string) =>
          paths.some((each) =>
            (path === each || path.startsWith(`${each}/`)) &&
            globs.some((glob) => isMatch(glob.split("/"), each.split("/")))
          );
        const all = [...only, ...exclude];
        const isVain = all.some((each) =>
          !paths.some((path) => isMatch(each.split("/"), path.split("/")))
        );
        const chosen = paths.filter((path) =>
          (only.length === 0 || globs(only, path)) && !globs(exclude, path)
        );
        const options = {
          ...only.length > 0 && { only },
          ...exclude.length > 0 && { exclude },
        };
        const selected = await selectNodes(paths, options).catch((error) => {
          if (error instanceof RangeError) return undefined;
          throw error;
        });
        const isError = isVain || only.length > 0 && chosen.length === 0;
        assertEquals(selected === undefined, isError);
        if (selected === undefined) return;
        if (all.length > 0) chosenOnes++;
        const around = only.length === 0
          ? []
          : ["", ...paths].filter((path) =>
            !chosen.includes(path) &&
            chosen.some((each) => path === "" || each.startsWith(`${path}/`))
          );
        assertEquals([...selected.around].sort(), around.sort());
        assertEquals(
          [...selected.excluded].sort(),
          paths.filter((path) =>
            !chosen.includes(path) && !around.includes(path)
          ).sort(),
        );
      },
    ),
    { numRuns: 500 },
  );
  assertEquals(chosenOnes > 100, true, `${chosenOnes} choices`);
});

for (
  const [glob, problem] of [
    ["*a*a*a*b", "with at most 3 stars in a name"],
    ["b/**a**a**a**b", "with at most 3 stars in a name"],
    ["**/a/**/a/**/**/b", 'with at most 3 times "**"'],
    ["+(a|aa)b", 'with "{a,b}" in place of groups'],
    ["x/(a+)+b", 'with "{a,b}" in place of groups'],
    ["[a]+[a]+b", 'with "{a,b}" in place of groups'],
    ["\\\\(a)", 'with "{a,b}" in place of groups'],
    ["a".repeat(60_000), "of at most 4096 characters"],
  ] as const
) {
  Deno.test(`selectNodes refuses ${glob.slice(0, 20)}, which may take hours to match`, async () => {
    await assertRejects(
      () => selectNodes(["a".repeat(1000)], { exclude: glob }),
      RangeError,
      `Expected the option "exclude" to have globs ${problem}`,
    );
  });
}

for (
  const [glob, path] of [
    ["*_*_*", "a_b_c"],
    ["*/*/*/*/*", "a/b/c/d/e"],
    ["**/*a*/**/b", "xay/z/b"],
    ["image \\(1\\)", "image (1)"],
    ["{0..3}/\\*\\*\\*\\*", "2/****"],
    ["[a]\\+", "a+"],
  ] as const
) {
  Deno.test(`selectNodes finds ${path} by ${glob}`, async () => {
    const { excluded } = await selectNodes([path, "z"], { exclude: glob });
    assertEquals(excluded, new Set([path]));
  });
}
