/** Every step of a split and a join fails, stalls or sees an abort, with every engine, source and sink. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { assertStartOf, cutSlowly } from "./oracle.ts";
import {
  assertGivenUp,
  never,
  settle,
  SINK_KINDS,
  SOURCE_KINDS,
} from "./probes.ts";
import {
  CHUNK,
  join,
  JOINED,
  type JoinScenario,
  SIZES,
  type Split,
  split,
  type SplitScenario,
  type Step,
  stepsOfJoin,
  stepsOfSplit,
  store,
} from "./scenarios.ts";

const REASON = new Error("Fault");

/** The faults of a step. All but the first abort the work by its signal. */
const FAULTS = {
  "throws": () => {
    throw REASON;
  },
  "aborts and goes on": (controller: AbortController) =>
    controller.abort(REASON),
  "aborts and stalls": (controller: AbortController) => {
    controller.abort(REASON);
    return never();
  },
  "stalls until the abort": (controller: AbortController) => {
    setTimeout(() => controller.abort(REASON), 0);
    return never();
  },
};
type Fault = keyof typeof FAULTS;

const SCENARIOS: SplitScenario[] = SOURCE_KINDS.flatMap((from) =>
  SINK_KINDS.flatMap((to) =>
    ENGINES.flatMap((engine) =>
      [false, true].map((isKnown) => ({ from, to, engine, isKnown }))
    )
  )
);

for (const fault of Object.keys(FAULTS) as Fault[]) {
  Deno.test(`splitStream gives up all that is open and writes nothing more if a step ${fault}`, async () => {
    const runs: Promise<void>[] = [];
    for (const scenario of SCENARIOS) {
      for (const step of await stepsOfSplit(scenario)) {
        // Once parts are being closed, an abort comes too late.
        if (step.name.startsWith("close") && fault !== "throws") continue;
        runs.push(checkSplitFault(scenario, step, fault));
      }
    }
    assert(runs.length > 24 * 10, `${runs.length} steps`);
    await Promise.all(runs);
  });
}

async function checkSplitFault(
  scenario: SplitScenario,
  at: Step,
  fault: Fault,
): Promise<void> {
  const controller = new AbortController();
  const options = { signal: controller.signal };
  let seen = 0;
  const run = split({ ...scenario, options }, (step) => {
    if (step.name === at.name && step.count === at.count) {
      seen++;
      return FAULTS[fault](controller);
    }
  });
  const name = `${at.name} ${at.count}, ${JSON.stringify(scenario)}`;
  const error = await run.splitting.then(() => undefined, (error) => error);
  assertStrictEquals(error, REASON, name);
  const writtenAtOnce = run.sinks.all.length;
  await settle();
  assertEquals(seen, 1, name);
  assertEquals(run.sinks.all.length, writtenAtOnce, `${name} wrote more`);
  assertAllGivenUp(run, scenario, at, fault, name);
}

/** The parts in the order in which they are closed. */
const CLOSING = [".1", ".0", ".2"];

