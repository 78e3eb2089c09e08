import { assert, assertEquals } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import map from "./import_map.json" with { type: "json" };

Deno.test("import_map.json maps what deno.json exports and imports, and the standard library to stand-ins", () => {
  const expected: Record<string, string> = {};
  for (const [path, module] of Object.entries(config.exports)) {
    expected[config.name + path.slice(1)] = module.replace("./", "../../");
  }
  for (const [name, specifier] of Object.entries(config.imports)) {
    if (!specifier.startsWith("jsr:")) {
      expected[name] = specifier;
      continue;
    }
    const standIn = `./${name.slice(1).replace("/", "_")}.ts`;
    const keys = Object.keys(map.imports)
      .filter((key) => key === name || key.startsWith(`${name}/`));
    assert(keys.length > 0, `${name} has no stand-in`);
    for (const key of keys) expected[key] = standIn;
  }
  assertEquals(map, { imports: expected });
});
