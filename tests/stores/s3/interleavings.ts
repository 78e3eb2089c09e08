/** Programs that use a simulated bucket, whose requests are answered in many orders. */
import { assert, assertEquals } from "@std/assert";
import { setImmediate } from "node:timers";
import {
  ConcatParts,
  type ConcatParts as Parts,
  recover,
  type Store,
  UnfinishedWriteError,
} from "../../../mod.ts";
import { S3Store } from "../../../s3.ts";
import { exclusively } from "../../../src/stores/locks.ts";
import {
  type Limits,
  shortTimers,
  SimulatedBucket,
} from "./simulated_bucket.ts";

const KEY = "/c/0";
const TWO = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".i", size: 3 }]);
const THREE = new ConcatParts([
  { keySuffix: ".h", size: 2 },
  { keySuffix: "" },
  { keySuffix: ".i", size: 3 },
]);

const LARGE_PARTS = new ConcatParts([
  { keySuffix: "" },
  { keySuffix: ".h", size: 2 ** 19 - 2 },
  { keySuffix: ".i", size: 3 },
]);

/** A program beside others. */
interface Program {
  readonly name: string;
  run(store: Store, below: S3Store): Promise<unknown>;
  /** Whether it may be killed in between two requests. */
  readonly mayDie?: boolean;
}

/** The outcome of a program. */
interface Outcome {
  readonly name: string;
  readonly status: "fulfilled" | "rejected" | "killed";
  readonly value?: unknown;
}

const chunkOf = (write: number, length = 9) =>
  new Uint8Array(length).fill(write);

const writer = (write: number, mayDie = true): Program => ({
  name: `write ${write}`,
  mayDie,
  run: (store) => store.set!(KEY, chunkOf(write)),
});
const largeWriter = (write: number): Program => ({
  name: `write ${write}`,
  mayDie: true,
  run: (store) => store.set!(KEY, chunkOf(write, 2 ** 19 + 9)),
});
const reader: Program = {
  name: "read",
  run: (store) => store.get(KEY),
};
const remover: Program = {
  name: "delete",
  mayDie: true,
  run: (store) => store.delete!(KEY),
};
const recoverer: Program = {
  name: "recover",
  mayDie: true,
  run: (_, below) => recover(below),
};
/** Adds a number to a chunk, which the others must not lose. */
const adder = (bit: number): Program => ({
  name: `add ${bit}`,
  mayDie: true,
  run: (store) =>
    exclusively(store, KEY, async (locked) => {
      const chunk = (await locked.get(KEY))!;
      await locked.set!(KEY, chunk.map((byte) => byte | bit));
    }),
});

/** Counts in a chunk of several objects or of one. No count may be lost, or be made twice. */
const counter = (number: number, isOfOne = false): Program => ({
  name: `count ${number}`,
  mayDie: true,
  run: (store, below) =>
    exclusively(isOfOne ? below : store, KEY, async (locked) => {
      const chunk = (await locked.get(KEY))!;
      await locked.set!(KEY, chunk.map((byte) => byte + 1));
    }),
});

/** Changes a chunk unless it is absent. */
const updater: Program = {
  name: "update",
  mayDie: true,
  run: (store) =>
    exclusively(store, KEY, async (locked) => {
      const chunk = await locked.get(KEY);
      if (chunk) await locked.set!(KEY, chunk.map((byte) => byte | 1));
    }),
};

/** A seeded generator of numbers (mulberry32). */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The most answers that are lost; a request is repeated twice. */
const MOST_LOSSES = 2;

interface Scene {
  readonly parts: Parts;
  readonly programs: readonly Program[];
  readonly limits?: Limits;
  /** The chunk at the start; absent if `undefined`. */
  readonly first?: Uint8Array;
  /** The most programs that are killed. */
  readonly kills: number;
  /** Whether completions are cut off if their program is killed or their connection lost, as in MinIO. */
  readonly cutsOff?: boolean;
}

/** Chooses the next step out of so many. */
type Choose = (count: number) => number;

/**
 * Runs programs whose requests are answered one at a time in the order of `choose`, which
 * also kills programs, loses answers and makes requests fail.
 */
