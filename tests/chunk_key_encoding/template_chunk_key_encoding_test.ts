import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  ChunkKeyError,
  MetadataError,
  parseChunkKeyEncoding,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";

const MAX = Number.MAX_SAFE_INTEGER;

function make(format: string, separator?: string): TemplateChunkKeyEncoding {
  return new TemplateChunkKeyEncoding(format, separator);
}

Deno.test("TemplateChunkKeyEncoding encodes and decodes keys", () => {
  for (
    const [format, separator, chunk, key] of [
      // The examples of the draft.
      ["c/{*}", "/", [11, 22, 33], "c/11/22/33"],
      ["{*}", ".", [11, 22, 33], "11.22.33"],
      ["{*}.suffix", "_", [11, 22, 33], "11_22_33.suffix"],
      ["{2}/{0}/{1}", ".", [11, 22, 33], "33/11/22"],
      ["{-1}/{*}", "/", [11, 22, 33], "33/11/22"],
      ["{*:02}", "/", [111, 2, 33], "111/02/33"],
      ["{1:05}_{0}", undefined, [1, 42], "00042_1"],
      ["{1:05}_{0}", undefined, [1, 123456], "123456_1"],
      ["images/{-1}/{*:04}.jpeg", "_", [1, 2, 3], "images/3/0001_0002.jpeg"],
      // Others.
      ["{0}", undefined, [0], "0"],
      ["{-1}", undefined, [MAX], "9007199254740991"],
      ["a{{b}}{{{0}}}", undefined, [7], "a{b}{7}"],
      ["{{0}}{0}", undefined, [7], "{0}7"],
      ["{0:02}{1:02}", undefined, [99, 0], "9900"],
      ["{0}{1:02}", undefined, [123, 4], "12304"],
      ["{0:02}{1}", undefined, [1, 234], "01234"],
      ["5{0}5.5", undefined, [55], "5555.5"],
      ["{*}", "5_5", [5, 5, 5], "55_555_55"],
      ["{0:02}{*}{-1:02}", "_", [1, 2, 3], "01203"],
      ["{0:02}{*:03}{-1:02}", "_", [1, 2, 3, 4], "01002_00304"],
      ["{-2}/{*}/{0}", "-", [1, 2, 3, 4], "3/2-4/1"],
      ["{0}/{-3}/{*}", "/", [1, 2, 3, 4], "1/2/3/4"],
      ["💾 {0}+({1})?[x]^$|*", undefined, [1, 2], "💾 1+(2)?[x]^$|*"],
      ["__proto__{0}", undefined, [1], "__proto__1"],
      ["{0:0255}", undefined, [5], "5".padStart(255, "0")],
      ["{*}", "/", new Array(256).fill(1), "1" + "/1".repeat(255)],
      // Numbers that start elsewhere, with other steps and downwards.
      ["{0+1}", undefined, [MAX - 1], `${MAX}`],
      ["{0*10+10:03}", undefined, [99], "1000"],
      ["{-1*-1+47:02}_{0}", undefined, [0, 47], "00_0"],
      ["{0*-10+95}", undefined, [9], "5"],
      ["{0+1:02}{1*5:02}", undefined, [98, 19], "9995"],
      ["{0*2}{1:02}", undefined, [61, 4], "12204"],
      ["{-1}/{**10+5:03}", "_", [1, 2, 3], "3/015_025"],
      [`{0*-${MAX}+${MAX}}`, undefined, [1], "0"],
      ["H_{0*-10+60}N_{1*10:03}E", undefined, [1, 2], "H_50N_020E"],
    ] as const
  ) {
    const encoding = make(format, separator);
    assertStrictEquals(encoding.encode(chunk), key);
    assertEquals(encoding.decode(key), [...chunk]);
    assertEquals(encoding.decode(key, chunk.length), [...chunk]);
    assertEquals(parseChunkKeyEncoding(encoding.toJSON()), encoding);
  }
});

