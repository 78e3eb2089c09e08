import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { splitStream } from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { KINDS, probedSource, Sinks } from "./stream_probes.ts";
import { inPieces, partsOf } from "./stream_support.ts";

const SIZES = [3, undefined, 4];

Deno.test("splitStream tells progress after the bytes were written, up to the length of the chunk", async () => {
  for (const from of KINDS) {
    for (const chunkSize of [undefined, 20]) {
      const sinks = new Sinks("writer");
      const written: number[] = [];
      const told: number[] = [];
      const { source } = probedSource(from, inPieces(noise(20), [5]));
      await splitStream(source, partsOf(SIZES), sinks.open, {
        chunkSize,
        onProgress(size) {
          told.push(size);
          written.push(Object.values(sinks.written).flat().length);
          const closed = sinks.log.filter((entry) => entry.startsWith("close"));
          assertEquals(closed, []);
        },
      });
      assertEquals(told, written);
      assertEquals(told, [...new Set(told)].sort((a, b) => a - b));
      assertEquals(told.at(-1), 20);
      assertEquals(told.length >= 5, true);
    }
  }
});

for (const failing of [1, 4, 20]) {
  Deno.test(`splitStream fails with the error that onProgress throws at ${failing} bytes, and closes nothing`, async () => {
    for (const from of KINDS) {
      for (const to of ["stream", "writer"] as const) {
        const error = new Error("No more");
        const source = probedSource(from, inPieces(noise(20), [1]));
        const sinks = new Sinks(to);
        const found = await assertRejects(() =>
          splitStream(source.source, partsOf(SIZES), sinks.open, {
            onProgress(size) {
              if (size === failing) throw error;
            },
          })
        );
        assertStrictEquals(found, error);
        const opened = sinks.log.filter((entry) => entry.startsWith("open"));
        assertEquals(opened.length > 0, true);
        assertEquals(
          sinks.log.slice(opened.length),
          opened.map((entry) => entry.replace("open", "abort")),
        );
        if (failing === 1) {
          assertEquals(source.ends, [from === "reader" ? "closed" : error]);
        }
      }
    }
  });
}
