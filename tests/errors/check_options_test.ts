import { assertEquals, assertThrows } from "@std/assert";
import {
  ANY,
  BOOLEAN,
  checkExclusive,
  checkOptions,
  FUNCTION,
  numberFrom,
  objectRule,
  oneOf,
  type OptionRules,
  TEXT,
  wholeFrom,
} from "../../src/errors/check_options.ts";

interface Options {
  any?: unknown;
  flag?: boolean;
  text?: string;
  run?: () => void;
  mode?: "first" | "last" | 3;
  ratio?: number;
  page?: number;
  place?: "near" | "far";
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
  place: { ...oneOf("near", "far"), outOfRange: "all" },
  chunkShape: objectRule(),
};

const run = () => {};

Deno.test("checkOptions accepts options that follow their rules, and absent ones", () => {
  const accepted: Options[] = [
    { run },
    { run, any: 1, flag: false, text: "", mode: 3, ratio: 0.5, page: 0 },
    { run, any: null, flag: true, mode: "last", ratio: Infinity, page: 9 },
    { run, place: "far", chunkShape: {} },
    { run, flag: undefined, page: undefined } as unknown as Options,
  ];
  for (const options of accepted) checkOptions(options, RULES, "paint");
});

Deno.test("checkOptions refuses unknown options and wrong values, with the name of the option and what is right", () => {
  const type = TypeError;
  const range = RangeError;
  const refused: [unknown, typeof TypeError | typeof RangeError, string][] = [
    [null, type, "Expected the options of paint as an object, found null"],
    [[], type, "Expected the options of paint as an object, found []"],
    [{ flags: true }, type, 'Unknown option "flags" of paint; expected "flag"'],
    [
      { chunk_shape: {} },
      type,
      'Unknown option "chunk_shape" of paint; expected "chunkShape"',
    ],
    [{ sheet: 1 }, type, 'Unknown option "sheet" of paint; expected "page"'],
    [
      { toString: 1 },
      type,
      'Unknown option "toString" of paint; known are "any", "flag", "text", "run", "mode", "ratio", "page", "place" and "chunkShape"',
    ],
    [{}, type, 'Expected the option "run" to be a function, found undefined'],
    [
      { run, flag: "yes" },
      type,
      'Expected the option "flag" to be true or false, found "yes"',
    ],
    [
      { run, text: 1 },
      type,
      'Expected the option "text" to be a string, found 1',
    ],
    [
      { run, mode: "middle" },
      type,
      'Expected the option "mode" to be "first", "last" or 3, found "middle"',
    ],
    [
      { run, ratio: 0.4 },
      range,
      'Expected the option "ratio" to be a number of at least 0.5, found 0.4',
    ],
    [{ run, ratio: NaN }, range, "of at least 0.5, found NaN"],
    [{ run, ratio: "1" }, type, 'of at least 0.5, found "1"'],
    [
      { run, page: 10 },
      type,
      'Expected the option "page" to be a whole number from 0 to 9, found 10',
    ],
    [{ run, page: -1 }, type, "from 0 to 9, found -1"],
    [{ run, page: 1.5 }, type, "from 0 to 9, found 1.5"],
    [{ run, page: 1n }, type, "from 0 to 9, found 1n"],
    [{ run, place: true }, range, '"near" or "far", found true'],
    [{ run, chunkShape: [] }, type, "to be an object, found []"],
    [{ run, chunkShape: null }, type, "to be an object, found null"],
  ];
  for (const [options, ErrorClass, message] of refused) {
    assertThrows(
      () =>
        checkOptions(options as Options, RULES, "paint", {
          otherNames: { sheet: "page" },
        }),
      ErrorClass,
      message,
    );
  }
});

Deno.test("checkOptions names the option that holds other options", () => {
  const cases: [object, string][] = [
    [
      { colour: 1 },
      'Unknown option "ink.colour" of paint; known are "ink.dark"',
    ],
    [{ drak: 1 }, 'Unknown option "ink.drak" of paint; expected "ink.dark"'],
    [
      { dark: 1 },
      'Expected the option "ink.dark" to be true or false, found 1',
    ],
  ];
  for (const [options, message] of cases) {
    const error = assertThrows(
      () =>
        checkOptions(options, { dark: BOOLEAN }, "paint", { within: "ink" }),
      TypeError,
    );
    assertEquals(error.message, message);
  }
  assertThrows(
    () => checkOptions<object>(1 as never, {}, "paint", { within: "ink" }),
    TypeError,
    'Expected the option "ink" as an object, found 1',
  );
});

Deno.test("checkExclusive refuses two options of a pair, unless one is false", () => {
  checkExclusive<Options>({ flag: false, page: 0 }, [["flag", "page"]]);
  checkExclusive<Options>({ flag: true, text: "" }, [["flag", "page"]]);
  assertThrows(
    () => checkExclusive<Options>({ flag: true, page: 0 }, [["flag", "page"]]),
    TypeError,
    'Expected one of the options "flag" and "page", found both',
  );
});