Deno.test("TemplateChunkKeyEncoding has the coordinate 0 along dimensions without a placeholder", () => {
  for (
    const [format, least, chunk, key] of [
      ["day_{0}.zip", 1, [31, 0, 0], "day_31.zip"],
      ["band_{-3}.tif", 3, [4, 0, 0], "band_4.tif"],
      ["{1}_{2}.tif", 3, [0, 1, 2], "1_2.tif"],
      ["{0}_{2}", 3, [1, 0, 3, 0], "1_3"],
      ["{0}_{-2}", 3, [1, 2, 0], "1_2"],
      ["{-1}", 1, [0, 0, 0, 9], "9"],
      ["{0}", 1, [3, ...new Array(255).fill(0)], "3"],
    ] as [string, number, number[], string][]
  ) {
    const encoding = make(format);
    assertStrictEquals(encoding.encode(chunk), key);
    assertEquals(encoding.decode(key, chunk.length), chunk);
    assertStrictEquals(encoding.decode(key).length, least);
    chunk.forEach((coordinate, dimension) => {
      if (coordinate !== 0) return;
      const encode = () => encoding.encode(chunk.with(dimension, 1));
      assertThrows(encode, RangeError, `for dimension ${dimension}`);
    });
  }
  assertThrows(() => make("{0}_{-2}").decode("1_2", 2), ChunkKeyError);
});

Deno.test("TemplateChunkKeyEncoding.encode refuses coordinates that have no key", () => {
  const pair = "{0:02}{1:03}";
  for (
    const [format, chunk, problem] of [
      ["{0+1}", [MAX], "9007199254740992"],
      ["{0*-1+47}", [48], "-1"],
      ["{0*-10+95}", [10], "-5"],
      ["{0*10}", [900719925474100], "9007199254741000"],
      [`{0*${MAX}+${MAX}}`, [MAX], "8.1"],
      [`{0*-${MAX}+${MAX}}`, [2], "-9007199254740991"],
      [pair, [100, 999], "fit into {0:02}"],
      [pair, [99, 1000], "fit into {1:03}"],
      [pair, [0, -1], "of dimension 1"],
      [pair, [0.5, 0], "of dimension 0"],
      ["{0}_{1}", [], "for rank 2 to 256"],
      ["{0}_{1}", [1], "for rank 2 to 256"],
      ["{0}", new Array(257).fill(0), "for rank 1 to 256"],
      ["{1}", [1], "out of range for rank 1"],
      ["{0}_{-3}", [1, 2], "{-3}, which is out of range for rank 2"],
      ["{0}_{-2}", [1, 2], "{0} and {-2}, which are the same dimension"],
      ["{*}", [], "for rank 1 to 256"],
      ["{*}", new Array(257).fill(0), "for rank 1 to 256"],
      ["{2}_{*}", [1, 2], "{2}, which is out of range for rank 2"],
      ["{0}_{-3}_{*}", [1, 2, 3], "the same dimension for rank 3"],
    ] as [string, number[], string][]
  ) {
    assertThrows(() => make(format, "/").encode(chunk), RangeError, problem);
  }
  for (const wrong of ["1", 1n, null, undefined] as never[]) {
    assertThrows(() => make(pair).encode([wrong, 0]), TypeError);
  }
  assertThrows(() => make(pair).encode("12" as never), TypeError);
});

Deno.test("TemplateChunkKeyEncoding.decode names the nearest key for numbers that no chunk has", () => {
  for (
    const [format, key, expected, nearest] of [
      ["z{0*10}", "z15", "10 or 20", "z20"],
      ["z{0*10}", "z14", "10 or 20", "z10"],
      ["z{0*10+5:03}", "z020", "015 or 025", "z025"],
      ["z{0+1}", "z0", "1", "z1"],
      ["z{0*10+10}", "z3", "10", "z10"],
      ["z{0*-1+5}", "z6", "5", "z5"],
      ["z{0*-10+25}", "z0", "5", "z5"],
      ["z{0:03}", "z7", "007", "z007"],
      ["z{0}", "z07", "7", "z7"],
      ["z{0*10}", "z015", "10 or 20", "z20"],
      ["z{0*60:02}{1:02}", "z9900", "60", "z6000"],
    ] as const
  ) {
    const encoding = make(format);
    const error = assertThrows(() => encoding.decode(key), ChunkKeyError);
    assertEquals([error.key, error.nearest], [key, nearest]);
    assertStrictEquals(error.problem.split("expected ")[1], expected);
    encoding.decode(nearest);
  }
  for (const key of ["z", "y15", `z${"9".repeat(17)}`]) {
    const decode = () => make("z{0*10}").decode(key);
    assertEquals(assertThrows(decode, ChunkKeyError).nearest, undefined);
  }
});

