/** Programs that use a simulated bucket, whose requests are answered in many orders. */
import { assert, assertEquals } from "@std/assert";
import { setImmediate } from "node:timers";
import {
  PendingWriteError,
  recover,
  UnfinishedWriteError,
} from "../../../mod.ts";
import { S3Store } from "../../../s3.ts";
import { Chunk, MixedError, THREE, TWO } from "./chunk.ts";
import {
  type Limits,
  shortTimers,
  SimulatedBucket,
} from "./simulated_bucket.ts";

/** What a program does with the chunk: reads it, sets a bit or counts, and so on. */
type Program = `${
  | "write"
  | "check"
  | "add"
  | "count"
  | "read"
  | "delete"
  | "update"
  | "recover"} ${number}`;

function run(program: Program, chunk: Chunk): Promise<unknown> {
  const [kind, text] = program.split(" ");
  const number = Number(text);
  switch (kind) {
    case "write":
      return chunk.write(number);
    case "check":
      return chunk.write(number, (present) => {
        if (present === FOREIGN) throw new Refusal();
      });
    case "add":
      return chunk.update((present) => present! | number);
    case "count":
      return chunk.update((present) => present! + 1);
    case "update":
      return chunk.update((present) =>
        present === undefined ? "keep" : present | number
      );
    case "delete":
      return chunk.delete();
    case "recover":
      return recover(chunk.store);
    default:
      return chunk.read();
  }
}

/** A number that checking programs do not replace. */
const FOREIGN = 99;

class Refusal extends Error {}

interface Scene {
  readonly programs: readonly Program[];
  readonly suffixes?: readonly string[];
  readonly limits?: Limits;
  /** The number at the start; the chunk is absent if `undefined`. */
  readonly first?: number | undefined;
  /** The most programs that are killed. */
  readonly kills?: number;
  /** Whether completions are cut off if their program is killed or their connection lost, as in MinIO. */
  readonly cutsOff?: boolean;
}

/** The outcome of a program. */
interface Outcome {
  readonly program: Program;
  readonly status: "fulfilled" | "rejected" | "killed";
  readonly value?: unknown;
}

const KILLED = new Error("The program is killed");

/** The most answers that are lost; a request is repeated twice. */
const MOST_LOSSES = 2;

/** A seeded generator of numbers (mulberry32). */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Runs programs whose requests are answered one at a time in the order of `choose`, which
 * also kills programs, loses answers and makes requests fail.
 */
