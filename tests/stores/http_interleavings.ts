/** Readers of several values over HTTP, beside writers that replace them. */
import { assert, assertEquals } from "@std/assert";
import {
  HttpStore,
  type Snapshot,
  type StoreKey,
  UnfinishedWriteError,
} from "../../mod.ts";
import { URL_ } from "./http_stub.ts";

const KEY = "/c/0";
const TWO: StoreKey[] = ["/c/0", "/c/0.index"];
const THREE: StoreKey[] = ["/c/0", "/c/0.header", "/c/0.index"];

/** A value on a server: the write that it belongs to, and the server's time at which it was stored. */
interface ServedValue {
  readonly write: number;
  readonly modified: number;
}

/** Values on a server that a writer changes step by step. */
class Server {
  readonly values = new Map<string, ServedValue>();
  /** The server's clock in milliseconds. */
  now = START;
  readonly #headersOf: HeadersOf;

  constructor(headersOf: HeadersOf) {
    this.#headersOf = headersOf;
  }

  store(key: string, write: number, modified = this.now): void {
    this.values.set(key, { write, modified });
  }

  /** Answers a request. The bytes of a value are its write's number, eight times. */
  answer({ method, url, headers: requested }: Request): Response {
    const value = this.values.get(url.slice(URL_.length));
    if (value === undefined) return new Response(null, { status: 404 });
    const headers = this.#headersOf(value, this.now);
    if (method === "HEAD") {
      headers["Content-Length"] = "8";
      return new Response(null, { headers });
    }
    const bytes = new Uint8Array(8).fill(value.write);
    const range = /^bytes=(\d+)-(\d+)$/.exec(requested.get("range") ?? "");
    if (range === null) return new Response(bytes, { headers });
    const [start, end] = [Number(range[1]), Number(range[2]) + 1];
    headers["Content-Range"] = `bytes ${start}-${end - 1}/8`;
    return new Response(bytes.subarray(start, end), { status: 206, headers });
  }
}

const START = Date.UTC(2026, 2, 1, 12, 0, 0);

/** Makes the headers that a kind of server sends for a value. */
type HeadersOf = (value: ServedValue, now: number) => Record<string, string>;

const dateOf = (milliseconds: number) => new Date(milliseconds).toUTCString();
const secondsOf = (milliseconds: number) => Math.floor(milliseconds / 1000);

const SERVERS: Record<string, HeadersOf> = {
  "as nginx": ({ modified }, now) => ({
    "Date": dateOf(now),
    "Last-Modified": dateOf(modified),
    "ETag": `"${secondsOf(modified).toString(16)}-8"`,
  }),
  "with Last-Modified alone": ({ modified }) => ({
    "Last-Modified": dateOf(modified),
  }),
  "with ETags alone": ({ write }) => ({ "ETag": `W/"${write}"` }),
  "with generations": ({ write, modified }, now) => ({
    "Date": dateOf(now),
    "Last-Modified": dateOf(modified),
    "ETag": `"same"`,
    "x-amz-meta-zarr-parts-generation": `generation ${write}`,
  }),
};

/** Servers whose headers tell apart two writes within one second, or that they may be two. */
const EXACT = ["as nginx", "with ETags alone", "with generations"];

/** How old the values are when the reader starts, and how long a step of the writer takes, in milliseconds. */
const TIMES = [
  { age: 0, step: 100 },
  { age: 1500, step: 0 },
  { age: 60_000, step: 0 },
  { age: 60_000, step: 4000 },
];

/** Makes the steps of a writer. */
type Writer = (server: Server, keys: StoreKey[]) => (() => unknown)[];

/** A writer in the order of the protocol: the sequence part first removed, and stored last. */
const overwrite = (server: Server, keys: StoreKey[], write = 2) => [
  () => server.values.delete(keys.at(-1)!),
  ...keys.map((key) => () => server.store(key, write)),
];
const remove: Writer = (server, keys) =>
  keys.toReversed().map((key) => () => server.values.delete(key));

