import { assertEquals, assertRejects } from "@std/assert";
import { MetadataError } from "../../mod.ts";
import { digestsOf } from "../jobs/digests.ts";
import { MOSAICS } from "./tiled_files.ts";

for (const [format, { store: create, adopt }] of Object.entries(MOSAICS)) {
  Deno.test(`an adoption of ${format} files says what it would do, and how far it is`, async () => {
    const expected = create();
    const { report } = await adopt(expected);
    const store = create();
    const before = await digestsOf(store);
    for (
      const [options, total] of [
        [{ dryRun: true }, 11],
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
