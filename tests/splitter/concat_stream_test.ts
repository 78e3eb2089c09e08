import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  type ByteReader,
  type ConcatOptions,
  concatStream,
  PartSizeError,
} from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { KINDS, probedSource, settle, type Source } from "./stream_probes.ts";
import {
  cutSlowly,
  inPieces,
  joined,
  partsOf,
  type Sizes,
} from "./stream_support.ts";

/** Joins parts in pieces of two bytes, and logs what happens. */
function logged(
  kind: typeof KINDS[number],
  sizes: number[],
  options: ConcatOptions = {},
) {
  const log: string[] = [];
  const parts = cutSlowly(noise(sizes.reduce((a, b) => a + b)), sizes);
  const sources: Source[] = [];
  const stream = concatStream(
    partsOf(sizes.map(() => undefined)),
    ({ keySuffix }) => {
      log.push(`open ${keySuffix}`);
      const bytes = parts[sources.length]!.slice();
      const pieces = inPieces(bytes, [2]);
      const source = probedSource(kind, pieces, (piece) => {
        if (piece === pieces.length) log.push(`end ${keySuffix}`);
      });
      sources.push(source);
      return source.source;
    },
    { onReport: () => log.push("report"), ...options },
  );
  return { stream, log, sources };
}

Deno.test("concatStream opens each part when the one before has ended, and reports once after all", async () => {
  for (const kind of KINDS) {
    for (const crc32c of ["none", "compute"] as const) {
      const { stream, log } = logged(kind, [3, 0, 5], { crc32c });
      const whole = joined(await Array.fromAsync(stream));
      assertEquals(whole, noise(8));
      assertEquals(log, [
        "open .0",
        "end .0",
        "open .1",
        "end .1",
        "open .2",
        "end .2",
        "report",
      ]);
    }
  }
});

Deno.test("concatStream opens nothing before it is read, and reads no further than its reader", async () => {
  for (const kind of KINDS) {
    for (const [crc32c, ahead] of [["none", 0], ["verify", 2]] as const) {
      const { stream, log, sources } = logged(kind, [6, 6], { crc32c });
      await settle();
      assertEquals(log, []);
      const reader = stream.getReader();
      await settle();
      assertEquals(log, []);
      for (let count = 1; count <= (ahead > 0 ? 1 : 2); count++) {
        assertEquals((await reader.read()).value?.length, 2);
        await settle();
        assertEquals(log, ["open .0"]);
        assertEquals(sources[0]!.pulls, count + ahead);
      }
      await reader.cancel();
    }
  }
});

Deno.test("concatStream reports before it ends, with what was read", async () => {
  const events: string[] = [];
  const stream = concatStream(
    partsOf([undefined, 3]),
    ({ size }) => probedSource("stream", [noise(size ?? 2)]).source,
    { onReport: ({ size }) => events.push(`report ${size}`) },
  );
  for await (const { length } of stream) events.push(`piece ${length}`);
  events.push("end");
  assertEquals(events, ["piece 2", "piece 3", "report 5", "end"]);
});

Deno.test("concatStream fails with what onReport or onProgress throws, and does not end", async () => {
  const error = new Error("No more");
  const fail = () => {
    throw error;
  };
  for (const options of [{ onReport: fail }, { onProgress: fail }]) {
    for (const crc32c of ["none", "compute"] as const) {
      const { stream } = logged("stream", [4, 4], { crc32c, ...options });
      const found = await assertRejects(() => Array.fromAsync(stream));
      assertEquals(found, error);
    }
  }
});

Deno.test("concatStream tells progress as pieces come, up to the length of the chunk", async () => {
  for (const kind of KINDS) {
    const progress: number[] = [];
    const { stream } = logged(kind, [3, 0, 4], {
      onProgress: (size) => progress.push(size),
    });
    await Array.fromAsync(stream);
    assertEquals(progress, [2, 3, 5, 7]);
  }
});

for (const sizes of [[undefined], [0], [0, undefined, undefined]] as Sizes[]) {
  Deno.test(`concatStream of empty parts of sizes ${sizes.map(String)} is empty`, async () => {
    for (const kind of KINDS) {
      const reports: unknown[] = [];
      const stream = concatStream(
        partsOf(sizes),
        () => probedSource(kind, []).source,
        {
          crc32c: "compute",
          chunkSize: 0,
          onReport: (report) => reports.push(report),
        },
      );
      assertEquals(await Array.fromAsync(stream), []);
      assertEquals(reports, [{
        size: 0,
        crc32c: 0,
        parts: sizes.map((_, i) => ({
          keySuffix: `.${i}`,
          size: 0,
          crc32c: 0,
        })),
      }]);
    }
  });
}

for (
  const [options, message] of [
    [
      { engine: "gpu" },
      'Expected engine "auto", "native" or "wasm", found "gpu"',
    ],
    [
      { crc32c: "check" },
      'Expected crc32c to be "none", "compute" or "verify", found "check"',
    ],
    ...[-1, 1.5, NaN, 2 ** 53, "5"].map((chunkSize) => [
      { chunkSize },
      "Expected chunkSize to be a whole number of bytes from 0 to 2^53−1, found ",
    ]),
  ] as [ConcatOptions, string][]
) {
  Deno.test(`concatStream refuses the options ${Deno.inspect(options)} at once`, () => {
    const error = assertThrows(
      () =>
        concatStream(partsOf([undefined]), () => new Blob().stream(), options),
      RangeError,
      message,
    );
    assertEquals(error instanceof PartSizeError, false);
  });
}

for (const wrong of [undefined, null, 5, "bytes", {}, noise(3)]) {
  Deno.test(`concatStream refuses ${Deno.inspect(wrong)} for what is opened`, async () => {
    const stream = concatStream(
      partsOf([undefined]),
      () => wrong as unknown as ByteReader,
    );
    await assertRejects(
      () => Array.fromAsync(stream),
      TypeError,
      'Expected a ReadableStream or an object with a "read" method to read from, found ',
    );
  });
}
