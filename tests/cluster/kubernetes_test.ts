import { assertEquals, assertMatch } from "@std/assert";
import { parse } from "yaml";
import config from "../../deno.json" with { type: "json" };
import { FileSystemStore } from "../../mod.ts";
import { convert } from "../../src/jobs/mod.ts";
import { runCliIn } from "../cli/run_cli.ts";
import { pathOf } from "../docs/pages.ts";
import { digestsOf } from "../jobs/digests.ts";
import { inTempDir } from "../stores/temp_dir.ts";

const FILE = pathOf("examples/cluster/convert.kubernetes.yaml");

Deno.test("the pods of the job file for Kubernetes convert an array", async () => {
  const { apiVersion, kind, spec } = parse(await Deno.readTextFile(FILE));
  assertEquals([apiVersion, kind], ["batch/v1", "Job"]);
  assertEquals(spec.completionMode, "Indexed");
  const { containers, volumes, restartPolicy } = spec.template.spec;
  assertEquals([containers.length, restartPolicy], [1, "Never"]);
  const { image, args, volumeMounts } = containers[0];
  assertMatch(image, /^denoland\/deno:\d+\.\d+\.\d+$/);
  assertEquals(volumeMounts[0].name, volumes[0].name);
  const program = ["run", "-A", `jsr:${config.name}/cli`];
  assertEquals(args.slice(0, 4), [...program, "convert"]);
  const [source, target, ...options] = args.slice(4);
  assertMatch(source, /^https:/);
  assertMatch(target, RegExp(`^${volumeMounts[0].mountPath}/`));
  const shares = options.pop();
  assertEquals(shares, `--shares=${spec.completions}`);

  await inTempDir(async (folder) => {
    const dem = "tests/fixtures/dem.zarr";
    const run = (options: string[], env: Record<string, string> = {}) =>
      runCliIn(env, "convert", dem, `${folder}/parts.zarr`, ...options);
    const indexes = [...Array(spec.completions).keys()];
    for (let i = 0; i < indexes.length; i += 4) {
      const outputs = await Promise.all(
        indexes.slice(i, i + 4).map((index) =>
          run([...options, shares], { JOB_COMPLETION_INDEX: `${index}` })
        ),
      );
      for (const [j, { code, err }] of outputs.entries()) {
        const share = `Share ${i + j + 1} of 16, by JOB_COMPLETION_INDEX\n`;
        assertEquals([code, err], [0, share]);
      }
    }
    const { code, err } = await run([...options, "--finish"]);
    assertEquals([code, err], [0, ""]);
    const expected = new FileSystemStore(`${folder}/expected.zarr`);
    await convert(new FileSystemStore(dem), expected, {
      suffix: ".shard",
      parts: ["", ".index"],
    });
    assertEquals(
      await digestsOf(new FileSystemStore(`${folder}/parts.zarr`)),
      await digestsOf(expected),
    );
  });
});
