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
  const args = [
    ...["run", "-A", ...runOptions()],
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

/** The options of `deno run` for a program with the same standard library as this one. */
export function runOptions(): string[] {
  const isStandIn = import.meta.resolve("@std/assert").startsWith("file:");
  const map = new URL("../../tools/offline/import_map.json", import.meta.url);
  return [
    ...["--no-check", "--no-lock"],
    ...isStandIn ? ["--import-map", fileURLToPath(map)] : [],
  ];
}
