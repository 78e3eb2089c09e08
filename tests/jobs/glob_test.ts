/** Globs that choose nodes by their paths. */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { globMatcher } from "../../src/jobs/hierarchy/glob.ts";

/** A part of a glob, with the regular expression that says the same. */
interface Part {
  readonly glob: string;
  readonly regExp: string;
}

const character: fc.Arbitrary<Part> = fc.constantFrom(..."ab.é😀-1^ ")
  .map((glob) => ({
    glob,
    regExp: glob === "." || glob === "^" ? `\\${glob}` : glob,
  }));
const special: fc.Arbitrary<Part> = fc.constantFrom(..."*?[]{},\\!(+")
  .map((each) => ({ glob: `\\${each}`, regExp: `\\u{${hex(each)}}` }));
const set: fc.Arbitrary<Part> = fc.tuple(
  fc.boolean(),
  fc.uniqueArray(
    fc.constantFrom("a", "a-c", "é", "0-9", "\\]", "\\-", "😀", "*", "?"),
    { minLength: 1, maxLength: 3 },
  ),
).map(([isOther, members]) => ({
  glob: `[${isOther ? "!" : ""}${members.join("")}]`,
  regExp: `[${isOther ? "^/" : ""}${members.join("")}]`,
}));
const wildcard: fc.Arbitrary<Part> = fc.constantFrom(
  { glob: "*", regExp: "[^/]*" },
  { glob: "?", regExp: "[^/]" },
);
const { text } = fc.letrec<{ text: Part; part: Part }>((tie) => ({
  text: fc.array(tie("part"), { minLength: 1, maxLength: 5 }).map(join),
  part: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { weight: 5, arbitrary: character },
    { weight: 1, arbitrary: special },
    { weight: 1, arbitrary: set },
    { weight: 3, arbitrary: wildcard },
    {
      weight: 1,
      arbitrary: fc.array(
        fc.tuple(tie("text"), tie("text"), fc.boolean())
          .map(([a, b, isDeep]) =>
            isDeep ? join([a, { glob: "/", regExp: "/" }, b]) : a
          ),
        { minLength: 2, maxLength: 3 },
      ).map((texts) => ({
        glob: `{${texts.map(({ glob }) => glob).join()}}`,
        regExp: `(?:${texts.map(({ regExp }) => regExp).join("|")})`,
      })),
    },
  ),
}));

function join(parts: readonly Part[]): Part {
  // Two stars would stand for any number of names.
  const kept = parts.filter(({ glob }, i) =>
    !/\*$/.test(parts[i - 1]?.glob ?? "") || glob !== "*"
  );
  return {
    glob: kept.map(({ glob }) => glob).join(""),
    regExp: kept.map(({ regExp }) => regExp).join(""),
  };
}

function hex(text: string): string {
  return text.codePointAt(0)!.toString(16);
}

const globs = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: text },
    { weight: 1, arbitrary: fc.constant({ glob: "**", regExp: "" }) },
  ),
  { minLength: 1, maxLength: 4 },
).map((names): Part => ({
  glob: names.map(({ glob }) => glob).join("/"),
  regExp: names.map(({ glob, regExp }) =>
    glob === "**" ? "(?:[^/]*/)*" : `${regExp}/`
  ).join(""),
}));
const paths = fc.array(
  fc.array(fc.constantFrom(..."aab.é😀-1*?[]{"), { maxLength: 3 })
    .map((characters) => characters.join("")),
  { minLength: 1, maxLength: 4 },
).map((names) => names.join("/"));

