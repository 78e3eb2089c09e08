import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { WASM_BINARY as CHECKSUM_BINARY } from "../../src/checksum/checksum_wasm.ts";
import { POLYNOMIAL } from "../../src/checksum/crc32c.ts";
import { WASM_BINARY as SPLITTER_BINARY } from "../../src/splitter/splitter_wasm.ts";
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
  assert(memory("PENDING") + 16 <= memory("ANSWER"));
  assert(memory("ANSWER") + 4 * 8 <= memory("BLOCK"));
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
    places: { answer: "ANSWER", block: "BLOCK", table: "PARTS" },
    functions: [
      ...["begin", "start", "window", "windowRoom", "take", "finish", "keep"],
      ...["takePart", "endPart", "endChunk", "passable", "sum", "checksum"],
      ...["storedChecksum", "computedChecksum"],
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
