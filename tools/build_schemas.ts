/**
 * Writes the JSON Schemas of what the commands print with `--json` into `docs/schemas/`,
 * from the types in `src/cli/outputs.ts`: `deno task build`
 */
import { emptyDir } from "@std/fs/empty-dir";
import { fileURLToPath } from "node:url";
import { createGenerator, type Schema } from "ts-json-schema-generator";
import { isSameJson } from "../src/metadata/mod.ts";

const TYPES = fileURLToPath(new URL("../src/cli/outputs.ts", import.meta.url));
const FOLDER = new URL("../docs/schemas/", import.meta.url);

/** The schemas by the names of their files. */
async function schemas(): Promise<Map<string, Schema>> {
  const tsconfig = await Deno.makeTempFile({ suffix: ".json" });
  try {
    const compilerOptions = {
      target: "esnext",
      module: "esnext",
      moduleResolution: "bundler",
      allowImportingTsExtensions: true,
      noEmit: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      lib: ["esnext", "dom"],
      types: [],
    };
    await Deno.writeTextFile(tsconfig, JSON.stringify({ compilerOptions }));
    const all = createGenerator({
      path: TYPES,
      tsconfig,
      type: "Outputs",
      topRef: false,
      skipTypeCheck: true,
      additionalProperties: true,
    }).createSchema("Outputs");
    const { properties = {}, definitions = {} } = all as Schemas;
    return new Map(
      Object.entries(properties).map(([name, schema]) => [
        `${name}.schema.json`,
        plain({
          $schema: all.$schema!,
          title: name === "error"
            ? "What any command prints on standard error with --json if it fails"
            : `What zarr-parts ${name} --json prints`,
          ...schema as object,
          definitions: usedBy(schema, definitions),
        }),
      ]),
    );
  } finally {
    await Deno.remove(tsconfig);
  }
}

type Schemas = Schema & {
  properties?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
};

/** The definitions that a schema refers to, directly or by other definitions. */
function usedBy(
  schema: Schema,
  definitions: Record<string, Schema>,
): Record<string, Schema> {
  const used: Record<string, Schema> = {};
  const add = (schema: Schema) => {
    const names = JSON.stringify(schema).matchAll(/"#\/definitions\/(\w+)"/g);
    for (const [, name] of names) {
      if (Object.hasOwn(used, name!)) continue;
      used[name!] = definitions[name!]!;
      add(definitions[name!]!);
    }
  };
  add(schema);
  return used;
}

/** Puts the names of symbols in place of links to them. */
function plain(schema: object): Schema {
  const text = JSON.stringify(schema)
    .replaceAll(/\{ ?@linkcode +(\w+) *\}/g, "$1").replaceAll(/ {2,}/g, " ");
  return JSON.parse(text);
}

/** Whether the committed schemas are those of the present types. */
export async function areSchemasBuilt(): Promise<boolean> {
  const expected = await schemas();
  const names = await Array.fromAsync(Deno.readDir(FOLDER), ({ name }) => name);
  if (names.length !== expected.size) return false;
  for (const [name, schema] of expected) {
    const text = await Deno.readTextFile(new URL(name, FOLDER)).catch(() =>
      "0"
    );
    if (!isSameJson(JSON.parse(text), schema)) return false;
  }
  return true;
}

if (import.meta.main) {
  await emptyDir(FOLDER);
  for (const [name, schema] of await schemas()) {
    const text = `${JSON.stringify(schema, null, 2)}\n`;
    await Deno.writeTextFile(new URL(name, FOLDER), text);
  }
  console.log(fileURLToPath(FOLDER));
}
