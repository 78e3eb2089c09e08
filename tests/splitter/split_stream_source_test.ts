import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { type ByteReader, splitStream } from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { KINDS, never, probedSource, Sinks } from "./stream_probes.ts";
import { inPieces, partsOf, WINDOW } from "./stream_support.ts";

const SIZES = [3, undefined, 4];
const ERROR = new Error("Line cut");

for (const at of [0, 1, 5, 11, 12]) {
  Deno.test(`splitStream fails if a source of 12 pieces fails after ${at}, and closes nothing`, async () => {
    for (const from of KINDS) {
      for (const to of ["stream", "writer"] as const) {
        for (const chunkSize of [undefined, 12]) {
          const sinks = new Sinks(to);
          const pieces = inPieces(noise(12), [1]);
          const source = probedSource(from, pieces, (piece) => {
            if (piece === at) throw ERROR;
          });
          const found = await assertRejects(() =>
            splitStream(source.source, partsOf(SIZES), sinks.open, {
              chunkSize,
              crc32c: "compute",
            })
          );
          assertStrictEquals(found, ERROR);
          const opened = sinks.log.filter((entry) => entry.startsWith("open"));
          assertEquals(
            sinks.log.slice(opened.length),
            opened.map((entry) => entry.replace("open", "abort")),
          );
          for (const reason of sinks.reasons) assertStrictEquals(reason, ERROR);
          assertEquals(source.ends, from === "reader" ? ["closed"] : []);
          assertEquals(source.pulls, at + 1);
        }
      }
    }
  });
}

Deno.test("splitStream refuses a source that is locked, and opens nothing", async () => {
  const sinks = new Sinks("stream");
  const stream = ReadableStream.from([noise(5)]);
  const reader = stream.getReader();
  await assertRejects(
    () => splitStream(stream, partsOf(SIZES), sinks.open),
    TypeError,
  );
  assertEquals(sinks.log, []);
  // Whoever reads it goes on.
  assertEquals(await reader.read(), { done: false, value: noise(5) });
  await reader.cancel();
});

for (
  const [wrong, found] of [
    ["text", '"text"'],
    [5, "5"],
    [undefined, "undefined"],
    [new ArrayBuffer(3), "an object without members"],
    [new Uint16Array(1), "an object with the members"],
  ] as const
) {
  Deno.test(`splitStream refuses a source that gives ${found} for bytes`, async () => {
    const cancelled: unknown[] = [];
    const sinks = new Sinks("writer");
    const pieces = [noise(5), wrong as unknown as Uint8Array];
    const source = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (pieces.length === 0) return never();
        controller.enqueue(pieces.shift()!);
      },
      cancel: (reason) => void cancelled.push(reason),
    }, { highWaterMark: 0 });
    const error = await assertRejects(
      () => splitStream(source, partsOf([3, undefined]), sinks.open),
      TypeError,
      `Expected a stream of Uint8Array, found ${found}`,
    );
    assertStrictEquals(cancelled[0], error);
    assertEquals(
      sinks.log.filter((entry) => entry.startsWith("close")),
      [],
    );
  });
}

for (const count of [0, -1, 1.5, NaN, WINDOW + 1, undefined, "5"]) {
  Deno.test(`splitStream refuses a reader that says it read ${count} bytes`, async () => {
    let closed = 0;
    let reads = 0;
    const reader: ByteReader = {
      read: () => Promise.resolve(reads++ === 0 ? 5 : count as number),
      close: () => void closed++,
    };
    const sinks = new Sinks("writer");
    const shown = typeof count === "string" ? `"${count}"` : count;
    const error = await assertRejects(
      () => splitStream(reader, partsOf([3, undefined]), sinks.open),
      RangeError,
      `Expected a reader to read 1 to ${
        WINDOW - 5
      } bytes or null, found ${shown}`,
    );
    assertEquals([closed, reads], [1, 2]);
    for (const reason of sinks.reasons) assertStrictEquals(reason, error);
    assertEquals(
      sinks.log.filter((entry) => entry.startsWith("close")),
      [],
    );
  });
}

Deno.test("splitStream takes a reader that has no close, and one whose close rejects", async () => {
  for (const close of [undefined, () => Promise.reject(new Error("Closed"))]) {
    let reads = 0;
    const sinks = new Sinks("writer");
    const reader: ByteReader = {
      read: (memory) => {
        memory.set([7, 8]);
        return Promise.resolve(reads++ === 0 ? 2 : null);
      },
      ...close && { close },
    };
    await splitStream(reader, partsOf([undefined]), sinks.open);
    assertEquals(sinks.written, { ".0": [7, 8] });
  }
});

Deno.test("splitStream skips empty pieces of a stream, also between parts and at the ends", async () => {
  const empty = new Uint8Array();
  const sinks = new Sinks("writer");
  const { source } = probedSource("stream", [
    empty,
    noise(3),
    empty,
    empty,
    noise(2),
    empty,
  ]);
  await splitStream(source, partsOf([3, undefined]), sinks.open);
  assertEquals(sinks.written, { ".0": [...noise(3)], ".1": [...noise(2)] });
});

Deno.test("splitStream closes a file it has read, or that it gives up", async () => {
  const path = await Deno.makeTempFile();
  await Deno.writeFile(path, noise(10));
  // Deno's sanitizer finds a file that is left open.
  for (const sizes of [[undefined], [11], [9]]) {
    const sinks = new Sinks("writer");
    const file = await Deno.open(path);
    await splitStream(file, partsOf(sizes), sinks.open).catch(() => {});
    assertEquals(
      sinks.log.includes("close .0"),
      sizes[0] === undefined,
    );
  }
  await Deno.remove(path);
});

Deno.test("splitStream keeps its error, and aborts all, where a reader throws as it is closed", async () => {
  const sinks = new Sinks("writer", (event) => {
    if (event === "write .1") throw ERROR;
  });
  const reader: ByteReader = {
    read: (memory) => Promise.resolve(memory.fill(1, 0, 4) && 4),
    close() {
      throw new Error("Closed before");
    },
  };
  const found = await assertRejects(() =>
    splitStream(reader, partsOf([3, undefined]), sinks.open)
  );
  assertStrictEquals(found, ERROR);
  assertEquals(sinks.log, ["open .0", "open .1", "abort .0", "abort .1"]);
});

Deno.test("splitStream takes a reader that throws as it is closed at its end", async () => {
  const sinks = new Sinks("writer");
  let reads = 0;
  const reader: ByteReader = {
    read: (memory) =>
      Promise.resolve(reads++ > 0 ? null : memory.fill(1, 0, 4) && 4),
    close() {
      throw new Error("Closed before");
    },
  };
  await splitStream(reader, partsOf([3, undefined]), sinks.open);
  assertEquals(sinks.written, { ".0": [1, 1, 1], ".1": [1] });
});
