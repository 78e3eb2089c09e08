import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { isSameBytes } from "../../src/runtime/bytes.ts";
import {
  halfToNumber,
  numberToHalf,
  roundHalfEven,
} from "../../src/runtime/float16.ts";
import { hasNativeZstd, nativeZlib } from "../../src/runtime/native_zlib.ts";
import {
  mapConcurrently,
  MemoryLimit,
  pause,
  rejectOnAbort,
  runConcurrently,
} from "../../src/runtime/tasks.ts";

async function* eachLater<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

Deno.test("mapConcurrently starts tasks in the order of the items, no more than allowed at the same time, and returns the results in this order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.nat({ max: 12 }),
      fc.scheduler(),
      async (concurrency, count, scheduler) => {
        const items = Array.from({ length: count }, (_, i) => i);
        const begun: number[] = [];
        let [running, most] = [0, 0];
        const results = await scheduler.waitFor(
          mapConcurrently(items, concurrency, async (item) => {
            begun.push(item);
            most = Math.max(most, ++running);
            await scheduler.schedule(Promise.resolve());
            running--;
            return `result ${item}`;
          }),
        );
        assertEquals(begun, items);
        assertEquals(most, Math.min(concurrency, count));
        assertEquals(results, items.map((item) => `result ${item}`));
      },
    ),
  );
});

Deno.test("runConcurrently takes an item only when a task for it can begin", async () => {
  const taken: number[] = [];
  function* items() {
    for (let i = 0; i < 5; i++) {
      taken.push(i);
      yield i;
    }
  }
  const ends: (() => void)[] = [];
  const done = runConcurrently(
    items(),
    2,
    () => new Promise((resolve) => ends.push(resolve)),
  );
  for (let i = 0; i < 5; i++) {
    while (ends.length < Math.min(i + 2, 5)) await Promise.resolve();
    assertEquals(taken.length, Math.min(i + 2, 5));
    ends[i]!();
  }
  await done;
});

Deno.test("runConcurrently throws the first error once all tasks have ended, whose signals it aborts", async () => {
  for (const items of [[0, 1, 2, 3], eachLater([0, 1, 2, 3])]) {
    const error = new Error("No");
    const begun: number[] = [];
    let hasEnded = false;
    const failure = runConcurrently(items, 2, async (item, signal) => {
      begun.push(item);
      if (item === 1) throw error;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      assertEquals(signal.reason, error);
      await new Promise((resolve) => setTimeout(resolve));
      hasEnded = true;
      throw new Error("A later error");
    });
    assertEquals(await assertRejects(() => failure), error);
    assert(hasEnded);
    assertEquals(begun, [0, 1]);
  }
});

Deno.test("runConcurrently closes the iterator of the items after a failure, and throws its own", async () => {
  let isClosed = false;
  function* items() {
    try {
      for (let i = 0; true; i++) yield i;
    } finally {
      isClosed = true;
    }
  }
  const task = (item: number) =>
    item < 10 ? Promise.resolve() : Promise.reject(Error("Ten"));
  await assertRejects(() => runConcurrently(items(), 3, task), Error, "Ten");
  assert(isClosed);
  async function* failing() {
    yield 1;
    throw new Error("The list has ended early");
  }
  const done = () => runConcurrently(failing(), 2, () => Promise.resolve());
  await assertRejects(done, Error, "ended early");
});

Deno.test("runConcurrently ends with the reason of its signal", async () => {
  const controller = new AbortController();
  const begun: number[] = [];
  const work = runConcurrently([0, 1, 2], 1, (item, signal) => {
    begun.push(item);
    controller.abort("stop");
    assertEquals(signal.reason, "stop");
    return Promise.resolve();
  }, controller.signal);
  assertEquals(await work.catch((reason) => reason), "stop");
  assertEquals(begun, [0]);
});

Deno.test("isSameBytes compares lengths and bytes, and absent values", () => {
  fc.assert(fc.property(
    fc.uint8Array({ maxLength: 4, max: 2 }),
    fc.uint8Array({ maxLength: 4, max: 2 }),
    (a, b) => assertEquals(isSameBytes(a, b), a.join() === b.join()),
  ));
  assertEquals(isSameBytes(undefined, undefined), true);
  assertEquals(isSameBytes(new Uint8Array(), undefined), false);
  assertEquals(isSameBytes(undefined, new Uint8Array()), false);
});