Deno.test("parseChunkKeyEncoding refuses formats that no array, or not each chunk, could have", () => {
  const misspelled = ["{", "}", "{}", "{0", "0}", "{0}}", "{{0}", "{ 0}", "{a}"]
    .concat(["{0:}", "{0:4}", "{0:0}", "{0:00}", "{0:004}", "{0:0-4}"])
    .concat(["{00}", "{01}", "{-0}", "{--1}", "{+1}", "{1.0}", "{1e1}", "{٣}"])
    .concat(["{**}", "{*:4}", "{:04}", "{0:04:04}", "{0,1}", "${0", "{{{0}}"])
    .concat(["{0*}", "{0+}", "{0*0}", "{0*01}", "{0+01}", "{0*-0}", "{0-1}"])
    .concat(["{0+-1}", "{0+1*10}", "{0:03+1}", "{0*1.5}", "{0*10*10}"]);
  for (
    const [formats, problem, separator] of [
      [misspelled, "holds a single"],
      [["", "c/0", "{{0}}"], "has no placeholder"],
      [["{0}{1}", "{0}{1:02}{2}", "{0:02}{*}{-1}"], "two chunks one key", "_"],
      [["{0}5{1}", "{0:02}5{1:02}", "{*}5{-1}"], "two chunks one key", "_"],
      [["{0*10}{1*10}"], "two chunks one key, since {1*10} follows"],
      [["{0}_{0}", "{0}_{0:02}_{*}", "{-1}_{-1}", "{0*10}_{0+1}"], "twice"],
      [["{*}_{*}"], "holds {*} twice", "/"],
      [["{256}", "{-257}", "{9999999}_{*}"], "out of range", "/"],
      [["{0+9007199254740992}", "{0*-9007199254740992}"], "counts beyond"],
      [[`{0+1${"0".repeat(400)}}`], "counts beyond"],
      [["{0:0256}", `{0:0${"9".repeat(400)}}`], "pads to more than 255"],
      [["{0+100:02}{1:02}"], "to fit into {0+100:02}"],
      [["/{0}", "{0}/", "a//{0}"], "holds an empty segment"],
      [["./{0}", "{0}/./x"], 'holds the segment "."'],
      [["../{0}", "a..b{0}"], 'holds "..", which formats may not hold'],
      [["zarr.json{0}", "{0}/zarr.json"], 'holds "zarr.json"'],
      [["{0}/.zarray"], "is that of a metadata document"],
      [["\\{0}"], "holds a backslash"],
      [["{0}\u0000", "{0}\n"], "holds a control character"],
      [["\ud800{0}"], "holds half a surrogate pair"],
      [["{*}"], 'since the key "0/../0" holds the segment ".."', "/../"],
      [["{*}", "a/{*}/b"], "holds an empty segment", "//"],
      [["{*}"], "holds a backslash", "\\"],
      [["x".repeat(1022) + "{0}"], "at most 1024 characters"],
      [["{*}"], "Expected a separator", ""],
      [["{*}"], "Expected a separator", "12"],
      [["{*}"], "Expected a separator", "_".repeat(1025)],
    ] as [string[], string, string?][]
  ) {
    for (const format of formats) {
      const configuration = { format, ...separator && { separator } };
      const parse = () =>
        parseChunkKeyEncoding({ name: "template", configuration });
      const error = assertThrows(parse, MetadataError);
      assertStrictEquals(error.path, "/configuration/format");
      assertThrows(() => make(format, separator), RangeError, problem);
    }
  }
  make("x".repeat(1021) + "{0}");
  assertStrictEquals(make("{0}_{1}", "").encode([1, 2]), "1_2");
  for (const wrong of [undefined, null, 1, ["{0}"], {}] as never[]) {
    assertThrows(() => make(wrong), TypeError);
    if (wrong !== undefined) assertThrows(() => make("{*}", wrong), TypeError);
  }
});