Deno.test("globMatcher matches as a regular expression does", () => {
  let matched = 0;
  fc.assert(
    fc.property(globs, fc.array(paths, { maxLength: 40 }), (part, paths) => {
      // A star and a text in braces that begins with one are a doubled star.
      fc.pre(!/(?<![\\/]|^)\*\*|\*\*(?!\/|$)|\*[{]|[}]\*/.test(part.glob));
      fc.pre(!/(?<!\\)[!?*]\(/.test(part.glob));
      fc.pre((part.glob.match(/(?<!\\)\{/g) ?? []).length < 6);
      const matches = globMatcher(part.glob, "only");
      const regExp = new RegExp(`^${part.regExp}$`, "u");
      for (const path of paths) {
        const expected = regExp.test(`${path}/`);
        if (expected) matched++;
        assertEquals(matches(path), expected, `${part.glob} and ${path}`);
      }
    }),
    { numRuns: 1000 },
  );
  assertEquals(matched > 500, true, `${matched} paths match`);
});

const CASES: [glob: string, yes: string[], no: string[]][] = [
  ["a", ["a"], ["b", "a/b", "", "A"]],
  ["**", ["a", "a/b", ".a"], []],
  ["a/**", ["a", "a/b", "a/b/c"], ["b", "ab", "b/a"]],
  ["**/a", ["a", "b/a", "c/b/a"], ["ba", "a/b"]],
  ["a/**/b", ["a/b", "a/c/b", "a/c/d/b"], ["ab", "a", "b"]],
  ["a**b", ["ab", "axb"], ["a/b"]],
  ["*", ["a", ".a", ""], ["a/b"]],
  ["x*y*z", ["xyz", "xyzyz", "x1y2z"], ["xz", "xy", "yz"]],
  ["?", ["a", "😀", "."], ["", "ab", "/"]],
  ["[]a]", ["]", "a"], ["b", "[]a]"]],
  ["[!]a]", ["b"], ["]", "a", ""]],
  ["[^a]", ["b"], ["a"]],
  ["[a-]", ["a", "-"], ["b"]],
  ["[a-c]x", ["ax", "bx", "cx"], ["dx", "x"]],
  ["[a-\\c]x", ["ax", "bx", "cx"], ["dx", "\\x"]],
  ["[\\a]", ["a"], ["\\"]],
  ["[a", ["[a"], ["a"]],
  ["[", ["["], [""]],
  ["[]", ["[]"], ["", "]"]],
  ["[a/b]", ["[a/b]"], ["a", "b", "/"]],
  ["{a,b}", ["a", "b"], ["{a,b}", ""]],
  ["{a,b/c}d", ["ad", "b/cd"], ["bd", "a"]],
  ["{a,{b,c}x,}y", ["ay", "bxy", "cxy", "y"], ["by", "x"]],
  ["{**,a}/b", ["b", "a/b", "c/d/b"], ["a"]],
  ["{a}", ["{a}"], ["a"]],
  ["{a,b", ["{a,b"], ["a"]],
  ["a}", ["a}"], ["a"]],
  ["{a\\,b,c}", ["a,b", "c"], ["a", "b"]],
  ["{a\\},c}", ["a}", "c"], ["a"]],
  ["{0..3}", ["0", "1", "2", "3"], ["4", "", "0..3"]],
  ["{3..1}", ["1", "2", "3"], ["0"]],
  ["{8..11}", ["8", "9", "10", "11"], ["1", "08"]],
  ["{08..11}", ["08", "09", "10", "11"], ["8", "1"]],
  ["{0..999}", ["999"], ["1000"]],
  ["{a..c}", ["{a..c}"], ["a"]],
  ["a\\*", ["a*"], ["ab"]],
  ["a\\", ["a\\"], ["a"]],
  ["image (1)", ["image (1)"], ["image 1"]],
  ["a+\\(b)", ["a+(b)"], ["ab"]],
  ["(a|b)", ["(a|b)"], ["a"]],
  ["a.b$", ["a.b$"], ["aab"]],
];

for (const [glob, yes, no] of CASES) {
  Deno.test(`globMatcher reads ${glob}`, () => {
    const matches = globMatcher(glob, "only");
    for (const path of yes) assertEquals(matches(path), true, path);
    for (const path of no) assertEquals(matches(path), false, path);
  });
}

Deno.test("globMatcher ends for globs and names that were chosen to take long", () => {
  const names = "a".repeat(2000);
  const path = "a/".repeat(500);
  for (
    const glob of [
      `${"*a".repeat(1000)}b`,
      `${"[a-z]*".repeat(500)}1`,
      `${"**/a/".repeat(500)}b`,
      `${"**/".repeat(1300)}b`,
      `{${"*a".repeat(500)}b,${"?*".repeat(500)}b}`,
      "{".repeat(4096),
      "[".repeat(4096),
      "{a,".repeat(1000),
      `${"{".repeat(500)}a${",b}".repeat(500)}c`,
      "\\".repeat(4096),
    ]
  ) {
    const matches = globMatcher(glob, "only");
    assertEquals([names, path].map(matches), [false, false]);
  }
});

for (
  const [glob, problem] of [
    ["{a,b}".repeat(10), "with at most 1000 alternatives"],
    ["{0..1000}", "with at most 1000 alternatives"],
    ["{0..999999999}", "with at most 1000 alternatives"],
    ["{1,2}{1..501}", "with at most 1000 alternatives"],
    [`{${"{0..9}".repeat(30)},b}`, "with at most 1000 alternatives"],
    ["a".repeat(4097), "of at most 4096 characters"],
    ...["!(a)", "b/@(a|b)", "+(a)", "*(a)", "x?(a)", "\\\\*(a)"].map((
      each,
    ): [string, string] => [each, 'with "{a,b}" for one of several texts']),
  ] as [string, string][]
) {
  Deno.test(`globMatcher refuses ${glob.slice(0, 20)}`, () => {
    assertThrows(
      () => globMatcher(glob, "exclude"),
      RangeError,
      `Expected the option "exclude" to have globs ${problem}`,
    );
  });
}