/** A turn of the event loop, in which all tasks start that may. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("MemoryLimit starts tasks in their order, as soon as they fit", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(20),
      fc.nat(3),
      fc.array(fc.nat(15), { maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      async (bytes, fewTasks, sizes, ends) => {
        const limit = new MemoryLimit(bytes, Math.max(fewTasks, 1));
        const running = new Map<number, () => void>();
        let started = 0;
        for (const [i, size] of sizes.entries()) {
          limit.enter(size).then((leave) => {
            assertEquals(i, started++);
            running.set(i, leave);
          });
        }
        /** Those that run, by a slow and obvious rule. */
        const expected = new Set<number>();
        let next = 0;
        const startAll = () => {
          for (; next < sizes.length; next++) {
            const used = [...expected].reduce((sum, i) => sum + sizes[i]!, 0);
            const isFew = expected.size < Math.max(fewTasks, 1);
            if (!isFew && used + sizes[next]! > bytes) return;
            expected.add(next);
          }
        };
        startAll();
        await turn();
        assertEquals([...running.keys()], [...expected]);
        for (const end of ends) {
          const ended = [...expected][end % Math.max(expected.size, 1)];
          if (ended === undefined) break;
          running.get(ended)!();
          running.delete(ended);
          expected.delete(ended);
          startAll();
          await turn();
          assertEquals([...running.keys()], [...expected]);
        }
      },
    ),
    { numRuns: 50 },
  );
});

/** The number of the bits of a float16, by the definition of the format. */
function halfSlowly(half: number): number {
  const sign = half >> 15 ? -1 : 1;
  const exponent = half >> 10 & 31;
  const fraction = (half & 1023) / 1024;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0
    ? sign * 2 ** -14 * fraction
    : sign * 2 ** (exponent - 15) * (1 + fraction);
}

Deno.test("halfToNumber and numberToHalf know all floats of 16 bits", () => {
  for (let half = 0; half < 65536; half++) {
    const number = halfToNumber(half);
    assertEquals(number, halfSlowly(half));
    if (!Number.isNaN(number)) assertEquals(numberToHalf(number), half);
  }
});

Deno.test("numberToHalf rounds to the nearest half, and to even ones between two", () => {
  for (let half = 0; half < 0x7bff; half++) {
    const [low, high] = [halfSlowly(half), halfSlowly(half + 1)];
    const middle = (low + high) / 2;
    const even = half % 2 === 0 ? half : half + 1;
    const step = (high - low) / 1e6;
    for (const sign of [1, -1]) {
      const bit = sign < 0 ? 0x8000 : 0;
      assertEquals(numberToHalf(sign * middle), bit | even);
      assertEquals(numberToHalf(sign * (middle - step)), bit | half);
      assertEquals(numberToHalf(sign * (middle + step)), bit | half + 1);
    }
  }
  assertEquals(numberToHalf(65519.999), 0x7bff);
  assertEquals(numberToHalf(65520), 0x7c00);
  assertEquals(numberToHalf(-Infinity), 0xfc00);
  assertEquals(numberToHalf(2 ** -26), 0);
});

Deno.test("roundHalfEven rounds halves to even numbers, and keeps the sign of 0", () => {
  const cases = [
    [0.5, 0],
    [1.5, 2],
    [2.5, 2],
    [-0.5, -0],
    [-1.5, -2],
    [-2.5, -2],
    [0.49999999999999994, 0],
    [2.4, 2],
    [2.6, 3],
    [-2.6, -3],
    [-0.2, -0],
    [4503599627370497.5, 4503599627370498],
    [2 ** 53, 2 ** 53],
    [Infinity, Infinity],
  ] as const;
  for (const [value, rounded] of cases) {
    assert(Object.is(roundHalfEven(value), rounded), `${value}`);
  }
  assert(Number.isNaN(roundHalfEven(NaN)));
});

Deno.test("rejectOnAbort and pause wait for a signal by one listener, which goes with the last of them", async () => {
  const { signal, abort } = listenedSignal();
  const ended = [
    rejectOnAbort(Promise.resolve(1), signal),
    ...Array.from({ length: 20 }, () => pause(0, signal)),
  ];
  assertEquals(signal.listeners, 1);
  await Promise.all(ended);
  assertEquals(signal.listeners, 0);
  const waiting = [
    rejectOnAbort(new Promise(() => {}), signal),
    ...Array.from({ length: 20 }, () => pause(1e6, signal)),
  ];
  assertEquals(signal.listeners, 1);
  abort();
  for (const each of waiting) {
    await assertRejects(() => each, Error, "The reason");
  }
  assertEquals(signal.listeners, 0);
});

/** A signal that counts its listeners. */
function listenedSignal() {
  const controller = new AbortController();
  const { signal } = controller;
  const counted = Object.assign(signal, {
    listeners: 0,
    addEventListener(...args: Parameters<EventTarget["addEventListener"]>) {
      counted.listeners++;
      EventTarget.prototype.addEventListener.apply(signal, args);
    },
    removeEventListener(
      ...args: Parameters<EventTarget["removeEventListener"]>
    ) {
      counted.listeners--;
      EventTarget.prototype.removeEventListener.apply(signal, args);
    },
  });
  return {
    signal: counted,
    abort: () => controller.abort(new Error("The reason")),
  };
}

Deno.test("hasNativeZstd says what node:zlib has", () => {
  const hasZstd = nativeZlib()?.zstdDecompressSync !== undefined;
  assertEquals(hasNativeZstd(), hasZstd);
});
