import { assert } from "@std/assert";
import { startProgram } from "../support/deno_program.ts";

/**
 * Counts programs that were killed, and those that left work for the next run: random kills
 * may all come after the end of the work, whose time varies from machine to machine.
 */
export class Kills {
  readonly #fewest: number;
  #count = 0;
  #unfinished = 0;

  /** @param fewest The number of programs to kill, if one of them leaves work. */
  constructor(fewest: number) {
    this.#fewest = fewest;
  }

  /** Whether more programs are to be killed. */
  get areTooFew(): boolean {
    return this.#count < this.#fewest ||
      this.#unfinished === 0 && this.#count < 20 * this.#fewest;
  }

  /** Counts a program that was killed. */
  add(isUnfinished: boolean): void {
    this.#count++;
    if (isUnfinished) this.#unfinished++;
  }

  /** Checks that a program left work. */
  assertUnfinished(): void {
    assert(
      this.#unfinished > 0,
      `Expected a program that was killed before the end of its work, but all ${this.#count} came to it: the kills come too late on this machine`,
    );
  }
}

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
