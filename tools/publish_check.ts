import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
  const folder = await mkdtemp(join(tmpdir(), "zarr-parts-"));
  const writeConfig = (name: string, config: unknown) =>
    writeFile(join(folder, name, "deno.json"), JSON.stringify(config));
  try {
    for (const path of [...config.publish.include, "deno.lock"]) {
      await cp(path, join(folder, "package", path), { recursive: true });
    }
    const links = standardPackages().map(({ name }) => `../${name}`);
    await writeConfig("package", { ...config, links });
    for (const { name, version, standIns } of standardPackages()) {
      await cp("tools/offline", join(folder, name), { recursive: true });
      await writeConfig(name, { name, version, exports: standIns });
    }
    const cwd = join(folder, "package");
    return await denoWithStandIns(PUBLISH_CHECK, { cwd, output: "piped" });
  } finally {
    await rm(folder, { recursive: true });
  }
}
