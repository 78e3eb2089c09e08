import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { type ByteReader, concatStream } from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import {
  KINDS,
  listenersOf,
  never,
  probedSource,
  settle,
  type Source,
} from "./stream_probes.ts";
import { inPieces, partsOf } from "./stream_support.ts";

const THREE = partsOf([undefined, 6, undefined]);
const REASON = new Error("Enough");

/** Three parts of six bytes in pieces of two, and what becomes of them. */
function threeParts(
  kind: typeof KINDS[number],
  on: (part: number, piece: number) => unknown = () => {},
) {
  const sources: Source[] = [];
  const open = ({ keySuffix }: { keySuffix: string }) => {
    const part = Number(keySuffix.slice(1));
    const pieces = inPieces(noise(6, part + 1), [2]);
    const source = probedSource(kind, pieces, (piece) => on(part, piece));
    sources.push(source);
    return source.source;
  };
  return { open, sources };
}

/** How a part ends that is given up. */
function givenUp(kind: typeof KINDS[number]): unknown[] {
  return [kind === "reader" ? "closed" : REASON];
}

for (const pieces of [1, 3, 4]) {
  Deno.test(`concatStream that is cancelled after ${pieces} pieces cancels the open part, and opens no more`, async () => {
    for (const kind of KINDS) {
      for (const crc32c of ["none", "compute"] as const) {
        let reports = 0;
        const { open, sources } = threeParts(kind);
        const onReport = () => void reports++;
        const stream = concatStream(THREE, open, { crc32c, onReport });
        const reader = stream.getReader();
        for (let i = 0; i < pieces; i++) await reader.read();
        await reader.cancel(REASON);
        await settle();
        assertEquals(
          sources.length,
          pieces > 3 || crc32c === "compute" && pieces === 3 ? 2 : 1,
        );
        assertEquals(sources.at(-1)!.ends, givenUp(kind));
        assertEquals(reports, 0);
      }
    }
  });
}

Deno.test("concatStream that is cancelled before it is read opens nothing", async () => {
  const { open, sources } = threeParts("stream");
  await concatStream(THREE, open).cancel(REASON);
  assertEquals(sources, []);
});

Deno.test("concatStream that is cancelled or aborted while a part is opened cancels it when it is there", async () => {
  for (const kind of KINDS) {
    for (const late of [".0", ".1"]) {
      for (const isAborted of [false, true]) {
        const controller = new AbortController();
        const opening = Promise.withResolvers<void>();
        const opened = Promise.withResolvers<
          ReadableStream<Uint8Array> | ByteReader
        >();
        const { open, sources } = threeParts(kind);
        const stream = concatStream(THREE, (part) => {
          if (part.keySuffix !== late) return open(part);
          opening.resolve();
          return opened.promise;
        }, { signal: controller.signal });
        const reader = stream.getReader();
        const reading = (async () => {
          while (!(await reader.read()).done);
        })();
        await opening.promise;
        if (isAborted) {
          controller.abort(REASON);
          assertStrictEquals(await assertRejects(() => reading), REASON);
        } else {
          await reader.cancel(REASON);
          await reading;
        }
        opened.resolve(open({ keySuffix: late }));
        await settle();
        assertEquals(sources.at(-1)!.ends, givenUp(kind));
        assertEquals(sources.at(-1)!.pulls, 0);
        assertEquals(sources.length, late === ".0" ? 1 : 2);
      }
    }
  }
});

Deno.test("concatStream with a signal that is aborted fails with its reason, and opens nothing", async () => {
  const { open, sources } = threeParts("stream");
  const signal = AbortSignal.abort(REASON);
  const stream = concatStream(THREE, open, { signal });
  assertStrictEquals(
    await assertRejects(() => Array.fromAsync(stream)),
    REASON,
  );
  assertEquals(sources, []);
});

for (const [part, piece] of [[0, 0], [0, 2], [1, 1], [2, 3]] as const) {
  Deno.test(`concatStream that is aborted while piece ${piece} of part ${part} is waited for rejects at once`, async () => {
    for (const kind of KINDS) {
      for (const crc32c of ["none", "verify"] as const) {
        const controller = new AbortController();
        const { signal } = controller;
        const stalled = Promise.withResolvers<void>();
        const { open, sources } = threeParts(kind, (...now) => {
          if (String(now) !== String([part, piece])) return;
          stalled.resolve();
          return never();
        });
        const stream = concatStream(THREE, open, { signal, crc32c });
        const reading = Array.fromAsync(stream);
        await stalled.promise;
        controller.abort(REASON);
        assertStrictEquals(await assertRejects(() => reading), REASON);
        assertEquals(sources.at(-1)!.ends, givenUp(kind));
        assertEquals(sources.length, part + 1);
      }
    }
  });
}

for (const [part, piece] of [[0, 0], [0, 2], [1, 3], [2, 3]] as const) {
  Deno.test(`concatStream fails if piece ${piece} of part ${part} does, and opens no more`, async () => {
    for (const kind of KINDS) {
      for (const crc32c of ["none", "compute"] as const) {
        const { open, sources } = threeParts(kind, (...now) => {
          if (String(now) === String([part, piece])) throw REASON;
        });
        const stream = concatStream(THREE, open, { crc32c });
        assertStrictEquals(
          await assertRejects(() => Array.fromAsync(stream)),
          REASON,
        );
        assertEquals(sources.length, part + 1);
        assertEquals(
          sources.at(-1)!.ends,
          kind === "reader" ? ["closed"] : [],
        );
      }
    }
  });
}

Deno.test("concatStream fails if a part cannot be opened, and opens no more", async () => {
  for (const isThrown of [false, true]) {
    const opened: string[] = [];
    const { open } = threeParts("stream");
    const stream = concatStream(THREE, (part) => {
      opened.push(part.keySuffix);
      if (part.keySuffix !== ".1") return open(part);
      if (isThrown) throw REASON;
      return Promise.reject(REASON);
    });
    assertStrictEquals(
      await assertRejects(() => Array.fromAsync(stream)),
      REASON,
    );
    assertEquals(opened, [".0", ".1"]);
  }
});

Deno.test("concatStream leaves no listener on its signal, however it ends", async () => {
  for (const end of ["end", "fail", "cancel"]) {
    const { signal } = new AbortController();
    const listeners = listenersOf(signal);
    const { open } = threeParts("stream", (part) => {
      if (end === "fail" && part === 1) throw REASON;
    });
    const reader = concatStream(THREE, open, { signal }).getReader();
    await reader.read();
    if (end === "cancel") await reader.cancel();
    while (await reader.read().then(({ done }) => !done, () => false));
    assertEquals([listeners.added, listeners.present], [1, 0]);
  }
});
