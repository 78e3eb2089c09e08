import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { POLYNOMIAL } from "../../src/checksum/crc32c_field.ts";
import { WASM_BINARY } from "../../src/checksum/wasm_binary.ts";
import { powerOfX, toRegister } from "./polynomial.ts";

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

const [field, shortRelation, longRelation, memory, crc32c] = await Promise.all([
  constantsOf("field"),
  constantsOf("short_relation"),
  constantsOf("long_relation"),
  constantsOf("memory"),
  constantsOf("crc32c"),
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
    longRelation("REACH_16");
  const longEnd = memory("LONG_SCRATCH") + 3 * longRelation("REACH_16");
  assert(tables <= memory("SHORT_SCRATCH"));
  assert(short <= memory("LONG_SCRATCH"));
  assert(Math.max(long, longEnd) <= memory("INPUT"));
});

Deno.test("crc32c.ts: each relation gets what it can take", () => {
  const limit = shortRelation("SHORT_LIMIT");
  assert(longRelation("REACH") <= limit);
  assert(crc32c("SHORT_FROM") < limit);
  assertStrictEquals(longRelation("BLOCK") % 16, 0);
});

Deno.test("the committed module is under 8 KB, imports nothing and has its input where memory.ts says", () => {
  const binary = Uint8Array.fromBase64(WASM_BINARY);
  assert(binary.length < 8192, `${binary.length} bytes`);
  const module = new WebAssembly.Module(binary);
  assertEquals(WebAssembly.Module.imports(module), []);
  assertEquals(
    WebAssembly.Module.exports(module).map(({ name }) => name).sort(),
    ["add", "begin", "end", "input", "memory", "register"],
  );
  const { exports } = new WebAssembly.Instance(module);
  const input = exports.input as WebAssembly.Global;
  assertStrictEquals(input.value, memory("INPUT"));
});
