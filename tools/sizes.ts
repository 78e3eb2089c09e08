/**
 * Prints what programs download that use one function of this package, bundled
 * and minified for browsers: `deno task sizes`. Fails above a limit.
 */
import { join } from "node:path";
import { chooseStandardLibrary } from "./standard_library.ts";

const MOD = new URL("../mod.ts", import.meta.url).href;
const ZARRITA = new URL("../src/zarrita/mod.ts", import.meta.url).href;

/** What a program imports, and the most bytes that the program may take, minified. */
const PROGRAMS: readonly { imports: string; from: string; limit?: number }[] = [
  { imports: "{ crc32c }", from: MOD, limit: 6_000 },
  { imports: "{ openArrayChunks, HttpStore }", from: MOD, limit: 35_000 },
  { imports: "{ splitStream }", from: MOD },
  { imports: "{ plainView, HttpStore }", from: MOD },
  { imports: "{ arrayMetadata }", from: MOD },
  { imports: "{ withZarrParts, registerCodecs }", from: ZARRITA },
  { imports: "*", from: MOD },
];

const { run } = await chooseStandardLibrary();
const folder = await Deno.makeTempDir();
let isTooLarge = false;
try {
  console.log("  minified    gzipped      limit  program");
  for (const { imports, from, limit = Infinity } of PROGRAMS) {
    const { minified, gzipped } = await measure(
      `export ${imports} from "${from}";`,
    );
    const isWithin = minified <= limit;
    isTooLarge ||= !isWithin;
    const columns = [minified, gzipped, limit].map((bytes) =>
      (isFinite(bytes) ? bytes.toLocaleString("en") : "").padStart(10)
    );
    console.log(
      `${columns.join(" ")}  import ${imports}${isWithin ? "" : "  TOO LARGE"}`,
    );
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
if (isTooLarge) Deno.exit(1);

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
