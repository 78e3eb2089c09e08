import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { type ByteWriter, splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { KINDS, probedSource, Sinks } from "./stream_probes.ts";
import { inPieces, partsOf } from "./stream_support.ts";

const SIZES = [3, undefined, 4];
const ERROR = new Error("Disk full");

/** What fails, when it happens for the how-manieth time, and what becomes of the other parts. */
const FAILURES: [event: string, time: number, ends: string[]][] = [
  ["open .0", 1, []],
  ["open .1", 1, ["abort .0"]],
  ["open .2", 1, ["abort .0", "abort .1"]],
  ["write .0", 1, []],
  ["write .0", 2, []],
  ["write .1", 1, ["abort .0"]],
  ["write .1", 5, ["abort .0"]],
  ["write .2", 1, ["abort .0", "abort .1"]],
  ["write .2", 4, ["abort .0", "abort .1"]],
  ["close .1", 1, ["abort .0", "abort .2"]],
  ["close .0", 1, ["close .1", "abort .2"]],
  ["close .2", 1, ["close .1", "close .0"]],
];

for (const [failing, time, expected] of FAILURES) {
  for (const to of ["stream", "writer"] as const) {
    Deno.test(
      `splitStream fails if ${failing} does, time ${time}, with ${to}s: ${
        expected.join(", ") || "nothing else is open"
      }`,
      async () => {
        for (const from of KINDS) {
          for (const engine of ENGINES) {
            const source = probedSource(from, inPieces(noise(17), [1]));
            let times = 0;
            const sinks = new Sinks(to, (event) => {
              if (event === failing && ++times === time) throw ERROR;
            });
            const found = await assertRejects(
              () =>
                splitStream(source.source, partsOf(SIZES), sinks.open, {
                  engine,
                  crc32c: "compute",
                  // With a total all parts are written before the source ends.
                  chunkSize: 17,
                }),
            );
            assertStrictEquals(found, ERROR);
            const part = failing.at(-1);
            const others = sinks.log.filter((entry) =>
              !entry.startsWith("open") && !entry.endsWith(`.${part}`)
            );
            assertEquals(others, expected);
            for (const reason of sinks.reasons) {
              assertStrictEquals(reason, ERROR);
            }
            // A writer that failed to write is aborted too; what failed to close is not.
            const own = sinks.log.filter((entry) => entry === `abort .${part}`);
            const isAborted = to === "writer" && failing.startsWith("write");
            assertEquals(own.length, isAborted ? 1 : 0);
          }
        }
      },
    );
  }
}

Deno.test("splitStream cancels the source with the error of a sink, and closes a reader once", async () => {
  for (const from of KINDS) {
    for (const event of ["open .0", "write .0", "open .1", "write .1"]) {
      const source = probedSource(from, inPieces(noise(100), [1]));
      const sinks = new Sinks("writer", (happening) => {
        if (happening === event) throw ERROR;
      });
      await assertRejects(() =>
        splitStream(source.source, partsOf(SIZES), sinks.open)
      );
      assertEquals(source.ends, from === "reader" ? ["closed"] : [ERROR]);
      assertEquals(source.pulls < 20, true);
    }
  }
});

Deno.test("splitStream fails if open throws at once", async () => {
  const source = probedSource("stream", inPieces(noise(100), [1]));
  const sinks = new Sinks("stream");
  const found = await assertRejects(() =>
    splitStream(source.source, partsOf(SIZES), (part) => {
      if (part.keySuffix === ".1") throw ERROR;
      return sinks.open(part);
    })
  );
  assertStrictEquals(found, ERROR);
  assertEquals(sinks.log, ["open .0", "abort .0"]);
});

Deno.test("splitStream refuses a sink that is locked", async () => {
  const source = probedSource("stream", inPieces(noise(100), [1]));
  const sinks = new Sinks("stream");
  const locked = new WritableStream();
  locked.getWriter();
  const error = await assertRejects(
    () =>
      splitStream(
        source.source,
        partsOf(SIZES),
        (part) => part.keySuffix === ".1" ? locked : sinks.open(part),
      ),
    TypeError,
  );
  assertEquals(sinks.log, ["open .0", "abort .0"]);
  assertStrictEquals(source.ends[0], error);
});

Deno.test("splitStream keeps its error where a sink fails to be aborted", async () => {
  for (const to of ["stream", "writer"] as const) {
    const source = probedSource("stream", inPieces(noise(100), [1]));
    const sinks = new Sinks(to, (event) => {
      if (event === "write .1") throw ERROR;
      if (event === "abort .0") throw new Error("Cannot abort");
    });
    const found = await assertRejects(() =>
      splitStream(source.source, partsOf(SIZES), sinks.open)
    );
    assertStrictEquals(found, ERROR);
    assertEquals(sinks.reasons[0], ERROR);
  }
});

Deno.test("splitStream closes a writer without abort if it fails", async () => {
  const closed: string[] = [];
  const source = probedSource("stream", inPieces(noise(100), [1]));
  await assertRejects(
    () =>
      splitStream(source.source, partsOf(SIZES), ({ keySuffix }) => {
        if (keySuffix === ".1") throw ERROR;
        return {
          write: (bytes) => Promise.resolve(bytes.length),
          close: () => void closed.push(keySuffix),
        };
      }),
    Error,
    "Disk full",
  );
  assertEquals(closed, [".0"]);
});

for (const count of [0, -1, 4, 1.5, NaN, undefined, null, "3"]) {
  Deno.test(`splitStream refuses a writer that says it wrote ${count} of 3 bytes`, async () => {
    let aborted: unknown;
    const writer: ByteWriter = {
      write: () => Promise.resolve(count as number),
      close: () => {
        throw new Error("Closed");
      },
      abort: (reason) => void (aborted = reason),
    };
    const error = await assertRejects(
      () =>
        splitStream(
          probedSource("stream", [noise(3)]).source,
          partsOf([undefined]),
          () => writer,
        ),
      RangeError,
      `Expected a writer to write 1 to 3 bytes of 3, found ${count}`,
    );
    assertStrictEquals(aborted, error);
  });
}
