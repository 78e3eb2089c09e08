/**
 * Prints the sizes of programs that import one function of this package, bundled
 * and minified for browsers, beside their targets: `deno task sizes`
 */
import { join } from "node:path";
import { chooseStandardLibrary } from "./standard_library.ts";

const MOD = new URL("../mod.ts", import.meta.url).href;
const ZARRITA = new URL("../src/zarrita/mod.ts", import.meta.url).href;

/** What a program imports, and its target: the most bytes that it should have, minified. */
const PROGRAMS: readonly { imports: string; from: string; target?: number }[] =
  [
    { imports: "{ crc32c }", from: MOD, target: 6_000 },
    { imports: "{ openArrayChunks, HttpStore }", from: MOD, target: 35_000 },
    { imports: "{ splitStream }", from: MOD },
    { imports: "{ plainView, HttpStore }", from: MOD },
    { imports: "{ arrayMetadata }", from: MOD },
    { imports: "{ withZarrParts, registerCodecs }", from: ZARRITA },
    { imports: "*", from: MOD },
  ];

const { run } = await chooseStandardLibrary();
const folder = await Deno.makeTempDir();
try {
  console.log("  minified    gzipped     target  program");
  for (const { imports, from, target } of PROGRAMS) {
    const { minified, gzipped } = await measure(
      `export ${imports} from "${from}";`,
    );
    const columns = [minified, gzipped, target].map((bytes) =>
      (bytes?.toLocaleString("en") ?? "").padStart(10)
    );
    const excess = minified - (target ?? Infinity);
    const note = excess > 0 ? `  (${excess.toLocaleString("en")} over)` : "";
    console.log(`${columns.join(" ")}  import ${imports}${note}`);
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
/** Bundles a program, and measures the bundle in bytes. */
async function measure(
  program: string,
): Promise<{ minified: number; gzipped: number }> {
  const [source, bundle] = ["program.ts", "bundle.js"].map((name) =>
    join(folder, name)
  ) as [string, string];
  await Deno.writeTextFile(source, program);
  const { code, output } = await run(
    ["bundle", "--minify", "--platform", "browser", "-o", bundle, source],
    { output: "piped" },
  );
  if (code !== 0) throw new Error(`Cannot bundle ${program}: ${output}`);
  const bytes = await Deno.readFile(bundle);
  const gzip = new Blob([bytes]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  return {
    minified: bytes.length,
    gzipped: (await new Response(gzip).bytes()).length,
  };
}
