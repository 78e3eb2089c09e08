import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { convert, inspect, repair, verify } from "../../jobs.ts";
import { MemoryStore, MetadataError } from "../../mod.ts";
import {
  chunksOfGrid,
  countOfGrid,
  hash,
  isInShare,
} from "../../src/arrays/chunk_grid.ts";
import { chunksOfShare, countInShare } from "../../src/jobs/stored_chunks.ts";
import { contentsOf } from "../support/bytes.ts";
import { encodeJson, groupMetadata, utf8 } from "../support/documents.ts";
import { observed } from "../support/observed_store.ts";
import { checksummed } from "./checksummed.ts";

const LAYOUT = { suffix: ".s", parts: ["", ".index", ".crc32c"] };

/** A group with 7 arrays of 3 chunks, and 5 texts. */
async function example(): Promise<
  { source: MemoryStore; expected: Record<string, number[]> }
> {
  const source = new MemoryStore();
  await source.set("/zarr.json", encodeJson(groupMetadata()));
  for (let i = 0; i < 7; i++) await checksummed(source, 9 + i, `array ${i}`);
  for (let i = 0; i < 5; i++) await source.set(`/${i}.txt`, utf8(`Text ${i}`));
  const target = new MemoryStore();
  await convert(source, target, LAYOUT);
  return { source, expected: await contentsOf(target) };
}

Deno.test("every chunk of a grid and every file belongs to one share", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 4 }),
      fc.integer({ min: 1, max: 40 }),
      fc.string(),
      (gridShape, count, path) => {
        const chunks = [...chunksOfGrid(gridShape)];
        assertEquals(chunks.length, countOfGrid(gridShape));
        assertEquals(new Set(chunks.map(String)).size, chunks.length);
        const shares = Array.from({ length: count }, (_, index) => {
          const share = { index, count };
          const found = chunks.filter(chunksOfShare(share, path, gridShape));
          assertEquals(
            found.length,
            countInShare(share, path, chunks.length),
          );
          return found;
        });
        assertEquals(
          shares.flat().map(String).sort(),
          chunks.map(String).sort(),
        );
        const lengths = shares.map(({ length }) => length);
        assert(Math.max(...lengths) - Math.min(...lengths) <= 1);
        const owners = shares.filter((_, index) =>
          isInShare({ index, count }, path)
        );
        assertEquals(owners.length, 1);
      },
    ),
  );
});

Deno.test("a share of a grid with more chunks than numbers is exact to the last one", () => {
  const last = Number.MAX_SAFE_INTEGER;
  const gridShape = [last, last, 7];
  const chunk = [last - 1, last - 2, 5];
  const place = (BigInt(chunk[0]!) * BigInt(last) + BigInt(chunk[1]!)) * 7n +
    5n;
  for (const count of [1, 16, 999, 2 ** 26]) {
    const index = Number(
      (place + BigInt(hash("a"))) % BigInt(count),
    );
    const isIncluded = chunksOfShare({ index, count }, "a", gridShape);
    assertEquals(isIncluded(chunk), true);
  }
});

Deno.test("sixteen shares in any order, and some again, make what one run makes", async () => {
  const { source, expected } = await example();
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(Array.from({ length: 16 }, (_, i) => i), {
        minLength: 16,
      }),
      fc.integer({ min: 1, max: 16 }),
      fc.nat(15),
      fc.nat(6),
      async (order, atOnce, killed, writes) => {
        const target = new MemoryStore();
        const copied: number[] = [];
        for (let i = 0; i < order.length; i += atOnce) {
          await Promise.all(
            order.slice(i, i + atOnce).map(async (index) => {
              const share = { index, count: 16 };
              if (index === killed) {
                let left = writes;
                const failing = observed(target, ({ method }) => {
                  if (method === "writer" || method === "set") left--;
                  if (left < 0) throw new Error("Killed");
                }, ["get", "size", "set", "delete", "list", "group"]);
                await convert(source, failing, { ...LAYOUT, share })
                  .catch(() => {});
              }
              const done = await convert(source, target, { ...LAYOUT, share });
              assertEquals(done.isFinished, false);
              assertEquals(done.copied + done.skipped, done.total);
              copied.push(done.total);
            }),
          );
        }
        assertEquals(copied.reduce((sum, count) => sum + count), 26);
        assertEquals(await target.get("/zarr.json"), undefined);
        const end = await convert(source, target, { ...LAYOUT, resume: true });
        assertEquals([end.isFinished, end.copied], [true, 0]);
        assertEquals(await contentsOf(target), expected);
      },
    ),
    { numRuns: 30 },
  );
});

Deno.test("a run without a share copies what the shares have not, and finishes", async () => {
  const { source, expected } = await example();
  const target = new MemoryStore();
  for (const index of [0, 2]) {
    await convert(source, target, { ...LAYOUT, share: { index, count: 3 } });
  }
  await target.delete("/array 3/c/0/0.s.index");
  assertEquals(await target.get("/zarr.json"), undefined);
  const end = await convert(source, target, { ...LAYOUT, resume: true });
  assertEquals(end.isFinished, true);
  assertEquals(await contentsOf(target), expected);
  await assertRejects(
    () => convert(source, target, { ...LAYOUT, share: { index: 0, count: 3 } }),
    Error,
    "a node is there already",
  );
});

Deno.test("shares are refused where an earlier target is being replaced", async () => {
  const { source, expected } = await example();
  const target = new MemoryStore();
  const old = { ...groupMetadata(), attributes: { age: "old" } };
  await target.set("/zarr.json", encodeJson(old));
  const failing = observed(target, ({ method }) => {
    if (method === "delete") throw new Error("Killed");
  }, ["get", "size", "set", "delete", "list", "group"]);
  await assertRejects(
    () => convert(source, failing, { ...LAYOUT, overwrite: true }),
    Error,
    "Killed",
  );
  const before = await contentsOf(target);
  await assertRejects(
    () => convert(source, target, { ...LAYOUT, share: { index: 0, count: 3 } }),
    Error,
    'is unfinished, or another program is at work on it; expected the option "resume" or "overwrite"',
  );
  assertEquals(await contentsOf(target), before);
  await convert(source, target, { ...LAYOUT, resume: true });
  assertEquals(await contentsOf(target), expected);
});

Deno.test("jobs say that the conversion to a place is not finished", async () => {
  const { source } = await example();
  const store = new MemoryStore();
  const target = { store, path: "a" };
  await convert(source, target, { ...LAYOUT, share: { index: 0, count: 2 } });
  const jobs = [
    () => inspect(store, "a"),
    () => verify(store, "a"),
    () => repair(store, "a"),
    () => convert(target, new MemoryStore()),
  ];
  for (const job of jobs) {
    await assertRejects(
      job,
      MetadataError,
      "a conversion to it is not finished",
    );
  }
});
