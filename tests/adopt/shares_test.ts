import { assert, assertEquals, assertRejects } from "@std/assert";
import { type MemoryStore, MetadataError, type StoreKey } from "../../mod.ts";
import { digestsOf } from "../jobs/digests.ts";
import { mosaicOf, MOSAICS, mosaicStore, stripsOf } from "./tiled_files.ts";

for (const [format, { store: create, adopt }] of Object.entries(MOSAICS)) {
  Deno.test(`shares of ${format} files in any order, and a last run, make the array of one run`, async () => {
    const expected = create();
    const { report } = await adopt(expected);
    let indexBytes = 0;
    for await (const key of expected.list()) {
      if (key.endsWith(".index")) indexBytes += (await expected.size(key))!;
    }
    assertEquals(report.indexBytes, indexBytes);
    for (const count of [1, 2, 5, 16]) {
      const store = create();
      const shares = Array.from({ length: count }, (_, index) => index)
        .reverse();
      const reports = await Promise.all(
        shares.map(async (index) =>
          (await adopt(store, { share: { index, count } })).report
        ),
      );
      assertEquals(await store.get("/a/zarr.json"), undefined);
      // Each file belongs to one share.
      const files = reports.reduce((sum, { files }) => sum + files, 0);
      assertEquals(files, 11);
      for (const { missingFiles } of reports) assertEquals(missingFiles, 1);
      // A share may run again.
      await adopt(store, { share: { index: 0, count } });
      const end = await adopt(store, { finish: true });
      assertEquals(end.report, report);
      assertEquals(await digestsOf(store), await digestsOf(expected));
    }
  });

  Deno.test(`a last run refuses to finish ${format} files of which one has no index of its own`, async () => {
    const share = { index: 0, count: 1 };
    const broken: [string, (store: MemoryStore) => unknown, string][] = [
      ["no index", (s) => s.delete(indexOf(s)), "the file has no index"],
      [
        "a short index",
        async (s) => await s.set(indexOf(s), (await index(s)).slice(1)),
        "bytes, where the array has indexes of",
      ],
      [
        "a damaged index",
        async (s) => {
          const bytes = await index(s);
          bytes[40]! ^= 1;
          await s.set(indexOf(s), bytes);
        },
        "CRC32C",
      ],
      [
        "a replaced file",
        async (s) => {
          const key = indexOf(s).slice(0, -".index".length) as StoreKey;
          await s.set(key, new Uint8Array([...(await s.get(key))!, 0]));
        },
        "is ",
      ],
    ];
    for (const [what, breakIt, message] of broken) {
      const store = create();
      await adopt(store, { share });
      await breakIt(store);
      const before = await digestsOf(store);
      const error = await assertRejects(() => adopt(store, { finish: true }));
      const { message: found } = error as Error;
      assert(found.includes("1 of 11 files have no index of this"), found);
      assert(found.includes(message), `${what}: ${found}`);
      assertEquals(await digestsOf(store), before);
    }
    function indexOf(_: unknown): StoreKey {
      return `/a/y2_x1.${format}.index`;
    }
    async function index(store: MemoryStore): Promise<Uint8Array> {
      return (await store.get(indexOf(store)))!;
    }
  });

  Deno.test(`an adoption of ${format} files says what it would do, and how far it is`, async () => {
    const expected = create();
    const { report } = await adopt(expected);
    const store = create();
    const before = await digestsOf(store);
    for (
      const [options, total] of [
        [{ dryRun: true }, 11],
        [{ share: { index: 0, count: 1 } }, 22],
        [{}, 22],
      ] as const
    ) {
      const steps: unknown[] = [];
      const result = await adopt(store, {
        ...options,
        onProgress: ({ done, total }) => steps.push([done, total]),
      });
      assertEquals(result.report, report);
      const all = Array.from({ length: total }, (_, i) => [i + 1, total]);
      assertEquals(steps, all);
      if ("dryRun" in options) assertEquals(await digestsOf(store), before);
    }
    assertEquals(await digestsOf(store), await digestsOf(expected));
    await assertRejects(
      () => adopt(store, { dryRun: true }),
      MetadataError,
      '"/a/zarr.json" is there already',
    );
  });

  Deno.test(`an adoption of ${format} files goes on after it was killed`, async () => {
    const expected = create();
    await adopt(expected);
    for (let count = 0; count < 12; count++) {
      // A store that has what a killed run left: some indexes.
      const store = create();
      for await (const key of expected.list()) {
        if (!key.endsWith(".index") || Math.random() * 12 > count) continue;
        await store.set(key, (await expected.get(key))!);
      }
      await adopt(store);
      assertEquals(await digestsOf(store), await digestsOf(expected));
    }
  });
}

Deno.test("adoptTiffs refuses shares and last runs at once, and shares out of range", async () => {
  const { store: create, adopt } = MOSAICS.tif;
  const share = { index: 0, count: 2 };
  await assertRejects(
    () => adopt(create(), { share, finish: true }),
    TypeError,
    'Expected one of the options "share" and "finish", found both',
  );
  await assertRejects(
    () => adopt(create(), { share: { index: 2, count: 2 } }),
    RangeError,
    "found index 2 and count 2",
  );
});

Deno.test("a last run refuses strips that shares have divided in different ways", async () => {
  const { adopt } = MOSAICS.tif;
  // One file has strips of 6 rows, all others of 4, so that they have 2 in common.
  const files = mosaicOf((value) => stripsOf(value === 34 ? 6 : 4), ".tif");
  const together = mosaicStore(files);
  const { chunks } = await adopt(together);
  assertEquals(chunks.innerChunkShape, [2, 16]);
  const apart = mosaicStore(files);
  for (let index = 0; index < 11; index++) {
    await adopt(apart, { share: { index, count: 11 } });
  }
  await assertRejects(
    () => adopt(apart, { finish: true }),
    Error,
    '/a/y2_x2.tif": the index has 132 bytes, where the array has indexes of 84; run the shares again, or adopt all files at once',
  );
  assertEquals(await apart.get("/a/zarr.json"), undefined);
});
