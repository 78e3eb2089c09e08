/**
 * Prints the sizes of programs that import from this package, bundled and minified
 * for browsers, beside their targets: `deno task sizes`
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputChunk, type OutputOptions, rolldown } from "rolldown";
import { ALIASES } from "./bundle_aliases.ts";

const MOD = fileURLToPath(import.meta.resolve("../mod.ts"));
const S3 = fileURLToPath(import.meta.resolve("../s3.ts"));
const SERVE = fileURLToPath(import.meta.resolve("../serve.ts"));
const ZARRITA = fileURLToPath(import.meta.resolve("../zarrita.ts"));

/** The imports of a program, and its target: the most bytes that it should load at start. */
const PROGRAMS: readonly {
  imports: string;
  from: string;
  /** Another import. */
  and?: { imports: string; from: string };
  target?: number;
}[] = [
  { imports: "{ crc32c }", from: MOD, target: 6_000 },
  { imports: "{ openArrayChunks, HttpStore }", from: MOD, target: 35_000 },
  {
    imports: "{ createHandler }",
    from: SERVE,
    and: { imports: "{ HttpStore }", from: MOD },
    target: 40_000,
  },
  { imports: "{ S3Store }", from: S3 },
  {
    imports: "{ createHandler }",
    from: SERVE,
    and: { imports: "{ S3Store }", from: S3 },
    target: 55_000,
  },
  { imports: "{ splitStream }", from: MOD },
  { imports: "{ plainView, HttpStore }", from: MOD },
  { imports: "{ arrayMetadata }", from: MOD },
  { imports: "{ withZarrParts, registerCodecs }", from: ZARRITA },
  { imports: "*", from: MOD },
];

/** Packages of npm that are loaded on first use, and not counted. */
const EXTERNAL = ["aws4fetch", "p-retry"];

const folder = await Deno.makeTempDir();
try {
  console.log(`Minified, in bytes, as Vite bundles.
"at start" is the entry file and the files that it imports statically, "later" the
files that are loaded on first use. The target is for "at start". "one file" is a
bundle without code splitting.

  at start    gzipped      later   one file     target  program`);
  for (const { imports, from, and, target } of PROGRAMS) {
    const program = join(folder, "program.js");
    const lines = [{ imports, from }, ...and ? [and] : []].map((each) =>
      `export ${each.imports} from "${each.from}";`
    );
    await Deno.writeTextFile(program, lines.join("\n"));
    const files = await bundle(program, {});
    const first = startFiles(files);
    const start = sizeOf(first);
    const columns = [
      start,
      await gzippedSizeOf(first),
      sizeOf(files) - start,
      sizeOf(await bundle(program, { codeSplitting: false })),
      target,
    ].map((bytes) => (bytes?.toLocaleString("en") ?? "").padStart(10));
    const excess = start - (target ?? Infinity);
    const note = excess > 0 ? `  (${excess.toLocaleString("en")} over)` : "";
    const names = and ? `${imports} and ${and.imports}` : imports;
    console.log(`${columns.join(" ")}  import ${names}${note}`);
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** Bundles and minifies a program. The entry file is the first one. */
async function bundle(
  input: string,
  options: OutputOptions,
): Promise<OutputChunk[]> {
  const build = await rolldown({
    input,
    platform: "browser",
    resolve: { alias: ALIASES },
    external: EXTERNAL,
  });
  const { output } = await build.generate({ minify: true, ...options });
  await build.close();
  return output.filter((file) => file.type === "chunk");
}

/** The entry file and all files that it imports statically. */
function startFiles(files: readonly OutputChunk[]): OutputChunk[] {
  const found = new Set(files.slice(0, 1));
  for (const { imports } of found) {
    for (const file of files) {
      if (imports.includes(file.fileName)) found.add(file);
    }
  }
  return [...found];
}

function sizeOf(files: readonly OutputChunk[]): number {
  return files.reduce((sum, { code }) => sum + new Blob([code]).size, 0);
}

async function gzippedSizeOf(files: readonly OutputChunk[]): Promise<number> {
  const zipped = new Blob(files.map(({ code }) => code)).stream()
    .pipeThrough(new CompressionStream("gzip"));
  return (await new Response(zipped).bytes()).length;
}
