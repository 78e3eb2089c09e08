import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { collector, SINKS, sourceOf, SOURCES } from "./stream_kinds.ts";
import {
  instancesInUse,
  KINDS,
  never,
  probedSource,
  settle,
  Sinks,
} from "./stream_probes.ts";
import {
  assertSameBytes,
  cutSlowly,
  inPieces,
  partsOf,
  slowReport,
  withChecksum,
} from "./stream_support.ts";

const SIZES = [100, undefined, 70_000, 4];

Deno.test("splitStream splits twenty chunks at once, and gives the pool its memory back", async () => {
  assertEquals(instancesInUse(), 0);
  await inTempDir(async (folder) => {
    await Promise.all(Array.from({ length: 20 }, async (_, i) => {
      const engine = i < 10 ? "wasm" : ENGINES[i % 3]!;
      const chunk = withChecksum(noise(300_000 + 1000 * i, i + 1));
      const own = `${folder}/${i}`;
      await Deno.mkdir(own);
      // More readers than there are instances, and the other kinds of sources.
      const from = i < 10 ? "reader" : SOURCES[i % SOURCES.length]!;
      const to = collector(SINKS[i % SINKS.length]!, own);
      const source = await sourceOf(from, chunk, [100_000, 65_537], own);
      const report = await splitStream(source, partsOf(SIZES), to.open, {
        engine,
        crc32c: i % 2 === 0 ? "verify" : "compute",
      });
      const expected = cutSlowly(chunk, SIZES);
      assertEquals(report, slowReport(expected, true));
      for (const [part, bytes] of (await to.parts()).entries()) {
        assertSameBytes(bytes, expected[part]!, `chunk ${i}, part ${part}`);
      }
    }));
  });
  await settle();
  assertEquals(instancesInUse(), 0);
});

/** Ways to fail after some pieces have come. */
const FAILURES: Record<
  string,
  (fail: () => void) => {
    source?: (piece: number) => unknown;
    sink?: (event: string) => unknown;
    onProgress?: (size: number) => void;
  }
> = {
  "its source fails": (fail) => ({
    source: (piece) => piece === 5 && fail(),
  }),
  "a sink fails to be opened": (fail) => ({
    sink: (event) => event === "open .1" && fail(),
  }),
  "a sink fails to write": (fail) => ({
    sink: (event) => event === "write .1" && fail(),
  }),
  "a sink fails to be closed": (fail) => ({
    sink: (event) => event === "close .0" && fail(),
  }),
  "onProgress throws": (fail) => ({
    onProgress: (size) => size > 5 && fail(),
  }),
  "its checksum is wrong": () => ({}),
};

for (const [name, make] of Object.entries(FAILURES)) {
  Deno.test(`splitStream gives the pool its memory back if ${name}`, async () => {
    const isWrong = name.endsWith("wrong");
    const given = make(() => {
      throw new Error("Failed");
    });
    // More often than there are instances, one after another and at once.
    for (const count of [1, 1, 1, 9]) {
      await Promise.all(Array.from({ length: count }, async (_, i) => {
        const pieces = inPieces(noise(40), [2]);
        const source = probedSource("reader", pieces, given.source);
        const to = (["stream", "writer"] as const)[i % 2]!;
        const sinks = new Sinks(to, given.sink);
        await assertRejects(() =>
          splitStream(source.source, partsOf([3, undefined]), sinks.open, {
            engine: "wasm",
            crc32c: isWrong ? "verify" : "compute",
            onProgress: given.onProgress,
          })
        );
      }));
      await settle();
      assertEquals(instancesInUse(), 0);
    }
  });
}

Deno.test("splitStream gives the pool its memory back if it is aborted", async () => {
  for (const kind of KINDS) {
    await Promise.all(Array.from({ length: 10 }, async () => {
      const controller = new AbortController();
      const wait = Promise.withResolvers<void>();
      const source = probedSource(kind, inPieces(noise(9), [1]), (piece) => {
        if (piece !== 6) return;
        controller.abort(new Error("Enough"));
        // A reader must have ended before its memory can be used again.
        return kind === "reader" ? wait.promise : never();
      });
      const sinks = new Sinks("writer");
      await assertRejects(() =>
        splitStream(source.source, partsOf([3, undefined]), sinks.open, {
          engine: "wasm",
          crc32c: "compute",
          signal: controller.signal,
        })
      );
      wait.resolve();
    }));
    await settle();
    assertEquals(instancesInUse(), 0);
  }
});

/** Who may be at work in the memory of a passage that has failed. */
const AT_WORK = {
  "a read": "its signal is aborted",
  "another read": "a writer fails",
  "a write": "its source fails",
};

for (const [work, why] of Object.entries(AT_WORK)) {
  Deno.test(`splitStream keeps its memory from others while ${work} is at work in it, after ${why}`, async () => {
    const error = new Error("Failed");
    const controller = new AbortController();
    const wait = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const pieces = inPieces(noise(6), [3]);
    const source = probedSource("reader", pieces, async (piece) => {
      if (piece === 0) return;
      if (work === "a write") {
        await asked.promise;
        throw error;
      }
      asked.resolve();
      await wait.promise;
    });
    const sinks = new Sinks("writer", async (event) => {
      if (event !== "write .0") return;
      if (work === "a write") {
        asked.resolve();
        await wait.promise;
      }
      await asked.promise;
      if (work === "a read") controller.abort(error);
      if (work === "another read") throw error;
    });
    const found = await assertRejects(() =>
      splitStream(source.source, partsOf([undefined]), sinks.open, {
        engine: "wasm",
        crc32c: "compute",
        signal: controller.signal,
      })
    );
    assertStrictEquals(found, error);
    await settle();
    assertEquals(instancesInUse(), 1);
    wait.resolve();
    await settle();
    assertEquals(instancesInUse(), 0);
  });
}
