import { assertEquals, assertMatch } from "@std/assert";
import { FileSystemStore } from "../../mod.ts";
import { runCli } from "../cli/run_cli.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith } from "../support/tools.ts";
import { PYTHON, runScript } from "./python.ts";

/** The nodes that `foreign_arrays.py` writes, and the options that give them another layout. */
const CONVERSIONS: readonly [source: string, options: string][] = [
  ["group.zarr", "--plain"],
  ["group.zarr", "--suffix .shard --parts ,.index --keep-going"],
  ["group.zarr", "--suffix .x --parts .head:1,"],
  ["group.zarr", "--encoding fanout"],
  ["group.zarr", "--encoding v2:/"],
  ["group.zarr", "--encoding default:. --suffix .y"],
  [
    "group.zarr",
    "--container zip --suffix .zip --parts ,.index --keep-going",
  ],
  ["image.zarr", "--container tiff --suffix .tiff --parts ,.index"],
  ["image.zarr", "--template tile_{1:03}_{0:03}.raw --parts .a:7,"],
  ["first.zarr", "--parts .index,.data --suffix .y"],
  ["first.zarr", "--suffix .z"],
];

testWith(
  PYTHON,
  "the command line converts nodes of zarr-python and TensorStore to any layout and back, from files and over HTTP",
  async (python, t) => {
    await inTempDir(async (folder) => {
      await runScript(python, "foreign_arrays.py", "write", folder);
      const server = serve(storeHandler(new FileSystemStore(folder)));
      const pairs: string[] = [];
      try {
        for (const [i, [source, text]] of CONVERSIONS.entries()) {
          // A web server cannot list, so that chunks are found by the grid.
          const place = i % 2 === 0 ? folder : server.url;
          await t.step(`${source} ${text}`, async () => {
            const stored = `${folder}/${i}`;
            await run(
              "convert",
              `${place}/${source}`,
              stored,
              ...text.split(" "),
            );
            await assertSound(stored);
            await run("convert", stored, `${stored}.back`, "--plain");
            pairs.push(`${stored}.back`, `${folder}/${source}`);
          });
        }
      } finally {
        await server.close();
      }
      await t.step(
        "both read the same elements and metadata",
        () => runScript(python, "foreign_arrays.py", "compare", ...pairs),
      );
    });
  },
);

/** The data types of `foreign_arrays.py` whose chunks `verify` cannot decode. */
const UNDECODED =
  /data type "(?:null_terminated_bytes|raw_bytes|structured|fixed_length_utf32)"/;

/** Asserts that `verify` finds nothing but chunks of other data types. */
async function assertSound(folder: string): Promise<void> {
  const { findings } = JSON.parse(
    await run("verify", folder, "--deep", "--json"),
  );
  for (const { rule, message } of findings) {
    assertEquals(rule, "chunk-undecoded", message);
    assertMatch(message, UNDECODED);
  }
}

async function run(...args: string[]): Promise<string> {
  const { code, out, err } = await runCli(...args);
  assertEquals([code, err], [0, ""], out);
  return out;
}
