/** Scenarios of processes that use the same chunk, and what is explored of them. */
import { assertEquals } from "@std/assert";
import { type Exploration, explore } from "./explore.ts";
import { CODE, type Code } from "./file_system_code.ts";
import { type Cast, diskOf, Judge, processesOf, type Role } from "./judge.ts";
import { withSimulatedNames } from "./simulated_process.ts";

/** The events beside the steps of the processes. */
export interface Chances {
  readonly parts?: number;
  /** The generation at the beginning: `0`, or `""` for no chunk. */
  readonly old?: string;
  readonly kills?: number;
  readonly ticks?: number;
  readonly tries?: number;
  readonly failures?: number;
  readonly codes?: readonly string[];
  readonly aborted?: readonly string[];
  readonly isUnreduced?: boolean;
}

/** A scenario: roles with names, such as `write a, write b, read`. */
export interface Line extends Chances {
  readonly name: string;
  readonly cast: readonly Cast[];
  /** Whether a long test explores the scenario. */
  readonly isLong: boolean;
}

const isLong = true;
/** Readers beside two writers try once: a second try is like a first one. */
const two: Chances = { tries: 0 };

export const SCENARIOS: readonly Line[] = [
  // A writer beside readers of each kind.
  line("write a, read", { kills: 1, tries: 3, isLong }),
  line("write a, read", { kills: 1, tries: 3, parts: 3, isLong }),
  line("write a, read", { kills: 1, isUnreduced: true, isLong }),
  line("write a, stream", { kills: 1, tries: 3, parts: 3 }),
  line("write a, version", { kills: 1, ticks: 1, isLong }),
  line("write a, read", { kills: 1, old: "", tries: 3, parts: 3, isLong }),
  line("delete d, read", { kills: 1, tries: 3, parts: 3 }),
  // Two writers.
  line("write a, write b", { kills: 1 }),
  line("write a, write b, read", { ...two, kills: 1, isLong }),
  line("write a, write b, stream", { ...two, isLong }),
  line("write a, write b, read", { ...two, old: "", kills: 1, isLong }),
  line("delete d, write b, read", { ...two, kills: 1, isLong }),
  line("write a, write b, version", { ...two, isLong }),
  line("write a, write b, read", { tries: 2, kills: 0, isLong }),
  // Recovery.
  line("write a, recover", { kills: 1, isLong }),
  line("delete d, recover", { kills: 1, parts: 3 }),
  // Changes that depend on what was there.
  line("update a, update b", { kills: 1 }),
  line("update a, update b, read", { ...two, kills: 1, isLong }),
  line("update a, write b", { kills: 1, isLong }),
  line("update a, update b", { kills: 1, parts: 1 }),
  line("update a, write b", { kills: 1, parts: 1 }),
  line("update a, update b", { kills: 1, old: "", isLong }),
  // Chunks of one file, which have no journal.
  line("set a, set b, read", { kills: 1, parts: 1 }),
  line("set a, update b", { kills: 1, parts: 1 }),
  line("set a, update b, set e", { parts: 1, isLong }),
  line("set a, write b", { kills: 1, parts: 1, old: "" }),
  line("set a, delete d, update b", { parts: 1, isLong }),
  line("set a, set b, recover", { kills: 1, parts: 1, isLong }),
  line("set a, recover, recover", { kills: 1, parts: 1 }),
  line("set a, set b", { failures: 1, codes: ["EIO", "ENOSPC"], parts: 1 }),
  line("set a, version", { kills: 1, ticks: 1, parts: 1 }),
  line("delete d", { failures: 9, codes: ["ENOSPC"], parts: 1 }),
  // Operations that fail.
  line("write a", { failures: 1, codes: ["EIO"] }),
  line("write a", { failures: 2, codes: ["EIO", "ENOSPC"], parts: 3 }),
  line("write a", { failures: 1, codes: ["EACCES", "EMFILE"], kills: 1 }),
  line("write a", { failures: 1, codes: ["EIO"], parts: 1 }),
  line("delete d", { failures: 1, codes: ["EIO"], parts: 3 }),
  line("delete d", { failures: 9, codes: ["ENOSPC"], parts: 3 }),
  line("update a", { failures: 1, codes: ["EIO", "ENOSPC"] }),
  line("write a, read", { failures: 1, codes: ["EIO"], tries: 0 }),
  line("update a, update b", { failures: 1, codes: ["EIO"], isLong }),
  line("write a, recover", {
    failures: 1,
    codes: ["EIO"],
    kills: 1,
    isLong,
  }),
  line("delete d, recover", {
    failures: 1,
    codes: ["EIO"],
    kills: 1,
    isLong,
  }),
  line("write a, write b", {
    failures: 1,
    codes: ["EIO"],
    kills: 1,
    isLong,
  }),
  line("write a", { failures: 3, codes: ["EIO"] }),
  // Signals that are aborted.
  line("write a", { aborted: ["a"], kills: 1, parts: 3 }),
  line("write a, write b", { aborted: ["a"], isLong }),
  line("update a, update b", { aborted: ["a", "b"], isLong }),
  line("delete d, write b", { aborted: ["d"], isLong }),
  // The long ones.
  line("write a, write b", { kills: 2, isLong }),
  line("write a, write b", { kills: 1, isUnreduced: true, isLong }),
  line("write a, write b, read", { ...two, parts: 3, isLong }),
  line("delete d, write b, version", { ...two, isLong }),
  line("update a, update b, update e", { isLong }),
];

function line(cast: string, chances: Chances & { isLong?: boolean }): Line {
  const roles = cast.split(", ").map((each, i): Cast => {
    const [role, name] = each.split(" ");
    return { role: role as Role, name: name ?? `${role}${i}` };
  });
  const { isLong = false, ...rest } = chances;
  const said = Object.entries(rest).map(([name, value]) =>
    `${name} ${JSON.stringify(value)}`
  );
  return { ...rest, name: [cast, ...said].join("; "), cast: roles, isLong };
}

/** Explores a scenario in a test. */
export function testLine(line: Line): void {
  Deno.test(`FileSystemStore keeps a chunk whole in all interleavings: ${line.name}`, async () => {
    const { states, steps, problem, trace } = await withSimulatedNames(() =>
      exploreLine(line)
    );
    assertEquals(problem, undefined, `${problem}\n${trace?.join("\n")}`);
    console.log(`${states} states, ${steps} steps`);
  });
}

/** Explores a scenario with the code as it stands or with a change. */
export async function exploreLine(
  { name: _, cast, isLong: __, ...chances }: Line,
  code: Code = CODE,
  mostStates?: number,
): Promise<Exploration> {
  const { parts = 2, old = "0" } = chances;
  const options = { code, parts, cast, old };
  const judge = new Judge(options);
  return await explore({
    ...chances,
    processes: processesOf(options),
    disk: diskOf(options),
    judge: (world) => judge.judge(world),
  }, mostStates);
}
