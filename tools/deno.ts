/** Options of {@linkcode deno}. */
export interface DenoOptions {
  /** The working directory; by default the current one. */
  cwd?: string;
  /** Environment variables, in addition to those of this process. */
  env?: Record<string, string>;
  /** Whether the output is shown or returned. */
  output: "inherit" | "piped";
  /** Kills the process. */
  signal?: AbortSignal;
}

/** The result of {@linkcode deno}. */
export interface DenoResult {
  readonly code: number;
  /** The standard error and the standard output, if they were not shown. */
  readonly output: string;
}

/** Runs the Deno executable of this process, which need not be on PATH. */
export async function deno(
  args: readonly string[],
  { output, ...options }: DenoOptions,
): Promise<DenoResult> {
  const command = new Deno.Command(Deno.execPath(), {
    ...options,
    args: [...args],
    stdout: output,
    stderr: output,
  });
  if (output === "inherit") {
    // A terminal sends Ctrl-C to all programs in it: the child decides when to stop.
    const ignore = () => {};
    Deno.addSignalListener("SIGINT", ignore);
    try {
      const { code } = await command.spawn().status;
      return { code, output: "" };
    } finally {
      Deno.removeSignalListener("SIGINT", ignore);
    }
  }
  const { code, stdout, stderr } = await command.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, output: text(stderr) + text(stdout) };
}
