import { assertEquals } from "@std/assert";
import type { Io } from "../../src/cli/command.ts";
import { ProgressLine } from "../../src/cli/format.ts";

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

/** Runs a test with a clock that the test sets, in seconds. */
function withClock(test: (setClock: (seconds: number) => void) => void): void {
  const { now } = performance;
  const setClock = (seconds: number) => {
    performance.now = () => 1000 * seconds;
  };
  try {
    setClock(5);
    test(setClock);
  } finally {
    performance.now = now;
  }
}

Deno.test("ProgressLine shows the progress, the rate and the time left, and removes them", () => {
  withClock((setClock) => {
    const { io, notes } = terminal(true);
    const progress = new ProgressLine(io, false);
    setClock(7);
    progress.update(250_000, 1_000_000, 3e9);
    const line = "25 %, 250,000 of 1,000,000, 1.50 GB/s, 0:06 left";
    assertEquals(notes, [`\r${line}`]);
    // Updates that follow at once are left out.
    setClock(7.1);
    progress.update(500_000, 1_000_000, 3e9);
    assertEquals(notes.length, 1);
    setClock(7.3);
    progress.update(1, 1);
    assertEquals(
      notes[1],
      `\r${"100 %, 1 of 1, 0:00 left".padEnd(line.length)}`,
    );
    progress.clear();
    assertEquals(notes.slice(2), [`\r${" ".repeat(line.length)}`, "\r"]);
    progress.clear();
    assertEquals(notes.length, 4);
  });
});

Deno.test("ProgressLine shows neither rates nor times that it does not know", () => {
  const { io, notes } = terminal(true);
  const progress = new ProgressLine(io, false);
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
