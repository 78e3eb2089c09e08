/**
 * Explores all interleavings of processes on a simulated disk, with kills, failures and
 * aborts before each operation. States that are equal are explored once: equal disks,
 * and processes with the same results so far.
 */
import {
  type Disk,
  endProcess,
  isWorthTrying,
  NO_DESCRIPTORS,
  operate,
  type Request,
  type Result,
} from "./simulated_disk.ts";
import {
  assertNoConflict,
  ConflictError,
  Privacy,
  type Touch,
  touchesOf,
} from "./footprint.ts";
import { Point, type Program } from "./simulated_process.ts";
import { hashOf, keyOf } from "./state_key.ts";

export interface Process {
  readonly name: string;
  readonly program: Program;
  /** Whether it changes files, so that it can be killed, and must come to its end. */
  readonly isWriter: boolean;
  /** Whether it changes no chunk, but finishes what killed processes left. */
  readonly isRecovery: boolean;
}

export interface Scenario {
  readonly processes: readonly Process[];
  readonly disk: Disk;
  /** How many processes are killed at the most. */
  readonly kills?: number;
  /** The greatest number of times that the clock goes on by two seconds. */
  readonly ticks?: number;
  /** How many operations fail at the most, and the codes of their errors. */
  readonly failures?: number;
  readonly codes?: readonly string[];
  /** Names of the processes whose signals may be aborted. */
  readonly aborted?: readonly string[];
  /** The number of times that a reader waits before the exploration gives it up. */
  readonly tries?: number;
  /** Whether all operations are steps of their own. */
  readonly isUnreduced?: boolean;
  /** Returns what is wrong with a state. */
  judge(world: World): string | undefined | Promise<string | undefined>;
}

/** A process in a state. */
export interface Place {
  readonly process: Process;
  readonly point: Point;
  /** How it ended: the result of its program, `killed` or `gave up`. */
  readonly outcome: string | undefined;
  /** Whether this is a reader, and a writer had finished before it began. */
  readonly isLate: boolean;
  /** The number of times that a reader has waited. */
  readonly waits: number;
  /** The names that private operations touched since the last step that others can tell. */
  readonly touched: readonly Touch[];
}

/** A state of all processes and the disk. */
export interface World {
  readonly disk: Disk;
  readonly places: readonly Place[];
  readonly kills: number;
  readonly failures: number;
  /** The operations that have failed, with the codes of their errors. */
  readonly failed: readonly string[];
  readonly ticks: number;
}

export interface Exploration {
  readonly states: number;
  readonly steps: number;
  readonly problem?: string;
  /** The steps that lead to the problem. */
  readonly trace?: readonly string[];
}

const LONGEST_RUN = 400;
const TICK = 2_000;

/**
 * Explores a scenario. Operations that nobody else can tell are done together with the operation
 * before, and nothing is explored after the end of a reader.
 */
export async function explore(
  scenario: Scenario,
  mostStates = Infinity,
): Promise<Exploration> {
  const privacy = new Privacy();
  if (scenario.isUnreduced) privacy.revealAll();
  while (true) {
    try {
      return await exploreAll(scenario, mostStates, privacy);
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      privacy.reveal(error.kind);
    }
  }
}

async function exploreAll(
  scenario: Scenario,
  mostStates: number,
  privacy: Privacy,
): Promise<Exploration> {
  const seen = new Set<number>();
  const parents: number[] = [];
  const actions: string[] = [];
  let steps = 0;
  const failed = (problem: string, i: number, ...last: string[]) => {
    const trace = last;
    for (; i > 0; i = parents[i]!) trace.unshift(actions[i]!);
    return { states: seen.size, steps, problem, trace };
  };
  const first = await begin(scenario);
  const problem = await scenario.judge(first);
  if (problem !== undefined) return failed(problem, 0);
  parents.push(-1);
  actions.push("");
  let layer: [number, World][] = [[0, first]];
  const explorer = new Explorer(scenario, privacy);
  while (layer.length > 0) {
    const last = layer;
    layer = [];
    for (const [from, world] of last) {
      const next = await explorer.follow(world);
      const isOver = world.places.every(({ outcome }) => outcome !== undefined);
      if (next.length === 0 && !isOver) return failed("deadlock", from);
      for (const [action, world] of next) {
        steps++;
        if (typeof world === "string") return failed(world, from, action);
        const hash = hashOf(keyOf(world));
        if (seen.has(hash)) continue;
        seen.add(hash);
        if (seen.size > mostStates) {
          throw new Error(`Over ${mostStates} states`);
        }
        const judged = scenario.judge(world);
        const problem = judged instanceof Promise ? await judged : judged;
        if (problem !== undefined) return failed(problem, from, action);
        if (hasEndedReader(world)) continue;
        actions.push(action);
        layer.push([parents.push(from) - 1, world]);
      }
    }
  }
  return { states: seen.size + 1, steps };
}

