import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { verify } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import {
  getSharded,
  registerCodecs,
  ThreadPool,
  withZarrParts,
} from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

const SCRIPT = "with_numcodecs.py";

/** Codecs that this package does not write. */
const READ_ONLY = /"numcodecs.bz2"/;

/** The bytes of elements that zarrita has, in C order. */
function bytesOf({ data }: { data: unknown }): Uint8Array {
  const { buffer, byteOffset, byteLength } = data as DataView;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

testWith(
  PYTHON,
  "arrays with the codecs of numcodecs are read as by zarr-python, by threads as well, verified, and written as zarr-python reads them",
  (python) =>
    inTempDir(async (folder) => {
      registerCodecs(zarr);
      await runScript(python, SCRIPT, "write", folder);
      const store = new FileSystemStore(folder);
      const view = withZarrParts(store);
      using threads = new ThreadPool({ threads: 1 });
      await Deno.mkdir(`${folder}/ours`);
      await Deno.copyFile(
        `${folder}/theirs/zarr.json`,
        `${folder}/ours/zarr.json`,
      );
      let count = 0;
      for await (
        const { name, isDirectory } of Deno.readDir(`${folder}/theirs`)
      ) {
        if (!isDirectory) continue;
        count++;
        const read = await Deno.readFile(`${folder}/${name}.read`);
        const location = zarr.root(view).resolve(`theirs/${name}`);
        const array = await zarr.open(location, { kind: "array" });
        const chunk = await zarr.get(array) as { data: unknown };
        assertEquals(bytesOf(chunk), read, name);
        const threaded = await getSharded(zarr, array as never, null, {
          threads,
        });
        assertEquals(bytesOf(threaded as never), read, name);
        const report = await verify(store, `theirs/${name}`, { deep: true });
        assertEquals([report.undecoded, report.isSound], [{}, true], name);

        const document = await Deno.readTextFile(
          `${folder}/theirs/${name}/zarr.json`,
        );
        if (READ_ONLY.test(document)) continue;
        await Deno.mkdir(`${folder}/ours/${name}`);
        await Deno.writeTextFile(`${folder}/ours/${name}/zarr.json`, document);
        const copy = await zarr.open(
          zarr.root(view).resolve(`ours/${name}`),
          { kind: "array" },
        );
        bytesOf(chunk).set(await Deno.readFile(`${folder}/${name}.stored`));
        await zarr.set(copy, null, chunk as never);
      }
      assert(count > 15);
      await runScript(python, SCRIPT, "compare", folder);
    }),
);
