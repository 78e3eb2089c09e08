/** Readers of several values over HTTP, beside writers that replace them. */
import { assert, assertEquals } from "@std/assert";
import {
  type GroupValues,
  type HttpStore,
  type StoreKey,
  UnfinishedWriteError,
} from "../../mod.ts";
import {
  everySchedule,
  type HeadersOf,
  httpDate,
  type Scene,
  ServedValues,
  someSchedules,
} from "./http_schedule.ts";

const KEY = "/c/0";
const TWO: StoreKey[] = ["/c/0", "/c/0.index"];
const THREE: StoreKey[] = ["/c/0", "/c/0.header", "/c/0.index"];

/** Servers that tell enough for readers never to see values of two writes. */
const SERVERS: Record<string, HeadersOf> = {
  "as nginx": ({ modified }, now) => ({
    "Date": httpDate(now),
    "Last-Modified": httpDate(modified),
    "ETag": `"${Math.floor(modified / 1000).toString(16)}-8"`,
  }),
  "without ETag": ({ modified }, now) => ({
    "Date": httpDate(now),
    "Last-Modified": httpDate(modified),
  }),
  "with weak ETags": ({ modified }, now) => ({
    "Date": httpDate(now),
    "Last-Modified": httpDate(modified),
    "ETag": `W/"${modified.toString(16)}-8"`,
  }),
  "with ETags alone": ({ write }) => ({ "ETag": `"${write}"` }),
  "with ETags and Date": ({ write }, now) => ({
    "Date": httpDate(now),
    "ETag": `"${write}"`,
  }),
};

/** An object store, whose values carry generations, and equal ETags for equal bytes. */
const TAGGED: HeadersOf = ({ write, modified }, now) => ({
  "Date": httpDate(now),
  "Last-Modified": httpDate(modified),
  "ETag": `"same"`,
  "x-amz-meta-zarr-parts-generation": `generation ${write}`,
});

class Incomplete extends Error {}

/** The writes of the values that are read, or an error if only some are present. */
function writesOf(values: (Uint8Array | undefined)[]): number[] {
  if (values.every((bytes) => bytes === undefined)) return [];
  return values.map((bytes) => {
    if (bytes === undefined) throw new Incomplete();
    return bytes[0]!;
  });
}

