import { assertEquals } from "@std/assert";
import { convert, type LayoutOptions } from "../../jobs.ts";
import {
  FileSystemStore,
  MemoryStore,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { checksummed, checksummedMetadata } from "./checksummed.ts";
import { digestsOf } from "./digests.ts";

const TEMPLATE = new TemplateChunkKeyEncoding("tile_{1:02}_{0:02}.bin");

/** Layouts, with the keys that shard 1, 2 has in them. */
export const LAYOUTS: Record<string, [LayoutOptions, keys: string[]]> = {
  "no option": [{}, ["/c/1/2"]],
  "plain": [{ plain: true }, ["/c/1/2"]],
  "a suffix": [{ suffix: ".tiff" }, ["/c/1/2.tiff"]],
  "parts": [{ parts: ["", ".index", ".crc32c"] }, [
    "/c/1/2",
    "/c/1/2.crc32c",
    "/c/1/2.index",
  ]],
  "parts without the chunk key": [{ parts: [".head:3", ".rest"] }, [
    "/c/1/2.head",
    "/c/1/2.rest",
  ]],
  "an encoding": [{ keyEncoding: "v2" }, ["/1.2"]],
  "an encoding and a suffix": [{ keyEncoding: "v2", suffix: ".x" }, [
    "/1.2.x",
  ]],
  "a template and parts": [{ keyEncoding: TEMPLATE, parts: ["", ".tail:9"] }, [
    "/tile_02_01.bin",
    "/tile_02_01.bin.tail",
  ]],
  "fanout, a suffix and parts": [
    { keyEncoding: "fanout", suffix: ".y", parts: [".h:1", ""] },
    ["/c/0/001/0/002.y", "/c/0/001/0/002.y.h"],
  ],
};

/** Tests the conversion of shards of a size from each layout to another one. */
export function testShards(size: number): void {
  for (const indexLocation of ["start", "end"] as const) {
    Deno.test(`convert copies shards of ${size} bytes with the index at the ${indexLocation} from layout to layout`, async () => {
      await inTempDir(async (folder) => {
        const metadata = checksummedMetadata(indexLocation);
        let count = 0;
        for (const makes of ["memory", "files"]) {
          const make = () =>
            makes === "memory"
              ? new MemoryStore()
              : new FileSystemStore(`${folder}/${count++}`);
          const plain = make();
          await checksummed(plain, size, "", metadata);
          const expected = await digestsOf(plain);
          // An index at the start is no part before the checksum.
          const names = Object.keys(LAYOUTS)
            .filter((name) => indexLocation === "end" || name !== "parts");
          for (const [i, from] of names.entries()) {
            const to = names[(i + 4) % names.length]!;
            const [one, two, three] = [make(), make(), make()];
            await convert(plain, one, LAYOUTS[from]![0]);
            await convert(one, two, LAYOUTS[to]![0]);
            await convert(two, three, { plain: true });
            assertEquals(await digestsOf(three), expected, `${from}, ${to}`);
          }
        }
      });
    });
  }
}
