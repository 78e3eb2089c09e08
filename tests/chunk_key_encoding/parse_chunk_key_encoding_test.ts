import {
  assertEquals,
  assertInstanceOf,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import {
  DefaultChunkKeyEncoding,
  MetadataError,
  parseChunkKeyEncoding,
  registerChunkKeyEncoding,
} from "../../mod.ts";

function suffix(configuration: Record<string, unknown>): unknown {
  return { name: "suffix", configuration };
}

/** Nests encodings to a depth; the innermost is "v2". */
function nest(depth: number): unknown {
  return depth === 1
    ? "v2"
    : suffix({ suffix: "x", base_encoding: nest(depth - 1) });
}

Deno.test("parseChunkKeyEncoding reads encodings in all forms", () => {
  const separated = (name: string, separator: string) => ({
    name,
    configuration: { separator },
  });
  for (
    const [metadata, key] of [
      ["default", "c/1/2"],
      [{ name: "default" }, "c/1/2"],
      [{ name: "default", configuration: {} }, "c/1/2"],
      [separated("default", "/"), "c/1/2"],
      [separated("default", "."), "c.1.2"],
      [{ name: "default", must_understand: true }, "c/1/2"],
      ["v2", "1.2"],
      [separated("v2", "."), "1.2"],
      [{ ...separated("v2", "/"), must_understand: true }, "1/2"],
      ["fanout", "c/0/001/0/002"],
      [{ name: "fanout", configuration: {} }, "c/0/001/0/002"],
      [
        { name: "fanout", configuration: { max_children: 250 } },
        "c/0/01/0/02",
      ],
      [{ name: "template", configuration: { format: "{1}_{0}" } }, "2_1"],
      [{ name: "template", configuration: { template: "{1}_{0}" } }, "2_1"],
      [
        { name: "template", configuration: { format: "{*}", separator: "-" } },
        "1-2",
      ],
      [suffix({ suffix: ".tiff" }), "c/1/2.tiff"],
      [suffix({ suffix: "" }), "c/1/2"],
      [suffix({ suffix: ".x", base_encoding: "v2" }), "1.2.x"],
      [suffix({ suffix: ".x", "base-encoding": "v2" }), "1.2.x"],
      [suffix({ suffix: ".x", base_encoding: { name: "v2" } }), "1.2.x"],
      [
        suffix({ suffix: ".x", "base-encoding": separated("default", ".") }),
        "c.1.2.x",
      ],
      [
        suffix({
          suffix: ".y",
          "base-encoding": suffix({ suffix: ".x", base_encoding: "v2" }),
        }),
        "1.2.x.y",
      ],
      [nest(32), `1.2${"x".repeat(31)}`],
    ]
  ) {
    const before = JSON.stringify(metadata);
    const encoding = parseChunkKeyEncoding(metadata);
    assertStrictEquals(encoding.encode([1, 2]), key);
    assertEquals(parseChunkKeyEncoding(encoding.toJSON()), encoding);
    assertStrictEquals(JSON.stringify(metadata), before);
  }
  assertEquals(
    parseChunkKeyEncoding(suffix({ suffix: ".x", "base-encoding": "v2" }))
      .toJSON(),
    {
      name: "suffix",
      configuration: {
        suffix: ".x",
        base_encoding: { name: "v2", configuration: { separator: "." } },
      },
    },
  );
});

function configured(name: string, configuration: unknown): unknown {
  return { name, configuration };
}

const SEPARATED = ["default", "v2"];
const UNKNOWN = [
  "v3",
  "Default",
  "v2 ",
  "__proto__",
  "constructor",
  "toString",
];
const UNSAFE = ["/", "/../x", "\\", "\udc00", "/zarr.json"];
const SPELLINGS = ["base_encoding", "base-encoding"];
const DEEP = '{"name":"suffix","configuration":{"suffix":"","base_encoding":'
  .repeat(5000) + '"v2"' + "}}".repeat(5000);

/** Metadata that is refused, by the path of what is wrong. */
const REFUSED: Record<string, unknown[]> = {
  "": [null, undefined, 5, true, ["v2"], "", ...UNKNOWN],
  "/name": [
    ...[{}, { name: "" }, { name: 2 }],
    ...UNKNOWN.map((name) => ({ name, must_understand: false })),
  ],
  "/separator": [{ name: "v2", separator: "/" }],
  "/__proto__": [JSON.parse('{"name":"v2","__proto__":{}}')],
  "/must_understand": [
    ...["default", "v2", "suffix", "template", "fanout"]
      .map((name) => ({ name, must_understand: false })),
    { name: "v2", must_understand: null },
  ],
  "/configuration": [null, [], "/", 1].map((each) => configured("v2", each)),
  "/configuration/separator": [
    ...["", "|", "//", null, 0, ["/"]].flatMap((separator) =>
      SEPARATED.map((name) => configured(name, { separator }))
    ),
    configured("fanout", { separator: "/" }),
    configured("template", { format: "{0}", separator: null }),
    suffix({ suffix: "", separator: "." }),
  ],
  "/configuration/toString": [...SEPARATED, "fanout"]
    .map((name) => configured(name, { toString: {} })),
  "/configuration/a~1b~0c": [configured("v2", { "a/b~c": 1 })],
  "/configuration/__proto__": [
    JSON.parse('{"name":"v2","configuration":{"__proto__":{}}}'),
  ],
  "/configuration/suffix": [
    ...["suffix", { name: "suffix" }, suffix({ base_encoding: "v2" })],
    ...[null, 5, [".x"], ...UNSAFE].map((suffixed) =>
      suffix({ suffix: suffixed })
    ),
    suffix({ suffix: ".json", base_encoding: suffix({ suffix: "/zarr" }) }),
    configured("template", { format: "{0}", suffix: "" }),
    // An inherited member.
    JSON.parse('{"name":"suffix","configuration":{"__proto__":{"suffix":""}}}'),
  ],
  "/configuration/base_encoding/configuration/suffix": UNSAFE.map((unsafe) =>
    suffix({ suffix: "", base_encoding: suffix({ suffix: unsafe }) })
  ),
  "/configuration/base-encoding": [
    ...[["v2", "v2"], ["v2", null], [null, "v2"]].map(([one, other]) =>
      suffix({ suffix: "", base_encoding: one, "base-encoding": other })
    ),
    suffix({ suffix: "", "base-encoding": null }),
  ],
  ...Object.fromEntries(SPELLINGS.flatMap((name) => {
    const base = `/configuration/${name}`;
    const wrong = configured("v2", { separator: "|" });
    return [
      [`${base}/name`, [suffix({ suffix: "", [name]: { name: "v3" } })]],
      [
        `${base}/configuration/separator`,
        [suffix({ suffix: "", [name]: wrong })],
      ],
    ];
  })),
  "/configuration/max_children": [99, 0, -1000, 100.5, 2 ** 53, "1000", null]
    .map((max_children) => configured("fanout", { max_children })),
  "/configuration/format": [
    "template",
    configured("template", { separator: "/" }),
    configured("template", { format: null }),
  ],
  "/configuration/template": [
    configured("template", { template: 5 }),
    configured("template", { template: "{" }),
    configured("template", { format: "{0}", template: "{0}" }),
  ],
  ["/configuration/base_encoding".repeat(32)]: [
    nest(33),
    nest(1000),
    JSON.parse(DEEP),
  ],
};

Deno.test("parseChunkKeyEncoding refuses invalid metadata at its place", () => {
  for (const [path, all] of Object.entries(REFUSED)) {
    for (const metadata of all) {
      const parse = () => parseChunkKeyEncoding(metadata);
      const error = assertThrows(parse, MetadataError);
      assertStrictEquals(error.path, path, error.message);
    }
  }
  assertStrictEquals(parseChunkKeyEncoding(nest(32)).name, "suffix");
});

Deno.test("the errors of parseChunkKeyEncoding say what was wrong and what would be right", () => {
  for (
    const [metadata, message] of [
      [
        null,
        "Expected a chunk key encoding, a name or an object with a name, found null",
      ],
      [
        { name: "v2", configuration: { separator: "|" } },
        'Expected the separator "/" or ".", found "|" (at /configuration/separator)',
      ],
      [
        { name: "v2", configuration: { seperator: "." } },
        'Unknown member "seperator" in the configuration of "v2"; known are "separator" (at /configuration/seperator)',
      ],
      [
        { name: "v2", must_understand: false },
        "Expected true or no such member, since chunk keys depend on their encoding, found false (at /must_understand)",
      ],
      [
        suffix({ suffix: "", base_encoding: "v2", "base-encoding": "v2" }),
        'Expected "base_encoding" alone, found "base-encoding" too (at /configuration/base-encoding)',
      ],
    ]
  ) {
    const parse = () => parseChunkKeyEncoding(metadata);
    const error = assertThrows(parse, MetadataError);
    assertStrictEquals(error.message, message as string);
  }
  const unknown = () => parseChunkKeyEncoding("v3");
  const problem =
    'Unknown chunk key encoding "v3"; known are "default", "v2", "suffix", "template"';
  assertThrows(unknown, MetadataError, problem);
  const unsafe = () => parseChunkKeyEncoding(suffix({ suffix: "/" }));
  assertInstanceOf(assertThrows(unsafe, MetadataError).cause, RangeError);
});

const dotted = new DefaultChunkKeyEncoding(".");

Deno.test("registerChunkKeyEncoding registers an encoding, with and without configuration, alone and as a base encoding", () => {
  const configurations: unknown[] = [];
  for (const name of ["dotted", "__proto__", "constructor", "toString"]) {
    assertThrows(() => parseChunkKeyEncoding(name), MetadataError, "Unknown");
    registerChunkKeyEncoding(name, (configuration) => {
      configurations.push(configuration);
      return dotted;
    });
    assertStrictEquals(parseChunkKeyEncoding(name), dotted);
  }
  configurations.length = 0;
  parseChunkKeyEncoding("dotted");
  parseChunkKeyEncoding({ name: "dotted", configuration: { a: 1 } });
  const suffixed = suffix({ suffix: ".x", base_encoding: "dotted" });
  assertStrictEquals(parseChunkKeyEncoding(suffixed).encode([1, 2]), "c.1.2.x");
  assertEquals(configurations, [{}, { a: 1 }, {}]);
  assertThrows(() => parseChunkKeyEncoding("lost"), MetadataError, '"dotted"');
});

Deno.test("registerChunkKeyEncoding rejects names that are taken, and arguments of another type", () => {
  registerChunkKeyEncoding("twice", () => dotted);
  const other = () => new DefaultChunkKeyEncoding();
  for (
    const name of ["default", "v2", "suffix", "template", "fanout"]
      .concat(["twice", ""])
  ) {
    assertThrows(() => registerChunkKeyEncoding(name, other), RangeError);
  }
  assertStrictEquals(parseChunkKeyEncoding("twice"), dotted);
  assertStrictEquals(parseChunkKeyEncoding("default").encode([1]), "c/1");
  for (const [name, parse] of [[1, other], ["object", dotted]]) {
    const register = () =>
      registerChunkKeyEncoding(name as never, parse as never);
    assertThrows(register, TypeError);
  }
  assertThrows(() => parseChunkKeyEncoding("object"), MetadataError, "Unknown");
  registerChunkKeyEncoding("empty", () => undefined as never);
  assertThrows(() => parseChunkKeyEncoding("empty"), TypeError);
});
