import { fileURLToPath } from "node:url";

/** Starts a program of the tests in a Deno of its own, with the same standard library as this one. */
export function startProgram(
  url: string,
  parameters: unknown,
): Deno.ChildProcess {
  const isStandIn = import.meta.resolve("@std/assert").startsWith("file:");
  const map = new URL("../../tools/offline/import_map.json", import.meta.url);
  return new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", "--no-lock"],
      ...isStandIn ? ["--import-map", fileURLToPath(map)] : [],
      fileURLToPath(url),
      JSON.stringify(parameters),
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}
