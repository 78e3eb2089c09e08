/** Imports all exports, so that a bundler keeps them, and prints their names. */
import * as jobs from "../../jobs.ts";
import * as library from "../../mod.ts";
import * as s3 from "../../s3.ts";
import * as serve from "../../serve.ts";
import * as tiff from "../../tiff.ts";
import * as adapter from "../../zarrita.ts";
import * as zip from "../../zip.ts";

const kinds = Object.entries({
  ...library,
  ...adapter,
  ...jobs,
  ...serve,
  ...tiff,
  ...s3,
  ...zip,
}).map(([name, value]) => `${name}: ${typeof value}`);
console.log(kinds.sort().join("\n"));
