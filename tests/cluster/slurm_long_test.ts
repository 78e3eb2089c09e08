import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { convert } from "../../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  parseShardLayout,
} from "../../mod.ts";
import { cliCommand } from "../cli/run_cli.ts";
import { pathOf } from "../docs/pages.ts";
import { digestsOf } from "../jobs/digests.ts";
import { countingBytes } from "../support/bytes.ts";
import { testWith } from "../support/tools.ts";
import { serveAndHold } from "./serve_and_hold.ts";
import { findSlurm, type Slurm, until, withSlurm } from "./slurm.ts";

const SLURM = await findSlurm();
const ENV = { ZARR_PARTS: cliCommand([]).join(" ") };
const JOB_FILE = pathOf("examples/cluster/convert.slurm.sh");
const CHUNKS = 100;

/** Creates an array of shards. */
async function createSource(folder: string): Promise<FileSystemStore> {
  const store = new FileSystemStore(folder);
  const metadata = arrayMetadata({
    shape: [20 * CHUNKS],
    dataType: "uint8",
    shardShape: [20],
    chunkShape: [10],
    attributes: { unit: "m" },
  });
  const chunks = await createArrayChunks(store, "", metadata);
  const layout = parseShardLayout(metadata.codecs[0], chunks.chunkShape);
  for (let i = 0; i < CHUNKS; i++) {
    const inner = [countingBytes(10, i), countingBytes(10, 2 * i)];
    await chunks.set([i], encodeShard(inner, layout));
  }
  return store;
}

/** The output of a job, or of each of its tasks that have begun. */
async function outputsOf(slurm: Slurm, job: number): Promise<string[]> {
  const pattern = RegExp(`^slurm-${job}(_\\d+)?\\.out$`);
  const entries = await Array.fromAsync(Deno.readDir(slurm.folder));
  return await Promise.all(
    entries.filter(({ name }) => pattern.test(name)).map(({ name }) =>
      Deno.readTextFile(`${slurm.folder}/${name}`)
    ),
  );
}

/** The tasks that run, such as `1_3`. */
async function runningTasks(slurm: Slurm): Promise<string[]> {
  const args = ["--noheader", "--states=running", "--format=%i"];
  return (await slurm.run("squeue", args)).split("\n").filter(Boolean);
}

/** The number of the latest job of a name. Tasks that start take numbers, too, so that the jobs of a script have no consecutive ones. */
async function latestJob(slurm: Slurm, name: string): Promise<number> {
  const args = ["--noheader", "--states=all", `--name=${name}`, "--format=%F"];
  const numbers = (await slurm.run("squeue", args)).split("\n").map(Number);
  return Math.max(...numbers);
}

testWith(
  SLURM,
  "the job file for Slurm converts and verifies an array, though one task is preempted and one is killed",
  () =>
    withSlurm(async (slurm) => {
      const source = await createSource(`${slurm.folder}/source.zarr`);
      const expected = new FileSystemStore(`${slurm.folder}/expected.zarr`);
      const parts = ["", ".index"];
      await convert(source, expected, { suffix: ".shard", parts });
      const target = `${slurm.folder}/parts of it.zarr`;
      const server = serveAndHold(source, ["/c/40", "/c/71"]);
      /** Runs the job file, and returns the numbers of its last two jobs. */
      const submit = async () => {
        const args = [JOB_FILE, server.url, "parts of it.zarr"];
        const output = await slurm.run("sh", args, ENV);
        assertMatch(output, /^Submitted batch job \d+\n$/);
        const verify = Number(output.match(/\d+/)![0]);
        return { last: await latestJob(slurm, "finish"), verify };
      };
      try {
        const first = await submit();
        let tasks: string[] = [];
        await until(
          "only the two tasks run whose requests are held",
          async () => {
            tasks = await runningTasks(slurm);
            return tasks.length === 2 &&
              (await outputsOf(slurm, 1)).length === 16;
          },
        );
        const [preempted, killed] = tasks as [string, string];
        await slurm.run("scontrol", ["requeue", preempted]);
        await slurm.run("scancel", ["--signal=KILL", killed]);
        await slurm.untilIdle();

        const outputs = await outputsOf(slurm, 1);
        const ended = outputs.filter((text) => text.includes(" copied to "));
        assertEquals([ended.length, outputs.length], [15, 16]);
        // The last job makes what the killed task has left undone.
        const [message] = await outputsOf(slurm, first.last);
        assertMatch(
          message!,
          /^\d+ chunks? (and files|or file) .* copied to .* were there/,
        );
        assertEquals(
          await digestsOf(new FileSystemStore(target)),
          await digestsOf(expected),
        );
        const verified = await outputsOf(slurm, first.verify);
        assertEquals(verified.length, 4);
        for (const text of verified) {
          assertStringIncludes(text, "25 chunks verified, nothing found");
        }
      } finally {
        await server.close();
      }
    }),
);
