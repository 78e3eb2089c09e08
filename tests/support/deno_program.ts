import { fileURLToPath } from "node:url";

/**
 * Starts a program of the tests in a Deno of its own, with the same standard library as
 * this one.
 *
 * @param openFiles How many files the program may have open, not on Windows.
 */
export function startProgram(
  url: string,
  parameters: unknown,
  openFiles?: number,
): Deno.ChildProcess {
  const isStandIn = import.meta.resolve("@std/assert").startsWith("file:");
  const map = new URL("../../tools/offline/import_map.json", import.meta.url);
  const args = [
    ...["run", "-A", "--no-check", "--no-lock"],
    ...isStandIn ? ["--import-map", fileURLToPath(map)] : [],
    fileURLToPath(url),
    JSON.stringify(parameters),
  ];
  const deno = Deno.execPath();
  const limited = `ulimit -n ${openFiles}; exec "$0" "$@"`;
  return new Deno.Command(openFiles === undefined ? deno : "sh", {
    args: openFiles === undefined ? args : ["-c", limited, deno, ...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}