/**
 * Whether a reader has ended. Since readers change nothing, all that the others can do from there
 * on is explored from the same state with a reader that has not begun.
 */
function hasEndedReader({ places }: World): boolean {
  return places.some(({ process, outcome }) =>
    !process.isWriter && outcome !== undefined
  );
}

async function begin(scenario: Scenario): Promise<World> {
  const places: Place[] = [];
  for (const process of scenario.processes) {
    const point = await Point.start(process.name, process.program);
    const { outcome } = point;
    const isLate = false;
    places.push({ process, point, outcome, isLate, waits: 0, touched: [] });
  }
  return {
    disk: { ...scenario.disk, processes: places.map(() => NO_DESCRIPTORS) },
    places,
    kills: scenario.kills ?? 0,
    failures: scenario.failures ?? 0,
    failed: [],
    ticks: scenario.ticks ?? 0,
  };
}

/** A point that has not been found yet: the one after a result. */
class Unknown {
  constructor(readonly point: Point, readonly result: Result) {}
}

/** A step, and the state that it leads to or what went wrong. */
type Step = [action: string, world: World | string];

class Explorer {
  readonly #scenario: Scenario;
  readonly #privacy: Privacy;

  constructor(scenario: Scenario, privacy: Privacy) {
    this.#scenario = scenario;
    this.#privacy = privacy;
  }

  /** All steps from a state. */
  async follow(world: World): Promise<Step[]> {
    while (true) {
      try {
        return [...this.#steps(world)];
      } catch (error) {
        if (!(error instanceof Unknown)) throw error;
        await error.point.after(error.result);
      }
    }
  }

  *#steps(world: World): Generator<Step> {
    for (const [i, place] of world.places.entries()) {
      if (place.outcome !== undefined) continue;
      const { process: { name }, point } = place;
      yield* this.#interrupt(world, i);
      const isWaiting = (point.next as Request)[0] === "wait" &&
        !point.isAborted && !isWorthTrying(world.disk, i);
      if (!isWaiting) {
        yield* this.#move(world, i, `${name}: ${point.next}`);
      }
    }
    if (world.ticks > 0) {
      const disk = { ...world.disk, clock: world.disk.clock + TICK };
      yield ["time passes", { ...world, disk, ticks: world.ticks - 1 }];
    }
  }

