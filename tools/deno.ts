/** What {@linkcode deno} runs under. */
export interface DenoOptions {
  /** The working directory, if not this one. */
  cwd?: string;
  /** Environment variables, on top of those of this process. */
  env?: Record<string, string>;
  /** Whether the output is shown at once or returned. */
  output: "inherit" | "piped";
  /** Ends the process. */
  signal?: AbortSignal;
}

/** How a run of {@linkcode deno} ended. */
export interface DenoResult {
  readonly code: number;
  /** All it wrote, errors first, if that was not shown at once. */
  readonly output: string;
}

/** Runs the Deno that runs this program, so that none need be on PATH. */
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
    const { code } = await command.spawn().status;
    return { code, output: "" };
  }
  const { code, stdout, stderr } = await command.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, output: text(stderr) + text(stdout) };
}
