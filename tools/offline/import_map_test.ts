import { assert, assertEquals } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import map from "./import_map.json" with { type: "json" };

Deno.test("import_map.json maps what deno.json exports and imports, and the standard library to stand-ins", () => {
  const expected: Record<string, string> = {};
  for (const [path, module] of Object.entries(config.exports)) {
    expected[config.name + path.slice(1)] = module.replace("./", "../../");
  }
  for (const [name, specifier] of Object.entries(config.imports)) {
    const isStandardLibrary = specifier.startsWith("jsr:");
    const standIn = `./${name.slice(1).replace("/", "_")}.ts`;
    const keys = Object.keys(map.imports)
      .filter((key) => key === name || key.startsWith(`${name}/`));
    assert(keys.length > 0, `${name} is not mapped`);
    for (const key of keys) {
      expected[key] = isStandardLibrary
        ? standIn
        : specifier + key.slice(name.length);
    }
  }
  assertEquals(map, { imports: expected });
});
