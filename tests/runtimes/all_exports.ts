/** Imports all exports, so that a bundler keeps them, and prints their names. */
import * as library from "../../mod.ts";
import * as jobs from "../../src/jobs/mod.ts";
import * as serve from "../../src/serve/mod.ts";
import * as tiff from "../../src/tiff/mod.ts";
import * as adapter from "../../src/zarrita/mod.ts";
import * as s3 from "../../src/s3/mod.ts";
import * as zip from "../../src/zip/mod.ts";

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
