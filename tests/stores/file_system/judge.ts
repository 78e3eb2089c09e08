/** Judges the states of an exploration. */
import type { Process, World } from "./explore.ts";
import {
  type Disk,
  NO_DESCRIPTORS,
  operate,
  type Request,
} from "./simulated_disk.ts";
import { Point, type Program } from "./simulated_process.ts";
import { keysOf, Programs, textOf } from "./programs.ts";
import { isLock, splitPath } from "../../../src/stores/store_key.ts";
import { CODE, type Code } from "./file_system_code.ts";

const MOST_OPERATIONS = 2_000;

/** The work of a process, and the name of its generation. */
export type Role =
  | "write"
  | "set"
  | "delete"
  | "update"
  | "recover"
  | "read"
  | "stream"
  | "version";

export interface Cast {
  readonly role: Role;
  readonly name: string;
}

export interface JudgeOptions {
  readonly code: Code;
  readonly parts: number;
  readonly cast: readonly Cast[];
  /** The generation at the beginning, `""` for no chunk. */
  readonly old: string;
}

/** Judges states by what must hold in each of them, also if all processes were killed there. */
export class Judge {
  readonly #options: JudgeOptions;
  readonly #generations: ReadonlySet<string>;
  readonly #roles: ReadonlyMap<string, Role>;
  readonly #judged = new Map<string, string | undefined>();
  /** The generation that recovery gives to each disk. */
  readonly #recovered = new Map<string, string>();
  readonly #starts = new Map<Program, Promise<Point>>();
  readonly #recover: Program;
  readonly #read: Program;
  readonly #write: Program;

  constructor(options: JudgeOptions) {
    this.#options = options;
    this.#generations = new Set(serialResults(options.old, [], options.cast));
    this.#roles = new Map(options.cast.map(({ name, role }) => [name, role]));
    const { code, parts } = options;
    const programs = new Programs(code, parts);
    this.#recover = programs.recover;
    this.#write = programs.write;
    this.#read = new Programs(CODE, parts).read;
  }

  judge(world: World): string | undefined | Promise<string | undefined> {
    for (const { process, outcome, isLate } of world.places) {
      if (outcome === undefined) continue;
      const problem = process.isWriter
        ? this.#judgeWriter(outcome, world)
        : this.#judgeReader(outcome, isLate, world);
      if (problem !== undefined) return `${process.name} ${problem}`;
    }
    // Deleting needs no free space, and has no journal without it.
    const isDeleting = [...this.#roles.values()].includes("delete") &&
      world.failed.some((each) => each.startsWith("ENOSPC"));
    if (isDeleting && world.places.some(({ outcome }) => outcome !== "ok")) {
      return undefined;
    }
    const disk = plain(world.disk);
    const key = JSON.stringify([disk.names, disk.inodes]);
    if (this.#judged.has(key)) return this.#conclude(world, key);
    return this.#judgeDisk(disk, key).then((problem) => {
      this.#judged.set(key, problem);
      return this.#conclude(world, key);
    });
  }

