import { HttpStore } from "../../mod.ts";
import { URL_ } from "./http_stub.ts";

/** A value on a server: the write that it belongs to, and the server's time at which it was stored. */
export interface ServedValue {
  readonly write: number;
  readonly modified: number;
}

/** Values on a server that a writer changes step by step. */
export class ServedValues {
  readonly values = new Map<string, ServedValue>();
  /** The server's clock in milliseconds. */
  now: number;

  constructor(now: number) {
    this.now = now;
  }

  store(key: string, write: number): void {
    this.values.set(key, { write, modified: this.now });
  }
}

/** Makes the headers that a kind of server sends for a value. */
export type HeadersOf = (
  value: ServedValue,
  now: number,
) => Record<string, string>;

/** One run of a reader beside a writer. */
export interface Scene {
  readonly server: ServedValues;
  /** The steps of the writer, in order. */
  readonly steps: readonly (() => void)[];
  readonly headersOf: HeadersOf;
  /** Answers a request otherwise than with the value, or changes the response. */
  readonly respond?: (
    request: Request,
    plain: () => Response,
  ) => Response;
}

/**
 * Runs a reader beside a writer in every order in which the writer's steps and the
 * server's answers can follow each other. Timers fire at once, and move the clock on.
 */
export async function everySchedule<T>(
  create: () => Scene,
  read: (store: HttpStore) => Promise<T>,
  check: (outcome: PromiseSettledResult<T>, requests: Request[]) => void,
): Promise<number> {
  const choices: number[] = [];
  for (let runs = 1;; runs++) {
    const options: number[] = [];
    const choose = (count: number) => {
      const depth = options.push(count) - 1;
      return choices[depth] ??= 0;
    };
    const { outcome, requests } = await run(create(), read, choose);
    check(outcome, requests);
    choices.length = options.length;
    while (choices.length > 0 && choices.at(-1)! + 1 === options.at(-1)) {
      choices.pop();
      options.pop();
    }
    if (choices.length === 0) return runs;
    choices.push(choices.pop()! + 1);
  }
}

/** Runs a reader beside a writer in a number of random orders, the same ones each time. */
export async function someSchedules<T>(
  count: number,
  create: () => Scene,
  read: (store: HttpStore) => Promise<T>,
  check: (outcome: PromiseSettledResult<T>, requests: Request[]) => void,
): Promise<number> {
  let state = 1;
  const choose = (options: number) => {
    state = (state * 48271) % 2147483647; // Lehmer's generator.
    return state % options;
  };
  for (let i = 0; i < count; i++) {
    const { outcome, requests } = await run(create(), read, choose);
    check(outcome, requests);
  }
  return count;
}

async function run<T>(
  { server, steps, headersOf, respond = (_, plain) => plain() }: Scene,
  read: (store: HttpStore) => Promise<T>,
  choose: (count: number) => number,
): Promise<{ outcome: PromiseSettledResult<T>; requests: Request[] }> {
  const pending: (() => void)[] = [];
  const requests: Request[] = [];
  const store = new HttpStore(URL_, {
    fetch: (request) => {
      requests.push(request);
      return new Promise((resolve) =>
        pending.push(() =>
          resolve(respond(request, () => answer(server, headersOf, request)))
        )
      );
    },
  });
  const restore = replaceTimers(server);
  try {
    let outcome: PromiseSettledResult<T> | undefined;
    (async () => {
      [outcome] = await Promise.allSettled([read(store)]);
    })();
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
    return { outcome, requests };
  } finally {
    restore();
  }
}

/** The time-out of requests, in milliseconds. */
const TIMEOUT = 60_000;

/** Lets timers fire soon, and adds their time to the server's clock. No request takes too long. */
function replaceTimers(server: ServedValues): () => void {
  const { setTimeout, clearTimeout } = globalThis;
  const replacement = (fire: () => void, milliseconds = 0) => {
    if (milliseconds === TIMEOUT) return 0;
    (async () => {
      for (let i = 0; i < 20; i++) await Promise.resolve();
      server.now += milliseconds;
      fire();
    })();
    return 0;
  };
  Object.assign(globalThis, {
    setTimeout: replacement,
    clearTimeout: () => {},
  });
  return () => void Object.assign(globalThis, { setTimeout, clearTimeout });
}

/** Answers a request as a good server does. The bytes of a value are its write's number, eight times. */
function answer(
  { values, now }: ServedValues,
  headersOf: HeadersOf,
  { method, url, headers: requested }: Request,
): Response {
  const value = values.get(url.slice(URL_.length));
  const date = { Date: httpDate(now) };
  if (value === undefined) {
    return new Response(null, { status: 404, headers: date });
  }
  const bytes = new Uint8Array(8).fill(value.write);
  const headers = headersOf(value, now);
  const range = /^bytes=(\d+)-(\d+)$/.exec(requested.get("range") ?? "");
  if (method === "HEAD") {
    return new Response(null, {
      headers: { ...headers, "Content-Length": "8" },
    });
  }
  if (range === null) return new Response(bytes, { headers });
  const [start, end] = [Number(range[1]), Number(range[2]) + 1];
  return new Response(bytes.subarray(start, end), {
    status: 206,
    headers: { ...headers, "Content-Range": `bytes ${start}-${end - 1}/8` },
  });
}

/** A date as headers have it, in whole seconds. */
export function httpDate(milliseconds: number): string {
  return new Date(milliseconds).toUTCString();
}
