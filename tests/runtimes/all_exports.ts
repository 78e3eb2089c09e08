/** Loads all of the library, what a bundler could leave out too, and prints its names. */
import * as library from "../../mod.ts";
import * as adapter from "../../src/zarrita/mod.ts";

const kinds = Object.entries({ ...library, ...adapter })
  .map(([name, value]) => `${name}: ${typeof value}`);
console.log(kinds.sort().join("\n"));