async function play(
  scene: Scene,
  choose: Choose,
): Promise<void> {
  const { parts, programs, limits = {}, first, kills, cutsOff } = scene;
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
    const below = new S3Store("s3://bucket", {
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
    return { store: parts.apply(below), below };
  };
  const setUp = open(-1);
  if (first) await setUp.store.set(KEY, first);
  const opened = programs.map((_, i) => open(i));
  // The conditions are known, so that they are no steps.
  for (const { store } of opened) {
    await store.set!("/x", chunkOf(1, first?.length));
  }
  isPlaying = true;
  const outcomes: Outcome[] = [];
  const ended: Promise<void>[] = [];
  let left = programs.length;
  programs.forEach(({ name, run }, i) => {
    const end = (outcome: Pick<Outcome, "status" | "value">) => {
      if (killed.has(i)) return;
      outcomes.push({ name, ...outcome });
      left--;
    };
    ended.push(
      run(opened[i]!.store, opened[i]!.below).then(
        (value) => end({ status: "fulfilled", value }),
        (value) => end({ status: "rejected", value }),
      ),
    );
  });
  for (let turns = 0; left > 0; turns++) {
    assert(turns < 5000, "The programs come to no end");
    await settle(() =>
      new Set(pending.map(({ program }) => program)).size === left
    );
    if (pending.length === 0) continue;
    const mortal = pending.filter(({ program }) =>
      killed.size < kills && programs[program]!.mayDie
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
    outcomes.push({ name: programs[program]!.name, status: "killed" });
    left--;
  }
  isPlaying = false;
  await Promise.all(ended);
  await judge(scene, {
    bucket,
    outcomes,
    reader: open(-2),
    losses,
  });
}

const KILLED = new Error("The program is killed");

/** Lets the programs go on until all wait for answers. */
async function settle(isReady: () => boolean): Promise<void> {
  for (let i = 0; i < 40 && !isReady(); i++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  // One more turn, since a program may send several requests at once.
  await new Promise((resolve) => setImmediate(resolve));
}

async function judge(
  { programs, first, cutsOff, limits }: Scene,
  { bucket, outcomes, reader, losses }: {
    bucket: SimulatedBucket;
    losses: number;
    outcomes: readonly Outcome[];
    reader: { store: Store; below: S3Store };
  },
): Promise<void> {
  const describe = () =>
    outcomes.map(({ name, status, value }) => `${name}: ${status} ${value}`)
      .join("\n");
  const assertOneWrite = (chunk: Uint8Array | undefined) => {
    if (chunk) {
      assertEquals(chunk, chunkOf(chunk[0]!, chunk.length), describe());
    }
  };
  for (const { status, value } of outcomes) {
    if (status === "rejected") {
      const isExpected = value instanceof UnfinishedWriteError ||
        cutsOff && /InvalidPart|given up the write/.test(String(value));
      assert(isExpected, describe());
    } else if (value instanceof Uint8Array) assertOneWrite(value);
  }
  const before = await reader.store.get(KEY).catch((error) => error);
  if (!(before instanceof UnfinishedWriteError)) assertOneWrite(before);
  await recover(reader.below);
  const after = await reader.store.get(KEY);
  assertOneWrite(after);
  assert(
    after !== undefined || !first ||
      programs.some(({ name }) => name === "delete"),
    `The chunk is lost\n${describe()}`,
  );
  for (const { name, status } of outcomes) {
    if (status !== "fulfilled" || !name.startsWith("add ")) continue;
    const bit = Number(name.slice(4));
    const isKept = after !== undefined && (after[0]! & bit) === bit;
    assert(isKept, `An update is lost: ${after}\n${describe()}`);
  }
  const named = (beginning: string, ...statuses: Outcome["status"][]) =>
    outcomes.filter(({ name, status }) =>
      name.startsWith(beginning) && statuses.includes(status)
    );
  if (programs.every(({ name }) => /^(read|recover|count)/.test(name))) {
    const counts = (after?.[0] ?? 0) - (first?.[0] ?? 0);
    const least = named("count", "fulfilled").length;
    const most = least + named("count", "killed").length;
    assert(counts >= least && counts <= most, `${counts}\n${describe()}`);
  }
  if (programs.every(({ name }) => /^(read|recover|write)/.test(name))) {
    const isKept = after?.[0] === first?.[0];
    const hasWritten = named("write", "fulfilled").length > 0;
    assert(!isKept || !hasWritten, `A write is lost\n${describe()}`);
    const rejected = named("write", "rejected").map(({ name }) => name);
    const isLate = rejected.includes(`write ${after?.[0]}`);
    assert(!isLate, `A rejected write appears\n${describe()}`);
  }
  // The answer with the name of an upload may be lost; then nobody can end it.
  if (
    losses === 0 && !limits?.claimsSpoilt &&
    outcomes.every(({ status }) => status === "fulfilled")
  ) {
    assertEquals(bucket.uploads.size, 0, describe());
  }
  const last = chunkOf(200, first?.length);
  await reader.store.set!(KEY, last);
  assertEquals(await reader.store.get(KEY), last, describe());
}

const OLD = chunkOf(64);
const KEEPS: Limits = { ignoresDeleteConditions: true };
const SCENES: Record<string, Scene> = {
  "a writer and a reader": {
    parts: TWO,
    programs: [writer(1), reader],
    first: OLD,
    kills: 1,
  },
  "a writer and a reader of three objects": {
    parts: THREE,
    programs: [writer(1), reader],
    first: OLD,
    kills: 1,
  },
  "two writers and a reader": {
    parts: TWO,
    programs: [writer(1), writer(2), reader],
    first: OLD,
    kills: 1,
  },
  "the creation by two writers": {
    parts: TWO,
    programs: [writer(1), writer(2), reader],
    kills: 1,
  },
  "three writers": {
    parts: TWO,
    programs: [writer(1), writer(2), writer(4)],
    first: OLD,
    kills: 2,
  },
  "two updates": {
    parts: TWO,
    programs: [adder(1), adder(2)],
    first: OLD,
    kills: 1,
  },
  "three updates and a reader": {
    parts: TWO,
    programs: [adder(1), adder(2), adder(4), reader],
    first: OLD,
    kills: 0,
  },
  "an update, a recovery and a reader": {
    parts: TWO,
    programs: [adder(1), recoverer, reader],
    first: OLD,
    kills: 2,
  },
  "a writer, a deletion and a reader": {
    parts: TWO,
    programs: [writer(1), remover, reader],
    first: OLD,
    kills: 1,
  },
  "an update, a deletion and a reader": {
    parts: TWO,
    programs: [updater, remover, reader],
    first: OLD,
    kills: 1,
  },
  "two deletions and a writer": {
    parts: THREE,
    programs: [remover, remover, writer(1)],
    first: OLD,
    kills: 1,
  },
  "two writers in a service without conditional DELETE": {
    parts: TWO,
    programs: [writer(1), writer(2), reader],
    limits: KEEPS,
    first: OLD,
    kills: 1,
  },
  "two updates in a service without conditional DELETE": {
    parts: TWO,
    programs: [adder(1), adder(2)],
    limits: KEEPS,
    first: OLD,
    kills: 1,
  },
  "two counters": {
    parts: TWO,
    programs: [counter(1), counter(2), reader],
    first: OLD,
    kills: 1,
  },
  "three counters of one object": {
    parts: new ConcatParts([{ keySuffix: "" }]),
    programs: [counter(1, true), counter(2, true), counter(3, true)],
    first: OLD,
    kills: 1,
  },
  "two counters and a recovery where completions are cut off": {
    parts: TWO,
    programs: [counter(1), counter(2), recoverer],
    first: OLD,
    kills: 2,
    cutsOff: true,
  },
  "a writer and a reader where completions are cut off": {
    parts: THREE,
    programs: [writer(1), reader],
    first: OLD,
    kills: 1,
    cutsOff: true,
  },
  "two writers, a recovery and a reader where completions are cut off": {
    parts: TWO,
    programs: [writer(1), writer(2), recoverer, reader],
    first: OLD,
    kills: 2,
    cutsOff: true,
  },
  "two writers, a recovery and a reader where completions that are cut off seem to succeed":
    {
      parts: THREE,
      programs: [writer(1), writer(2), recoverer, reader],
      limits: { claimsSpoilt: true },
      first: OLD,
      kills: 2,
      cutsOff: true,
    },
  "two updates and a recovery where completions are cut off": {
    parts: TWO,
    programs: [adder(1), adder(2), recoverer],
    first: OLD,
    kills: 2,
    cutsOff: true,
  },
  "an update, a deletion and a recovery where completions are cut off": {
    parts: THREE,
    programs: [updater, remover, recoverer],
    first: OLD,
    kills: 2,
    cutsOff: true,
  },
  "two writers of objects that do not fit into a journal, where completions are cut off":
    {
      parts: LARGE_PARTS,
      programs: [largeWriter(1), largeWriter(2), recoverer],
      first: chunkOf(64, 2 ** 19 + 9),
      kills: 2,
      cutsOff: true,
    },
};

/** Plays each scene in the orders of some seeds: few of a scene of large objects. */
export function testScenes(first: number, last: number): void {
  for (const [name, scene] of Object.entries(SCENES)) {
    Deno.test(`S3Store.group never mixes two writes: ${name}, in the orders ${first} to ${last}`, async () => {
      using _timers = shortTimers();
      const step = scene.parts === LARGE_PARTS ? 10 : 1;
      for (let seed = first; seed <= last; seed += step) {
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
