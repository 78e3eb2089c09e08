/** The calls of callbacks, and callbacks that throw. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { splitStream } from "../../mod.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inPieces, partsOf } from "./oracle.ts";
import {
  assertGivenUp,
  probedSource,
  SINK_KINDS,
  Sinks,
  SOURCE_KINDS,
} from "./probes.ts";
import { join, store } from "./scenarios.ts";

const SIZES = [3, undefined, 4];
const ERROR = new Error("No more");

Deno.test("splitStream tells progress after bytes were written and before a part is closed", async () => {
  for (const from of SOURCE_KINDS) {
    for (const engine of ENGINES) {
      for (const chunkSize of [undefined, 20]) {
        const sinks = new Sinks("writer");
        const written: number[] = [];
        const told: number[] = [];
        const { source } = probedSource(from, inPieces(noise(20), [5]));
        await splitStream(source, partsOf(SIZES), sinks.open, {
          ...{ chunkSize, engine },
          onProgress(size) {
            told.push(size);
            written.push(sinks.all.length);
            assertEquals(sinks.partsOf("close"), []);
          },
        });
        assertEquals(told, written);
        assertEquals(told, [...new Set(told)].sort((a, b) => a - b));
        assertEquals(told.at(-1), 20);
        assert(told.length >= 4, `${told}`);
      }
    }
  }
});

Deno.test("splitStream and concatStream fail with the error that a callback throws, and close nothing", async () => {
  const throwing = () => {
    throw ERROR;
  };
  for (const from of SOURCE_KINDS) {
    for (const engine of ENGINES) {
      for (const to of SINK_KINDS) {
        for (const failing of [1, 4, 20]) {
          const source = probedSource(from, inPieces(noise(20), [1]));
          const sinks = new Sinks(to);
          const onProgress = (size: number) => size === failing && throwing();
          const found = await assertRejects(() =>
            splitStream(source.source, partsOf(SIZES), sinks.open, {
              engine,
              onProgress,
            })
          );
          assertStrictEquals(found, ERROR);
          sinks.assertAborted(ERROR);
          if (failing === 1) assertGivenUp(source, ERROR);
        }
      }
      for (const callback of ["onReport", "onProgress"]) {
        for (const isStored of [false, true]) {
          const { stream } = join({
            from,
            engine,
            crc32c: isStored ? "none" : "compute",
            options: { [callback]: throwing },
          });
          const found = await assertRejects(() =>
            isStored ? store(stream) : Array.fromAsync(stream)
          );
          assertStrictEquals(found, ERROR);
        }
      }
    }
  }
});
