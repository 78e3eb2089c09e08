/** Options, sources and sinks that are refused, with the messages. */
import { PassThrough } from "node:stream";
import {
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import {
  type ByteReader,
  type ByteWriter,
  type ConcatOptions,
  concatStream,
  PartSizeError,
  type SplitOptions,
  splitStream,
} from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inPieces, partsOf } from "./oracle.ts";
import {
  assertGivenUp,
  never,
  probedSource,
  Sinks,
  SOURCE_KINDS,
} from "./probes.ts";

const ENGINE =
  'Expected the option "engine" to be "auto", "native" or "wasm", found ';
const CHECKSUM =
  'Expected the option "crc32c" to be "none", "compute" or "verify", found ';
const SIZE =
  'Expected the option "chunkSize" to be a whole number of bytes from 0 to 2^53−1, found ';

/** Options, and the message. */
const OPTIONS: [unknown, string][] = [
  [{ engine: "gpu" }, `${ENGINE}"gpu"`],
  [{ engine: "toString" }, `${ENGINE}"toString"`],
  [{ engine: null }, `${ENGINE}null`],
  [{ crc32c: true }, `${CHECKSUM}true`],
  [{ crc32c: "check" }, `${CHECKSUM}"check"`],
  [{ crc32c: null }, `${CHECKSUM}null`],
  ...[-1, 1.5, NaN, Infinity, 2 ** 53, "5", null, 5n].map((
    chunkSize,
  ): [unknown, string] => [{ chunkSize }, SIZE]),
];

for (const [options, message] of OPTIONS) {
  Deno.test(`splitStream and concatStream refuse the options ${Deno.inspect(options)}, and open nothing`, async () => {
    const source = probedSource("stream", [noise(5)]);
    const sinks = new Sinks("stream");
    const parts = partsOf([undefined]);
    const error = await assertRejects(
      () =>
        splitStream(source.source, parts, sinks.open, options as SplitOptions),
      RangeError,
      message,
    );
    assertEquals(error instanceof PartSizeError, false);
    assertEquals([sinks.log, source.pulls], [[], 0]);
    assertGivenUp(source, error);
    const thrown = assertThrows(
      () => concatStream(parts, () => never(), options as ConcatOptions),
      RangeError,
      message,
    );
    assertEquals(thrown instanceof PartSizeError, false);
  });
}

/** Arguments of `splitStream` and `concatStream` that are forgotten or mistaken, and the whole messages. */
const MISTAKES: [string, () => unknown, string][] = [
  [
    "splitStream without parts",
    () =>
      splitStream(ReadableStream.from([]), undefined as never, () => never()),
    "Expected the parts as a ConcatParts, found undefined",
  ],
  [
    "splitStream with a list of parts",
    () => splitStream(ReadableStream.from([]), [] as never, () => never()),
    "Expected the parts as a ConcatParts, found []",
  ],
  [
    "splitStream without a function that opens parts",
    () =>
      splitStream(
        ReadableStream.from([]),
        partsOf([2]),
        undefined as never,
      ),
    "Expected a function that opens a part and returns a WritableStream or a writer, found undefined",
  ],
  [
    "concatStream without parts",
    () => concatStream(undefined as never, () => never()),
    "Expected the parts as a ConcatParts, found undefined",
  ],
  [
    "concatStream without a function that opens parts",
    () => concatStream(partsOf([2]), undefined as never),
    "Expected a function that opens a part and returns a ReadableStream or a reader, found undefined",
  ],
];

for (const [name, call, message] of MISTAKES) {
  Deno.test(`${name} fails with a TypeError that says what is right`, async () => {
    const error = await assertRejects(async () => {
      await call();
    }, TypeError);
    assertEquals(error.message, message);
  });
}

Deno.test("splitStream refuses two unsized parts, and opens nothing", async () => {
  for (const from of SOURCE_KINDS) {
    const source = probedSource(from, [noise(5)]);
    const sinks = new Sinks("stream");
    const parts = partsOf([undefined, 1, undefined]);
    const error = await assertRejects(
      () => splitStream(source.source, parts, sinks.open),
      TypeError,
      'Cannot tell where the parts ".0" and ".2" begin: to write, at most one part may lack a size',
    );
    assertEquals(sinks.log, []);
    assertGivenUp(source, error);
  }
});

const WRONG = [undefined, null, 5, "bytes", {}, { read: 1 }, noise(3)];

for (
  const [shown, wrong] of [
    ...WRONG.map((wrong) => [Deno.inspect(wrong), wrong] as const),
    ["a stream of Node", new PassThrough()] as const,
  ]
) {
  Deno.test(`splitStream and concatStream refuse ${shown} for a source or a sink`, async () => {
    const SOURCE =
      'Expected a ReadableStream or an object with a "read" method, found ';
    const sinks = new Sinks("stream");
    await assertRejects(
      () => splitStream(wrong as ByteReader, partsOf([2]), sinks.open),
      TypeError,
      SOURCE,
    );
    assertEquals(sinks.log, []);
    const source = probedSource("stream", inPieces(noise(20), [1]));
    const error = await assertRejects(
      () =>
        splitStream(
          source.source,
          partsOf([2, 2]),
          (part) =>
            part.keySuffix === ".0"
              ? sinks.open(part)
              : wrong as unknown as ByteWriter,
        ),
      TypeError,
      'Expected a WritableStream or an object with a "write" method, found ',
    );
    assertEquals(sinks.log, ["open .0", "abort .0"]);
    assertEquals(sinks.reasons, [error]);
    assertGivenUp(source, error);
    const stream = concatStream(
      partsOf([undefined]),
      () => wrong as unknown as ByteReader,
    );
    await assertRejects(() => Array.fromAsync(stream), TypeError, SOURCE);
  });
}

