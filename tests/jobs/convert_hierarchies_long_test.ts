import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { convert, type LayoutOptions } from "../../jobs.ts";
import {
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  type StoreKey,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { contentsOf } from "../support/bytes.ts";
import { readJson } from "../support/documents.ts";
import { anyHierarchy, storedAndPlain } from "../support/hierarchy.ts";
import { type Method, observed } from "../support/observed_store.ts";
import { checksummed, checksummedMetadata } from "./checksummed.ts";
import { digestsOf } from "./digests.ts";

/** The optional methods of a source. */
const METHODS = fc.constantFrom<Method[]>(
  ["get", "getRange", "stream", "size", "list", "group"],
  ["get", "getRange", "stream", "size", "list"],
  ["get", "list"],
);

Deno.test("convert makes any hierarchy plain, byte by byte as a plain copy", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyHierarchy.filter(({ groups, arrays }) =>
        groups.includes("") || arrays[0]?.path === ""
      ),
      METHODS,
      async (hierarchy, methods) => {
        const { stored, plain } = await storedAndPlain(hierarchy);
        const before = await contentsOf(stored);
        const target = new MemoryStore();
        const source = observed(stored, () => {}, methods);
        const { isFinished, copied, total } = await convert(source, target, {
          plain: true,
        });
        assertEquals(isFinished, true);
        assertEquals(copied, total);
        assertEquals(await contentsOf(target), await contentsOf(plain));
        assertEquals(await contentsOf(stored), before);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("convert gives plain arrays any layout, and each array its own", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyHierarchy.filter(({ groups, others }) =>
        groups.includes("") && others.length === 0
      ),
      async (hierarchy) => {
        const { stored, plain } = await storedAndPlain(hierarchy);
        const target = new MemoryStore();
        const layouts = new Map(
          hierarchy.arrays.map(({ path, stored }) => [path, stored]),
        );
        await convert(plain, { store: target, path: "deep/down" }, {
          metadata: (_, path) => layouts.get(path)!,
        });
        const [found, expected] = await Promise.all([
          withParsedDocuments(target, "/deep/down"),
          withParsedDocuments(stored, ""),
        ]);
        assertEquals(found, expected);
      },
    ),
    { numRuns: 200 },
  );
});

async function withParsedDocuments(
  store: MemoryStore,
  root: string,
): Promise<Record<string, unknown>> {
  const contents: Record<string, unknown> = {};
  for await (const key of store.list()) {
    assert(key.startsWith(root));
    contents[key.slice(root.length)] = key.endsWith("/zarr.json")
      ? await readJson(store, key)
      : Array.from((await store.get(key))!);
  }
  return contents;
}

Deno.test("convert stores chunks under the keys of the layout", async () => {
  const plain = new MemoryStore();
  await checksummed(plain, 40);
  for (const [name, [layout, expected]] of Object.entries(LAYOUTS)) {
    const target = new MemoryStore();
    await convert(plain, target, layout);
    const chunks = await openArrayChunks(target);
    const key = chunks.key([1, 2]);
    const keys = await Array.fromAsync(target.list());
    const found = keys.filter((each) => each.startsWith(key)).sort();
    assertEquals(found, expected as StoreKey[], name);
    const bytes = await chunks.get([1, 2]);
    assertEquals(bytes, await plain.get("/c/1/2"), name);
  }
});

const TEMPLATE = new TemplateChunkKeyEncoding("tile_{1:02}_{0:02}.bin");

/** Layouts, with the keys that shard 1, 2 has in them. */
const LAYOUTS: Record<string, [LayoutOptions, keys: string[]]> = {
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
function testShards(size: number): void {
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

for (const size of [5, 2 ** 20 - 72, 2 ** 20 - 71, 3 * 2 ** 20 + 7]) {
  testShards(size);
}
