import { assert, assertEquals, assertRejects } from "@std/assert";
import { fileURLToPath } from "node:url";
import {
  type ArrayChunks,
  FileSystemStore,
  openArrayChunks,
} from "../../mod.ts";
import { filesIn, inTempDir } from "../../tests/stores/temp_dir.ts";
import { compareElevations } from "./compare_elevations.ts";
import { compareShard } from "./compare_shards.ts";
import { storeInParts } from "./store_in_parts.ts";

const SOURCE = fileURLToPath(
  import.meta.resolve("../../tests/fixtures/dem.zarr"),
);

/** The elevation model, and a copy of it in parts in a folder of its own. */
async function withCopy(
  test: (
    source: ArrayChunks,
    folder: string,
    stored: number[][],
  ) => Promise<void>,
): Promise<void> {
  await inTempDir(async (folder) => {
    const source = await openArrayChunks(new FileSystemStore(SOURCE));
    const store = new FileSystemStore(folder);
    await test(source, folder, await storeInParts(source, store));
  });
}

/** Changes the last byte of a file. */
async function damage(path: string): Promise<void> {
  const bytes = await Deno.readFile(path);
  bytes[bytes.length - 1]! ^= 1;
  await Deno.writeFile(path, bytes);
}

Deno.test("storeInParts() stores every shard as three files, in order", async () => {
  await withCopy(async (_, folder, stored) => {
    const rows = [0, 1, 2];
    const columns = [0, 1, 2, 3];
    assertEquals(stored, rows.flatMap((y) => columns.map((x) => [y, x])));
    for (const y of rows) {
      assertEquals(
        await filesIn(`${folder}/c/${y}`),
        columns.flatMap((x) =>
          [".shard", ".shard.header", ".shard.index"].map((end) => x + end)
        ),
      );
    }
  });
});

Deno.test("compareShard() tells the sizes of the parts", async () => {
  await withCopy(async (source, folder) => {
    const copy = await openArrayChunks(new FileSystemStore(folder));
    assertEquals(await compareShard(source, copy, folder, [2, 3]), {
      coordinates: [2, 3],
      key: "c/2/3.shard",
      partSizes: [64, 4385, 196],
      size: 4645,
    });
  });
});

Deno.test("compareShard() finds one changed byte in any part", async () => {
  for (const end of [".shard", ".shard.header", ".shard.index"]) {
    await withCopy(async (source, folder) => {
      const copy = await openArrayChunks(new FileSystemStore(folder));
      await damage(`${folder}/c/1/2${end}`);
      await assertRejects(
        () => compareShard(source, copy, folder, [1, 2]),
        Error,
        "Not the bytes of the source: shard (1, 2)",
      );
      assert(await compareShard(source, copy, folder, [1, 1]));
    });
  }
});

Deno.test("compareElevations() returns the model, and finds what is another one", async () => {
  await withCopy(async (_, folder) => {
    const { elevations, width, height } = await compareElevations(
      SOURCE,
      folder,
    );
    assertEquals([elevations.length, width, height], [403 * 344, 403, 344]);
    // As if the shard were absent: nothing but the fill value.
    for (const end of [".shard", ".shard.header", ".shard.index"]) {
      await Deno.remove(`${folder}/c/2/3${end}`);
    }
    await assertRejects(
      () => compareElevations(SOURCE, folder),
      Error,
      "Not the elevations of the source",
    );
  });
});
