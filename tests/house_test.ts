import { assertEquals } from "@std/assert";

/** The floor of each room and of each file that stands in none, as CONTRIBUTING.md says. */
const FLOORS: Record<string, number> = {
  "metadata": 1,
  "stores": 1,
  "kernel": 1,
  "chunk_key_encoding": 2,
  "concat_parts": 2,
  "shards": 2,
  "array_storage.ts": 3,
  "array_chunks.ts": 3,
  "open_array_chunks.ts": 3,
  "plain_view.ts": 3,
  "plain_array.ts": 3,
  "plain_translation.ts": 3,
  "store_view.ts": 3,
  "view_documents.ts": 3,
  "list_view.ts": 3,
  "translation.ts": 3,
  "translated_arrays.ts": 3,
  "zarrita": 4,
};

const SRC = new URL("../src/", import.meta.url);

/** All modules below a folder, relative to `src/`. */
async function modules(folder = ""): Promise<string[]> {
  const found: string[] = [];
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(folder, SRC))
  ) {
    if (isDirectory) found.push(...await modules(`${folder}${name}/`));
    else found.push(folder + name);
  }
  return found;
}

/** The room of a module, or its own name where it stands in none. */
function roomOf(module: string): string {
  return module.split("/")[0]!;
}

Deno.test("modules import from floors below, and from their own room", async () => {
  const wrong: string[] = [];
  let imports = 0;
  for (const module of await modules()) {
    const url = new URL(module, SRC);
    const text = await Deno.readTextFile(url);
    for (
      const [, specifier] of text.matchAll(
        /^(?:import|export|\}) .*?from "(\.[^"]+)";/gm,
      )
    ) {
      const imported = new URL(specifier!, url).href.slice(SRC.href.length);
      const [from, to] = [roomOf(module), roomOf(imported)];
      const isAllowed = from === to || FLOORS[to]! < FLOORS[from]! ||
        // The files of floor 3 are one room without a folder.
        FLOORS[from] === 3 && FLOORS[to] === 3;
      if (!isAllowed) wrong.push(`${module} imports ${imported}`);
      imports++;
    }
  }
  assertEquals(wrong, []);
  assertEquals(imports > 100, true, `${imports} imports were found`);
});

/** A module's text without its comments, and so without the examples in them. */
async function codeOf(module: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(module, SRC));
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
}

Deno.test("no module imports zarrita, which users bring", async () => {
  for (const module of await modules()) {
    const imports = /\b(?:from|import)\b[^;]*["'](?:npm:)?@?zarrita/;
    assertEquals(imports.test(await codeOf(module)), false, module);
  }
});

Deno.test("only the file store uses the Deno namespace", async () => {
  const users: string[] = [];
  for (const module of await modules()) {
    if (/\bDeno\./.test(await codeOf(module))) users.push(module);
  }
  assertEquals(users.sort(), [
    "stores/file_system.ts",
    "stores/file_system_root.ts",
    "stores/file_system_value.ts",
  ]);
});
