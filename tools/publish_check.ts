import { copy } from "@std/fs/copy";
import { ensureDir } from "@std/fs/ensure-dir";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../deno.json" with { type: "json" };
import type { DenoResult } from "./deno.ts";
import { denoWithStandIns, standardPackages } from "./standard_library.ts";

/** The arguments for the checks of `deno publish`, without publishing. */
export const PUBLISH_CHECK = ["publish", "--dry-run", "--allow-dirty"];

/**
 * Runs {@linkcode PUBLISH_CHECK} without JSR. `deno publish` takes no import map, so
 * this checks a copy of the published files that is linked to the stand-ins in
 * place of the packages of the standard library.
 */
export async function checkPublishOffline(): Promise<DenoResult> {
  const folder = await Deno.makeTempDir();
  try {
    const cwd = await copyWithStandIns(folder);
    return await denoWithStandIns(PUBLISH_CHECK, { cwd, output: "piped" });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Copies the published files, linked to the stand-ins, for programs that take no import map.
 *
 * @param folder An empty folder.
 * @returns The folder of the copy, which is below the other one.
 */
export async function copyWithStandIns(folder: string): Promise<string> {
  const writeConfig = (name: string, config: unknown) =>
    Deno.writeTextFile(join(folder, name, "deno.json"), JSON.stringify(config));
  const root = fileURLToPath(new URL("../", import.meta.url));
  for (const path of [...config.publish.include, "deno.lock"]) {
    const target = join(folder, "package", path);
    await ensureDir(dirname(target));
    await copy(join(root, path), target);
  }
  const links = standardPackages().map(({ name }) => `../${name}`);
  await writeConfig("package", { ...config, links });
  for (const { name, version, standIns } of standardPackages()) {
    await ensureDir(join(folder, dirname(name)));
    await copy(join(root, "tools/offline"), join(folder, name));
    await writeConfig(name, { name, version, exports: standIns });
  }
  return join(folder, "package");
}