function assertAllGivenUp(
  { sinks, source }: Split,
  { from, to }: SplitScenario,
  at: Step,
  fault: Fault,
  name: string,
): void {
  const [event, part = ""] = at.name.split(" ") as [string, string?];
  // Every part has the first of its bytes.
  for (const [i, expected] of cutSlowly(CHUNK, SIZES).entries()) {
    const written = Uint8Array.from(sinks.written[`.${i}`] ?? []);
    assertStartOf(written, expected, name);
  }
  // A part is closed if it comes before the one whose closing failed.
  const closed = sinks.partsOf("close");
  const before = CLOSING.slice(0, CLOSING.indexOf(part));
  assertEquals(closed, event === "close" ? before : [], name);
  // Every other open part is aborted once, for the reason.
  const aborted = sinks.partsOf("abort");
  assertEquals(aborted.length, new Set(aborted).size, name);
  for (const reason of sinks.reasons) assertStrictEquals(reason, REASON, name);
  for (const opened of sinks.partsOf("open")) {
    if (opened === part || closed.includes(opened)) continue;
    assert(aborted.includes(opened), `${name} did not abort ${opened}`);
  }
  // A part that is closed, or whose closing failed, is not aborted.
  for (const part of closed) assert(!aborted.includes(part), name);
  // A writer that failed to write is aborted too; a stream has failed by itself.
  if (event !== "read" && fault === "throws") {
    const isAborted = event === "write" && to === "writer";
    assertEquals(aborted.includes(part), isAborted, name);
  }
  if (event === "write" && to === "writer") {
    assert(aborted.includes(part), `${name} did not abort ${part}`);
  }
  // The source is cancelled, unless it failed or has ended; a reader is closed once.
  if (from === "reader") return assertEquals(source.ends, ["closed"], name);
  const isOwn = event === "read" && fault === "throws";
  if (isOwn) assertEquals(source.ends, [], name);
  else assert(source.ends.every((reason) => reason === REASON), name);
  const hasEnded = source.pulls > Math.ceil(CHUNK.length / 5);
  if (!hasEnded) assertEquals(source.ends.length, isOwn ? 0 : 1, name);
}

const JOINS: JoinScenario[] = SOURCE_KINDS.flatMap((from) =>
  ENGINES.flatMap((engine) =>
    (["none", "compute"] as const).map((crc32c) => ({ from, engine, crc32c }))
  )
);

for (const fault of Object.keys(FAULTS) as Fault[]) {
  for (const isStored of [false, true]) {
    Deno.test(`concatStream that is ${isStored ? "stored" : "read"} gives up the open part and opens no more if a step ${fault}`, async () => {
      const runs: Promise<void>[] = [];
      for (const scenario of JOINS) {
        for (const step of await stepsOfJoin(scenario)) {
          runs.push(checkJoinFault(scenario, step, fault, isStored));
        }
      }
      assert(runs.length >= 12 * 15, `${runs.length} steps`);
      await Promise.all(runs);
    });
  }
}

async function checkJoinFault(
  scenario: JoinScenario,
  at: Step,
  fault: Fault,
  isStored: boolean,
): Promise<void> {
  const controller = new AbortController();
  const { signal } = controller;
  // The signal of the stream, of the store, or of both.
  const whose = at.count % 3;
  const isOfStore = isStored && whose !== 0;
  const options = isOfStore && whose === 1 ? {} : { signal };
  const run = join({ ...scenario, options }, (step) => {
    if (step.name !== at.name || step.count !== at.count) return;
    return FAULTS[fault](controller);
  });
  const name = `${at.name} ${at.count}, ${JSON.stringify(scenario)}`;
  const pieces: Uint8Array[] = [];
  async function read() {
    for await (const piece of run.stream) pieces.push(piece);
  }
  const error = await assertRejects(
    () => isStored ? store(run.stream, isOfStore ? signal : undefined) : read(),
    Error,
    undefined,
    name,
  );
  assertStrictEquals(error, REASON, name);
  await settle();
  assertEquals(run.reports, [], name);
  assertStartOf(Uint8Array.from(pieces.flatMap((piece) => [...piece])), JOINED);
  // No part is opened after the one at which the fault was.
  const place = Number(at.name.at(-1));
  const isOpen = at.name.startsWith("read") || fault === "aborts and goes on";
  assertEquals(run.sources.length, place + (isOpen ? 1 : 0), name);
  if (at.name.startsWith("open") && fault !== "aborts and goes on") return;
  const last = run.sources.at(-1)!;
  if (scenario.from === "reader") assertGivenUp(last, REASON, name);
  else {
    const isOwn = fault === "throws";
    const hasEnded = last.pulls > 3;
    if (!hasEnded) assertEquals(last.ends, isOwn ? [] : [REASON], name);
  }
}
