/**
 * Prints the sizes of programs that import from this package, bundled and minified
 * for browsers, and what this package adds to a program with zarrita: `deno task sizes`
 */
import { toBytes } from "@std/streams/to-bytes";
import {
  type BundledFiles,
  bundleExports,
  type BundleOptions,
  loadedFiles,
  startFiles,
} from "./bundle.ts";

const MOD = import.meta.resolve("../mod.ts");
const S3 = import.meta.resolve("../s3.ts");
const SERVE = import.meta.resolve("../serve.ts");
const ZARRITA = import.meta.resolve("../zarrita.ts");

/** The names that programs import, and from where. */
const PROGRAMS: readonly Readonly<Record<string, string>>[] = [
  { "{ crc32c }": MOD },
  { "{ openArrayChunks, HttpStore }": MOD },
  { "{ createHandler }": SERVE, "{ HttpStore }": MOD },
  { "{ S3Store }": S3 },
  { "{ createHandler }": SERVE, "{ S3Store }": S3 },
  { "{ splitStream }": MOD },
  { "{ plainView, HttpStore }": MOD },
  { "{ arrayMetadata }": MOD },
  { "{ withZarrParts, registerCodecs }": ZARRITA },
  { "{ withZarrParts, registerCodecs, getSharded }": ZARRITA },
  { "*": MOD },
];

/** What a program that reads and writes arrays takes from zarrita. */
const FROM_ZARRITA = {
  "{ get, open, root, set }": import.meta.resolve("zarrita"),
};

/** The most that this package should add to a program with zarrita, as a share of that program, gzipped. */
const SHARE_TARGET = 0.12;

/** As bundlers divide a program that loads codecs on first use. */
const SPLIT: BundleOptions = { minify: true, splitting: true };

/** Packages that are loaded on first use, and not counted. */
const EXTERNAL = ["aws4fetch", "p-retry", "picomatch"];

console.log(
  `Minified, in bytes, as esbuild bundles programs into one file, without
what is loaded on first use from ${EXTERNAL.join(" and ")}.

     bytes    gzipped  program`,
);
for (const program of PROGRAMS) {
  const options = { minify: true, external: EXTERNAL };
  const files = [...(await bundleExports(program, options)).values()];
  const columns = [sizeOf(files), await gzippedSizeOf(files)].map((bytes) =>
    bytes.toLocaleString("en").padStart(10)
  );
  const names = Object.keys(program).join(" and ");
  console.log(`${columns.join(" ")}  import ${names}`);
}

const alone = await weightOf(FROM_ZARRITA);
const both = await weightOf({
  ...FROM_ZARRITA,
  "{ withZarrParts, registerCodecs }": ZARRITA,
  "{ HttpStore }": MOD,
});
const text = (bytes: number) => bytes.toLocaleString("en");
console.log(`
All files of a program with zarrita have ${
  text(alone.all)
} bytes gzipped, and ${text(both.all)} with
this package, which is ${
  ((both.all - alone.all) / alone.all * 100).toFixed(1)
} % more. The target is at most ${SHARE_TARGET * 100} %.
At start, before an array needs codecs, such a program loads ${
  text(alone.start)
} bytes, and
${text(both.start)} with this package.`);

/** The gzipped sizes of all files that a program may load, and of those that it loads at start. */
async function weightOf(
  exports: Readonly<Record<string, string>>,
): Promise<{ all: number; start: number }> {
  const files: BundledFiles = await bundleExports(exports, SPLIT);
  return {
    all: await gzippedSizeOf(loadedFiles(files)),
    start: await gzippedSizeOf(startFiles(files)),
  };
}

function sizeOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + new Blob([text]).size, 0);
}

async function gzippedSizeOf(texts: readonly string[]): Promise<number> {
  const zipped = new Blob([...texts]).stream()
    .pipeThrough(new CompressionStream("gzip"));
  return (await toBytes(zipped)).length;
}