async function play(
  scene: Scene,
  choose: (count: number) => number,
): Promise<void> {
  const { programs, suffixes = TWO, limits = {}, kills = 1, cutsOff } = scene;
  const first = "first" in scene ? scene.first : 64;
  const bucket = new SimulatedBucket(limits);
  let isPlaying = false;
  const pending: {
    program: number;
    /** Carries out the request, and tells its answer unless that is lost. */
    answer(isLost: boolean): void;
    /** Ends the connection, which may cut off the request. */
    fail(error: Error): void;
  }[] = [];
  let losses = 0;
  const killed = new Set<number>();
  const open = (program: number) => {
    const store = new S3Store("s3://bucket", {
      endpoint: "https://example.org",
      retryDelay: 0,
      retries: 2,
      async fetch(request) {
        const body = await request.bytes();
        if (killed.has(program)) throw KILLED;
        if (!isPlaying) return bucket.answer(request, body);
        return await new Promise((resolve, reject) => {
          const fail = (error: Error) => {
            if (cutsOff) bucket.cutOff(request);
            reject(error);
          };
          const answer = (isLost: boolean) => {
            if (isLost && cutsOff && request.method === "POST") {
              return fail(new TypeError("The connection is lost"));
            }
            const response = bucket.answer(request, body);
            if (isLost) reject(new TypeError("The connection is lost"));
            else resolve(response);
          };
          pending.push({ program, answer, fail });
        });
      },
    });
    return new Chunk(store, suffixes);
  };
  if (first !== undefined) await open(-1).write(first);
  const chunks = programs.map((_, i) => open(i));
  // The conditions are known, so that they are no steps.
  for (const { store } of chunks) await new Chunk(store, TWO, "/x").write(1);
  isPlaying = true;
  const outcomes: Outcome[] = [];
  let left = programs.length;
  const ended = programs.map(async (program, i) => {
    const [{ status, ...rest }] = await Promise.allSettled([
      run(program, chunks[i]!),
    ]);
    if (killed.has(i)) return;
    const value = "value" in rest ? rest.value : rest.reason;
    outcomes.push({ program, status, value });
    left--;
  });
  for (let turns = 0; left > 0; turns++) {
    assert(turns < 5000, "The programs come to no end");
    await settle(() =>
      new Set(pending.map(({ program }) => program)).size === left
    );
    if (pending.length === 0) continue;
    const mortal = pending.filter(({ program }) =>
      killed.size < kills && !programs[program]!.startsWith("read")
    );
    const mayLose = losses < MOST_LOSSES ? 1 : 0;
    const choice = choose(
      pending.length + mayLose + (mortal.length > 0 ? 1 : 0),
    );
    if (choice < pending.length) {
      pending.splice(choice, 1)[0]!.answer(false);
      continue;
    }
    if (choice < pending.length + mayLose) {
      losses++;
      pending.splice(choose(pending.length), 1)[0]!.answer(true);
      continue;
    }
    const { program } = mortal[choose(mortal.length)]!;
    killed.add(program);
    for (let i = pending.length - 1; i >= 0; i--) {
      if (pending[i]!.program !== program) continue;
      pending.splice(i, 1)[0]!.fail(KILLED);
    }
    outcomes.push({ program: programs[program]!, status: "killed" });
    left--;
  }
  isPlaying = false;
  await Promise.all(ended);
  await judge(scene, first, outcomes, open(-2));
  // The answer with the name of an upload may be lost; then nobody can end it.
  const isCalm = losses === 0 && !limits.claimsSpoilt &&
    outcomes.every(({ status }) => status === "fulfilled");
  if (isCalm) assertEquals(bucket.uploads.size, 0);
}

