import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  type ByteReader,
  type ByteWriter,
  PartSizeError,
  type SplitOptions,
  splitStream,
} from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { probedSource, Sinks } from "./stream_probes.ts";
import { inPieces, partsOf } from "./stream_support.ts";

const WRONG_OPTIONS: [unknown, string][] = [
  [
    { engine: "gpu" },
    'Expected engine "auto", "native" or "wasm", found "gpu"',
  ],
  [{ engine: "toString" }, 'found "toString"'],
  [{ engine: null }, "found null"],
  [
    { crc32c: true },
    'Expected crc32c to be "none", "compute" or "verify", found true',
  ],
  [{ crc32c: "check" }, 'found "check"'],
  [{ crc32c: null }, "found null"],
  ...[-1, 1.5, NaN, Infinity, 2 ** 53, "5", null, 5n].map((
    chunkSize,
  ): [unknown, string] => [
    { chunkSize },
    "Expected chunkSize to be a whole number of bytes from 0 to 2^53−1, found ",
  ]),
];

for (const [options, message] of WRONG_OPTIONS) {
  Deno.test(`splitStream refuses the options ${Deno.inspect(options)}, opens nothing and cancels the source`, async () => {
    const source = probedSource("stream", [noise(5)]);
    const sinks = new Sinks("stream");
    const error = await assertRejects(
      () =>
        splitStream(
          source.source,
          partsOf([undefined]),
          sinks.open,
          options as SplitOptions,
        ),
      RangeError,
      message,
    );
    assertEquals(error instanceof PartSizeError, false);
    assertEquals(sinks.log, []);
    assertEquals(source.pulls, 0);
    assertStrictEquals(source.ends[0], error);
  });
}

Deno.test("splitStream refuses two parts without a size, and opens nothing", async () => {
  const source = probedSource("reader", [noise(5)]);
  const sinks = new Sinks("stream");
  await assertRejects(
    () =>
      splitStream(
        source.source,
        partsOf([undefined, 1, undefined]),
        sinks.open,
      ),
    TypeError,
    'Cannot tell where the parts ".0" and ".2" begin: to write, at most one part may lack a size',
  );
  assertEquals([sinks.log, source.ends], [[], ["closed"]]);
});

for (const wrong of [undefined, null, 5, "bytes", {}, { read: 1 }, noise(3)]) {
  const found = Deno.inspect(wrong);
  Deno.test(`splitStream refuses ${found} for a source, and for what is opened`, async () => {
    const sinks = new Sinks("stream");
    await assertRejects(
      () => splitStream(wrong as ByteReader, partsOf([2]), sinks.open),
      TypeError,
      'Expected a ReadableStream or an object with a "read" method to read from, found ',
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
      'Expected a WritableStream or an object with a "write" method to write to, found ',
    );
    assertEquals(sinks.log, ["open .0", "abort .0"]);
    assertEquals([sinks.reasons, source.ends], [[error], [error]]);
  });
}
