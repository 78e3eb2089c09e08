import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { inspect } from "node:util";
import * as zarr from "zarrita";
import { HttpStore, MemoryStore } from "../../mod.ts";
import {
  type CodecRegistry,
  registerCodecs,
  setSharded,
  withZarrParts,
} from "../../zarrita.ts";

const REGISTRY_EXPECTED = "Expected the module of zarrita or its registry";

Deno.test("registerCodecs accepts only zarrita and its registry", () => {
  registerCodecs(zarr);
  registerCodecs(zarr.registry);
  const load = () => Promise.resolve({});
  const registry = new Map([["bytes", load]]);
  registerCodecs({ registry });
  // Without zarrita's zstd, browsers would have none.
  const withZstd = new Map([["bytes", load], ["zstd", load]]);
  registerCodecs(withZstd);
  const needZstd = [...withZstd.keys()].filter((name) => !registry.has(name));
  assertEquals(
    new Set(needZstd),
    new Set([
      "zstd",
      "numcodecs.zstd",
      "imagecodecs_zstd",
      "blosc",
      "numcodecs.blosc",
    ]),
  );
  assertEquals([...registry.keys()].every((name) => withZstd.has(name)), true);
  assertEquals(registry.has("gzip") && registry.has("crc32c"), true);
  for (
    const [argument, message] of [
      [undefined, `${REGISTRY_EXPECTED}, found undefined`],
      [null, `${REGISTRY_EXPECTED}, found null`],
      ["zarrita", `${REGISTRY_EXPECTED}, found "zarrita"`],
      [
        { get: zarr.get },
        `${REGISTRY_EXPECTED}, found an object with the members "get"`,
      ],
      [{ registry: undefined }, `${REGISTRY_EXPECTED}, found undefined`],
      [
        new Map(),
        'Expected the registry of zarrita, found one without the codec "bytes"',
      ],
    ] as const
  ) {
    const error = assertThrows(
      () => registerCodecs(argument as unknown as CodecRegistry),
      TypeError,
    );
    assertEquals(error.message, message);
  }
});

Deno.test("withZarrParts advises which store to construct", () => {
  for (
    const [argument, found] of [
      ["x.zarr", '"x.zarr": use new FileSystemStore("x.zarr")'],
      [
        new URL("https://example.org/x"),
        '"https://example.org/x": use new HttpStore("https://example.org/x")',
      ],
      [undefined, "undefined"],
      [MemoryStore, "the class MemoryStore: use new MemoryStore(…)"],
    ] as const
  ) {
    const error = assertThrows(
      () => withZarrParts(argument as unknown as MemoryStore),
      TypeError,
    );
    assertEquals(
      error.message,
      `Expected a store, an object with a "get" method, found ${found}`,
    );
  }
});

Deno.test("withZarrParts prints the store below", () => {
  const below = new HttpStore("https://example.org/x?token=secret");
  const expected = "withZarrParts(HttpStore(https://example.org/x?…))";
  for (
    const store of [
      withZarrParts(below),
      withZarrParts(Object.freeze(below)),
      zarr.extendStore(below, withZarrParts),
    ]
  ) {
    assertEquals(String(store), expected);
    assertEquals(Deno.inspect(store), expected);
    assertEquals(inspect(store), expected);
  }
  assertEquals(String(withZarrParts(new Map())), "withZarrParts(Map(0))");
});

Deno.test("setSharded names the missing argument", async () => {
  const array = await zarr.create(new MemoryStore(), {
    shape: [4],
    chunkShape: [2],
    dtype: "uint8",
  });
  const set = setSharded as (...all: unknown[]) => Promise<void>;
  for (
    const [act, message] of [
      [
        () => set(array, null, 7),
        'Expected the module of zarrita as the first argument, found an object with the members "store", "path", "kind"',
      ],
      [
        () => set(),
        "Expected the module of zarrita as the first argument, found undefined",
      ],
      [
        () => set(zarr, null, 7),
        "Expected an array that was opened from withZarrParts(store) as the second argument, found null",
      ],
      [
        () => set(zarr, array, null, 7),
        'Expected an array that was opened from withZarrParts(store), found the array at "/" of MemoryStore(1)',
      ],
    ] as const
  ) {
    assertEquals((await assertRejects(act, TypeError)).message, message);
  }
});