async function bytesOf(
  stream: ReadableStream<Uint8Array> | undefined,
): Promise<Uint8Array | undefined> {
  return stream && new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads an index and keeps it, then ranges of the data that it belongs to. */
function readByIndex(index: StoreKey, data: StoreKey, keys: StoreKey[]) {
  return async (store: HttpStore): Promise<number[]> => {
    for (let tries = 0; tries < 4; tries++) {
      const read = await store.group(KEY, keys).read(async (values) => ({
        bytes: await values.get(index),
        version: values.version(data)!,
      }));
      if (read.bytes === undefined) return [];
      const writes = [read.bytes[0]!];
      for (const offset of [0, 4]) {
        const range = { offset, length: 2 };
        const bytes = await store.getRangeOf(read.version, data, range);
        if (bytes === undefined) break;
        assertEquals(bytes.length, 2);
        writes.push(bytes[0]!);
      }
      if (writes.length === 3) return writes;
    }
    throw new UnfinishedWriteError(KEY);
  };
}

const whole = (keys: StoreKey[], read = keys) => (store: HttpStore) =>
  store.group(KEY, keys).read(async (values) =>
    writesOf(await Promise.all(read.map((key) => values.get(key))))
  );

interface Reader {
  readonly keys: StoreKey[];
  readonly read: (store: HttpStore) => Promise<number[]>;
  /** Whether the requests are those of another reader, so that few cases do. */
  readonly isBrief?: true;
}

const READERS: Record<string, Reader> = {
  "whole values": { keys: TWO, read: whole(TWO) },
  "one after the other": {
    isBrief: true,
    keys: TWO,
    read: (store) =>
      store.group(KEY, TWO).read(async (values) =>
        writesOf([await values.get(TWO[0]!), await values.get(TWO[1]!)])
      ),
  },
  "streams": {
    isBrief: true,
    keys: TWO,
    read: async (store) => {
      const open = (values: GroupValues) =>
        Promise.all(TWO.map((key) => values.stream(key)));
      const streams = await store.group(KEY, TWO).read(open);
      return writesOf(await Promise.all(streams.map(bytesOf)));
    },
  },
  "a range of each": {
    isBrief: true,
    keys: TWO,
    read: (store) =>
      store.group(KEY, TWO).read(async (values) =>
        writesOf(
          await Promise.all(
            TWO.map((key) => values.getRange(key, { offset: 2, length: 3 })),
          ),
        )
      ),
  },
  "ranges by an index": {
    keys: TWO,
    read: readByIndex(TWO[1]!, TWO[0]!, TWO),
  },
  "three": { keys: THREE, read: whole(THREE) },
  "ranges of three by an index": {
    keys: THREE,
    read: readByIndex(THREE[1]!, THREE[0]!, THREE),
  },
  "all but the last of three": {
    keys: THREE,
    read: whole(THREE, THREE.slice(0, 2)),
  },
};

const SECOND = 1000;
const START = Date.UTC(2026, 2, 1, 12, 0, 0);

/** A writer that replaces values: in the order of the protocol, the last one first removed. */
function overwrite(server: ServedValues, keys: StoreKey[]): (() => void)[] {
  return [
    () => server.values.delete(keys.at(-1)!),
    ...keys.map((key) => () => server.store(key, 2)),
  ];
}

/** How the values were written before, and how the clock moves. */
interface Times {
  /** The age of the earlier values when the reader starts, in milliseconds. */
  readonly age: number;
  /** The time that a step of the writer takes. */
  readonly step: number;
}

const TIMES: readonly Times[] = [
  { age: 0, step: 0 },
  { age: 500, step: 100 },
  { age: 1500, step: 1 },
  { age: 2000, step: 0 },
  { age: 2999, step: 700 },
  { age: 3000, step: 0 },
  { age: 60 * SECOND, step: 0 },
  { age: 60 * SECOND, step: 4 * SECOND },
];

function scene(
  keys: StoreKey[],
  { age, step }: Times,
  headersOf: HeadersOf,
  writer: typeof overwrite,
  isCreated = true,
): Scene {
  const server = new ServedValues(START - age);
  if (isCreated) { for (const key of keys) server.store(key, 1); }
  server.now = START;
  const steps = writer(server, keys).map((change) => () => {
    server.now += step;
    change();
  });
  return { server, steps, headersOf };
}

/** Checks that the values are of one write, or that an error says so. */
function assertOneWrite(
  outcome: PromiseSettledResult<number[]>,
  given: string,
): void {
  if (outcome.status === "rejected") {
    const { reason } = outcome;
    assert(
      reason instanceof UnfinishedWriteError || reason instanceof Incomplete,
      `${given}: ${reason}`,
    );
    return;
  }
  assert(
    new Set(outcome.value).size <= 1,
    `${given}: writes ${outcome.value}`,
  );
}

const WRITERS: Record<
  string,
  { isCreated: boolean; steps: typeof overwrite; sample?: number }
> = {
  overwrites: { isCreated: true, steps: overwrite },
  creates: { isCreated: false, steps: overwrite },
  deletes: {
    isCreated: true,
    steps: (server, keys) =>
      keys.toReversed().map((key) => () => server.values.delete(key)),
  },
  "is killed before the last step": {
    isCreated: true,
    steps: (server, keys) => overwrite(server, keys).slice(0, -1),
  },
  "overwrites twice": {
    isCreated: true,
    sample: 1000,
    steps: (server, keys) => [
      ...overwrite(server, keys),
      () => server.values.delete(keys.at(-1)!),
      ...keys.map((key) => () => server.store(key, 3)),
    ],
  },
  "deletes and creates": {
    isCreated: true,
    steps: (server, keys) => [
      ...keys.toReversed().map((key) => () => server.values.delete(key)),
      ...keys.map((key) => () => server.store(key, 2)),
    ],
  },
};

/** Every server and time with a writer that overwrites, and two of each with the other writers. */
function* combinations(): Generator<
  { server: string; writer: string; times: Times }
> {
  for (const [i, server] of Object.keys(SERVERS).entries()) {
    for (const [j, writer] of Object.keys(WRITERS).entries()) {
      for (const [k, times] of TIMES.entries()) {
        if (j === 0 || i === 0 && (j + k) % 4 === 0) {
          yield { server, writer, times };
        }
      }
    }
  }
}

/** A writer of an object store, which replaces values in place. */
const replacing: typeof overwrite = (server, keys) =>
  keys.map((key) => () => server.store(key, 2));

/**
 * Tests readers beside writers, in any order of steps and answers.
 *
 * @param most The most orders of each case; by default all of them where they are few.
 */
export function testInterleavings(most = Infinity): void {
  for (const [name, { keys, read, isBrief }] of Object.entries(READERS)) {
    Deno.test(
      `HttpStore.group never mixes two writes: ${name}, in ${
        most === Infinity ? "any order" : "some orders"
      } of steps and answers`,
      async () => {
        let runs = 0;
        let successes = 0;
        for (const given of combinations()) {
          if (isBrief && given.server !== "as nginx") continue;
          const { isCreated, steps } = WRITERS[given.writer]!;
          const headersOf = SERVERS[given.server]!;
          // All orders are too many with three values, or two writes.
          const sample = keys === THREE ? 60 : WRITERS[given.writer]!.sample;
          const count = Math.min(sample ?? Infinity, most);
          const run: typeof everySchedule = count === Infinity
            ? everySchedule
            : (...args) => someSchedules(count, ...args);
          runs += await run(
            () => scene(keys, given.times, headersOf, steps, isCreated),
            read,
            (outcome) => {
              assertOneWrite(outcome, JSON.stringify(given));
              successes += Number(outcome.status === "fulfilled");
            },
          );
        }
        assert(runs > 150 && successes > runs / 5, `${successes} of ${runs}`);
      },
    );
  }
}

/** Tests readers beside a writer of an object store, in any order of steps and answers. */
export function testReplacedValues(): void {
  Deno.test("HttpStore.group never mixes two writes: values with generations that are replaced in place", async () => {
    for (
      const { keys, read } of [
        READERS["whole values"]!,
        READERS["ranges by an index"]!,
      ]
    ) {
      for (const times of TIMES) {
        for (const kept of [1, 2]) {
          // A writer that is killed leaves values of two generations.
          const steps: typeof overwrite = (...args) =>
            replacing(...args).slice(0, kept);
          const outcomes = new Set<string>();
          await everySchedule(
            () => scene(keys, times, TAGGED, steps),
            read,
            (outcome) => {
              assertOneWrite(outcome, JSON.stringify({ ...times, kept }));
              outcomes.add(
                String(
                  outcome.status === "fulfilled"
                    ? outcome.value
                    : outcome.reason.name,
                ).slice(0, 3),
              );
            },
          );
          assertEquals(
            [...outcomes].sort(),
            kept === 1 ? ["1,1", "Unf"] : ["1,1", "2,2", "Unf"],
          );
        }
      }
    }
  });
}
