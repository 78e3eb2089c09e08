import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  type ConcatOptions,
  concatStream,
  FileSystemStore,
  type StoreOptions,
} from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { filesIn, inTempDir } from "../stores/temp_dir.ts";
import { KINDS, listenersOf, never, probedSource } from "./stream_probes.ts";
import { inPieces, partsOf, WINDOW } from "./stream_support.ts";

const REASON = new Error("Enough");

/** Where a signal may be given, and to which of the two. */
const SIGNALS: Record<
  string,
  (signal: AbortSignal) => [ConcatOptions, StoreOptions]
> = {
  "set's options": (signal) => [{}, { signal }],
  "its own options": (signal) => [{ signal }, {}],
  "both options": (signal) => [{ signal }, { signal }],
};

for (const [name, give] of Object.entries(SIGNALS)) {
  for (const at of ["before", "open", 0, 1, 3] as const) {
    Deno.test(`concatStream that is aborted by ${name} at ${at} is not stored`, async () => {
      for (const kind of KINDS) {
        for (const crc32c of ["none", "compute"] as const) {
          await inTempDir(async (folder) => {
            const controller = new AbortController();
            const [options, storeOptions] = give(controller.signal);
            const source = probedSource(
              kind,
              inPieces(noise(10), [2]),
              (piece) => {
                if (piece !== at) return;
                queueMicrotask(() => controller.abort(REASON));
                return never();
              },
            );
            const stream = concatStream(partsOf([undefined]), () => {
              if (at !== "open") return source.source;
              queueMicrotask(() => controller.abort(REASON));
              return never();
            }, { ...options, crc32c });
            if (at === "before") controller.abort(REASON);
            const found = await assertRejects(() =>
              new FileSystemStore(folder).set("/x", stream, storeOptions)
            );
            assertStrictEquals(found, REASON);
            assertEquals(await filesIn(folder), []);
            assertEquals(
              source.ends,
              typeof at === "string"
                ? []
                : [kind === "reader" ? "closed" : REASON],
            );
          });
        }
      }
    });
  }
}

Deno.test("concatStream that is aborted as it opens its first part is not stored", async () => {
  await inTempDir(async (folder) => {
    const controller = new AbortController();
    const stream = concatStream(partsOf([undefined]), () => {
      controller.abort(REASON);
      return never();
    }, { signal: controller.signal });
    const found = await assertRejects(() =>
      new FileSystemStore(folder).set("/x", stream)
    );
    assertStrictEquals(found, REASON);
    assertEquals(await filesIn(folder), []);
  });
});

Deno.test("concatStream leaves no listener on its signal when it is stored", async () => {
  await inTempDir(async (folder) => {
    const { signal } = new AbortController();
    const listeners = listenersOf(signal);
    const stream = concatStream(
      partsOf([undefined]),
      () => probedSource("stream", [noise(5)]).source,
      { signal },
    );
    await new FileSystemStore(folder).set("/x", stream);
    assertEquals(listeners.present, 0);
  });
});

Deno.test("concatStream is not stored, and waits for nothing, if a write fails while a part stalls", async () => {
  const { write } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.write = () => Promise.reject(REASON);
  try {
    for (const kind of KINDS) {
      await inTempDir(async (folder) => {
        const source = probedSource(
          kind,
          [noise(WINDOW)],
          (piece) => piece === 1 ? never() : undefined,
        );
        const stream = concatStream(
          partsOf([undefined]),
          () => source.source,
        );
        const found = await assertRejects(() =>
          new FileSystemStore(folder).set("/x", stream)
        );
        assertStrictEquals(found, REASON);
        assertEquals(source.ends, [kind === "reader" ? "closed" : REASON]);
        assertEquals(await filesIn(folder), []);
      });
    }
  } finally {
    Deno.FsFile.prototype.write = write;
  }
});