Deno.test("splitStream refuses a source that is locked, and leaves it to its reader", async () => {
  const sinks = new Sinks("stream");
  const stream = ReadableStream.from([noise(5)]);
  const reader = stream.getReader();
  await assertRejects(
    () => splitStream(stream, partsOf([undefined]), sinks.open),
    TypeError,
  );
  assertEquals(sinks.log, []);
  assertEquals(await reader.read(), { done: false, value: noise(5) });
  await reader.cancel();
});

Deno.test("splitStream refuses a sink that is locked, and one that cannot be opened", async () => {
  const locked = new WritableStream();
  locked.getWriter();
  const failure = new Error("Disk full");
  const opens: Record<string, () => WritableStream> = {
    locked: () => locked,
    failing: () => {
      throw failure;
    },
  };
  for (const [name, open] of Object.entries(opens)) {
    const source = probedSource("stream", inPieces(noise(100), [1]));
    const sinks = new Sinks("stream");
    const error = await assertRejects(
      () =>
        splitStream(
          source.source,
          partsOf([3, undefined]),
          (part) => part.keySuffix === ".1" ? open() : sinks.open(part),
        ),
      name === "locked" ? TypeError : Error,
    );
    if (name === "failing") assertStrictEquals(error, failure);
    assertEquals(sinks.log, ["open .0", "abort .0"]);
    assertGivenUp(source, error);
  }
});

/** Values that a stream gives in place of bytes, and how the message shows them. */
const NO_BYTES: [unknown, string][] = [
  ["text", '"text"'],
  [5, "5"],
  [undefined, "undefined"],
  [new ArrayBuffer(3), "ArrayBuffer of 3 bytes"],
  [new Uint16Array(1), "Uint16Array of 2 bytes"],
];

for (const [wrong, shown] of NO_BYTES) {
  Deno.test(`splitStream and concatStream refuse a stream that gives ${shown} for bytes`, async () => {
    const message = `Expected a stream of Uint8Array, found ${shown}`;
    const cancelled: unknown[] = [];
    function open() {
      const pieces = [noise(5), wrong as unknown as Uint8Array];
      return new ReadableStream<Uint8Array>({
        pull(controller) {
          if (pieces.length === 0) return never();
          controller.enqueue(pieces.shift()!);
        },
        cancel: (reason) => void cancelled.push(reason),
      }, { highWaterMark: 0 });
    }
    const sinks = new Sinks("writer");
    const error = await assertRejects(
      () => splitStream(open(), partsOf([3, undefined]), sinks.open),
      TypeError,
      message,
    );
    assertEquals(sinks.partsOf("close"), []);
    const joinError = await assertRejects(
      () => Array.fromAsync(concatStream(partsOf([undefined]), open)),
      TypeError,
      message,
    );
    assertEquals(cancelled, [error, joinError]);
  });
}

/** How many bytes a reader says it read, of how many it could; the second read is wrong. */
const READ: ((room: number) => unknown)[] = [
  () => 0,
  () => -1,
  () => 1.5,
  () => NaN,
  (room) => room + 1,
  () => undefined,
  () => "5",
];

for (const count of READ) {
  Deno.test(`splitStream and concatStream refuse a reader that says it read ${count} bytes`, async () => {
    let closed = 0;
    let message = "";
    function open(): ByteReader {
      let reads = 0;
      return {
        read({ length }) {
          if (reads++ === 0) return Promise.resolve(5);
          const wrong = count(length) as number;
          const shown = typeof wrong === "string" ? `"${wrong}"` : wrong;
          message =
            `Expected a reader to read 1 to ${length} bytes or null, found ${shown}`;
          return Promise.resolve(wrong);
        },
        close: () => void closed++,
      };
    }
    for (const engine of ENGINES) {
      const sinks = new Sinks("writer");
      const error = await assertRejects(
        () =>
          splitStream(open(), partsOf([3, undefined]), sinks.open, { engine }),
        RangeError,
      );
      assertEquals(error.message, message);
      assertEquals(closed, 1);
      sinks.assertAborted(error);
      const stream = concatStream(partsOf([undefined]), open, { engine });
      const second = await assertRejects(
        () => Array.fromAsync(stream),
        RangeError,
      );
      assertEquals(second.message, message);
      assertEquals(closed, 2);
      closed = 0;
    }
  });
}

for (const count of [0, -1, 4, 1.5, NaN, undefined, null, "3"]) {
  Deno.test(`splitStream refuses a writer that says it wrote ${count} of 3 bytes`, async () => {
    for (const engine of ENGINES) {
      let aborted: unknown;
      const writer: ByteWriter = {
        write: () => Promise.resolve(count as number),
        close: () => {
          throw new Error("Closed");
        },
        abort: (reason) => void (aborted = reason),
      };
      const { source } = probedSource("stream", [noise(3)]);
      const parts = partsOf([undefined]);
      const error = await assertRejects(
        () => splitStream(source, parts, () => writer, { engine }),
        RangeError,
        `Expected a writer to write 1 to 3 bytes of 3, found ${count}`,
      );
      assertStrictEquals(aborted, error);
    }
  });
}
