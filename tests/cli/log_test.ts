import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { serve } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { runCli } from "./run_cli.ts";

const ARRAY = "tests/fixtures/dem.zarr";

Deno.test("--verbose prints requests without their queries, and the end of the command", async () => {
  const document = await Deno.readTextFile(`${ARRAY}/zarr.json`);
  const server = serve((request) =>
    new URL(request.url).pathname === "/a.zarr/zarr.json"
      ? new Response(document)
      : new Response(null, { status: 404 })
  );
  try {
    const place = `${server.url}/a.zarr?signature=secret`;
    const { code, out, err } = await runCli("inspect", place, "--verbose");
    assertEquals(code, 0);
    assertMatch(err, /GET http:\S+\/a\.zarr\/zarr\.json\?….*: 200, /);
    assertMatch(err, /Ended with 0 after [\d.]+ s, with \d+ MiB of memory\n$/);
    assertEquals(err.includes("secret"), false);
    const quiet = await runCli("inspect", place);
    assertEquals(quiet, { code: 0, out, err: "" });
  } finally {
    await server.close();
  }
});

Deno.test("--log-file adds lines to a file, with the stack of an error", () =>
  inTempDir(async (folder) => {
    const path = `${folder}/log.txt`;
    for (let run = 0; run < 2; run++) {
      const { code, err } = await runCli(
        ...["inspect", `${folder}/missing`, `--log-file=${path}`],
      );
      assertEquals(code, 1);
      assertMatch(err, /^zarr-parts: There is no folder ".*missing"\n$/);
    }
    const log = await Deno.readTextFile(path);
    assertEquals(log.match(/Failed after/g)?.length, 2);
    assertMatch(log, /\n {4}at .*(?:open_store|command\/start)\b/);
  }));

Deno.test("--log-file refuses a path that cannot be written before the work", () =>
  inTempDir(async (folder) => {
    const { code, err } = await runCli(
      ...["convert", ARRAY, `${folder}/b.zarr`],
      `--log-file=${folder}/missing/log.txt`,
    );
    assertEquals(code, 1);
    assertStringIncludes(err, "missing/log.txt");
    assertEquals(await Array.fromAsync(Deno.readDir(folder)), []);
  }));

Deno.test("errors are JSON with --json, with what they tell beside the message", () =>
  inTempDir(async (folder) => {
    const usage = await runCli("inspect", ARRAY, "--json", "--nope");
    assertEquals([usage.code, usage.out], [2, ""]);
    assertEquals(JSON.parse(usage.err), {
      error: { name: "UsageError", message: "Unknown option --nope" },
      status: 2,
    });
    await Deno.writeTextFile(`${folder}/zarr.json`, '{ "zarr_format": 3 }');
    const broken = await runCli(
      ...["convert", folder, `${folder}-target`, "--json"],
    );
    assertEquals(broken.code, 1);
    assertEquals(broken.err.trim().split("\n").length, 1);
    const { error, status } = JSON.parse(broken.err);
    assertEquals([error.name, error.path, status], [
      "MetadataError",
      "/node_type",
      1,
    ]);
    assertStringIncludes(error.message, folder);
  }));
