import { assertEquals } from "@std/assert";

/** The floor of each room, from the table in CONTRIBUTING.md. */
const FLOORS = await readFloors();

const SRC = new URL("../src/", import.meta.url);

async function readFloors(): Promise<Record<string, number>> {
  const text = await Deno.readTextFile(
    new URL("../CONTRIBUTING.md", import.meta.url),
  );
  const floors: Record<string, number> = {};
  for (const [, floor, rooms] of text.matchAll(/^\| (\d+) +\| ([^|]+)/gm)) {
    for (const [, room] of rooms!.matchAll(/`(\w+)\/`/g)) {
      floors[room!] = Number(floor);
    }
  }
  return floors;
}

/** The paths of all modules in a folder and below it, relative to `src/`. */
async function modules(folder = ""): Promise<string[]> {
  const found: string[] = [];
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(folder, SRC))
  ) {
    if (isDirectory) found.push(...await modules(`${folder}${name}/`));
    else if (name.endsWith(".ts")) found.push(folder + name);
  }
  return found.sort();
}

/** A module's text without its comments, and so without the examples in them. */
async function codeOf(module: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(module, SRC));
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
}

/** The modules of `src/` that a module imports, types and imports on first use included. */
async function importsOf(
  module: string,
  pattern = /\b(?:from\s+|import\(\s*)"(\.[^"]+\.ts)"/g,
): Promise<string[]> {
  const specifiers = (await codeOf(module)).matchAll(pattern);
  return Array.from(
    specifiers,
    ([, specifier]) =>
      new URL(specifier!, new URL(module, SRC)).href.slice(SRC.href.length),
  );
}

function roomOf(module: string): string {
  return module.split("/")[0]!;
}

Deno.test("every module stands in a room that has a floor", async () => {
  const found = await modules();
  const homeless = found.filter((module) =>
    !module.includes("/") || FLOORS[roomOf(module)] === undefined
  );
  assertEquals(homeless, []);
  const rooms = new Set(found.map(roomOf));
  assertEquals(Object.keys(FLOORS).filter((room) => !rooms.has(room)), []);
});

Deno.test("modules import from rooms on lower floors, and from their own room", async () => {
  const wrong: string[] = [];
  let imports = 0;
  for (const module of await modules()) {
    for (const imported of await importsOf(module)) {
      const [from, to] = [roomOf(module), roomOf(imported)];
      const isAllowed = from === to || FLOORS[to]! < FLOORS[from]!;
      if (!isAllowed) wrong.push(`${module} imports ${imported}`);
      imports++;
    }
  }
  assertEquals(wrong, []);
  assertEquals(imports > 100, true, `${imports} imports were found`);
});

Deno.test("modules import from other rooms through the doors of the rooms", async () => {
  const wrong: string[] = [];
  const doors = new Map<string, number>();
  for (const module of await modules()) {
    // Imports on first use name one module, so that only this module is loaded.
    for (
      const imported of await importsOf(module, /\bfrom\s+"(\.[^"]+\.ts)"/g)
    ) {
      const isSame = roomOf(imported) === roomOf(module);
      const isDoor = imported === `${roomOf(imported)}/mod.ts`;
      if (isSame ? isDoor : !isDoor) {
        wrong.push(`${module} imports ${imported}`);
      }
    }
    if (module === `${roomOf(module)}/mod.ts`) {
      const lists = (await codeOf(module)).matchAll(
        /\bexport [^{]*\{([^}]*)\}/g,
      );
      const names = Array.from(lists, ([, list]) => list!.match(/\w[^,]*/g)!);
      doors.set(roomOf(module), names.flat().length);
    }
  }
  assertEquals(wrong, []);
  const exports = ["mod", "jobs", "s3", "serve", "tiff", "zarrita", "zip"];
  for (const name of exports) {
    const text = await Deno.readTextFile(new URL(`../${name}.ts`, SRC));
    for (const [, path] of text.matchAll(/ from "(\.[^"]+)"/g)) {
      assertEquals(/^\.\/src\/\w+\/mod\.ts$/.test(path!), true, path);
    }
  }
  const counts = Array.from(doors, ([room, count]) => `${room} ${count}`);
  console.log(`Names that the doors offer: ${counts.join(", ")}`);
});

