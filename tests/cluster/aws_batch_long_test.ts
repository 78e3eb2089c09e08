import { assertEquals } from "@std/assert";
import { convert } from "../../jobs.ts";
import { FileSystemStore } from "../../mod.ts";
import { cliCommand } from "../cli/run_cli.ts";
import { pathOf } from "../docs/pages.ts";
import { digestsOf } from "../jobs/digests.ts";
import { inTempDir } from "../stores/temp_dir.ts";

const FILE = pathOf("examples/cluster/convert.aws-batch.sh");
const DEM = "tests/fixtures/dem.zarr";

/** Stands for the program `aws`: runs the tasks of a job one after another. */
const AWS = `#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    --container-overrides) overrides="$2"; shift ;;
    --array-properties) size="\${2#size=}"; shift ;;
    --depends-on) [ "$2" = jobId=job-convert ] || exit 1; shift ;;
    --job-name) name="$2"; shift ;;
  esac
  shift
done
command=$(printf %s "$overrides" | sed 's/.*"-c", "//; s/"\\]}$//')
i=0
while [ $i -lt "\${size:-1}" ]; do
  AWS_BATCH_JOB_ARRAY_INDEX=$i sh -c "$command" >&2 || exit 1
  i=$((i + 1))
done
echo "job-$name"
`;

Deno.test("the script for AWS Batch converts an array by an array job, and finishes it", async () => {
  await inTempDir(async (folder) => {
    // The script runs the program by deno, which stands for the command line here.
    const cli = cliCommand([]).map((word) => `'${word}'`).join(" ");
    const programs = {
      aws: AWS,
      deno: `#!/bin/sh\nshift 3\nexec ${cli} "$@"\n`,
    };
    for (const [name, text] of Object.entries(programs)) {
      await Deno.writeTextFile(`${folder}/${name}`, text, { mode: 0o755 });
    }
    const target = `${folder}/parts.zarr`;
    const { success, stderr } = await new Deno.Command("sh", {
      args: [FILE, "queue", "definition", DEM, target],
      env: { PATH: `${folder}:${Deno.env.get("PATH")}` },
    }).output();
    assertEquals([success, success || new TextDecoder().decode(stderr)], [
      true,
      true,
    ]);
    const expected = new FileSystemStore(`${folder}/expected.zarr`);
    await convert(new FileSystemStore(DEM), expected, {
      suffix: ".shard",
      parts: ["", ".index"],
    });
    assertEquals(
      await digestsOf(new FileSystemStore(target)),
      await digestsOf(expected),
    );
  });
});
