import { assertEquals, assertMatch } from "@std/assert";
import { parse } from "yaml";
import config from "../../deno.json" with { type: "json" };
import { convert } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import { cliCommand, runCli } from "../cli/run_cli.ts";
import { pathOf } from "../docs/pages.ts";
import { digestsOf } from "../jobs/digests.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { serveAndHold } from "./serve_and_hold.ts";
import { until } from "./slurm.ts";

const FILE = pathOf("examples/cluster/convert.kubernetes.yaml");

Deno.test("the pods of the job file for Kubernetes convert an array at once, though one is killed", async () => {
  const { apiVersion, kind, spec } = parse(await Deno.readTextFile(FILE));
  assertEquals([apiVersion, kind], ["batch/v1", "Job"]);
  assertEquals(spec.completionMode, "Indexed");
  const { containers, volumes, restartPolicy } = spec.template.spec;
  assertEquals([containers.length, restartPolicy], [1, "Never"]);
  const { image, command, volumeMounts } = containers[0];
  assertMatch(image, /^denoland\/deno:\d+\.\d+\.\d+$/);
  assertEquals(volumeMounts[0].name, volumes[0].name);
  const program = `exec deno run -A jsr:${config.name}/cli convert `;
  const [sh, c, script] = command;
  assertEquals([sh, c, script.startsWith(program)], ["sh", "-c", true]);
  const [source, target, ...options] = script.slice(program.length).split(" ");
  assertMatch(source, /^https:/);
  assertMatch(target, RegExp(`^${volumeMounts[0].mountPath}/`));
  const share = options.splice(
    options.findIndex((option: string) => option.startsWith("--share")),
  ).join(" ");
  assertMatch(share, RegExp(`/${spec.completions}$`));

  await inTempDir(async (folder) => {
    const dem = new FileSystemStore("tests/fixtures/dem.zarr");
    const server = serveAndHold(dem, ["/c/1/1"]);
    const words = ["convert", server.url, `${folder}/parts.zarr`, ...options];
    const indexes: number[] = [...Array(spec.completions).keys()];
    const start = (index: number) => {
      const line = [...cliCommand(words).map((word) => `'${word}'`), share];
      return new Deno.Command("sh", {
        args: ["-c", `exec ${line.join(" ")}`],
        env: { JOB_COMPLETION_INDEX: `${index}` },
        stdout: "null",
        stderr: "null",
      }).spawn();
    };
    const finish = () => runCli(...words, "--resume");
    try {
      const pods = indexes.map(start);
      const ended = new Set<number>();
      const succeeded = pods.map(async (pod, index) => {
        const { success } = await pod.status;
        ended.add(index);
        return success;
      });
      await until(
        "one pod is left",
        () => Promise.resolve(ended.size === pods.length - 1),
      );
      const held = indexes.find((index) => !ended.has(index))!;
      pods[held]!.kill("SIGKILL");
      assertEquals(
        await Promise.all(succeeded),
        indexes.map((index) => index !== held),
      );
      assertEquals((await start(held).status).success, true);
      const { code, err } = await finish();
      assertEquals([code, err], [0, ""]);
      const expected = new FileSystemStore(`${folder}/expected.zarr`);
      await convert(dem, expected, { suffix: ".shard", parts: ["", ".index"] });
      assertEquals(
        await digestsOf(new FileSystemStore(`${folder}/parts.zarr`)),
        await digestsOf(expected),
      );
    } finally {
      await server.close();
    }
  });
});