Deno.test("no modules import each other in a circle", async () => {
  const done = new Set<string>();
  async function visit(module: string, path: readonly string[]) {
    if (done.has(module)) return;
    const start = path.indexOf(module);
    assertEquals(start < 0 ? [] : [...path.slice(start), module], []);
    for (const imported of await importsOf(module)) {
      await visit(imported, [...path, module]);
    }
    done.add(module);
  }
  for (const module of await modules()) await visit(module, []);
});

/** The imports on first use: modules of other files, and packages that few programs need. */
const SEAMS: readonly RegExp[] = [
  // Commands of the command line, and what single commands load.
  /^cli\//,
  // Heavy codecs.
  /^codecs\/register_codecs\.ts$/,
  // The program of workers, which is long.
  /^threads\/worker\.ts$/,
];

Deno.test("modules are loaded on first use only at the seams", async () => {
  const found: string[] = [];
  for (const module of await modules()) {
    if (SEAMS.some((seam) => seam.test(module))) continue;
    const imports = (await codeOf(module)).matchAll(/\bimport\(\s*"([^"]+)"/g);
    for (const [, specifier] of imports) {
      if (specifier!.startsWith(".")) found.push(`${module}: ${specifier}`);
    }
  }
  assertEquals(found, []);
});

Deno.test("no two modules have the same file name, but for the doors", async () => {
  const names = new Map<string, string[]>();
  let small = 0;
  let code = 0;
  const found = await modules();
  for (const module of found) {
    const name = module.split("/").at(-1)!;
    if (name !== "mod.ts") names.set(name, [...names.get(name) ?? [], module]);
    const lines = (await Deno.readTextFile(new URL(module, SRC))).split("\n");
    if (lines.length - 1 <= 40 && name !== "mod.ts") small++;
    code += (await codeOf(module)).split("\n").filter((line) => line.trim())
      .length;
  }
  console.log(
    `${found.length} files with ${code} lines of code; ${small} besides the doors have at most 40 lines`,
  );
  const twice = names.values().filter((modules) => modules.length > 1);
  assertEquals([...twice], []);
});

Deno.test("no module imports zarrita, which users bring", async () => {
  for (const module of await modules()) {
    if (module === "cli/page/array_page.ts") continue; // Programs as texts.
    const imports = /\b(?:from|import)\s*\(?\s*["'](?:npm:)?@?zarrita/;
    assertEquals(imports.test(await codeOf(module)), false, module);
  }
});

Deno.test("only the command line imports the standard library of JSR", async () => {
  const found: string[] = [];
  for (const module of await modules()) {
    if (/"(?:jsr:)?@std\//.test(await codeOf(module))) found.push(module);
  }
  assertEquals(found.filter((module) => !module.startsWith("cli/")), []);
});

Deno.test("only the file store and the command line use the Deno namespace", async () => {
  for (const module of await modules()) {
    const isAllowed = module.startsWith("stores/file_system") ||
      module.startsWith("cli/");
    const usesDeno = /\bDeno\.(?!customInspect\b)/.test(await codeOf(module));
    assertEquals(usesDeno && !isAllowed, false, module);
  }
});

/** Functions of the language that Node 20 lacks. */
const NOT_IN_NODE_20 =
  /\b(?:Promise\.(?:withResolvers|try)|Array\.fromAsync|(?:Map|Object)\.groupBy|Uint8Array\.from(?:Base64|Hex)|RegExp\.escape|Iterator\.from)\b/;

Deno.test("no module but those of the command line uses functions that Node 20 lacks", async () => {
  for (const module of await modules()) {
    if (module.startsWith("cli/")) continue;
    const lacking = NOT_IN_NODE_20.exec(await codeOf(module));
    assertEquals(lacking, null, module);
  }
});
