import { chooseStandardLibrary } from "../tools/standard_library.ts";

let library: ReturnType<typeof chooseStandardLibrary> | undefined;

/**
 * Runs a program of this folder, which ends by {@linkcode printPeak}, and returns the
 * peak of its resident memory in bytes.
 *
 * @param program The name of its file.
 * @returns `undefined` where the peak is not known: on systems other than Linux.
 */
export async function peakOf(
  program: string,
  args: readonly string[],
): Promise<number | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  const { run } = await (library ??= chooseStandardLibrary());
  const { code, output } = await run([
    ...["run", "--no-check", "-A"],
    new URL(program, import.meta.url).href,
    ...args,
  ], { output: "piped" });
  if (code !== 0) throw new Error(`Measuring memory failed: ${output}`);
  return Number(output.trim().split("\n").at(-1));
}

/** Prints the peak of the resident memory of this program in bytes. */
export async function printPeak(): Promise<void> {
  const status = await Deno.readTextFile("/proc/self/status");
  const [, kibibytes] = /^VmHWM:\s*(\d+) kB$/m.exec(status)!;
  console.log(Number(kibibytes) * 1024);
}
