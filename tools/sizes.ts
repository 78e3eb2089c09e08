/**
 * Prints the sizes of programs that import from this package, bundled and minified
 * for browsers, and what this package adds to a program with zarrita: `deno task sizes`
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type OutputChunk, type OutputOptions, rolldown } from "rolldown";
import { ALIASES } from "./bundle_aliases.ts";
import { chooseStandardLibrary } from "./standard_library.ts";

const MOD = fileURLToPath(import.meta.resolve("../mod.ts"));
const S3 = fileURLToPath(import.meta.resolve("../s3.ts"));
const SERVE = fileURLToPath(import.meta.resolve("../serve.ts"));
const ZARRITA = fileURLToPath(import.meta.resolve("../zarrita.ts"));

/** The imports of a program. */
const PROGRAMS: readonly {
  imports: string;
  from: string;
  /** Another import. */
  and?: { imports: string; from: string };
}[] = [
  { imports: "{ crc32c }", from: MOD },
  { imports: "{ openArrayChunks, HttpStore }", from: MOD },
  {
    imports: "{ createHandler }",
    from: SERVE,
    and: { imports: "{ HttpStore }", from: MOD },
  },
  { imports: "{ S3Store }", from: S3 },
  {
    imports: "{ createHandler }",
    from: SERVE,
    and: { imports: "{ S3Store }", from: S3 },
  },
  { imports: "{ splitStream }", from: MOD },
  { imports: "{ plainView, HttpStore }", from: MOD },
  { imports: "{ arrayMetadata }", from: MOD },
  { imports: "{ withZarrParts, registerCodecs }", from: ZARRITA },
  { imports: "*", from: MOD },
];

/** What a program that reads and writes arrays takes from zarrita. */
const FROM_ZARRITA = "{ get, open, root, set }";

/** The most that this package should add to a program with zarrita, gzipped. */
const SHARE_TARGET = 0.15;

/** Packages of npm that are loaded on first use, and not counted. */
const EXTERNAL = ["aws4fetch", "p-limit", "p-retry"];

const folder = await Deno.makeTempDir();
try {
  console.log(`Minified, in bytes, as Vite bundles.
"at start" is the entry file and the files that it imports statically, "later" the
files that are loaded on first use, "one file" a bundle without code splitting.

  at start    gzipped      later   one file  program`);
  for (const { imports, from, and } of PROGRAMS) {
    const each = [{ imports, from }, ...and ? [and] : []];
    const program = await programOf(each);
    const files = await bundle(program, {});
    const first = startFiles(files);
    const start = sizeOf(first);
    const columns = [
      start,
      await gzippedSizeOf(first),
      sizeOf(files) - start,
      sizeOf(await bundle(program, { codeSplitting: false })),
    ].map((bytes) => bytes.toLocaleString("en").padStart(10));
    const names = each.map(({ imports }) => imports).join(" and ");
    console.log(`${columns.join(" ")}  import ${names}`);
  }
  const alone = { imports: FROM_ZARRITA, from: import.meta.resolve("zarrita") };
  const ours = { imports: "{ withZarrParts, registerCodecs }", from: ZARRITA };
  const before = await allGzipped([alone]);
  const after = await allGzipped([alone, ours]);
  const share = (after - before) / after;
  console.log(`
A program with zarrita has ${before.toLocaleString("en")} bytes, and ${
    after.toLocaleString("en")
  } with this package,
all files gzipped: ${
    (share * 100).toFixed(1)
  } % of it are ours, the target is at most ${SHARE_TARGET * 100} %.`);
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** Writes a program that exports names of modules, and returns its path. */
async function programOf(
  each: readonly { imports: string; from: string }[],
): Promise<string> {
  const path = join(folder, "program.js");
  const lines = each.map(({ imports, from }) =>
    `export ${imports} from "${from}";`
  );
  await Deno.writeTextFile(path, lines.join("\n"));
  return path;
}

/** The gzipped size of all files of a program, which Deno bundles since it finds packages of npm. */
async function allGzipped(
  each: readonly { imports: string; from: string }[],
): Promise<number> {
  const { run } = await chooseStandardLibrary();
  const out = await Deno.makeTempDir({ dir: folder });
  const options = ["--minify", "--code-splitting", "--platform", "browser"];
  const program = await programOf(each);
  const { code, output } = await run(
    ["bundle", ...options, "--outdir", out, program],
    { output: "piped" },
  );
  if (code !== 0) throw new Error(`Could not bundle ${program}: ${output}`);
  const names = await Array.fromAsync(Deno.readDir(out), ({ name }) => name);
  return await gzippedSizeOf(
    await Promise.all(
      names.map(async (name) => ({
        code: await Deno.readTextFile(join(out, name)),
      })),
    ),
  );
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

async function gzippedSizeOf(
  files: readonly Pick<OutputChunk, "code">[],
): Promise<number> {
  const zipped = new Blob(files.map(({ code }) => code)).stream()
    .pipeThrough(new CompressionStream("gzip"));
  return (await new Response(zipped).bytes()).length;
}
