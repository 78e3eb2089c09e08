import { assertEquals, assertThrows } from "@std/assert";
import { MetadataError, type Part } from "../../mod.ts";
import { flatParts as withPaths } from "../../src/concat_parts/mod.ts";

/** Parts in a short notation, such as `a:3` for 3 bytes with the suffix `a`. */
function parts(...texts: string[]): Part[] {
  return texts.map((text) => {
    const [keySuffix, size] = text.split(":");
    return size === undefined
      ? { keySuffix: keySuffix! }
      : { keySuffix: keySuffix!, size: Number(size) };
  });
}

function flatParts(transformers: (Part[] | undefined)[]): Part[] {
  return withPaths(transformers).map(({ path: _, ...part }) => part);
}

const FLAT: [string[][], string[]][] = [
  [[], [""]],
  [[["", ".i:4"]], ["", ".i:4"]],
  [[["", ".i:4"], [".h:1", ""]], [".h:1", "", ".i.h:1", ".i:3"]],
  [[["a:5"], ["x:2", "y:3"]], ["ax:2", "ay:3"]],
  [[["a", "b:1"], ["x", "y"]].slice(0, 1), ["a", "b:1"]],
  [[["a"], ["x", "y"]], ["ax", "ay"]],
  [[["a:0"], ["x"]], ["ax:0"]],
  [[["a:9"], ["x:2", "y"], ["p:1", "q"]], ["axp:1", "axq:1", "ayp:1", "ayq:6"]],
];

for (const [layers, expected] of FLAT) {
  Deno.test(`flatParts makes ${expected} of ${layers.join(" / ")}`, () => {
    const flat = flatParts(layers.map((layer) => parts(...layer)));
    assertEquals(flat, parts(...expected));
  });
}

const REFUSED: [string[][], path: string][] = [
  [[["a:5"], ["x", "y"]], "/1/configuration/parts"],
  [[["a:5"], ["x:2", "y:2"]], "/1/configuration/parts"],
  [[["a:5"], ["x:6", "y"]], "/1/configuration/parts"],
  [[["a:9"], ["x"], ["p:10", "q"]], "/2/configuration/parts"],
];

for (const [layers, path] of REFUSED) {
  Deno.test(`flatParts refuses ${layers.join(" / ")}`, () => {
    const error = assertThrows(
      () => flatParts(layers.map((layer) => parts(...layer))),
      MetadataError,
    );
    assertEquals(error.path, path);
  });
}

Deno.test("flatParts passes over transformers that are skipped, and counts them in paths", () => {
  assertEquals(flatParts([undefined, parts("a")]), parts("a"));
  const error = assertThrows(
    () => flatParts([undefined, parts("a:1"), parts("x", "y")]),
    MetadataError,
  );
  assertEquals(error.path, "/2/configuration/parts");
});
