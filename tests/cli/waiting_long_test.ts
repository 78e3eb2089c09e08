import { assertEquals, assertStringIncludes } from "@std/assert";
import { serve } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { cliCommand, runCli, runCliIn } from "./run_cli.ts";

const DEM = "tests/fixtures/dem.zarr";

/** Runs a task with a server that never answers. */
async function withSilentServer(
  task: (url: string) => Promise<void>,
): Promise<void> {
  let end = () => {};
  const ended = new Promise<void>((resolve) => end = resolve);
  const server = serve(async () => {
    await ended;
    return new Response();
  });
  try {
    await task(server.url);
  } finally {
    end();
    await server.close();
  }
}

Deno.test("a command says after three seconds on what it waits, and --timeout ends the wait", () =>
  withSilentServer(async (url) => {
    for (const name of ["a.zarr", "a.zip"]) {
      const place = `${url}/${name}?sig=secret`;
      const { code, err } = await runCli("inspect", place, "--timeout", "3.5");
      const [waiting, error, ...more] = err.split("\n");
      const path = name === "a.zip" ? name : `${name}/zarr.json`;
      const request = `GET ${url}/${path}?…`;
      assertEquals(code, 1);
      assertEquals(waiting, `Waiting: ${request} has no answer yet`);
      assertStringIncludes(error!, `Cannot ${request}: the connection failed`);
      assertEquals(more, [""]);
    }
  }));

Deno.test("--timeout is for buckets too, and --quiet prints no line about waiting", () =>
  withSilentServer(async (url) => {
    const { code, err } = await runCliIn(
      { AWS_ENDPOINT_URL: url },
      ...["convert", DEM, "s3://bucket/a", "--quiet", "--timeout", "3.5"],
    );
    assertEquals(code, 1);
    assertStringIncludes(err, "zarr-parts: Cannot GET ");
    assertEquals(err.split("\n").length, 2);
  }));

Deno.test({
  name: "devices that are full and links to nothing are named",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    inTempDir(async (folder) => {
      const link = `${folder}/link`;
      await Deno.symlink("nowhere", link);
      const message = `${
        JSON.stringify(link)
      }, a symbolic link to "nowhere", which does not exist`;
      const cases: [string[], string][] = [
        [["inspect", link], `There is no folder at ${message}`],
        [["convert", DEM, link], `remove ${message}`],
        [["convert", DEM, `${link}/a`], `remove ${message}`],
        [["adopt", "a.tif", "--into", link], `remove ${message}`],
        [
          ["inspect", DEM, "--log-file", "/dev/full"],
          '"/dev/full", whose device is full',
        ],
      ];
      for (const [args, expected] of cases) {
        assertStringIncludes((await runCli(...args)).err, expected);
      }
      const program = cliCommand(["inspect", DEM])
        .map((word) => `'${word}'`).join(" ");
      const { stderr } = await new Deno.Command("sh", {
        args: ["-c", `exec ${program} >/dev/full`],
      }).output();
      assertStringIncludes(
        new TextDecoder().decode(stderr),
        "Cannot write to standard output, whose device is full",
      );
    }),
});
