import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import {
  ChunkKeyError,
  MetadataError,
  parseChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";

const MAX = Number.MAX_SAFE_INTEGER;

function parse(configuration: unknown): TemplateChunkKeyEncoding {
  return parseChunkKeyEncoding({
    name: "template",
    configuration,
  }) as TemplateChunkKeyEncoding;
}

Deno.test("TemplateChunkKeyEncoding encodes and decodes the examples of the draft", () => {
  for (
    const [format, separator, chunk, key] of [
      ["c/{*}", "/", [11, 22, 33], "c/11/22/33"],
      ["{*}", ".", [11, 22, 33], "11.22.33"],
      ["prefix/{*}", "/", [11, 22, 33], "prefix/11/22/33"],
      ["{*}.suffix", "_", [11, 22, 33], "11_22_33.suffix"],
      ["{2}/{0}/{1}", ".", [11, 22, 33], "33/11/22"],
      ["{-1}/{*}", "/", [11, 22, 33], "33/11/22"],
      ["{*:04}", "/", [11, 22, 33], "0011/0022/0033"],
      ["{*:02}", "/", [111, 2, 33], "111/02/33"],
      ["{1:05}_{0}", undefined, [1, 42], "00042_1"],
      ["{1:05}_{0}", undefined, [1, 123456], "123456_1"],
      ["images/{-1}/{*:04}.jpeg", "_", [1, 2, 3], "images/3/0001_0002.jpeg"],
      ["{2}-{0}_{1}", undefined, [1, 2, 3], "3-1_2"],
    ] as const
  ) {
    const encoding = new TemplateChunkKeyEncoding(format, separator);
    assertStrictEquals(encoding.encode(chunk), key);
    assertEquals(encoding.decode(key), [...chunk]);
    assertEquals(encoding.decode(key, 3 - (chunk.length === 2 ? 1 : 0)), [
      ...chunk,
    ]);
  }
});

Deno.test("TemplateChunkKeyEncoding encodes and decodes other formats", () => {
  for (
    const [format, separator, chunk, key] of [
      ["{0}", undefined, [0], "0"],
      ["{-1}", undefined, [MAX], "9007199254740991"],
      ["{{{0}}}", undefined, [7], "{7}"],
      ["a{{b}}{0}", undefined, [7], "a{b}7"],
      ["{{0}}{0}", undefined, [7], "{0}7"],
      ["tile_x{1:03}_y{0:03}.tif", undefined, [3, 12], "tile_x012_y003.tif"],
      ["{0:02}{1:02}", undefined, [99, 0], "9900"],
      ["{0}{1:02}", undefined, [123, 4], "12304"],
      ["{0:02}{1}", undefined, [1, 234], "01234"],
      ["5{0}5.5", undefined, [55], "5555.5"],
      ["{*}", "5_5", [5, 5, 5], "55_555_55"],
      ["{*}", "_1_", [1, 1, 1], "1_1_1_1_1"],
      ["{0:02}{*}{-1:02}", "_", [1, 2, 3], "01203"],
      ["{0:02}{*}{-1:02}", "_", [1, 2, 3, 4], "012_304"],
      ["{0:02}{*:03}{-1:02}", "_", [1, 2, 3, 4], "01002_00304"],
      ["{-2}/{*}/{0}", "-", [1, 2, 3, 4], "3/2-4/1"],
      ["💾 {0}+({1})?[x]^$|*", undefined, [1, 2], "💾 1+(2)?[x]^$|*"],
      ["{0}.{*}", "..", [1, 2, 3], "1.2..3"],
      ["__proto__{0}", undefined, [1], "__proto__1"],
      ["{0:0255}", undefined, [5], "5".padStart(255, "0")],
    ] as const
  ) {
    const encoding = new TemplateChunkKeyEncoding(format, separator);
    assertStrictEquals(encoding.encode(chunk), key);
    assertEquals(encoding.decode(key), [...chunk]);
    assertEquals(encoding.decode(key, chunk.length), [...chunk]);
    assertEquals(parse(encoding.toJSON().configuration), encoding);
  }
});

Deno.test("TemplateChunkKeyEncoding counts from other numbers, by other steps and downwards", () => {
  for (
    const [format, separator, chunk, key] of [
      ["{0+1}", undefined, [0], "1"],
      ["{0+1}", undefined, [MAX - 1], `${MAX}`],
      ["{0+0}", undefined, [7], "7"],
      ["{0*1}", undefined, [7], "7"],
      ["{0*10+10:03}", undefined, [0], "010"],
      ["{0*10+10:03}", undefined, [99], "1000"],
      ["{-1*-1+47:02}_{0}", undefined, [0, 0], "47_0"],
      ["{-1*-1+47:02}_{0}", undefined, [0, 47], "00_0"],
      ["{0*-10+95}", undefined, [9], "5"],
      ["{0+1:02}{1*5:02}", undefined, [98, 19], "9995"],
      ["{0*2}{1:02}", undefined, [61, 4], "12204"],
      ["{*+1}", "_", [0, 1, 2], "1_2_3"],
      ["{-1}/{**10+5:03}", "_", [1, 2, 3], "3/015_025"],
      [
        "img_t{0+1:03}_z{1*10+10:03}_c{2+1}.tif",
        undefined,
        [0, 2, 1],
        "img_t001_z030_c2.tif",
      ],
      [
        "Hansen_{0*-10+60}N_{1*10:03}E.tif",
        undefined,
        [1, 2],
        "Hansen_50N_020E.tif",
      ],
    ] as const
  ) {
    const encoding = new TemplateChunkKeyEncoding(format, separator);
    assertStrictEquals(encoding.encode(chunk), key);
    assertEquals(encoding.decode(key), [...chunk]);
    assertEquals(encoding.decode(key, chunk.length), [...chunk]);
    assertEquals(parse(encoding.toJSON().configuration), encoding);
  }
});

Deno.test("TemplateChunkKeyEncoding.encode refuses coordinates that have no number", () => {
  for (
    const [format, coordinate, found] of [
      ["{0+1}", MAX, "which has 9007199254740992"],
      ["{0*-1+47}", 48, "found 48, which has -1"],
      ["{0*-1+47}", MAX, "which has -9007199254740"],
      ["{0*-10+95}", 10, "found 10, which has -5"],
      ["{0*10}", 900719925474100, "which has 9007199254741000"],
      [`{0*${MAX}+${MAX}}`, MAX, "which has 8.1"],
      [`{0*-${MAX}+${MAX}}`, 2, "which has -9007199254740991"],
    ] as const
  ) {
    const encoding = new TemplateChunkKeyEncoding(format);
    assertThrows(() => encoding.encode([coordinate]), RangeError, found);
  }
  assertStrictEquals(
    new TemplateChunkKeyEncoding(`{0*-${MAX}+${MAX}}`).encode([1]),
    "0",
  );
});

Deno.test("TemplateChunkKeyEncoding has the coordinate 0 along dimensions without a placeholder", () => {
  for (
    const [format, rank, chunk, key] of [
      ["day_{0}.zip", 1, [31], "day_31.zip"],
      ["day_{0}.zip", 3, [31, 0, 0], "day_31.zip"],
      ["band_{-3}.tif", 3, [4, 0, 0], "band_4.tif"],
      ["{1}_{2}.tif", 3, [0, 1, 2], "1_2.tif"],
      ["{1}", 2, [0, 5], "5"],
      ["{0}_{2}", 4, [1, 0, 3, 0], "1_3"],
      ["{0}_{-2}", 3, [1, 2, 0], "1_2"],
      ["{-1}", 4, [0, 0, 0, 9], "9"],
      ["{0}", 256, [3, ...new Array(255).fill(0)], "3"],
    ] as [string, number, number[], string][]
  ) {
    const encoding = new TemplateChunkKeyEncoding(format);
    assertStrictEquals(encoding.encode(chunk), key);
    assertEquals(encoding.decode(key, rank), chunk);
    chunk.forEach((coordinate, dimension) => {
      if (coordinate !== 0) return;
      assertThrows(
        () => encoding.encode(chunk.with(dimension, 1)),
        RangeError,
        `has no placeholder for dimension ${dimension}, where the only coordinate is 0 then, found 1; expected`,
      );
    });
  }
  // Without a rank, the least one.
  const least = (format: string, key: string) =>
    new TemplateChunkKeyEncoding(format).decode(key);
  assertEquals(least("day_{0}.zip", "day_31.zip"), [31]);
  assertEquals(least("{1}_{2}.tif", "1_2.tif"), [0, 1, 2]);
  assertEquals(least("{0}_{-2}", "1_2"), [1, 2, 0]);
  assertThrows(
    () => new TemplateChunkKeyEncoding("{0}_{-2}").decode("1_2", 2),
    ChunkKeyError,
    "has rank 3, expected rank 2",
  );
});

Deno.test("TemplateChunkKeyEncoding.decode names the nearest key for numbers that no chunk has", () => {
  for (
    const [format, key, problem, nearest] of [
      ["z{0*10}.tif", "z15.tif", "has 15 at {0*10}; expected 10 or 20", "z20"],
      ["z{0*10}.tif", "z14.tif", "has 14 at {0*10}; expected 10 or 20", "z10"],
      [
        "z{0*10+5:03}.tif",
        "z020.tif",
        "has 020 at {0*10+5:03}; expected 015 or 025",
        "z025",
      ],
      ["z{0+1}.tif", "z0.tif", "has 0 at {0+1}; expected 1", "z1"],
      ["z{0*10+10}.tif", "z3.tif", "has 3 at {0*10+10}; expected 10", "z10"],
      ["z{0*-1+5}.tif", "z6.tif", "has 6 at {0*-1+5}; expected 5", "z5"],
      ["z{0*-10+25}.tif", "z0.tif", "has 0 at {0*-10+25}; expected 5", "z5"],
      ["z{0:03}.tif", "z7.tif", "has 7 at {0:03}; expected 007", "z007"],
      ["z{0:03}.tif", "z0007.tif", "has 0007 at {0:03}; expected 007", "z007"],
      ["z{0}.tif", "z07.tif", "has 07 at {0}; expected 7", "z7"],
      [
        "z{0*10}.tif",
        "z015.tif",
        "has 015 at {0*10}; expected 10 or 20",
        "z20",
      ],
      [
        "z{0*60:02}{1:02}.tif",
        "z9900.tif",
        "has 99 at {0*60:02}; expected 60",
        "z6000",
      ],
    ] as const
  ) {
    const encoding = new TemplateChunkKeyEncoding(format);
    const error = assertThrows(() => encoding.decode(key), ChunkKeyError);
    assertStrictEquals(error.message, `Chunk key "${key}" ${problem}`);
    assertStrictEquals(error.nearest, `${nearest}.tif`);
    encoding.decode(error.nearest!);
  }
  for (const key of ["z.tif", "y15.tif", `z${"9".repeat(17)}.tif`]) {
    const encoding = new TemplateChunkKeyEncoding("z{0*10}.tif");
    const error = assertThrows(
      () => encoding.decode(key),
      ChunkKeyError,
      'is not a key of the format "z{0*10}.tif"',
    );
    assertStrictEquals(error.nearest, undefined);
  }
});

Deno.test("TemplateChunkKeyEncoding.decode rejects keys that encode does not return", () => {
  for (
    const [format, separator, keys] of [
      ["{0}", undefined, ["", "00", "01", "-1", "1e3", "+1", "1 ", "٣", "0x1"]],
      ["{0}", undefined, ["9007199254740992", "9".repeat(400), "1\n", "{0}"]],
      ["c/{0}.tif", undefined, ["c/0.TIF", "c/0xtif", "c/0.tif/", "C/0.tif"]],
      ["c/{0}.tif", undefined, ["c/.tif", "/c/0.tif", "c/0/0.tif", "c/0.tif0"]],
      ["{0:03}", undefined, [
        "1",
        "01",
        "0001",
        "0999",
        "01000",
        "9".repeat(17),
      ]],
      ["{0:02}{1:02}", undefined, ["000", "00000", "1", "", "00_00"]],
      ["{0}{1:02}", undefined, ["00", "1", "00100", "0_00"]],
      ["{*}", "_", ["", "_", "1_", "_1", "1__1", "01_1", "1_01", "1/1", "1.1"]],
      ["{*}_1", "_1_", ["1", "1_1_1", "1_1_1_1_2", "1_2_1_1"]],
      ["{-1}/{*}", "/", ["1", "1/", "/1", "1/2/03", ""]],
      ["{0}/{-3}/{*}", "/", ["1/2/3"]], // Of three dimensions, {0} is {-3}.
      ["{9}/{*}", "/", ["1/2", "1/2/3"]],
    ] as const
  ) {
    const encoding = new TemplateChunkKeyEncoding(format, separator);
    for (const key of keys) {
      const error = assertThrows(() => encoding.decode(key), ChunkKeyError);
      assertStrictEquals(error.key, key);
      assertThrows(() => encoding.decode(key, 2), ChunkKeyError);
    }
  }
  assertStrictEquals(
    assertThrows(
      () => new TemplateChunkKeyEncoding("{*}.x", "_").decode("1"),
      ChunkKeyError,
    ).message,
    'Chunk key "1" is not a key of the format "{*}.x" with the separator "_"',
  );
});

Deno.test("TemplateChunkKeyEncoding.decode rejects another rank, and wrong types", () => {
  const encoding = new TemplateChunkKeyEncoding("{*}", "_");
  for (const [key, rank] of [["1_2", 1], ["1_2", 3], ["1", 0]] as const) {
    assertThrows(
      () => encoding.decode(key, rank),
      ChunkKeyError,
      `expected rank ${rank}`,
    );
  }
  assertThrows(() => encoding.decode("1", -1), RangeError, "the rank");
  assertThrows(() => encoding.decode("1", "0" as never), TypeError, "the rank");
  assertStrictEquals(
    assertThrows(() => encoding.decode(5 as never), TypeError).message,
    "Expected a chunk key, found 5",
  );
});

Deno.test("TemplateChunkKeyEncoding.encode rejects coordinates and numbers of dimensions", () => {
  const two = new TemplateChunkKeyEncoding("{0:02}{1:03}");
  for (const wrong of [-1, 0.5, NaN, Infinity, MAX + 1]) {
    assertThrows(() => two.encode([0, wrong]), RangeError, "of dimension 1");
  }
  for (const wrong of ["1", 1n, null, undefined] as never[]) {
    assertThrows(() => two.encode([wrong, 0]), TypeError, "of dimension 0");
  }
  assertThrows(() => two.encode([, 0] as never), TypeError, "of dimension 0");
  assertThrows(() => two.encode("12" as never), TypeError, "Expected a list");
  assertStrictEquals(two.encode([99, 999]), "99999");
  assertThrows(
    () => two.encode([100, 999]),
    RangeError,
    "Expected the coordinate of dimension 0 to fit into {0:02}, which stands beside another placeholder, found 100",
  );
  assertThrows(() => two.encode([99, 1000]), RangeError, "{1:03}");
  for (
    const [format, rank, problem] of [
      ["{0}_{1}", 0, "is for rank 2 to 256, found 0"],
      ["{0}_{1}", 1, "is for rank 2 to 256, found 1"],
      ["{0}", 0, "is for rank 1 to 256, found 0"],
      ["{0}", 257, "is for rank 1 to 256, found 257"],
      ["{1}", 1, "holds {1}, which is out of range for rank 1"],
      ["{0}_{2}", 2, "holds {2}, which is out of range for rank 2"],
      ["{0}_{-3}", 2, "holds {-3}, which is out of range for rank 2"],
      [
        "{0}_{-2}",
        2,
        "holds {0} and {-2}, which are the same dimension for rank 2",
      ],
      ["{*}", 0, "is for rank 1 to 256, found 0"],
      ["{*}", 257, "is for rank 1 to 256, found 257"],
      ["{0}_{*}", 1, "is for rank 2 to 256, found 1"],
      ["{2}_{*}", 2, "holds {2}, which is out of range for rank 2"],
      ["{-3}_{*}", 2, "holds {-3}, which is out of range for rank 2"],
      [
        "{0}_{-3}_{*}",
        3,
        "holds {0} and {-3}, which are the same dimension for rank 3",
      ],
    ] as const
  ) {
    const encoding = new TemplateChunkKeyEncoding(format, "/");
    assertThrows(
      () => encoding.encode(new Array(rank).fill(0)),
      RangeError,
      `Format "${format}" ${problem}`,
    );
  }
  const all = new TemplateChunkKeyEncoding("{*}", "/");
  assertEquals(all.decode(all.encode(new Array(256).fill(1))).length, 256);
  assertThrows(() => all.decode("1/".repeat(256) + "1"), ChunkKeyError);
});

Deno.test("parseChunkKeyEncoding refuses formats that no array, or not each chunk, could have", () => {
  for (
    const [format, problem, separator] of [
      ["", 'has no placeholder; expected one such as "{0}"'],
      ["c/0", "has no placeholder"],
      ["{{0}}", "has no placeholder"],
      ["{0}{1}", "could give two chunks one key"],
      ["{0}{1:02}{2}", "could give two chunks one key"],
      [
        "{0:02}{*}{-1}",
        "could give two chunks one key, since {-1} follows other digits directly",
        "_",
      ],
      ["{0}5{1}", "could give two chunks one key, since {1} follows"],
      ["{0:02}5{1:02}", "could give two chunks one key, since {1:02} follows"],
      ["{*}5{-1}", "could give two chunks one key, since {-1} follows", "_"],
      ["{0}_{0}", "holds {0} twice"],
      ["{0}_{0:02}_{*}", "holds {0} twice", "/"],
      ["{-1}_{-1}_{*}", "holds {-1} twice", "/"],
      ["{*}_{*}", "holds {*} twice", "/"],
      ["{0*10}_{0+1}", "holds {0} twice"],
      ["{9999999}_{*}", "holds {9999999}, which is out of range", "/"],
      ["{256}", "holds {256}, which is out of range for rank 256"],
      ["{-257}", "holds {-257}, which is out of range for rank 256"],
      ...["{", "}", "{}", "{0", "0}", "{0}}", "{{0}", "{ 0}", "{0 }", "{a}"]
        .map((format) => [format, "holds a single"] as const),
      ...["{0:}", "{0:4}", "{0:0}", "{0:00}", "{0:004}", "{0:0-4}", "{0:x}"]
        .map((format) => [format, "holds a single"] as const),
      ...["{00}", "{01}", "{-0}", "{--1}", "{+1}", "{1.0}", "{1e1}", "{٣}"]
        .map((format) => [format, "holds a single"] as const),
      ...["{**}", "{*:4}", "{:04}", "{0:04:04}", "{0,1}", "${0", "{{{0}}"]
        .map((format) => [format, "holds a single"] as const),
      ...["{0*}", "{0+}", "{0*0}", "{0*01}", "{0+01}", "{0*-0}", "{0-1}"]
        .map((format) => [format, "holds a single"] as const),
      ...["{0+-1}", "{0+1*10}", "{0:03+1}", "{0*1.5}", "{0 +1}", "{+1}"]
        .map((format) => [format, "holds a single"] as const),
      ...["{0*10*10}", "{0+1+1}", "{10*0}", "{0*1e3}", "{***10}", "{0*+1}"]
        .map((format) => [format, "holds a single"] as const),
      ["{0+9007199254740992}", "counts beyond 9007199254740991 with"],
      ["{0*9007199254740992}", "counts beyond 9007199254740991 with"],
      ["{0*-9007199254740992}", "counts beyond 9007199254740991 with"],
      [`{0+1${"0".repeat(400)}}`, "counts beyond 9007199254740991 with"],
      [
        "{0+100:02}{1:02}",
        "Expected the coordinate of dimension 0 to fit into {0+100:02}, which stands beside another placeholder, found 100",
      ],
      ["{0*10}{1*10}", "could give two chunks one key, since {1*10} follows"],
      ["{0:0256}", 'pads to more than 255 digits with "{0:0256}"'],
      [`{0:0${"9".repeat(400)}}`, "pads to more than 255 digits"],
      ["/{0}", 'since the key "/0" holds an empty segment'],
      ["{0}/", "holds an empty segment"],
      ["a//{0}", "holds an empty segment"],
      ["./{0}", 'since the key "./0" holds the segment "."'],
      ["{0}/./x", 'holds the segment "."'],
      ["../{0}", 'holds "..", which formats may not hold'],
      ["a..b{0}", 'holds "..", which formats may not hold'],
      ["zarr.json{0}", 'holds "zarr.json", which formats may not hold'],
      ["{0}/zarr.json", 'holds "zarr.json", which formats may not hold'],
      ["zarr.json/{0}", 'holds "zarr.json", which formats may not hold'],
      ["{0}/.zarray", "is that of a metadata document"],
      ["\\{0}", "holds a backslash"],
      ["{0}\u0000", "holds a control character (U+0000)"],
      ["{0}\n", "holds a control character (U+000A)"],
      ["\ud800{0}", "holds half a surrogate pair (U+D800)"],
      ["{*}", 'since the key "0/../0" holds the segment ".."', "/../"],
      ["{*}", "holds an empty segment", "//"],
      ["{*}", "holds a backslash", "\\"],
      ["a/{*}/b", "holds an empty segment", "//"],
      [
        "x".repeat(1022) + "{0}",
        "Expected a format of at most 1024 characters",
      ],
    ] as const
  ) {
    const error = assertThrows(
      () => parse({ format, ...separator !== undefined && { separator } }),
      MetadataError,
      problem,
    );
    assertStrictEquals(error.path, "/configuration/format");
    assertThrows(
      () => new TemplateChunkKeyEncoding(format, separator),
      RangeError,
      problem,
    );
  }
  new TemplateChunkKeyEncoding("x".repeat(1021) + "{0}");
});

Deno.test("parseChunkKeyEncoding requires a separator for {*} that tells coordinates apart", () => {
  for (const separator of [undefined, "", "0", "12"]) {
    assertThrows(
      () =>
        parse({ format: "{*}", ...separator !== undefined && { separator } }),
      MetadataError,
      "Expected a separator for {*} with a character other than a digit",
    );
  }
  assertStrictEquals(
    parse({ format: "{0}_{1}", separator: "" }).encode([1, 2]),
    "1_2",
  );
  assertThrows(
    () => parse({ format: "{*}", separator: "_".repeat(1025) }),
    MetadataError,
    "Expected a separator of at most 1024 characters",
  );
});

Deno.test("parseChunkKeyEncoding reads both spellings of a template's format, and no others", () => {
  assertEquals(parse({ template: "{0}" }).toJSON(), {
    name: "template",
    configuration: { format: "{0}" },
  });
  for (
    const [configuration, path, problem] of [
      [undefined, "/format", 'Missing member "format"'],
      [{}, "/format", 'Missing member "format"'],
      [{ separator: "/" }, "/format", 'Missing member "format"'],
      [
        { format: "{0}", template: "{0}" },
        "/template",
        'Expected "format" alone, found "template" too',
      ],
      [{ format: null }, "/format", "Expected a format, found null"],
      [{ template: 5 }, "/template", "Expected a format, found 5"],
      [{ template: "{" }, "/template", "holds a single"],
      [
        { format: "{0}", separator: null },
        "/separator",
        "Expected a separator, found null",
      ],
      [{ format: "{0}", suffix: "" }, "/suffix", 'Unknown member "suffix"'],
    ] as const
  ) {
    const error = assertThrows(
      () =>
        parseChunkKeyEncoding({
          name: "template",
          ...configuration && { configuration },
        }),
      MetadataError,
      problem,
    );
    assertStrictEquals(error.path, `/configuration${path}`);
  }
});

Deno.test("TemplateChunkKeyEncoding rejects arguments of another type", () => {
  for (const wrong of [undefined, null, 1, ["{0}"], {}] as never[]) {
    assertThrows(
      () => new TemplateChunkKeyEncoding(wrong),
      TypeError,
      "Expected a format, found ",
    );
  }
  for (const wrong of [null, 1, ["/"]] as never[]) {
    assertThrows(
      () => new TemplateChunkKeyEncoding("{*}", wrong),
      TypeError,
      "Expected a separator, found ",
    );
  }
});

Deno.test("TemplateChunkKeyEncoding is the base encoding of a suffix", () => {
  const suffixed = parseChunkKeyEncoding({
    name: "suffix",
    configuration: {
      suffix: "0.tif",
      base_encoding: { name: "template", configuration: { format: "x{0}" } },
    },
  });
  assertStrictEquals(suffixed.encode([1]), "x10.tif");
  assertEquals(suffixed.decode("x10.tif"), [1]);
  assertEquals(parseChunkKeyEncoding(suffixed.toJSON()), suffixed);
  assertThrows(() => suffixed.decode("x010.tif"), ChunkKeyError, '"x010.tif"');

  const zarr = new TemplateChunkKeyEncoding("{0}/zarr");
  assertThrows(
    () => new SuffixChunkKeyEncoding(".json", zarr).encode([0]),
    RangeError,
    'Chunk key "0/zarr.json" is that of a metadata document',
  );
});
