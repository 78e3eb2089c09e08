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

/** Runs a test with the elevation model and a copy of it in parts, in a temporary folder. */
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

Deno.test("storeInParts() stores every shard as two files, in C order", async () => {
  await withCopy(async (_, folder, stored) => {
    const rows = [0, 1, 2];
    const columns = [0, 1, 2, 3];
    assertEquals(stored, rows.flatMap((y) => columns.map((x) => [y, x])));
    for (const y of rows) {
      assertEquals(
        await filesIn(`${folder}/c/${y}`),
        columns.flatMap((x) => [`${x}.shard`, `${x}.shard.index`]),
      );
    }
  });
});

Deno.test("compareShard() returns the sizes of the parts", async () => {
  await withCopy(async (source, folder) => {
    const copy = await openArrayChunks(new FileSystemStore(folder));
    assertEquals(await compareShard(source, copy, folder, [2, 3]), {
      coordinates: [2, 3],
      key: "c/2/3.shard",
      partSizes: [4449, 196],
      size: 4645,
    });
  });
});

Deno.test("compareShard() finds one changed byte in any part", async () => {
  for (const end of [".shard", ".shard.index"]) {
    await withCopy(async (source, folder) => {
      const copy = await openArrayChunks(new FileSystemStore(folder));
      await damage(`${folder}/c/1/2${end}`);
      await assertRejects(
        () => compareShard(source, copy, folder, [1, 2]),
        Error,
        "Shard (1, 2), read as a whole, differs from the source",
      );
      assert(await compareShard(source, copy, folder, [1, 1]));
    });
  }
});

Deno.test("compareElevations() returns the model, and finds elevations that differ", async () => {
  await withCopy(async (_, folder) => {
    const { elevations, width, height } = await compareElevations(
      SOURCE,
      folder,
    );
    assertEquals([elevations.length, width, height], [403 * 344, 403, 344]);
    // An absent shard reads as the fill value.
    for (const end of [".shard", ".shard.index"]) {
      await Deno.remove(`${folder}/c/2/3${end}`);
    }
    await assertRejects(
      () => compareElevations(SOURCE, folder),
      Error,
      "The elevations differ from the source",
    );
  });
});
