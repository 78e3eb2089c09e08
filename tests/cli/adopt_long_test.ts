import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { tiffOf } from "../adopt/tiled_files.ts";
import { inTempDir, present } from "../stores/temp_dir.ts";
import { treeOf } from "../support/tree.ts";
import { cliCommand, runCli } from "./run_cli.ts";

/** Writes 3,000 files into a folder. Returns their paths. */
async function writeTiles(folder: string): Promise<string[]> {
  const file = tiffOf(9);
  const paths = Array.from(
    { length: 3000 },
    (_, i) => `${folder}/tile_${i}_0.tif`,
  );
  await Deno.mkdir(folder, { recursive: true });
  for (const path of paths) await Deno.writeFile(path, file);
  return paths;
}

Deno.test("adopt takes thousands of files", async () => {
  await inTempDir(async (folder) => {
    const place = `${folder}/many`;
    const paths = await writeTiles(place);
    const { code, out } = await runCli(
      ...["adopt", ...paths, "--into", place],
      ...["--template", "tile_{0}_{1}.tif"],
    );
    assertEquals(code, 0);
    assertStringIncludes(out, "3,000 files adopted");
  });
});

Deno.test("adopt stops at Ctrl-C, and removes the new indexes", async () => {
  // On a busy machine, the signal may come after the end of the command.
  let attempts = 0;
  while (!await stopsAtCtrlC()) {
    assert(++attempts < 10, "Expected a signal before the end of the command");
  }
});

/** Stops the command with a signal, and checks what it leaves. Returns `false` if the signal came too late. */
async function stopsAtCtrlC(): Promise<boolean> {
  return await inTempDir(async (folder) => {
    await writeTiles(folder);
    const [program, ...args] = cliCommand(
      ["adopt", folder, "--into", folder, "--template", "tile_{0}_{1}.tif"],
    );
    const child = new Deno.Command(program!, {
      args,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    while (!await present(`${folder}/tile_0_0.tif.index`)) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    try {
      child.kill("SIGINT");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // The command has ended.
    }
    const { code, stderr } = await child.output();
    if (code === 0) return false;
    assertEquals([code, new TextDecoder().decode(stderr)], [
      130,
      "The new indexes are removed: run the same command again to start over\nStopped\n",
    ]);
    assertEquals(Object.keys(await treeOf(folder)).length, 3000);
    return true;
  });
}