/** The steps of writers, and whether the values are there before. */
const WRITERS: Record<string, [Writer, isCreated: boolean]> = {
  overwrites: [overwrite, true],
  creates: [overwrite, false],
  deletes: [remove, true],
  "is killed before the last step": [
    (server, keys) => overwrite(server, keys).slice(0, -1),
    true,
  ],
  "deletes and creates": [
    (server, keys) => [...remove(server, keys), ...overwrite(server, keys)],
    true,
  ],
  "overwrites twice": [
    (
      server,
      keys,
    ) => [...overwrite(server, keys), ...overwrite(server, keys, 3)],
    true,
  ],
  // Only generations tell that a chunk is mixed whose sequence part was replaced in place.
  "replaces in place": [
    (server, keys) => keys.map((key) => () => server.store(key, 2)),
    true,
  ],
};

class Incomplete extends Error {}

/** The writes of the values that are read, or an error if only some are present. */
function writesOf(values: (Uint8Array | undefined)[]): number[] {
  if (values.every((bytes) => bytes === undefined)) return [];
  return values.map((bytes) => {
    if (bytes === undefined) throw new Incomplete();
    return bytes[0]!;
  });
}

/** Reads some of the values in one snapshot. */
const together = (
  keys: StoreKey[],
  read: (
    values: Snapshot,
    key: StoreKey,
  ) => Promise<Uint8Array | undefined>,
  wanted = keys,
) =>
(store: HttpStore) =>
  store.read(
    keys,
    async (values) =>
      writesOf(await Promise.all(wanted.map((key) => read(values, key)))),
  );

const whole = (values: Snapshot, key: StoreKey) => values.read(key);

/** Reads an index and keeps it, then ranges of the data that it belongs to. */
const byIndex =
  (keys: StoreKey[], index: StoreKey, readsData: boolean) =>
  async (store: HttpStore): Promise<number[]> => {
    const range = { offset: 1, length: 2 };
    for (let tries = 0; tries < 4; tries++) {
      const { read, version } = await store.read(keys, async (values) => ({
        read: [
          await values.read(index),
          ...readsData ? [await values.read(KEY, range)] : [],
        ],
        version: values.version(KEY),
      }));
      const writes = writesOf(read);
      if (writes.length === 0 || version === undefined) return writes;
      for (const offset of [0, 4]) {
        const range = { offset, length: 2 };
        const bytes = await store.readOf(version, KEY, range);
        if (bytes) writes.push(bytes[0]!);
      }
      if (writes.length === read.length + 2) return writes;
    }
    throw new UnfinishedWriteError(KEY);
  };

/** Readers of two or three values; the first one alone beside all servers and writers. */
const READERS: Record<string, (store: HttpStore) => Promise<number[]>> = {
  "whole values": together(TWO, whole),
  "one after the other": (store) =>
    store.read(
      TWO,
      async (values) =>
        writesOf([await values.read(TWO[0]!), await values.read(TWO[1]!)]),
    ),
  "streams": together(TWO, async (values, key) => {
    const stream = await values.stream(key, { offset: 1, length: 4 });
    return stream && new Uint8Array(await new Response(stream).arrayBuffer());
  }),
  "ranges by an index": byIndex(TWO, TWO[1]!, false),
  "ranges by an index, and of the data": byIndex(TWO, TWO[1]!, true),
  "three": together(THREE, whole),
  "ranges of three by an index": byIndex(THREE, THREE[1]!, false),
  "all but the last of three": together(THREE, whole, THREE.slice(0, 2)),
};

/**
 * Tests that readers beside writers get values of one write or an error.
 *
 * @param most The most orders of steps and answers in each case. They are random, and the
 * same each time, where a case has more.
 */
