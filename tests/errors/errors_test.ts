import { assertEquals, assertThrows } from "@std/assert";
import { MetadataError } from "../../mod.ts";
import {
  ANY,
  atPath,
  below,
  BOOLEAN,
  checkExclusive,
  checkOptions,
  describe,
  describeAll,
  FUNCTION,
  inDocument,
  numberFrom,
  objectRule,
  oneOf,
  type OptionRules,
  pointer,
  TEXT,
  wholeFrom,
} from "../../src/errors/mod.ts";

interface Options {
  any?: unknown;
  flag?: boolean;
  text?: string;
  run?: () => void;
  mode?: "first" | "last" | 3;
  ratio?: number;
  page?: number;
  side?: "near" | "far";
  chunkShape?: object;
}

const RULES: OptionRules<Options> = {
  any: ANY,
  flag: BOOLEAN,
  text: TEXT,
  run: { ...FUNCTION, isRequired: true },
  mode: oneOf("first", "last", 3),
  ratio: numberFrom(0.5),
  page: wholeFrom(0, 9),
  side: { ...oneOf("near", "far"), outOfRange: "all" },
  chunkShape: objectRule(),
};

const run = () => {};

Deno.test("checkOptions accepts options that follow their rules, and absent ones", () => {
  const accepted: Options[] = [
    { run },
    { run, any: 1, flag: false, text: "", mode: 3, ratio: 0.5, page: 0 },
    { run, any: null, flag: true, mode: "last", ratio: Infinity, page: 9 },
    { run, side: "far", chunkShape: {} },
    { run, flag: undefined, page: undefined } as unknown as Options,
  ];
  for (const options of accepted) checkOptions(options, RULES, "paint");
});

Deno.test("checkOptions refuses unknown options and wrong values, with the name of the option and what is right", () => {
  const [type, range] = [TypeError, RangeError];
  for (
    const [options, ErrorClass, message, within] of [
      [null, type, "Expected the options of paint as an object, found null"],
      [[], type, "Expected the options of paint as an object, found []"],
      [1, type, 'Expected the option "ink" as an object, found 1', "ink"],
      [{ flags: 1 }, type, 'Unknown option "flags" of paint; expected "flag"'],
      [
        { chunk_shape: {} },
        type,
        'Unknown option "chunk_shape" of paint; expected "chunkShape"',
      ],
      [
        { run, sheet: 1 },
        type,
        'Unknown option "ink.sheet" of paint; expected "ink.page"',
        "ink",
      ],
      [
        { toString: 1 },
        type,
        'Unknown option "toString" of paint; known are "any", "flag", "text", "run", "mode", "ratio", "page", "side" and "chunkShape"',
      ],
      [{}, type, 'Expected the option "run" to be a function, found undefined'],
      [
        { run, flag: 1 },
        type,
        'Expected the option "ink.flag" to be true or false, found 1',
        "ink",
      ],
      [{ run, text: 1 }, type, '"text" to be a string, found 1'],
      [{ run, mode: "x" }, type, '"mode" to be "first", "last" or 3, found'],
      [{ run, ratio: 0.4 }, range, '"ratio" to be a number of at least 0.5'],
      [{ run, ratio: NaN }, range, "found NaN"],
      [{ run, ratio: "1" }, type, 'found "1"'],
      [{ run, page: 10 }, type, '"page" to be a whole number from 0 to 9'],
      [{ run, page: -1 }, type, "found -1"],
      [{ run, page: 1.5 }, type, "found 1.5"],
      [{ run, page: 1n }, type, "found 1n"],
      [{ run, side: true }, range, '"near" or "far", found true'],
      [{ run, chunkShape: [] }, type, "to be an object, found []"],
      [{ run, chunkShape: null }, type, "to be an object, found null"],
    ] as [Options, typeof TypeError, string, string?][]
  ) {
    const otherNames = { sheet: "page" };
    const names = within === undefined
      ? { otherNames }
      : { within, otherNames };
    const check = () => checkOptions(options, RULES, "paint", names);
    assertThrows(check, ErrorClass, message);
  }
});

Deno.test("checkExclusive refuses two options of a pair, unless one is false", () => {
  const check = (options: Options) =>
    checkExclusive(options, [["flag", "page"]]);
  check({ flag: false, page: 0 });
  check({ flag: true, text: "" });
  const message = 'Expected one of the options "flag" and "page", found both';
  assertThrows(() => check({ flag: true, page: 0 }), TypeError, message);
});

Deno.test("describe renders short values completely", () => {
  const descriptions: [unknown, string][] = [
    ['a"\n', '"a\\"\\n"'],
    [5, "5"],
    [-0, "-0"],
    [NaN, "NaN"],
    [10n, "10n"],
    [null, "null"],
    [undefined, "undefined"],
    [true, "true"],
    [[], "[]"],
    [[1, "a", null], '[1, "a", null]'],
    [[[1]], "a list of 1 members"],
    [{}, "an object without members"],
    [{ a: 1, b: 2 }, 'an object with the members "a", "b"'],
    [Object.create(null), "an object without members"],
    [() => 1, "a function"],
    [new Uint16Array(3), "Uint16Array of 6 bytes"],
    [new ArrayBuffer(1_000_000), "ArrayBuffer of 1000000 bytes"],
    [Symbol("s"), "Symbol(s)"],
  ];
  for (const [value, description] of descriptions) {
    assertEquals(describe(value), description);
  }
  assertEquals(describeAll([]), "none");
  assertEquals(describeAll(["a"]), '"a"');
  assertEquals(describeAll(["a", "b", "c"]), '"a", "b" and "c"');
});

Deno.test("describe shortens long values and does not recurse", () => {
  let deep: unknown = [];
  for (let i = 0; i < 1_000_000; i++) deep = [deep];
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  const list = new Array(1_000_000).fill(1);
  const text = "x".repeat(1_000_000);
  for (const value of [deep, cyclic, text, list, { [text]: 1 }]) {
    const { length } = describe(value);
    assertEquals(length < 250, true, `${length} characters`);
  }
});

Deno.test("MetadataError has the location in the metadata, its document and its store", () => {
  const parse = (error: Error) => () =>
    inDocument(
      "/a/zarr.json",
      "MemoryStore",
      () =>
        below("/codecs", () =>
          below(pointer("", "x/~"), () =>
            atPath("/level", () => {
              throw error;
            }))),
    );
  const cause = new RangeError("Expected 1, found 2");
  const error = assertThrows(parse(cause), MetadataError);
  assertEquals([error.path, error.problem, error.cause], [
    "/codecs/x~1~0/level",
    "Expected 1, found 2",
    cause,
  ]);
  assertEquals(
    error.message,
    "Expected 1, found 2 (at /a/zarr.json#/codecs/x~1~0/level in MemoryStore)",
  );
  const nested = parse(new MetadataError("Expected 1", "/own"));
  assertEquals(assertThrows(nested, MetadataError).path, "/codecs/x~1~0/own");
  const other = new EvalError("other");
  assertEquals(assertThrows(parse(other), EvalError), other);
  const long = new MetadataError("No", pointer("", "x".repeat(10_000)));
  assertEquals(long.message.length < 500, true);
});