  #conclude(world: World, key: string): string | undefined {
    const problem = this.#judged.get(key);
    if (problem !== undefined) return `killed here: ${problem}`;
    const recovered = this.#recovered.get(key)!;
    for (const { process: { name, isRecovery }, outcome } of world.places) {
      if (isRecovery || !isRejection(outcome)) continue;
      if (recovered.includes(name)) {
        return `${name} was rejected by ${outcome}, and appears later`;
      }
    }
    return this.#judgeEnd(world, recovered);
  }

  #judgeReader(
    outcome: string,
    isLate: boolean,
    world?: World,
  ): string | undefined {
    if (world && isFailure(outcome, world)) return undefined;
    const isKnown = outcome === "gave up" || outcome === "changed" ||
      /^UnfinishedWriteError: Chunk/.test(outcome);
    if (isKnown) return undefined;
    const generation = outcome === "absent"
      ? ""
      : outcome.match(/^generation (.*)/)?.[1];
    if (generation === undefined || !this.#generations.has(generation)) {
      return `got ${outcome}`;
    }
    if (isLate && generation === this.#options.old) {
      return `got ${outcome}, which had been replaced before it began`;
    }
  }

  #judgeWriter(outcome: string, world: World): string | undefined {
    if (outcome === "ok" || outcome === "killed") return undefined;
    if (/^AbortError/.test(outcome)) return undefined;
    if (isFailure(outcome, world)) return undefined;
    return `ended by ${outcome}`;
  }

  /** Judges the disk after all processes were killed. */
  async #judgeDisk(disk: Disk, key: string): Promise<string | undefined> {
    const first = await this.#alone(this.#read, "reader", disk);
    const problem = this.#judgeReader(first.outcome, false);
    if (problem !== undefined) return `a reader ${problem}`;

    const recovered = await this.#alone(this.#recover, "recovery", disk);
    if (recovered.outcome !== "ok") return `recovery: ${recovered.outcome}`;
    const found = this.#chunk(recovered.disk);
    if (!this.#generations.has(found)) return `recovery leaves ${found}`;
    this.#recovered.set(key, found);
    const left = this.#leftovers(recovered.disk);
    if (left.length > 0) return `recovery leaves ${left}`;

    const next = await this.#alone(this.#write, "z", disk);
    if (next.outcome !== "ok") return `the next writer: ${next.outcome}`;
    if (this.#chunk(next.disk) !== "z") {
      return `the next writer leaves ${this.#chunk(next.disk)}`;
    }
    const last = await this.#alone(this.#recover, "recovery", next.disk);
    if (
      this.#leftovers(last.disk).length > 0 || this.#chunk(last.disk) !== "z"
    ) {
      return `recovery after the next writer leaves ${this.#chunk(last.disk)}`;
    }
  }

  /** Judges what is left when all processes have ended. */
  #judgeEnd(world: World, recovered: string): string | undefined {
    if (world.places.some(({ outcome }) => outcome === undefined)) return;
    const writers = world.places.filter(({ process }) => process.isWriter);
    const roles = (isOne: (outcome: string) => boolean) =>
      writers.filter(({ outcome }) => isOne(outcome!))
        .map(({ process: { name } }) => ({
          name,
          role: this.#roles.get(name)!,
        }));
    // Two failures can leave a change of which nobody knows whether it has begun.
    const isSure = world.failed.length < 2;
    const isDone = (outcome: string) =>
      outcome === "ok" || isSure && isPending(outcome);
    const results = serialResults(
      this.#options.old,
      roles(isDone),
      roles((outcome) => !isDone(outcome) && !isRejection(outcome)),
    );
    if (!results.includes(recovered)) {
      return `the chunk is ${recovered}, which no order of the writers gives`;
    }
    const isKilled = writers.some(({ outcome }) => outcome === "killed");
    if (isKilled) return;
    if (roles((outcome) => outcome !== "ok").length === 0) {
      if (this.#chunk(world.disk) !== recovered) {
        return "a reader gets an error";
      }
    }
    // Files that cannot be removed stay until the next recovery.
    const isKept = world.failed.some((each) => each.endsWith("remove")) ||
      roles((outcome) => outcome !== "ok")
        .some(({ role }) => role === "recover");
    if (isKept) return;
    const left = this.#leftovers(world.disk);
    const isUnfinished = left.some((name) => isLock(splitPath(name).name));
    if (left.length > 0 && (!isUnfinished || world.failed.length === 0)) {
      return `nobody was killed, and ${left} are left`;
    }
  }

  /** The generation of the files, or what they are. */
  #chunk(disk: Disk): string {
    const found = keysOf(this.#options.parts).map((key) => {
      const ino = disk.names[key];
      return ino === undefined
        ? ""
        : disk.inodes[ino]!.text.replaceAll(".", "") || "(empty)";
    });
    return new Set(found).size === 1 ? found[0]! : `a mixture of ${found}`;
  }

  #leftovers(disk: Disk): string[] {
    return Object.keys(disk.names).filter((name) => name.includes("/.zarr-"));
  }

  /** Runs a program by itself to its end. */
  async #alone(
    program: Program,
    name: string,
    disk: Disk,
  ): Promise<{ outcome: string; disk: Disk }> {
    const start = this.#starts.get(program) ?? Point.start(name, program);
    this.#starts.set(program, start);
    let point = await start;
    while (point.outcome === undefined) {
      if (point.length > MOST_OPERATIONS) return { outcome: "no end", disk };
      const request = point.next as Request;
      const step = operate(disk, 0, request, point.opened);
      disk = step.disk;
      if (request[0] === "wait") disk = { ...disk, clock: disk.clock + 1000 };
      point = point.known(step.result) ?? await point.after(step.result);
    }
    return { outcome: point.outcome, disk };
  }
}

/** Whether a writer says that its change will be finished. */
function isPending(outcome: string): boolean {
  return /^PendingWriteError: /.test(outcome);
}

/** Whether a process ended by an error that says that it has changed nothing. */
function isRejection(outcome: string | undefined): boolean {
  return outcome !== undefined && outcome !== "killed" &&
    /^\w*Error: /.test(outcome) && !isPending(outcome);
}

/** Whether a process ended by an operation that has failed. */
function isFailure(outcome: string, { failed }: World): boolean {
  const code = outcome.match(/^\w+: .*\b(E[A-Z]{2,})\b/)?.[1];
  return code !== undefined && failed.some((each) => each.startsWith(code));
}

/** The generations that a chunk may have after all orders of writers, of which some need not have written. */
function serialResults(
  old: string,
  done: readonly Cast[],
  others: readonly Cast[],
): string[] {
  const results = done.length === 0 ? [old] : [];
  for (const each of [...done, ...others]) {
    const next = change(old, each) ?? old;
    const left = (cast: readonly Cast[]) => cast.filter((one) => one !== each);
    results.push(...serialResults(next, left(done), left(others)));
  }
  return results;
}

/** The generation after a process, or `undefined` if it changes nothing. */
function change(old: string, { role, name }: Cast): string | undefined {
  if (role === "write" || role === "set") return name;
  if (role === "delete") return "";
  return role === "update" ? old + name : undefined;
}

/** The processes of a cast. */
export function processesOf({ code, parts, cast }: JudgeOptions): Process[] {
  const programs = new Programs(code, parts);
  return cast.map(({ role, name }) => ({
    name,
    program: programs[role],
    isWriter: ["write", "set", "delete", "update", "recover"].includes(role),
    isRecovery: role === "recover",
  }));
}

/** A disk with a chunk of one generation. */
export function diskOf({ parts, old }: JudgeOptions): Disk {
  const keys = old === "" ? [] : keysOf(parts);
  return {
    names: Object.fromEntries(keys.map((key, i) => [key, i])),
    inodes: keys.map(() => ({ text: textOf(old), mtime: 0 })),
    processes: [],
    clock: 0,
  };
}

/** The disk when all processes were killed, without what makes no difference then: times, and the numbers of inodes. */
function plain({ names, inodes }: Disk): Disk {
  const sorted = Object.entries(names).sort(([a], [b]) => a < b ? -1 : 1);
  return {
    names: Object.fromEntries(sorted.map(([name], i) => [name, i])),
    inodes: sorted.map(([_, ino]) => ({ text: inodes[ino]!.text, mtime: 0 })),
    processes: [NO_DESCRIPTORS],
    clock: 0,
  };
}
