import { assertStrictEquals } from "@std/assert";
import * as fc from "fast-check";
import {
  joinCrc32c,
  multiply,
  POLYNOMIAL,
  powerOfBytes,
  withoutLastFour,
} from "../../src/checksum/crc32c.ts";
import { crc32cBitByBit } from "./crc32c_oracle.ts";
import { ofRegister, powerOfX, product, toRegister } from "./polynomial.ts";

const MOST = Number.MAX_SAFE_INTEGER;
/** The powers of x repeat after so many. */
const ORDER = 2 ** 31 - 1;

const register = fc.oneof(
  fc.nat(0xffffffff),
  fc.constantFrom(0, 1, 0x40000000, 0x80000000, 0xffffffff, POLYNOMIAL),
  fc.nat(31).map((bit) => 2 ** bit),
);

/** Any number of bytes, forwards and back, with those where powers wrap around. */
const byteCount = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -1000, max: 1000 }),
  fc.tuple(
    fc.constantFrom(0, ORDER, 2 ** 31, 2 ** 32, 2 * ORDER, 2 ** 50),
    fc.integer({ min: -9, max: 9 }),
    fc.constantFrom(1, -1),
  ).map(([count, beside, sign]) => sign * (count + beside)),
  fc.constantFrom(0, -0, MOST, MOST - 1, -MOST, ORDER, -ORDER),
);

const bytes = fc.uint8Array({ maxLength: 300 });

function powerSlowly(bytes: number): bigint {
  return powerOfX(8n * BigInt(bytes));
}

Deno.test("the powers of x go back as they go forth, and repeat after 2^31 - 1", () => {
  for (const exponent of [0n, 1n, 31n, 32n, 12345n, 2n ** 56n]) {
    const there = powerOfX(exponent);
    assertStrictEquals(product(there, powerOfX(-exponent)), 1n);
    assertStrictEquals(powerOfX(exponent + BigInt(ORDER)), there);
  }
  assertStrictEquals(powerOfX(32n), ofRegister(POLYNOMIAL));
  assertStrictEquals(powerOfX(31n), 1n << 31n);
});

Deno.test("multiply is the product of polynomials modulo P", () => {
  fc.assert(
    fc.property(register, register, (a, b) => {
      const expected = toRegister(product(ofRegister(a), ofRegister(b)));
      assertStrictEquals(multiply(a, b), expected);
      // As what `~` and `^` give, which has a sign.
      assertStrictEquals(multiply(a | 0, b | 0), expected);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("powerOfBytes is x^8 to the number of bytes, from -(2^53 - 1) to 2^53 - 1", () => {
  fc.assert(
    fc.property(byteCount, (count) => {
      assertStrictEquals(powerOfBytes(count), toRegister(powerSlowly(count)));
    }),
    { numRuns: 1000 },
  );
});

Deno.test("powerOfBytes of a number and of its opposite cancel out", () => {
  fc.assert(fc.property(byteCount, (count) => {
    const there = powerOfBytes(count);
    assertStrictEquals(multiply(there, powerOfBytes(-count)), 0x80000000);
  }));
});

Deno.test("joinCrc32c is the checksum of both one after the other", () => {
  fc.assert(fc.property(bytes, bytes, (first, second) => {
    const both = new Uint8Array(first.length + second.length);
    both.set(first);
    both.set(second, first.length);
    const joined = joinCrc32c(
      crc32cBitByBit(first),
      crc32cBitByBit(second),
      second.length,
    );
    assertStrictEquals(joined, crc32cBitByBit(both));
  }));
});

Deno.test("joinCrc32c shifts the first by any length of the second, back as well", () => {
  fc.assert(
    fc.property(register, register, byteCount, (first, second, length) => {
      const shifted = product(ofRegister(first), powerSlowly(length));
      const joined = toRegister(shifted ^ ofRegister(second));
      assertStrictEquals(joinCrc32c(first, second, length), joined);
      const rest = (joined ^ second) >>> 0;
      assertStrictEquals(joinCrc32c(rest, 0, -length), first);
    }),
    { numRuns: 500 },
  );
});

Deno.test("joinCrc32c is the same however three are joined", () => {
  const length = fc.nat(2 ** 52);
  fc.assert(
    fc.property(
      fc.tuple(register, register, register),
      length,
      length,
      ([a, b, c], lengthOfB, lengthOfC) => {
        assertStrictEquals(
          joinCrc32c(joinCrc32c(a, b, lengthOfB), c, lengthOfC),
          joinCrc32c(
            a,
            joinCrc32c(b, c, lengthOfC),
            lengthOfB + lengthOfC,
          ),
        );
      },
    ),
  );
});

Deno.test("withoutLastFour is the checksum before the last four bytes", () => {
  fc.assert(fc.property(bytes, register, (before, last) => {
    const all = new Uint8Array(before.length + 4);
    all.set(before);
    const view = new DataView(all.buffer);
    view.setUint32(before.length, last, true);
    const crc = crc32cBitByBit(all);
    assertStrictEquals(withoutLastFour(crc, last), crc32cBitByBit(before));
    assertStrictEquals(withoutLastFour(crc, last | 0), crc32cBitByBit(before));
  }));
});
