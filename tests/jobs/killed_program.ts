import { assert } from "@std/assert";
import { startProgram } from "../support/deno_program.ts";

/**
 * Runs a program that prints `ready` and `done`, and kills it after some milliseconds, if
 * given. Returns whether it was killed before its end.
 */
export async function runAndKill(
  url: string,
  parameters: unknown,
  time: number | undefined,
): Promise<boolean> {
  const child = startProgram(url, parameters);
  await child.stdin.close();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await output.read()).value;
  assert(text?.startsWith("ready\n"), text);
  if (time !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, time));
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
  }
  for (let part = await output.read(); !part.done; part = await output.read()) {
    text += part.value;
  }
  const { success } = await child.status;
  const isDone = text!.includes("done"); // It may be killed after that.
  assert(isDone || !success, "The program ended without its last line");
  return !isDone;
}
