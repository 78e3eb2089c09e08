import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import fc from "fast-check";
import {
  ChecksumError,
  type ConcatOptions,
  concatStream,
  FileSystemStore,
  PartSizeError,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { filesIn, inTempDir } from "../stores/temp_dir.ts";
import { sourceOf, SOURCES } from "./stream_kinds.ts";
import {
  instancesInUse,
  isWasmMemory,
  probedSource,
  settle,
} from "./stream_probes.ts";
import {
  assertSameBytes,
  cutSlowly,
  inPieces,
  lengths,
  partsOf,
  type Sizes,
  slowReport,
  sum,
  WINDOW,
  withChecksum,
} from "./stream_support.ts";

/** Stores joined parts as `/x`, and reads the file. */
async function stored(
  declared: Sizes,
  parts: Uint8Array<ArrayBuffer>[],
  from: typeof SOURCES[number],
  lengths: number[],
  options: ConcatOptions,
): Promise<Uint8Array> {
  let bytes!: Uint8Array;
  await inTempDir(async (folder) => {
    await Deno.mkdir(`${folder}/store`);
    const store = new FileSystemStore(`${folder}/store`);
    const stream = concatStream(
      partsOf(declared),
      ({ keySuffix }) =>
        sourceOf(from, parts[Number(keySuffix.slice(1))]!, lengths, folder),
      options,
    );
    await store.set("/x", stream);
    assert(stream.locked);
    assertEquals(await filesIn(`${folder}/store`), ["x"]);
    bytes = await Deno.readFile(`${folder}/store/x`);
  });
  return bytes;
}

for (const from of SOURCES) {
  Deno.test(`concatStream gives a FileSystemStore the same bytes as a reader, from a ${from}`, async () => {
    const length = fc.oneof(
      { weight: 5, arbitrary: fc.nat(12) },
      { weight: 1, arbitrary: fc.constantFrom(WINDOW - 1, 2 * WINDOW + 1) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(length, { minLength: 1, maxLength: 4 }),
        lengths.map((lengths) => [...lengths, 200_000]),
        fc.constantFrom("none", "compute", "verify"),
        fc.constantFrom(...ENGINES),
        async (sizes, lengths, crc32c, engine) => {
          if (crc32c === "verify") sizes.push(4);
          const length = sum(sizes);
          const chunk = crc32c === "verify"
            ? withChecksum(noise(length - 4))
            : noise(length);
          const parts = cutSlowly(chunk, sizes).map((part) => part.slice());
          const declared = sizes.map((size, i) => i % 2 ? size : undefined);
          const reports: unknown[] = [];
          const progress: number[] = [];
          const bytes = await stored(declared, parts, from, lengths, {
            crc32c,
            engine,
            onReport: (report) => reports.push(report),
            onProgress: (size) => progress.push(size),
          });
          assertSameBytes(bytes, chunk);
          assertEquals(reports, [slowReport(parts, crc32c !== "none")]);
          assertEquals(progress.at(-1) ?? 0, chunk.length);
        },
      ),
      { numRuns: 15 },
    );
  });
}

Deno.test("concatStream that a FileSystemStore stores reads into the memory of an instance, and gives it back", async () => {
  await inTempDir(async (folder) => {
    const memories = new Set<ArrayBufferLike>();
    let left = 3;
    const stream = concatStream(partsOf([undefined]), () => ({
      read(memory) {
        memories.add(memory.buffer);
        return Promise.resolve(left-- > 0 ? memory.length : null);
      },
    }), { engine: "wasm", crc32c: "compute" });
    await new FileSystemStore(folder).set("/x", stream);
    assertEquals((await Deno.stat(`${folder}/x`)).size, 3 * WINDOW);
    assertEquals(memories.size, 1);
    assert([...memories].every((each) => isWasmMemory(new Uint8Array(each))));
    await settle();
    assertEquals(instancesInUse(), 0);
  });
});

/** Fails to store a stream: an earlier value stays, and nothing else. */
async function failsToStore(
  make: () => ReadableStream<Uint8Array>,
): Promise<unknown> {
  let error: unknown;
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    error = await assertRejects(() => store.set("/x", make()));
    await settle();
    assertEquals(await filesIn(folder), []);
    await store.set("/x", Uint8Array.of(1));
    assertStrictEquals(
      (await assertRejects(() => store.set("/x", make())) as Error).constructor,
      (error as Error).constructor,
    );
    await settle();
    assertEquals(await filesIn(folder), ["x"]);
    assertEquals(await store.get("/x"), Uint8Array.of(1));
  });
  assertEquals(instancesInUse(), 0);
  return error;
}

for (const kind of ["stream", "reader"] as const) {
  Deno.test(`concatStream whose checksum is wrong is not stored, from a ${kind}`, async () => {
    const wrong = withChecksum(noise(20));
    wrong[3]! ^= 1;
    const error = await failsToStore(() =>
      concatStream(
        partsOf([undefined]),
        () => probedSource(kind, inPieces(wrong, [5])).source,
        {
          crc32c: "verify",
          engine: "wasm",
        },
      )
    );
    assert(error instanceof ChecksumError);
  });

  Deno.test(`concatStream whose part is too short, too long or fails is not stored, from a ${kind}`, async () => {
    for (const length of [5, 7]) {
      const error = await failsToStore(() =>
        concatStream(
          partsOf([6]),
          () => probedSource(kind, inPieces(noise(length), [2])).source,
        )
      );
      assert(error instanceof PartSizeError);
      assertEquals([error.expected, error.actual], [
        6,
        length === 5 ? 5 : error.actual,
      ]);
    }
    for (const at of [0, 2]) {
      const failure = new Error("Line cut");
      const error = await failsToStore(() =>
        concatStream(
          partsOf([undefined]),
          () =>
            probedSource(kind, inPieces(noise(6), [2]), (piece) => {
              if (piece === at) throw failure;
            }).source,
        )
      );
      assertStrictEquals(error, failure);
    }
  });
}
