import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { concatStream, FileSystemStore, PartSizeError } from "../../mod.ts";
import { noise } from "../checksum/noise.ts";
import { filesIn, inTempDir } from "../stores/temp_dir.ts";
import { KINDS, probedSource, settle } from "./stream_probes.ts";
import { inPieces, joined, partsOf } from "./stream_support.ts";

for (const count of [0, 1, 2, 3, 4]) {
  Deno.test(`concatStream of which ${count} pieces were read gives a FileSystemStore the rest`, async () => {
    for (const kind of KINDS) {
      for (const crc32c of ["none", "compute"] as const) {
        await inTempDir(async (folder) => {
          let reports = 0;
          const stream = concatStream(
            partsOf([6, undefined]),
            ({ size }) =>
              probedSource(kind, inPieces(noise(size ?? 4), [2])).source,
            { crc32c, onReport: () => reports++ },
          );
          const reader = stream.getReader();
          const first: Uint8Array[] = [];
          for (let i = 0; i < count; i++) {
            first.push((await reader.read()).value!);
          }
          reader.releaseLock();
          await new FileSystemStore(folder).set("/x", stream);
          const rest = await Deno.readFile(`${folder}/x`);
          assertEquals(
            joined([...first, rest]),
            joined([noise(6), noise(4)]),
          );
          assertEquals(reports, 1);
        });
      }
    }
  });
}

Deno.test("concatStream whose reader went away while it waited gives a FileSystemStore what that did not get", async () => {
  for (const kind of KINDS) {
    for (const crc32c of ["none", "compute"] as const) {
      for (const isEarly of [false, true]) {
        await inTempDir(async (folder) => {
          const asked = Promise.withResolvers<void>();
          const wait = Promise.withResolvers<void>();
          const stream = concatStream(
            partsOf([undefined]),
            () =>
              probedSource(kind, inPieces(noise(10), [2]), (piece) => {
                if (piece !== 2) return;
                asked.resolve();
                return wait.promise;
              }).source,
            { crc32c },
          );
          const reader = stream.getReader();
          const first = [(await reader.read()).value!];
          if (crc32c === "none") first.push((await reader.read()).value!);
          const reading = reader.read();
          await asked.promise;
          reader.releaseLock();
          await assertRejects(() => reading, TypeError);
          if (isEarly) wait.resolve();
          await settle();
          const storing = new FileSystemStore(folder).set("/x", stream);
          await settle();
          wait.resolve();
          await storing;
          const rest = await Deno.readFile(`${folder}/x`);
          assertEquals(joined([...first, rest]), noise(10));
        });
      }
    }
  }
});

Deno.test("concatStream that has failed is not stored", async () => {
  for (const kind of KINDS) {
    await inTempDir(async (folder) => {
      const stream = concatStream(
        partsOf([6]),
        () => probedSource(kind, inPieces(noise(10), [4])).source,
      );
      const reader = stream.getReader();
      await reader.read();
      const error = await assertRejects(() => reader.read(), PartSizeError);
      reader.releaseLock();
      assertStrictEquals(
        await assertRejects(() =>
          new FileSystemStore(folder).set("/x", stream)
        ),
        error,
      );
      assertEquals(await filesIn(folder), []);
    });
  }
});

Deno.test("concatStream that is locked is not stored, and goes on", async () => {
  await inTempDir(async (folder) => {
    const stream = concatStream(
      partsOf([undefined]),
      () => probedSource("stream", [noise(5)]).source,
    );
    const reader = stream.getReader();
    await assertRejects(
      () => new FileSystemStore(folder).set("/x", stream),
      TypeError,
    );
    assertEquals(await filesIn(folder), []);
    assertEquals((await reader.read()).value, noise(5));
    assertEquals((await reader.read()).done, true);
  });
});
