import { assertEquals, assertRejects } from "@std/assert";
import {
  convert,
  convertInPlace,
  type ConvertOptions,
  verify,
} from "../../jobs.ts";
import {
  DamageError,
  FileSystemStore,
  MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { adoptTiffs, tiffContainer } from "../../tiff.ts";
import { zipContainer } from "../../zip.ts";
import { MOSAICS, tiffOf } from "../adopt/tiled_files.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { digestsOf } from "./digests.ts";

/** Layouts that adopted files are converted to, by name. */
const LAYOUTS: Record<string, ConvertOptions> = {
  plain: { plain: true },
  parts: { suffix: ".shard", parts: ["", ".index"] },
  TIFF: {
    ...{ suffix: ".tif", parts: ["", ".index"] },
    container: (metadata) => tiffContainer(metadata),
  },
  zip: {
    ...{ suffix: ".zip", parts: ["", ".index"] },
    container: (metadata) => zipContainer(metadata),
  },
};

for (const format of ["tif", "zip"] as const) {
  const { store: create, adopt } = MOSAICS[format];
  const key: StoreKey = `/a/y2_x1.${format}`;

  /** Replaces a file by one that is a byte longer than its index says. */
  const replaceFile = async (store: Store) => {
    const bytes = (await store.get(key))!;
    await store.set!(key, new Uint8Array([...bytes, 0]));
  };

  Deno.test(`convert copies adopted ${format} files, and refuses one that was replaced`, async () => {
    for (const [name, layout] of Object.entries(LAYOUTS)) {
      const store = create();
      await adopt(store);
      const target = new MemoryStore();
      await convert({ store, path: "a" }, target, layout);
      const { chunks, findings } = await verify(target, "", { deep: true });
      assertEquals([chunks, findings], [11, []], name);

      await replaceFile(store);
      await assertRejects(
        () => convert({ store, path: "a" }, new MemoryStore(), layout),
        DamageError,
        "where its index was made for",
        name,
      );
    }
  });

  Deno.test(`convertInPlace joins adopted ${format} files and their indexes, and refuses one that was replaced`, async () => {
    await inTempDir(async (folder) => {
      const memory = create();
      await adopt(memory);
      const store = new FileSystemStore(folder);
      for await (const each of memory.list()) {
        await store.set(each, (await memory.get(each))!);
      }
      const place = { store, path: "a" };
      const file = (await store.get(key))!;
      await replaceFile(store);
      const before = await digestsOf(store);
      await assertRejects(
        () => convertInPlace(place, { plain: true }),
        DamageError,
        "where its index was made for",
      );
      assertEquals(await digestsOf(store), before);
      await store.set(key, file);
      await convertInPlace(place, { plain: true });
      const { findings } = await verify(store, "a", { deep: true });
      assertEquals(findings, []);
    });
  });
}

Deno.test("convert from folder to folder refuses a long adopted file that was replaced", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(`${folder}/a`);
    const file = tiffOf(1, 3_000_000);
    await store.set("/c/0/0.tif", file);
    await adoptTiffs(store, "");
    const target = new FileSystemStore(`${folder}/b`);
    await convert(store, target, { plain: true });
    assertEquals(await target.size("/c/0/0"), file.length + 52);
    await store.set("/c/0/0.tif", new Uint8Array([...file, 0]));
    await assertRejects(
      () => convert(store, target, { plain: true, overwrite: true }),
      DamageError,
      "where its index was made for",
    );
  });
});
