import { assertEquals, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { HoldBack } from "../../src/splitter/hold_back.ts";
import { assertSameBytes } from "./stream_support.ts";
import { noise } from "../checksum/noise.ts";

const HUGE = 2 ** 53 - 1;

/** Takes so many more bytes, or releases so many of those that are kept. */
type Step = { take: number } | { release: number };

const steps = (length: fc.Arbitrary<number>) =>
  fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ take: length }) },
      { weight: 1, arbitrary: fc.record({ release: length }) },
    ),
    { maxLength: 20 },
  );

/** Does the steps, with an array as the oracle. */
function check(capacity: number, steps: Step[]): void {
  const holdBack = new HoldBack(capacity);
  let kept: number[] = [];
  const given: { bytes: Uint8Array; expected: Uint8Array }[] = [];
  const expect = (bytes: Uint8Array, expected: number[]) =>
    given.push({ bytes, expected: Uint8Array.from(expected) });

  for (const [seed, step] of steps.entries()) {
    if ("release" in step) {
      const count = Math.min(step.release, kept.length);
      expect(holdBack.release(count), kept.slice(0, count));
      kept = kept.slice(count);
    } else {
      const bytes = noise(step.take, seed + 1);
      const all = [...kept, ...bytes];
      const excess = Math.max(0, all.length - capacity);
      const fromKept = Math.min(excess, kept.length);
      const { held, passing } = holdBack.exchange(bytes);
      expect(held, all.slice(0, fromKept));
      expect(passing.slice(), all.slice(fromKept, excess));
      // What passes is not copied, and what is kept is.
      assertStrictEquals(passing.buffer, bytes.buffer);
      bytes.fill(0);
      kept = all.slice(excess);
    }
    assertEquals(holdBack.length, kept.length);
  }
  expect(holdBack.release(), kept);
  assertEquals(holdBack.length, 0);
  expect(holdBack.release(), []);
  // Only now, since what was given must stay as it is.
  for (const { bytes, expected } of given) assertSameBytes(bytes, expected);
}

Deno.test("HoldBack keeps the last bytes up to its capacity, as an array would", () => {
  const capacity = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(HUGE));
  fc.assert(
    fc.property(capacity, steps(fc.nat(25)), check),
    { numRuns: 1000 },
  );
});

Deno.test("HoldBack keeps what its ring must grow for, also while it goes round", () => {
  const place = fc.constantFrom(1, 30_000, 65_535, 65_536, 65_537, 140_000);
  const capacity = fc.oneof(place, fc.constant(HUGE));
  fc.assert(
    fc.property(capacity, steps(fc.oneof(place, fc.nat(9))), check),
    { numRuns: 30 },
  );
});

for (const capacity of [0, 1, 2]) {
  Deno.test(`HoldBack of capacity ${capacity} holds back ${capacity} bytes`, () => {
    const holdBack = new HoldBack(capacity);
    const { held, passing } = holdBack.exchange(Uint8Array.of(1, 2, 3));
    assertEquals([held, [...passing]], [
      new Uint8Array(),
      [1, 2, 3].slice(0, 3 - capacity),
    ]);
    const more = holdBack.exchange(Uint8Array.of(4));
    assertEquals(
      [...more.held, ...more.passing],
      [1, 2, 3, 4].slice(3 - capacity, 4 - capacity),
    );
    assertEquals(
      holdBack.release(),
      Uint8Array.from([1, 2, 3, 4].slice(4 - capacity)),
    );
  });
}

Deno.test("HoldBack of capacity 2^53−1 takes memory for what comes, and no more", () => {
  const before = Deno.memoryUsage();
  const all = Array.from({ length: 50 }, () => new HoldBack(HUGE));
  const [first] = all;
  for (let i = 0; i < 4096; i++) first!.exchange(new Uint8Array(1024));
  for (const each of all) each.exchange(Uint8Array.of(1));
  const after = Deno.memoryUsage();
  assertEquals(first!.length, 4 * 1024 * 1024 + 1);
  // 50 small rings, one of up to 8 MiB, and what is left of those that it outgrew.
  // Not of the process: other tests run in it at the same time.
  const grown = after.external - before.external;
  assertEquals(grown < 64 * 1024 * 1024, true, `${grown} more bytes`);
});
