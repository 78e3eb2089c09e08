/** Files of Deno as sources, and the pieces of joined streams that are read from them. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type ByteReader, concatStream, splitStream } from "../../mod.ts";
import { instancesInUse } from "../../src/splitter/engines.ts";
import { ENGINES } from "../checksum/checksum_ways.ts";
import { noise } from "../checksum/noise.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import {
  assertSameBytes,
  joined,
  partsOf,
  placeOf,
  WINDOW,
  withChecksum,
} from "./oracle.ts";
import { never, settle } from "./probes.ts";

const KIB = 1024;
/** The first and the longest pieces of a joined stream. */
const FIRST = 64 * KIB;
const LONGEST = 1024 * KIB;

Deno.test("splitStream and concatStream of files give the bytes of all lengths around those of reads, windows and pieces", async () => {
  const lengths = [
    ...[0, 1, FIRST, 256 * KIB, 3 * FIRST, WINDOW, 2 * WINDOW].flatMap((
      length,
    ) => [length - 1, length, length + 1]),
    5 * LONGEST + 7,
  ].filter((length) => length >= 0);
  const all = noise(Math.max(...lengths));
  await inTempDir(async (folder) => {
    for (const engine of ENGINES) {
      for (const length of lengths) {
        const bytes = all.subarray(0, length);
        const whole = withChecksum(joined([all.subarray(0, 5), bytes]));
        await Deno.writeFile(`${folder}/whole`, whole);
        const options = { engine, crc32c: "verify" } as const;
        const parts = partsOf([5, undefined, 4]);
        const report = await splitStream(
          await Deno.open(`${folder}/whole`),
          parts,
          (part) => Deno.create(`${folder}/${placeOf(part)}`),
          options,
        );
        assertEquals(report.parts.map(({ size }) => size), [5, length, 4]);
        assertSameBytes(await Deno.readFile(`${folder}/1`), bytes);
        const chunk = concatStream(
          parts,
          (part) => Deno.open(`${folder}/${placeOf(part)}`),
          options,
        );
        const copy = await Deno.create(`${folder}/copy`);
        await chunk.pipeTo(copy.writable);
        assertSameBytes(await Deno.readFile(`${folder}/copy`), whole);
      }
    }
  });
});

Deno.test("concatStream reads one long piece ahead, and none before the first is asked for", async () => {
  for (const crc32c of ["none", "compute"] as const) {
    let read = 0;
    let isClosed = false;
    const reader: ByteReader = {
      read(memory) {
        read += memory.length;
        return Promise.resolve(memory.length);
      },
      close: () => void (isClosed = true),
    };
    const chunk = concatStream(partsOf([undefined]), () => reader, { crc32c });
    await settle();
    assertEquals(read, 0);
    const stream = chunk.getReader();
    let taken = 0;
    for (let i = 0; i < 20; i++) {
      taken += (await stream.read()).value!.length;
      await settle();
      // With checksums, one more piece is summed up before it goes on.
      const most = crc32c === "none" ? 1 : 2;
      assert(read - taken <= most * LONGEST, `${read - taken} bytes ahead`);
    }
    assert(read - taken >= LONGEST);
    await stream.cancel();
    await settle();
    assert(isClosed);
  }
});

Deno.test("concatStream that is cancelled right after a long piece reads nothing more, and takes no memory", async () => {
  for (const engine of ENGINES) {
    for (const crc32c of ["none", "compute"] as const) {
      let reads = 0;
      const reader: ByteReader = {
        read: (memory) => Promise.resolve(++reads && memory.length),
      };
      const before = instancesInUse();
      const options = { crc32c, engine };
      const stream = concatStream(partsOf([undefined]), () => reader, options)
        .getReader();
      while ((await stream.read()).value!.length < LONGEST);
      const readBefore = reads;
      await stream.cancel();
      await settle();
      assertEquals([reads, instancesInUse()], [readBefore, before]);
    }
  }
});

Deno.test("concatStream ends at once when it is cancelled or aborted while it reads ahead", async () => {
  for (const isAbort of [false, true]) {
    let reads = 0;
    let isClosed = false;
    const reader: ByteReader = {
      read(memory) {
        return ++reads > 6 ? never() : Promise.resolve(memory.length);
      },
      close: () => void (isClosed = true),
    };
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const stream = concatStream(partsOf([undefined]), () => reader, options)
      .getReader();
    for (let i = 0; i < 6; i++) await stream.read();
    await settle();
    assertEquals(reads, 7);
    if (isAbort) {
      controller.abort(new Error("enough"));
      await assertRejects(() => stream.read(), Error, "enough");
    } else {
      await stream.cancel();
    }
    await settle();
    assert(isClosed);
  }
});
