import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { DefaultChunkKeyEncoding } from "../../src/chunk_key_encoding/default_chunk_key_encoding.ts";
import { parseChunkKeyEncoding } from "../../src/chunk_key_encoding/parse_chunk_key_encoding.ts";
import { registerChunkKeyEncoding } from "../../src/chunk_key_encoding/parse_chunk_key_encoding.ts";
import { MetadataError } from "../../src/errors/metadata_error.ts";

const dotted = new DefaultChunkKeyEncoding(".");

Deno.test("registerChunkKeyEncoding registers an encoding, with and without configuration, alone and as a base encoding", () => {
  assertThrows(() => parseChunkKeyEncoding("dotted"), MetadataError, "Unknown");
  const configurations: unknown[] = [];
  registerChunkKeyEncoding("dotted", (configuration) => {
    configurations.push(configuration);
    return dotted;
  });
  assertStrictEquals(parseChunkKeyEncoding("dotted"), dotted);
  assertStrictEquals(
    parseChunkKeyEncoding({ name: "dotted", configuration: { a: 1 } }),
    dotted,
  );
  const suffix = parseChunkKeyEncoding({
    name: "suffix",
    configuration: { suffix: ".x", base_encoding: "dotted" },
  });
  assertStrictEquals(suffix.encode([1, 2]), "c.1.2.x");
  assertEquals(configurations, [{}, { a: 1 }, {}]);
});

Deno.test("registerChunkKeyEncoding adds the name to the known names in messages", () => {
  registerChunkKeyEncoding("listed", () => dotted);
  assertThrows(
    () => parseChunkKeyEncoding("lost"),
    MetadataError,
    'Unknown chunk key encoding "lost"; known are "default", "v2", "suffix"',
  );
  assertThrows(() => parseChunkKeyEncoding("lost"), MetadataError, '"listed"');
});

Deno.test("registerChunkKeyEncoding rejects built-in names", () => {
  for (const name of ["default", "v2", "suffix", "template", "fanout"]) {
    assertStrictEquals(
      assertThrows(
        () => registerChunkKeyEncoding(name, () => dotted),
        RangeError,
      ).message,
      `Chunk key encoding "${name}" is built in; expected a name of its own`,
    );
  }
  assertStrictEquals(parseChunkKeyEncoding("default").encode([1]), "c/1");
});

Deno.test("registerChunkKeyEncoding rejects a registered name and keeps the first parser", () => {
  registerChunkKeyEncoding("twice", () => dotted);
  assertStrictEquals(
    assertThrows(
      () =>
        registerChunkKeyEncoding("twice", () => new DefaultChunkKeyEncoding()),
      RangeError,
    ).message,
    'Chunk key encoding "twice" is registered already; expected a name of its own',
  );
  assertStrictEquals(parseChunkKeyEncoding("twice"), dotted);
});

Deno.test("registerChunkKeyEncoding rejects an empty name and arguments of another type", () => {
  assertStrictEquals(
    assertThrows(() => registerChunkKeyEncoding("", () => dotted), RangeError)
      .message,
    "Expected the name of a chunk key encoding, found an empty string",
  );
  assertStrictEquals(
    assertThrows(
      () => registerChunkKeyEncoding(1 as unknown as string, () => dotted),
      TypeError,
    ).message,
    "Expected the name of a chunk key encoding, found 1",
  );
  assertStrictEquals(
    assertThrows(
      () =>
        registerChunkKeyEncoding("object", dotted as unknown as () => never),
      TypeError,
    ).message,
    'Expected a function that parses the configuration of "object", found an object with the members "name", "separator"',
  );
  assertThrows(() => parseChunkKeyEncoding("object"), MetadataError, "Unknown");
});

Deno.test("registerChunkKeyEncoding accepts the names of Object.prototype members", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    assertThrows(() => parseChunkKeyEncoding(name), MetadataError, "Unknown");
    registerChunkKeyEncoding(name, () => dotted);
    assertStrictEquals(parseChunkKeyEncoding(name), dotted);
  }
});

Deno.test("registerChunkKeyEncoding prefixes the paths of the parser's errors with the configuration", () => {
  const failure = new EvalError("not of metadata");
  registerChunkKeyEncoding("failing", ({ how }) => {
    throw how === "metadata"
      ? new MetadataError('Expected "quietly"', "/how")
      : failure;
  });
  const failing = (how: string) => ({
    name: "failing",
    configuration: { how },
  });
  const nested = (how: string) => ({
    name: "suffix",
    configuration: { suffix: ".x", base_encoding: failing(how) },
  });
  assertStrictEquals(
    assertThrows(
      () => parseChunkKeyEncoding(failing("metadata")),
      MetadataError,
    )
      .path,
    "/configuration/how",
  );
  assertStrictEquals(
    assertThrows(() => parseChunkKeyEncoding(nested("metadata")), MetadataError)
      .message,
    'Expected "quietly" (at /configuration/base_encoding/configuration/how)',
  );
  assertStrictEquals(
    assertThrows(() => parseChunkKeyEncoding(nested("else")), EvalError),
    failure,
  );
});

Deno.test("registerChunkKeyEncoding does not allow nesting deeper than 32", () => {
  registerChunkKeyEncoding(
    "wrapped",
    ({ base }) => parseChunkKeyEncoding(base ?? "v2"),
  );
  const wrapped = (depth: number): unknown =>
    depth === 0
      ? "v2"
      : { name: "wrapped", configuration: { base: wrapped(depth - 1) } };
  assertStrictEquals(parseChunkKeyEncoding(wrapped(31)).name, "v2");
  for (const depth of [32, 1000]) {
    assertThrows(
      () => parseChunkKeyEncoding(wrapped(depth)),
      MetadataError,
      "Expected at most 32 nested chunk key encodings, found more",
    );
  }
  let alternating: unknown = "v2";
  for (let depth = 0; depth < 1000; depth++) {
    alternating = depth % 2 === 0
      ? { name: "wrapped", configuration: { base: alternating } }
      : {
        name: "suffix",
        configuration: { suffix: "", base_encoding: alternating },
      };
  }
  assertThrows(
    () => parseChunkKeyEncoding(alternating),
    MetadataError,
    "at most 32",
  );
  assertStrictEquals(parseChunkKeyEncoding(wrapped(31)).name, "v2");
});

Deno.test("registerChunkKeyEncoding does not bypass the key checks of suffix", () => {
  registerChunkKeyEncoding("zarr", () => ({
    name: "zarr",
    encode: () => "zarr",
    decode: () => [],
    toJSON: () => ({ name: "zarr" }),
  }));
  const encoding = parseChunkKeyEncoding({
    name: "suffix",
    configuration: { suffix: ".json", base_encoding: "zarr" },
  });
  assertThrows(() => encoding.encode([]), RangeError, "metadata document");
  assertEquals(encoding.toJSON(), {
    name: "suffix",
    configuration: { suffix: ".json", base_encoding: { name: "zarr" } },
  });
});
