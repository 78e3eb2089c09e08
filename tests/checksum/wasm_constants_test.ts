import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import * as fc from "fast-check";
import { WASM_BINARY as CHECKSUM_BINARY } from "../../src/checksum/checksum_wasm.ts";
import {
  joinCrc32c,
  multiply,
  POLYNOMIAL,
  powerOfBytes,
  withoutLastFour,
} from "../../src/checksum/crc32c.ts";
import { WASM_BINARY as SPLITTER_BINARY } from "../../src/splitter/splitter_wasm.ts";
import { crc32cBitByBit } from "./crc32c_oracle.ts";
import { ofRegister, powerOfX, product, toRegister } from "./polynomial.ts";

/** The text of a source of the module. */
async function textOf(file: string): Promise<string> {
  return await Deno.readTextFile(
    new URL(`../../wasm/${file}.ts`, import.meta.url),
  );
}

/** The constants of a source of the module that are written as a number or a product of numbers. */
async function constantsOf(file: string): Promise<(name: string) => number> {
  const constants = new Map<string, number>();
  for (
    const [, name, factors] of (await textOf(file)).matchAll(
      /^(?:export )?const (\w+): \w+ = (\w+(?: \* \w+)*);$/gm,
    )
  ) {
    const product = factors!.split(" * ").reduce((a, b) => a * Number(b), 1);
    constants.set(name!, product);
  }
  return (name) => {
    const value = constants.get(name);
    assert(value !== undefined, `${file}.ts has no constant ${name}`);
    return value;
  };
}

const [field, shortRelation, longRelation, memory] = await Promise
  .all([
    constantsOf("field"),
    constantsOf("short_relation"),
    constantsOf("long_relation"),
    constantsOf("memory"),
  ]);

const RELATIONS = {
  short_relation: { constant: shortRelation, lags: ["A", "B", "C", "D"] },
  long_relation: { constant: longRelation, lags: ["A", "B"] },
};

for (const [name, { constant, lags }] of Object.entries(RELATIONS)) {
  Deno.test(`${name}.ts: a byte and what replaces it are 0 modulo P`, async () => {
    const reach = constant("REACH");
    const places = [0, ...lags.map(constant), reach];
    const sum = places.reduce(
      (sum, place) => sum ^ powerOfX(8n * BigInt(reach - place)),
      0n,
    );
    assertStrictEquals(sum, 0n);
    // The lags are what the code looks back by.
    const loads = (await textOf(name)).matchAll(/v128\.load\(w - (\w+)\)/g);
    assertEquals(Array.from(loads, ([, lag]) => lag), [...lags, "REACH"]);
  });

  Deno.test(`${name}.ts: sixteen bytes go at once, and all that reaches on is kept`, () => {
    const reach = constant("REACH");
    for (const lag of lags.map(constant)) assert(lag >= 16 && lag < reach);
    assertStrictEquals(constant("REACH_16"), Math.ceil(reach / 16) * 16);
  });

  Deno.test(`${name}.ts: BACK takes the reach back`, () => {
    const back = powerOfX(-8n * BigInt(constant("REACH")));
    assertStrictEquals(constant("BACK"), toRegister(back));
  });
}

Deno.test("field.ts: P is that of CRC32C, and BACK_4_BYTES takes four bytes back", () => {
  assertStrictEquals(field("POLYNOMIAL"), POLYNOMIAL);
  assertStrictEquals(field("POLYNOMIAL"), toRegister(powerOfX(32n)));
  assertStrictEquals(field("BACK_4_BYTES"), toRegister(powerOfX(-32n)));
});

Deno.test("memory.ts: nothing lies upon anything else", () => {
  const tables = memory("TABLES") + 16 * 256 * 4;
  const short = memory("SHORT_SCRATCH") + shortRelation("SHORT_LIMIT") +
    3 * shortRelation("REACH_16");
  const long = memory("LONG_SCRATCH") + longRelation("BLOCK") +
    3 * longRelation("REACH_16");
  assert(tables <= memory("SHORT_SCRATCH"));
  assert(short <= memory("LONG_SCRATCH"));
  assert(long <= memory("INPUT"));
  assert(long <= memory("PENDING"));
  assert(memory("PENDING") + 16 <= memory("BLOCK"));
  assertStrictEquals(memory("BLOCK") + memory("BLOCK_SIZE"), memory("PARTS"));
});

Deno.test("short_relation.ts and long_relation.ts: each gets lengths that it can take", () => {
  const limit = shortRelation("SHORT_LIMIT");
  assert(longRelation("REACH") <= limit);
  assert(shortRelation("SHORT_FROM") <= limit);
  assertStrictEquals(longRelation("BLOCK") % 16, 0);
});

const MODULES = {
  checksum: {
    binary: CHECKSUM_BINARY,
    places: { input: "INPUT" },
    functions: ["add", "begin", "end", "register"],
  },
  splitter: {
    binary: SPLITTER_BINARY,
    places: { block: "BLOCK", table: "PARTS" },
    functions: [
      ...["begin", "start", "take", "endPart", "finish", "sum", "endSums"],
    ],
  },
};

for (const [name, { binary, places, functions }] of Object.entries(MODULES)) {
  Deno.test(`the committed module ${name} is under 8 KB, imports nothing and places things as memory.ts says`, () => {
    const bytes = Uint8Array.fromBase64(binary);
    assert(bytes.length < 8000, `${bytes.length} bytes`);
    const module = new WebAssembly.Module(bytes);
    assertEquals(WebAssembly.Module.imports(module), []);
    const exported = WebAssembly.Module.exports(module);
    assertEquals(
      exported.filter(({ kind }) => kind === "function")
        .map(({ name }) => name).sort(),
      functions.sort(),
    );
    const { exports } = new WebAssembly.Instance(module);
    for (const [global, constant] of Object.entries(places)) {
      const { value } = exports[global] as WebAssembly.Global;
      assertStrictEquals(value, memory(constant));
    }
  });
}

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
