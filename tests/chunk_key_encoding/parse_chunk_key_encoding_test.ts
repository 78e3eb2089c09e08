import {
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { DefaultChunkKeyEncoding } from "../../src/chunk_key_encoding/default_chunk_key_encoding.ts";
import { parseChunkKeyEncoding } from "../../src/chunk_key_encoding/parse_chunk_key_encoding.ts";
import { SuffixChunkKeyEncoding } from "../../src/chunk_key_encoding/suffix_chunk_key_encoding.ts";
import { V2ChunkKeyEncoding } from "../../src/chunk_key_encoding/v2_chunk_key_encoding.ts";
import { MetadataError } from "../../src/errors/metadata_error.ts";

/** Asserts that the metadata is refused at this place with this problem. */
function assertRefused(metadata: unknown, path: string, problem: string): void {
  const error = assertThrows(
    () => parseChunkKeyEncoding(metadata),
    MetadataError,
  );
  assertEquals([error.path, error.problem], [path, problem]);
}

function suffix(configuration: Record<string, unknown>): unknown {
  return { name: "suffix", configuration };
}

/** Nests encodings to a depth; the innermost is "v2". */
function nest(depth: number): unknown {
  let metadata: unknown = "v2";
  for (let encodings = 1; encodings < depth; encodings++) {
    metadata = suffix({ suffix: "x", base_encoding: metadata });
  }
  return metadata;
}

Deno.test("parseChunkKeyEncoding accepts default and v2 in all forms", () => {
  for (
    const [metadata, key] of [
      ["default", "c/1/2"],
      [{ name: "default" }, "c/1/2"],
      [{ name: "default", configuration: {} }, "c/1/2"],
      [{ name: "default", configuration: { separator: "/" } }, "c/1/2"],
      [{ name: "default", configuration: { separator: "." } }, "c.1.2"],
      [{ name: "default", must_understand: true }, "c/1/2"],
      ["v2", "1.2"],
      [{ name: "v2" }, "1.2"],
      [{ name: "v2", configuration: {} }, "1.2"],
      [{ name: "v2", configuration: { separator: "." } }, "1.2"],
      [{ name: "v2", configuration: { separator: "/" } }, "1/2"],
      [{
        name: "v2",
        configuration: { separator: "/" },
        must_understand: true,
      }, "1/2"],
    ] as const
  ) {
    assertStrictEquals(parseChunkKeyEncoding(metadata).encode([1, 2]), key);
  }
  assertInstanceOf(parseChunkKeyEncoding("default"), DefaultChunkKeyEncoding);
  assertInstanceOf(parseChunkKeyEncoding("v2"), V2ChunkKeyEncoding);
});

Deno.test("parseChunkKeyEncoding accepts suffix with both spellings of its base encoding", () => {
  for (
    const [configuration, key] of [
      [{ suffix: ".tiff" }, "c/1/2.tiff"],
      [{ suffix: "" }, "c/1/2"],
      [{ suffix: ".x", base_encoding: "v2" }, "1.2.x"],
      [{ suffix: ".x", "base-encoding": "v2" }, "1.2.x"],
      [{ suffix: ".x", base_encoding: { name: "v2" } }, "1.2.x"],
      [{ suffix: ".x", "base-encoding": { name: "v2" } }, "1.2.x"],
      [{ suffix: ".x", base_encoding: "default" }, "c/1/2.x"],
      [{
        suffix: ".x",
        base_encoding: { name: "default", configuration: { separator: "." } },
      }, "c.1.2.x"],
      [{
        suffix: ".y",
        "base-encoding": suffix({ suffix: ".x", base_encoding: "v2" }),
      }, "1.2.x.y"],
    ] as const
  ) {
    const encoding = parseChunkKeyEncoding(suffix(configuration));
    assertInstanceOf(encoding, SuffixChunkKeyEncoding);
    assertStrictEquals(encoding.encode([1, 2]), key);
  }
});

Deno.test("parseChunkKeyEncoding rejects both spellings together, even with equal values", () => {
  for (const [first, second] of [["v2", "v2"], ["v2", null], [null, "v2"]]) {
    assertRefused(
      suffix({ suffix: "", base_encoding: first, "base-encoding": second }),
      "/configuration/base-encoding",
      'Expected "base_encoding" alone, found "base-encoding" too',
    );
  }
});

Deno.test("parseChunkKeyEncoding names the spelling in the path of an error", () => {
  for (const spelling of ["base_encoding", "base-encoding"]) {
    assertRefused(
      suffix({ suffix: "", [spelling]: { name: "v3" } }),
      `/configuration/${spelling}/name`,
      'Unknown chunk key encoding "v3"; known are "default", "v2", "suffix", "template" and "fanout"',
    );
    assertRefused(
      suffix({ suffix: "", [spelling]: null }),
      `/configuration/${spelling}`,
      "Expected a chunk key encoding, a name or an object with a name, found null",
    );
    assertRefused(
      suffix({
        suffix: "",
        [spelling]: { name: "v2", configuration: { separator: "|" } },
      }),
      `/configuration/${spelling}/configuration/separator`,
      'Expected the separator "/" or ".", found "|"',
    );
    assertRefused(
      suffix({
        suffix: "",
        [spelling]: suffix({ suffix: "", [spelling]: "v3" }),
      }),
      `/configuration/${spelling}/configuration/${spelling}`,
      'Unknown chunk key encoding "v3"; known are "default", "v2", "suffix", "template" and "fanout"',
    );
  }
});

Deno.test("parseChunkKeyEncoding rejects values that are not extensions", () => {
  const expected =
    "Expected a chunk key encoding, a name or an object with a name, found ";
  for (
    const [metadata, found] of [
      [null, "null"],
      [undefined, "undefined"],
      [5, "5"],
      [true, "true"],
      [["v2"], '["v2"]'],
    ]
  ) {
    assertRefused(metadata, "", expected + found);
  }
  assertRefused("", "", "Expected a name, found an empty string");
  assertRefused(
    { name: "" },
    "/name",
    "Expected a name, found an empty string",
  );
  assertRefused({ name: 2 }, "/name", "Expected a name, found 2");
  assertRefused({}, "/name", 'Missing member "name" in a chunk key encoding');
  assertRefused(
    { name: "v2", separator: "/" },
    "/separator",
    'Unknown member "separator" in a chunk key encoding; known are "name", "configuration" and "must_understand"',
  );
  for (const configuration of [null, [], "/", 1]) {
    const error = assertThrows(
      () => parseChunkKeyEncoding({ name: "v2", configuration }),
      MetadataError,
      "Expected a configuration object, found ",
    );
    assertStrictEquals(error.path, "/configuration");
  }
});

Deno.test("parseChunkKeyEncoding lists the known names for an unknown name", () => {
  for (
    const name of [
      "v3",
      "Default",
      "v2 ",
      "__proto__",
      "constructor",
      "toString",
    ]
      .concat(["hasOwnProperty", "valueOf", "https://example.com/suffix"])
  ) {
    const problem = `Unknown chunk key encoding ${
      JSON.stringify(name)
    }; known are "default", "v2", "suffix", "template" and "fanout"`;
    assertRefused(name, "", problem);
    assertRefused({ name }, "/name", problem);
    assertRefused(
      { name, configuration: { separator: "/" }, must_understand: false },
      "/name",
      problem,
    );
  }
});

Deno.test("parseChunkKeyEncoding rejects must_understand: false", () => {
  const problem =
    "Expected true or no such member, since chunk keys depend on their encoding, found false";
  for (
    const metadata of [
      { name: "default" },
      { name: "v2", configuration: { separator: "/" } },
      { name: "suffix", configuration: { suffix: ".x" } },
    ]
  ) {
    assertRefused(
      { ...metadata, must_understand: false },
      "/must_understand",
      problem,
    );
    parseChunkKeyEncoding({ ...metadata, must_understand: true });
  }
  assertRefused(
    suffix({
      suffix: "",
      "base-encoding": { name: "v2", must_understand: false },
    }),
    "/configuration/base-encoding/must_understand",
    problem,
  );
  assertRefused(
    { name: "v2", must_understand: null },
    "/must_understand",
    "Expected true or false, found null",
  );
});

Deno.test("parseChunkKeyEncoding names an unknown configuration member and lists the known ones", () => {
  for (
    const member of [
      "seperator",
      "Separator",
      "suffix",
      "",
      "a/b~c",
      "toString",
    ]
      .concat(["__proto__", "constructor", "hasOwnProperty"])
  ) {
    const path = `/configuration/${
      member.replaceAll("~", "~0").replaceAll("/", "~1")
    }`;
    for (const name of ["default", "v2"]) {
      const metadata = JSON.parse(
        `{"name":"${name}","configuration":{${JSON.stringify(member)}:{}}}`,
      );
      assertRefused(
        metadata,
        path,
        `Unknown member ${
          JSON.stringify(member)
        } in the configuration of "${name}"; known are "separator"`,
      );
    }
    if (member === "suffix") continue;
    const metadata = JSON.parse(
      `{"name":"suffix","configuration":{"suffix":"",${
        JSON.stringify(member)
      }:"v2"}}`,
    );
    assertRefused(
      metadata,
      path,
      `Unknown member ${
        JSON.stringify(member)
      } in the configuration of "suffix"; known are "suffix", "base_encoding" and "base-encoding"`,
    );
  }
});

Deno.test("parseChunkKeyEncoding ignores inherited members", () => {
  assertStrictEquals(
    assertThrows(
      () =>
        parseChunkKeyEncoding(
          JSON.parse('{"name":"v2","__proto__":{"configuration":{}}}'),
        ),
      MetadataError,
    ).path,
    "/__proto__",
  );
  assertRefused(
    JSON.parse('{"name":"suffix","configuration":{"__proto__":{"suffix":""}}}'),
    "/configuration/suffix",
    'Missing member "suffix" in the configuration of "suffix"',
  );
});

Deno.test("parseChunkKeyEncoding rejects other separators", () => {
  for (
    const [separator, found] of [
      ["", '""'],
      ["|", '"|"'],
      ["//", '"//"'],
      [null, "null"],
      [0, "0"],
      [["/"], '["/"]'],
      ["x".repeat(500), `"${"x".repeat(80)}"… (500 characters)`],
    ]
  ) {
    for (const name of ["default", "v2"]) {
      assertRefused(
        { name, configuration: { separator } },
        "/configuration/separator",
        `Expected the separator "/" or ".", found ${found}`,
      );
    }
  }
});

Deno.test("parseChunkKeyEncoding requires a suffix", () => {
  for (
    const metadata of [
      "suffix",
      { name: "suffix" },
      suffix({}),
      suffix({ base_encoding: "v2" }),
    ]
  ) {
    assertRefused(
      metadata,
      "/configuration/suffix",
      'Missing member "suffix" in the configuration of "suffix"',
    );
  }
  assertRefused(
    suffix({ suffix: "", base_encoding: "suffix" }),
    "/configuration/base_encoding/configuration/suffix",
    'Missing member "suffix" in the configuration of "suffix"',
  );
  for (const [wrong, found] of [[null, "null"], [5, "5"], [[".x"], '[".x"]']]) {
    assertRefused(
      suffix({ suffix: wrong }),
      "/configuration/suffix",
      `Expected a suffix, found ${found}`,
    );
  }
});

Deno.test("parseChunkKeyEncoding rejects suffixes that make unsafe keys", () => {
  for (
    const [text, ending, problem] of [
      ["/", "0/", "holds an empty segment"],
      ["a//b", "0a//b", "holds an empty segment"],
      ["/../x", "0/../x", 'holds the segment ".."'],
      ["/.", "0/.", 'holds the segment "."'],
      ["\\", "0\\", "holds a backslash"],
      ["\u0000", "0\u0000", "holds a control character (U+0000)"],
      ["\udc00", "0\udc00", "holds half a surrogate pair (U+DC00)"],
      ["/zarr.json", "0/zarr.json", "is that of a metadata document"],
    ] as const
  ) {
    const expected = `Suffix ${
      JSON.stringify(text)
    } cannot be used, since a key that ends in ${
      JSON.stringify(ending)
    } ${problem}; expected a suffix such as ".tiff"`;
    assertRefused(suffix({ suffix: text }), "/configuration/suffix", expected);
    assertRefused(
      suffix({ suffix: text, base_encoding: "v2" }),
      "/configuration/suffix",
      expected,
    );
    assertRefused(
      suffix({ suffix: ".x", "base-encoding": suffix({ suffix: text }) }),
      "/configuration/base-encoding/configuration/suffix",
      expected,
    );
  }
  assertRefused(
    suffix({ suffix: ".json", base_encoding: suffix({ suffix: "/zarr" }) }),
    "/configuration/suffix",
    'Suffix ".json" cannot be used, since a key that ends in "0/zarr.json" is that of a metadata document; expected a suffix such as ".tiff"',
  );
});

Deno.test("parseChunkKeyEncoding keeps the cause of a refused suffix", () => {
  const error = assertThrows(
    () => parseChunkKeyEncoding(suffix({ suffix: "/" })),
    MetadataError,
  );
  assertInstanceOf(error.cause, RangeError);
});

Deno.test("parseChunkKeyEncoding accepts 32 nested encodings and no more", () => {
  assertStrictEquals(
    parseChunkKeyEncoding(nest(32)).encode([1]),
    `1${"x".repeat(31)}`,
  );
  const places = "/configuration/base_encoding".repeat(32);
  const problem = "Expected at most 32 nested chunk key encodings, found more";
  for (const depth of [33, 34, 5000, 100_000]) {
    assertRefused(nest(depth), places, problem);
  }
  assertStrictEquals(parseChunkKeyEncoding(nest(32)).name, "suffix");
});

Deno.test("parseChunkKeyEncoding counts an implied base encoding", () => {
  const metadata = (depth: number): unknown =>
    depth === 0
      ? suffix({ suffix: "x" })
      : suffix({ suffix: "x", "base-encoding": metadata(depth - 1) });
  assertStrictEquals(
    parseChunkKeyEncoding(metadata(30)).encode([]),
    `c${"x".repeat(31)}`,
  );
  assertThrows(
    () => parseChunkKeyEncoding(metadata(31)),
    MetadataError,
    "at most 32 nested",
  );
});

Deno.test("parseChunkKeyEncoding rejects thousands of nested encodings", () => {
  const deep = '{"name":"suffix","configuration":{"suffix":"","base_encoding":'
    .repeat(5000) + '"v2"' + "}}".repeat(5000);
  assertThrows(
    () => parseChunkKeyEncoding(JSON.parse(deep)),
    MetadataError,
    "at most 32",
  );
});

Deno.test("parseChunkKeyEncoding accepts what toJSON returns, and does not change its argument", () => {
  const metadata = Object.freeze({
    name: "suffix",
    configuration: Object.freeze({ suffix: ".x", "base-encoding": "v2" }),
  });
  const encoding = parseChunkKeyEncoding(metadata);
  assertEquals(encoding.toJSON(), {
    name: "suffix",
    configuration: {
      suffix: ".x",
      base_encoding: { name: "v2", configuration: { separator: "." } },
    },
  });
  assertEquals(parseChunkKeyEncoding(encoding.toJSON()), encoding);
});