export function testInterleavings(most: number): void {
  for (const [server, headersOf] of Object.entries(SERVERS)) {
    Deno.test(`HttpStore.read never mixes two writes of a server ${server}, in ${most} orders of steps and answers`, async () => {
      let runs = 0;
      let successes = 0;
      for (const [writer, [steps, isCreated]] of Object.entries(WRITERS)) {
        for (const [reader, read] of Object.entries(READERS)) {
          for (const { age, step } of TIMES) {
            const isExact = EXACT.includes(server) || step > 1000;
            const isTwice = age === 0 || writer === "overwrites twice";
            if (isTwice && !isExact) continue;
            const isTagged = server === "with generations";
            if (writer === "replaces in place" && !isTagged) continue;
            const keys = reader.includes("three") ? THREE : TWO;
            for (const choose of orders(most)) {
              const served = new Server(headersOf);
              if (isCreated) {
                for (const key of keys) served.store(key, 1, START - age);
              }
              const changes = steps(served, keys).map((change) => () => {
                served.now += step;
                change();
              });
              const outcome = await run(served, changes, read, choose);
              const given = JSON.stringify({ writer, reader, age, step });
              successes += assertOneWrite(outcome, given);
              runs++;
            }
          }
        }
      }
      assert(runs > 150 && successes > runs / 5, `${successes} of ${runs}`);
    });
  }
}

/** Returns 1 if values of one write were read, and 0 if an error says why not. */
function assertOneWrite(
  outcome: PromiseSettledResult<number[]>,
  given: string,
): number {
  if (outcome.status === "rejected") {
    const { reason } = outcome;
    const isExpected = reason instanceof UnfinishedWriteError ||
      reason instanceof Incomplete;
    assert(isExpected, `${given}: ${reason}`);
    return 0;
  }
  assertEquals([...new Set(outcome.value)].slice(1), [], given);
  return 1;
}

type Choose = (count: number) => number;

/** Every way to choose, one after the other, or else so many random ways. */
function* orders(most: number): Generator<Choose> {
  const choices: number[] = [];
  for (let count = 0; count < most; count++) {
    const options: number[] = [];
    yield (count) => choices[options.push(count) - 1] ??= 0;
    choices.length = options.length;
    while (choices.length > 0 && choices.at(-1)! + 1 === options.at(-1)) {
      choices.pop();
      options.pop();
    }
    if (choices.length === 0) return;
    choices.push(choices.pop()! + 1);
  }
  let state = 1;
  for (let count = 0; count < most; count++) {
    yield (options) => {
      state = (state * 48271) % 2147483647; // Lehmer's generator.
      return state % options;
    };
  }
}

/** The shortest time of timers that are time-outs of requests, in milliseconds. */
const TIMEOUT = 10_000;

/** Runs a reader beside a writer, in an order that is chosen. Timers fire soon, and move the clock on. */
async function run<T>(
  server: Server,
  steps: readonly (() => void)[],
  read: (store: HttpStore) => Promise<T>,
  choose: Choose,
): Promise<PromiseSettledResult<T>> {
  const pending: (() => void)[] = [];
  const store = new HttpStore(URL_, {
    fetch: (request) =>
      new Promise((resolve) =>
        pending.push(() => resolve(server.answer(request)))
      ),
  });
  const { setTimeout, clearTimeout } = globalThis;
  const soon = (fire: () => void, milliseconds = 0) => {
    if (milliseconds >= TIMEOUT) return 0;
    (async () => {
      for (let i = 0; i < 20; i++) await Promise.resolve();
      server.now += milliseconds;
      fire();
    })();
    return 0;
  };
  Object.assign(globalThis, { setTimeout: soon, clearTimeout: () => {} });
  try {
    let outcome: PromiseSettledResult<T> | undefined;
    Promise.allSettled([read(store)]).then(([settled]) => outcome = settled);
    const left = [...steps];
    while (outcome === undefined) {
      for (let i = 0; i < 200 && outcome === undefined; i++) {
        await Promise.resolve();
        if (pending.length > 0 && i > 60) break;
      }
      if (outcome !== undefined || pending.length === 0) continue;
      const choice = choose(pending.length + Math.sign(left.length));
      if (choice < pending.length) pending.splice(choice, 1)[0]!();
      else left.shift()!();
    }
    return outcome;
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }
}
