import { clearImmediate, setImmediate } from "node:timers";

/** The turns of the event loop without a new or a cleared timer after which a program counts as waiting. */
const IDLE_TURNS = 3;

interface Timer {
  /** When it fires, in milliseconds of the clock. */
  at: number;
  readonly fire: () => void;
  /** The time between two firings of an interval. */
  readonly every?: number;
}

/** A clock in place of the real one. Its time passes only while the program waits for it. */
export interface FakeClock extends Disposable {
  /** The milliseconds that have passed. */
  readonly elapsed: number;
}

/**
 * Replaces timers, `Date.now` and `performance.now` until it is disposed. Once the program
 * only waits for timers, the clock moves on to the next one, which fires. For programs that
 * do without files and network, whose work cannot be told from waiting.
 *
 * @param start What `Date.now` returns at first.
 */
export function fakeClock(start: number = Date.now()): FakeClock {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const { now } = Date;
  const { now: performanceNow } = performance;
  const timers = new Map<number, Timer>();
  let elapsed = 0;
  let ids = 0;
  let changes = 0;
  let isRunning = false;

  const add = (timer: Timer) => {
    const id = ++ids;
    timers.set(id, timer);
    changes++;
    if (!isRunning) run();
    return id;
  };
  const remove = (id?: number) => {
    if (timers.delete(id!)) changes++;
  };
  let turn: ReturnType<typeof setImmediate> | undefined;
  const nextTurn = () =>
    new Promise<void>((resolve) => turn = setImmediate(resolve));
  const run = async () => {
    isRunning = true;
    while (timers.size > 0) {
      const seen = changes;
      for (let i = 0; i < IDLE_TURNS && seen === changes; i++) await nextTurn();
      if (seen !== changes) continue;
      const next = Array.from(timers).reduce((a, b) =>
        b[1].at < a[1].at ? b : a
      );
      const [id, timer] = next;
      elapsed = Math.max(elapsed, timer.at);
      if (timer.every === undefined) timers.delete(id);
      else timer.at += timer.every;
      changes++;
      timer.fire();
    }
    isRunning = false;
  };

  Object.assign(globalThis, {
    setTimeout: (fire: () => void, delay = 0) =>
      add({ at: elapsed + delay, fire }),
    setInterval: (fire: () => void, every = 0) =>
      add({ at: elapsed + every, fire, every }),
    clearTimeout: remove,
    clearInterval: remove,
  });
  Date.now = () => start + elapsed;
  performance.now = () => elapsed;
  return {
    get elapsed() {
      return elapsed;
    },
    [Symbol.dispose]() {
      clearImmediate(turn); // Nothing fires any more.
      Object.assign(globalThis, {
        setTimeout,
        clearTimeout,
        setInterval,
        clearInterval,
      });
      Date.now = now;
      performance.now = performanceNow;
    },
  };
}