/** Lets the programs go on until all wait for answers. */
async function settle(isReady: () => boolean): Promise<void> {
  for (let i = 0; i < 40 && !isReady(); i++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  // One more turn, since a program may send several requests at once.
  await new Promise((resolve) => setImmediate(resolve));
}

/** Checks the outcomes of programs, and the chunk that they leave. */
async function judge(
  { programs, cutsOff }: Scene,
  first: number | undefined,
  outcomes: readonly Outcome[],
  chunk: Chunk,
): Promise<void> {
  const isOnly = (kinds: RegExp) =>
    programs.every((program) => kinds.test(program));
  const count = (...statuses: Outcome["status"][]) =>
    outcomes.filter(({ program, status }) =>
      program.startsWith("count") && statuses.includes(status)
    ).length;
  for (const { status, value } of outcomes) {
    const isExpected = status !== "rejected" ||
      value instanceof UnfinishedWriteError ||
      value instanceof PendingWriteError || value instanceof Refusal ||
      cutsOff && /InvalidPart/.test(String(value));
    assert(isExpected, `${value}`);
  }
  await chunk.read().catch((error) => {
    if (error instanceof MixedError) throw error;
  });
  await recover(chunk.store);
  const after = await chunk.read();
  const mayBeGone = first === undefined || !isOnly(/^(?!delete)/);
  assert(after !== undefined || mayBeGone, "The chunk is lost");
  for (const { program, status } of outcomes) {
    const [kind, text] = program.split(" ");
    const bit = Number(text);
    // A whole write that comes later replaces what was added.
    const isAdded = kind === "add" && status === "fulfilled" &&
      isOnly(/^(read|recover|add)/);
    assert(!isAdded || (after ?? 0) & bit, "An update is lost");
  }
  if (isOnly(/^(read|recover|count)/)) {
    const counts = (after ?? 0) - (first ?? 0);
    const least = count("fulfilled");
    const most = least + count("killed");
    assert(counts >= least && counts <= most, `Counted ${counts} times`);
  }
  const writes = outcomes.filter(({ program }) =>
    /^(write|check)/.test(program)
  );
  if (isOnly(/^(read|recover|write|check)/)) {
    const hasWritten = writes.some(({ status }) => status === "fulfilled");
    assert(after !== first || !hasWritten, "A write is lost");
    const late = writes.find(({ program, status, value }) =>
      status === "rejected" && !(value instanceof PendingWriteError) &&
      program.endsWith(` ${after}`)
    );
    assert(!late, "A rejected write appears");
  }
  const isForeign = first === FOREIGN ||
    writes.some(({ program, status }) =>
      program === `write ${FOREIGN}` && status === "fulfilled"
    );
  assert(!isForeign || after === FOREIGN, "A check is in vain");
  await chunk.write(200);
  assertEquals(await chunk.read(), 200);
}

const KEEPS: Limits = { ignoresDeleteConditions: true };

const SCENES: readonly Scene[] = [
  { programs: ["write 1", "read 0"] },
  { programs: ["write 1", "read 0"], suffixes: THREE },
  { programs: ["write 1", "write 2", "read 0"] },
  { programs: ["write 1", "write 2", "read 0"], first: undefined },
  { programs: ["write 1", "write 2", "write 4"], kills: 2 },
  { programs: ["check 1", "read 0"] },
  { programs: ["check 1", "check 2", "read 0"], first: undefined },
  { programs: ["check 1", "write 2", "recover 0"], kills: 2 },
  { programs: ["check 1", "check 2", "recover 0"], first: FOREIGN },
  { programs: ["check 1", "write 99", "recover 0"], kills: 2 },
  { programs: ["check 1", "add 2"], suffixes: THREE },
  { programs: ["add 1", "add 2"] },
  { programs: ["add 1", "add 2", "add 4", "read 0"], kills: 0 },
  { programs: ["add 1", "recover 0", "read 0"], kills: 2 },
  { programs: ["write 1", "delete 0", "read 0"] },
  { programs: ["update 1", "delete 0", "read 0"] },
  { programs: ["delete 0", "delete 1", "write 1"], suffixes: THREE },
  { programs: ["write 1", "write 2", "read 0"], limits: KEEPS },
  { programs: ["add 1", "add 2"], limits: KEEPS },
  { programs: ["count 1", "count 2", "read 0"] },
  { programs: ["count 1", "count 2", "count 3"], suffixes: [""] },
  { programs: ["check 1", "check 2", "read 0"], suffixes: [""] },
  { programs: ["count 1", "count 2", "recover 0"], kills: 2, cutsOff: true },
  { programs: ["write 1", "read 0"], suffixes: THREE, cutsOff: true },
  {
    programs: ["write 1", "check 2", "recover 0", "read 0"],
    kills: 2,
    cutsOff: true,
  },
  {
    programs: ["write 1", "write 2", "recover 0", "read 0"],
    suffixes: THREE,
    limits: { claimsSpoilt: true },
    kills: 2,
    cutsOff: true,
  },
  { programs: ["add 1", "add 2", "recover 0"], kills: 2, cutsOff: true },
  {
    programs: ["update 1", "delete 0", "recover 0"],
    suffixes: THREE,
    kills: 2,
    cutsOff: true,
  },
];

/** Plays each scene in the orders of some seeds. */
export function testScenes(first: number, last: number): void {
  for (const scene of SCENES) {
    const name = JSON.stringify(scene);
    Deno.test(`S3Store never mixes two writes: ${name}, in the orders ${first} to ${last}`, async () => {
      using _timers = shortTimers();
      for (let seed = first; seed <= last; seed++) {
        const next = random(seed);
        // Mostly one program goes on, so that others are interrupted at few places.
        const choose = (count: number) =>
          next() < 0.5 ? 0 : Math.floor(next() * count);
        try {
          await play(scene, choose);
        } catch (error) {
          (error as Error).message += `\nwith seed ${seed}`;
          throw error;
        }
      }
    });
  }
}
