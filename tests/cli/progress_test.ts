import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Io } from "../../src/cli/command.ts";
import { ProgressLine } from "../../src/cli/progress.ts";

/** An output that collects what is written to standard error. */
function terminal(isTerminal: boolean): { io: Io; notes: string[] } {
  const notes: string[] = [];
  const io: Io = {
    print() {},
    note: (text) => notes.push(text),
    isTerminal,
    signal: new AbortController().signal,
  };
  return { io, notes };
}

/** Waits until the clock shows another time than at the start of a progress line. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

Deno.test("ProgressLine shows the share, the rate and the time left, and removes them", async () => {
  const { io, notes } = terminal(true);
  const progress = new ProgressLine(io, false);
  await pause();
  progress.update(250_000, 1_000_000, 3e9);
  assertMatch(
    notes[0]!,
    /^\r25 %, 250,000 of 1,000,000, [\d.]+ [GTP]B\/s, 0:0\d left$/,
  );
  assert(notes[0]!.length <= 80);
  // Updates that follow at once are left out.
  progress.update(250_001, 1_000_000, 3e9);
  assertEquals(notes.length, 1);
  progress.clear();
  assertEquals(notes.slice(1), [`\r${" ".repeat(notes[0]!.length - 1)}`, "\r"]);
  progress.clear();
  assertEquals(notes.length, 3);
});

Deno.test("ProgressLine shows neither rates nor times that it does not know", async () => {
  const { io, notes } = terminal(true);
  const progress = new ProgressLine(io, false);
  await pause();
  progress.update(0, 0);
  assertEquals(notes, ["\r0 %, 0 of 0"]);
});

Deno.test("ProgressLine writes nothing without a terminal, and nothing if it is to be quiet", () => {
  for (const [isTerminal, isQuiet] of [[false, false], [true, true]] as const) {
    const { io, notes } = terminal(isTerminal);
    const progress = new ProgressLine(io, isQuiet);
    progress.update(1, 2, 3);
    progress.clear();
    assertEquals(notes, []);
  }
});
