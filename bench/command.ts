/** Runs a program, and returns its output. */
export async function command(
  name: string,
  args: readonly string[],
  cwd?: string,
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(name, {
    args: [...args],
    ...cwd === undefined ? {} : { cwd },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (success) return text(stdout);
  throw new Error(`${name} ${args.join(" ")} failed: ${text(stderr)}`);
}
