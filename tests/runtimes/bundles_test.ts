import { assertEquals } from "@std/assert";
import { WASM_BINARY } from "../../src/splitter/splitter_wasm.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { chooseStandardLibrary } from "../../tools/standard_library.ts";

/** The code of a bundled program: of the files that it loads at start, and of all files. */
interface Bundle {
  readonly atStart: string;
  readonly all: string;
}

/** Bundles a program that exports names of modules, with a file for what loads later. */
async function bundle(
  exports: Readonly<Record<string, string>>,
): Promise<Bundle> {
  const { run } = await chooseStandardLibrary();
  let found: Bundle | undefined;
  await inTempDir(async (folder) => {
    const program = `${folder}/program.ts`;
    const lines = Object.entries(exports).map(([names, module]) =>
      `export { ${names} } from "${import.meta.resolve(`../../${module}`)}";`
    );
    await Deno.writeTextFile(program, lines.join("\n"));
    const out = `${folder}/out`;
    const { code, output } = await run(
      ["bundle", "--code-splitting", "--outdir", out, program],
      { output: "piped" },
    );
    assertEquals(code, 0, output);
    const files = new Map<string, string>();
    for await (const { name } of Deno.readDir(out)) {
      files.set(name, await Deno.readTextFile(`${out}/${name}`));
    }
    const loaded = new Set(["program.js"]);
    for (const name of loaded) {
      const imports = files.get(name)!.matchAll(/ from "\.\/([^"]+)"/g);
      for (const [, imported] of imports) loaded.add(imported!);
    }
    const codeOf = (names: Iterable<string>) =>
      Array.from(names, (name) => files.get(name)!).join("\n");
    found = { atStart: codeOf(loaded), all: codeOf(files.keys()) };
  });
  return found!;
}

function definesClass(code: string, name: string): boolean {
  return code.includes(`var ${name} = class`);
}

const READER = { "openArrayChunks, HttpStore": "mod.ts" };

Deno.test("a bundled program that reads arrays has no splitter in Wasm", async () => {
  const { all } = await bundle(READER);
  assertEquals(definesClass(all, "HttpStore"), true);
  assertEquals(all.includes(WASM_BINARY), false);
});

Deno.test("a bundled program that splits streams has the splitter in Wasm", async () => {
  const { all } = await bundle({ splitStream: "mod.ts" });
  assertEquals(all.includes(WASM_BINARY), true);
});

Deno.test("a bundled program with zarrita loads heavy codecs when an array needs them", async () => {
  const { atStart, all } = await bundle({
    "withZarrParts, registerCodecs": "zarrita.ts",
  });
  for (const name of ["JpegCodec", "PackintsCodec"]) {
    assertEquals(definesClass(atStart, name), false, name);
    assertEquals(definesClass(all, name), true, name);
  }
});