  /** Kills a process, aborts its signal or lets its operation fail. */
  *#interrupt(world: World, i: number): Generator<Step> {
    const { aborted, codes = [] } = this.#scenario;
    const place = world.places[i]!;
    const { process: { name, isWriter }, point } = place;
    const request = point.next as Request;
    const say = `before ${name}: ${request}`;
    if (world.kills > 0 && isWriter && point.length > 0) {
      for (const disk of killed(world.disk, i, request)) {
        const places = world.places.with(i, ended(place, "killed"));
        const kills = world.kills - 1;
        yield [`KILL ${say}`, { ...world, disk, places, kills }];
      }
    }
    if (aborted?.includes(name) && !point.isAborted) {
      const next = { ...place, point: point.aborted() };
      yield [`ABORT ${say}`, { ...world, places: world.places.with(i, next) }];
    }
    if (world.failures > 0) {
      const failures = world.failures - 1;
      for (const error of codes) {
        if (!canFail(world.disk, request, error)) continue;
        const failed = [...world.failed, `${error} ${request[0]}`];
        const failing = { ...world, failures, failed };
        for (const disk of halfDone(world.disk, i, request)) {
          const next = this.#apply(failing, i, { error }, disk);
          yield* this.#settle(next, i, `${error} ${say}`);
        }
      }
    }
  }

  /** Does the next operation of a process, and the private ones after it. */
  *#move(world: World, i: number, say: string): Generator<Step> {
    const place = world.places[i]!;
    const { point, process } = place;
    if (point.length > LONGEST_RUN) {
      return yield [say, `${process.name} does not end`];
    }
    const places = world.places.with(i, { ...place, touched: [] });
    yield* this.#settle(this.#operate({ ...world, places }, i), i, say);
  }

  #operate(world: World, i: number): World {
    const { point } = world.places[i]!;
    const request = point.next as Request;
    const touches = touchesOf(world.disk, i, request);
    for (const [j, { touched }] of world.places.entries()) {
      if (j !== i) assertNoConflict(touches, touched);
    }
    const step = operate(world.disk, i, request, point.opened);
    return this.#apply(world, i, step.result, step.disk);
  }

  /** Gives a process the result of its operation. */
  #apply(world: World, i: number, result: Result, disk: Disk): World {
    const place = world.places[i]!;
    const { isWriter } = place.process;
    const point = place.point.known(result);
    if (point === undefined) throw new Unknown(place.point, result);
    const isLate = place.point.length === 0
      ? !isWriter &&
        world.places.some(({ process, outcome }) =>
          process.isWriter && !process.isRecovery && outcome === "ok"
        )
      : place.isLate;
    const isWait = !isWriter && (place.point.next as Request)[0] === "wait";
    const waits = place.waits + (isWait ? 1 : 0);
    const next = { ...place, point, isLate, waits };
    return { ...world, disk, places: world.places.with(i, next) };
  }

  /** Does the private operations that follow. In between, the process can be killed. */
  *#settle(world: World, i: number, say: string): Generator<Step> {
    while (true) {
      const place = world.places[i]!;
      const { outcome, next } = place.point;
      if (outcome !== undefined) {
        const left = Object.keys(world.disk.processes[i]!.open).length;
        return yield [
          `${say}, and ends: ${outcome}`,
          left > 0
            ? `${place.process.name} left ${left} files open`
            : end(world, i, outcome),
        ];
      }
      const request = next as Request;
      const isGivenUp = request[0] === "wait" && !place.process.isWriter &&
        place.waits >= (this.#scenario.tries ?? 1);
      if (isGivenUp) return yield [say, end(world, i, "gave up")];
      const isVisible = request[0] === "now" && world.ticks > 0 ||
        !this.#privacy.isPrivate(world.disk, i, request);
      if (isVisible) return yield [say, world];
      yield* this.#interrupt(world, i);
      const touched = [
        ...place.touched,
        ...touchesOf(world.disk, i, request),
      ];
      const places = world.places.with(i, { ...place, touched });
      world = this.#operate({ ...world, places }, i);
    }
  }
}

function canFail(disk: Disk, [name, path]: Request, code: string): boolean {
  // Only what takes space fails for lack of it.
  if (code === "ENOSPC") {
    return name === "create" || name === "append" || name === "replace" ||
      name === "openOrCreate" && disk.names[path!] === undefined;
  }
  return name !== "now" && name !== "close" && name !== "wait";
}

/** The disks that a killed process may leave: its write may be half done. */
function* killed(disk: Disk, i: number, request: Request): Generator<Disk> {
  for (const left of halfDone(disk, i, request)) yield endProcess(left, i);
  const [name, handle] = request;
  if (name !== "replace") return;
  yield endProcess(operate(disk, i, [name, handle!, ""], 0).disk, i);
}

/** The disks after a write that did not come to its end, or that failed after its end. */
function* halfDone(disk: Disk, i: number, request: Request): Generator<Disk> {
  yield disk;
  const [name, handle, text] = request;
  if (name !== "replace" && name !== "append") return;
  const half = String(text).slice(0, String(text).length / 2);
  yield operate(disk, i, [name, handle!, half], 0).disk;
  if (name === "replace") yield operate(disk, i, request, 0).disk;
}

function end(world: World, i: number, outcome: string): World {
  const disk = endProcess(world.disk, i);
  const places = world.places.with(i, ended(world.places[i]!, outcome));
  return { ...world, disk, places };
}

function ended(place: Place, outcome: string): Place {
  return { ...place, outcome, touched: [], waits: 0 };
}
