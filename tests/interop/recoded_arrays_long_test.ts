import { assertEquals } from "@std/assert";
import { runCli } from "../cli/run_cli.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

/** Recodings of arrays whose chunks have 3 × 4 elements. */
const RECODINGS = [
  "--codecs zstd:1 --chunks 2,5 --shards 4,10",
  "--codecs blosc:lz4 --shards none",
  "--codecs gzip:1,crc32c --chunks 11,13 --shards 11,13",
  "--codecs none --chunks 1,1 --shards none --memory 1MiB",
  "--shards 12,4",
];

/** Recodings of texts, whose chunks keep their shape. */
const OF_TEXTS = ["--codecs zstd", "--codecs none --shards 6,8"];

testWith(
  PYTHON,
  "zarr-python and TensorStore read arrays of all data types that were recoded",
  async (python, t) => {
    await inTempDir(async (folder) => {
      await runScript(python, "recoded_arrays.py", "write", folder);
      const names = Array.from(Deno.readDirSync(folder), ({ name }) => name);
      const pairs: string[] = [];
      for (const name of names.sort()) {
        const recodings = name === "texts"
          ? OF_TEXTS
          : RECODINGS.filter((options) =>
            // zarr-python has no shards of these.
            !/^(?:raw|struct)/.test(name) || options.includes("none")
          );
        for (const [i, options] of recodings.entries()) {
          const [from, to] = [`${folder}/${name}`, `${folder}/${name}.${i}`];
          await t.step(`${name} ${options}`, async () => {
            const args = ["convert", from, to, ...options.split(" ")];
            const { code, err } = await runCli(...args);
            assertEquals([code, err], [0, ""]);
            pairs.push(to, from);
          });
        }
      }
      await t.step(
        "both read the same elements",
        () => runScript(python, "recoded_arrays.py", "compare", ...pairs),
      );
    });
  },
);
