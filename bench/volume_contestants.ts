import process from "node:process";
import { type Contestant, median, ratio, type Timing } from "./measure.ts";
import type { Table } from "./table.ts";
import type { Answer, Peer } from "./volume_peer.ts";

/** A contestant whose processor time is noted with each run. */
export interface VolumeContestant extends Contestant {
  /** The processor time of each run. */
  readonly used: Cpu[];
  /** The number of threads beside the calling one, if this is told. */
  readonly threads?: number | undefined;
  /** The greatest ratios of its time to that of other contestants, by their names. */
  readonly most?: Readonly<Record<string, number>> | undefined;
}

/** Processor time in milliseconds. */
interface Cpu {
  /** That of all threads of the process. */
  readonly process: number;
  /** That of the calling thread; `undefined` for a peer, and on systems other than Linux. */
  readonly caller?: number | undefined;
}

/** What one measurement gives. */
export interface Measured {
  readonly table: Table;
  /** Rows of {@linkcode limitsTable}. */
  readonly limits: readonly (readonly string[])[];
}

/** A contestant of this process. */
export function ours(
  contestant: Omit<VolumeContestant, "amount" | "used">,
): VolumeContestant {
  const used: Cpu[] = [];
  return {
    ...contestant,
    amount: 1,
    used,
    async run() {
      const before = cpuTime();
      const result = await contestant.run();
      const after = cpuTime();
      used.push({
        process: after.process - before.process,
        caller: after.caller && after.caller - before.caller!,
      });
      return result;
    },
  };
}

/** A contestant of the process of a peer. */
export function theirs(
  { name }: Peer,
  ask: () => Promise<Answer>,
): VolumeContestant {
  const used: Cpu[] = [];
  return {
    name,
    amount: 1,
    used,
    async run() {
      const { sample, cpu } = await ask();
      used.push({ process: cpu });
      return sample;
    },
  };
}

/** The times of all contestants, and the ratios to those that targets name. */
export function timesTable(
  title: string,
  contestants: readonly VolumeContestant[],
  timings: readonly Timing[],
): Table {
  const targets = contestants.flatMap(({ most = {} }) => Object.keys(most));
  const others = timings.filter(({ name }) => targets.includes(name));
  return {
    title,
    head: ["", "ms", "CPU ms", ...others.map(({ name }) => `of ${name}`)],
    rows: contestants.map((contestant, i) => {
      const timing = timings[i]!;
      return [
        contestant.name,
        millisecondsText(median(timing.times)),
        millisecondsText(cpuOf(contestant, timing).process),
        ...others.map((other) => {
          if (other === timing) return "";
          // The ratio of the speeds of the other one and of this one is that of the times.
          const found = ratio(other, timing);
          const most = contestant.most?.[other.name];
          return most === undefined
            ? found.toFixed(2)
            : `${found.toFixed(2)} (≤ ${most} ${
              found <= most ? "met" : "missed"
            })`;
        }),
      ];
    }),
  };
}

/** Rows of {@linkcode limitsTable} for the contestants that tell their number of threads. */
export function limitsOf(
  work: string,
  contestants: readonly VolumeContestant[],
  timings: readonly Timing[],
): string[][] {
  const cores = navigator.hardwareConcurrency;
  return contestants.flatMap((contestant, i) => {
    const { name, threads } = contestant;
    const cpu = cpuOf(contestant, timings[i]!);
    if (threads === undefined || cpu.caller === undefined) return [];
    const wall = median(timings[i]!.times);
    const caller = cpu.caller / wall;
    const others = (cpu.process - cpu.caller) / wall;
    const limits = [
      { limit: `${cores} cores`, share: (caller + others) / cores },
      { limit: "calling thread", share: caller },
      {
        limit: threads === 1 ? "1 thread" : `${threads} threads`,
        share: others / Math.max(1, threads),
      },
    ];
    const { limit, share } = limits.reduce((a, b) => b.share > a.share ? b : a);
    return [[
      `${work}: ${name}`,
      millisecondsText(wall),
      millisecondsText(cpu.process),
      caller.toFixed(2),
      others.toFixed(2),
      `${limit}, ${share.toFixed(2)}`,
    ]];
  });
}

/** How much of the time the threads of this process work, and which limit that is nearest to. */
export function limitsTable(rows: readonly (readonly string[])[]): Table {
  return {
    title: rows.length > 0
      ? "What limits reading and writing: the part of the time in which threads work"
      : "What limits reading and writing: measured on Linux only",
    head: ["", "ms", "CPU ms", "calling thread", "others", "nearest limit"],
    rows,
  };
}

/** The medians of the processor times of the rounds that count. */
function cpuOf({ used }: VolumeContestant, { times }: Timing): Cpu {
  const counted = used.slice(-times.length);
  const callers = counted.flatMap(({ caller }) => caller ?? []);
  return {
    process: median(counted.map(({ process }) => process)),
    caller: callers.length === 0 ? undefined : median(callers),
  };
}

function millisecondsText(milliseconds: number): string {
  return milliseconds.toFixed(milliseconds < 100 ? 1 : 0);
}

function cpuTime(): Cpu {
  const { user, system } = process.cpuUsage();
  return { process: (user + system) / 1000, caller: callerTime() };
}

/** The processor time of the calling thread in milliseconds; `undefined` on systems other than Linux. */
function callerTime(): number | undefined {
  try {
    const text = Deno.readTextFileSync("/proc/thread-self/schedstat");
    return Number(text.split(" ")[0]) / 1e6;
  } catch {
    return undefined;
  }
}
