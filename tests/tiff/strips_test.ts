/** Strips without compression, which are cut and joined to inner chunks of whole rows. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { MemoryStore, type StoreKey } from "../../mod.ts";
import { adoptTiffs, verifyAdopted } from "../../tiff.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { runs } from "../support/runs.ts";
import { buildTiff } from "./build_tiff.ts";

registerCodecs(zarr);

/** The strips of a file of uncompressed bytes. */
interface Strips {
  readonly height: number;
  readonly rowsPerStrip: number;
  /** The number of other bytes between two strips. */
  readonly gap: number;
}

/** A file of pages of strips, whose elements `at` gives by page, row and column. */
function stripFile(
  pages: readonly Strips[],
  width: number,
  at: (page: number, row: number, column: number) => number,
): Uint8Array {
  const start = 8192;
  let size = start;
  const pieces: { offset: number; bytes: Uint8Array }[] = [];
  const directories = pages.map(({ height, rowsPerStrip, gap }, page) => {
    const offsets: number[] = [];
    const lengths: number[] = [];
    for (let row = 0; row < height; row += rowsPerStrip) {
      const rows = Math.min(rowsPerStrip, height - row);
      offsets.push(size);
      lengths.push(rows * width);
      const bytes = new Uint8Array(rows * width);
      for (let i = 0; i < bytes.length; i++) {
        bytes[i] = at(page, row + Math.floor(i / width), i % width);
      }
      pieces.push({ offset: size, bytes });
      size += rows * width + gap;
    }
    return {
      entries: [
        [256, "long", [width]],
        [257, "long", [height]],
        [258, "short", [8]],
        [273, "long", offsets],
        [278, "long", [rowsPerStrip]],
        [279, "long", lengths],
      ] as const,
    };
  });
  const file = new Uint8Array(size).fill(255, start);
  file.set(buildTiff({ directories }));
  for (const { offset, bytes } of pieces) file.set(bytes, offset);
  return file;
}

const valueAt = (page: number, row: number, column: number) =>
  (page * 101 + row * 7 + column * 3) % 250;

async function readAll(store: MemoryStore) {
  const root = zarr.root(withZarrParts(store));
  const array = await zarr.open(root, { kind: "array" });
  const { data, shape } = await zarr.get(array);
  return { data: data as Uint8Array, shape, chunks: array.chunks };
}

Deno.test("adoptTiffs reads the rows of all strips, however they are cut and joined", async () => {
  const strips = fc.record({
    rowsPerStrip: fc.integer({ min: 1, max: 7 }),
    gap: fc.constantFrom(0, 0, 0, 0, 0, 0, 1),
  });
  let [joined, cut] = [0, 0];
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 12 }),
      fc.array(fc.array(strips, { minLength: 2, maxLength: 2 }), {
        minLength: 1,
        maxLength: 3,
      }),
      fc.integer({ min: 1, max: 12 }),
      fc.boolean(),
      async (width, height, files, lastHeight, hasPages) => {
        const heights = files.map((_, i) =>
          i === files.length - 1 ? Math.min(lastHeight, height) : height
        );
        const rank = hasPages ? 3 : 2;
        const store = new MemoryStore(files.map((pages, i) => {
          const key = ["/c", ...rank > 2 ? [0] : [], i, 0].join("/");
          const file = stripFile(
            pages.slice(0, hasPages ? 2 : 1)
              .map((page) => ({ ...page, height: heights[i]! })),
            width,
            (page, row, column) => valueAt(page, i * height + row, column),
          );
          return [`${key}.tif` as StoreKey, file] as const;
        }));
        const { chunks } = await adoptTiffs(store, "");
        const { data, shape } = await readAll(store);
        const rows = heights.reduce((a, b) => a + b);
        assertEquals(shape, [...hasPages ? [2] : [], rows, width]);
        const expected = Array.from(
          { length: hasPages ? 2 : 1 },
          (_, page) =>
            Array.from(
              { length: rows * width },
              (_, i) => valueAt(page, Math.floor(i / width), i % width),
            ),
        ).flat();
        assertEquals([...data], expected);
        assertEquals((await verifyAdopted(store, "")).mismatches, []);
        const inner = chunks.innerChunkShape!.at(-2)!;
        const perStrip = files.flat().map(({ rowsPerStrip }) => rowsPerStrip);
        if (inner > Math.max(...perStrip)) joined++;
        if (inner < Math.min(height, ...perStrip)) cut++;
      },
    ),
    { numRuns: runs(150), seed: 1 },
  );
  assert(joined > 0 && cut > 0, `${joined} and ${cut}`);
});

/** Heights, widths, strips, and the rows of inner chunks. */
const PICTURES: [string, Strips, number, number][] = [
  ["one strip", { height: 45, rowsPerStrip: 45, gap: 0 }, 10, 45],
  ["strips of a row", { height: 45, rowsPerStrip: 1, gap: 0 }, 10, 45],
  ["strips of a row, apart", { height: 45, rowsPerStrip: 1, gap: 1 }, 10, 1],
  ["a shorter last strip", { height: 45, rowsPerStrip: 7, gap: 0 }, 10, 45],
  ["the same, apart", { height: 45, rowsPerStrip: 7, gap: 1 }, 10, 1],
  ["the same, with a divisor", { height: 45, rowsPerStrip: 6, gap: 1 }, 10, 3],
  ["4 MiB", { height: 64, rowsPerStrip: 64, gap: 0 }, 65536, 64],
  ["a row more", { height: 65, rowsPerStrip: 65, gap: 0 }, 65536, 13],
  ["strips of 16 rows", { height: 96, rowsPerStrip: 16, gap: 0 }, 81920, 16],
  ["large strips, apart", { height: 132, rowsPerStrip: 66, gap: 1 }, 65536, 22],
];

for (const [name, strips, width, rows] of PICTURES) {
  Deno.test(`adoptTiffs makes inner chunks of ${rows} rows of ${name}`, async () => {
    const file = stripFile([strips], width, valueAt);
    const store = new MemoryStore([["/c/0/0.tif", file]]);
    const { chunks } = await adoptTiffs(store, "");
    assertEquals(chunks.innerChunkShape, [rows, width]);
    const { data } = await readAll(store);
    const step = Math.ceil(data.length / 997);
    for (let i = 0; i < data.length; i += step) {
      assertEquals(data[i], valueAt(0, Math.floor(i / width), i % width));
    }
    assertEquals((await verifyAdopted(store, "")).mismatches, []);
  });
}

Deno.test("adoptTiffs divides tiles as wide as the picture, also the last ones, which reach below it", async () => {
  // Tiles of 16 rows, and of 32 rows in the last file, which has 40.
  const tiles = (height: number, rows: number, first: number, gap = 1) => {
    const count = Math.ceil(height / rows);
    const start = 512;
    const head = buildTiff({
      directories: [{
        entries: [
          [256, "long", [16]],
          [257, "long", [height]],
          [258, "short", [8]],
          [322, "short", [16]],
          [323, "short", [rows]],
          [
            324,
            "long",
            Array.from(
              { length: count },
              (_, i) => start + i * (rows * 16 + gap),
            ),
          ],
          [325, "long", new Array(count).fill(rows * 16)],
        ],
      }],
    });
    const file = new Uint8Array(start + count * (rows * 16 + gap));
    file.set(head);
    for (let row = 0; row < height; row++) {
      const tile = Math.floor(row / rows);
      const offset = start + tile * (rows * 16 + gap) + row % rows * 16;
      file.fill(first + row, offset, offset + 16);
    }
    return file;
  };
  // Tiles of which the last one reaches below the picture stay as they are.
  const alone = new MemoryStore([["/c/0/0.tif", tiles(40, 16, 0, 0)]]);
  const { chunks: whole } = await adoptTiffs(alone, "");
  assertEquals(whole.innerChunkShape, [16, 16]);
  const store = new MemoryStore([
    ["/c/0/0.tif", tiles(48, 16, 0)],
    ["/c/1/0.tif", tiles(40, 32, 48)],
  ]);
  const { chunks } = await adoptTiffs(store, "");
  assertEquals(chunks.innerChunkShape, [16, 16]);
  const { data, shape } = await readAll(store);
  assertEquals(shape, [88, 16]);
  assertEquals(
    [...data],
    Array.from({ length: 88 * 16 }, (_, i) => Math.floor(i / 16)),
  );
  assertEquals((await verifyAdopted(store, "")).mismatches, []);
});

Deno.test("adoptTiffs reads elements of 24 bits of little-endian files, the highest byte first", async () => {
  const strip = [1, 2, 3, 250, 0, 255]; // As tifffile and GDAL read them.
  for (const isLittle of [true, false]) {
    const file = buildTiff({
      isLittle,
      start: 14,
      directories: [{
        entries: [
          [256, "short", [2]],
          [257, "short", [1]],
          [258, "short", [24]],
          [273, "short", [8]],
          [279, "short", [6]],
        ],
      }],
    });
    file.set(strip, 8);
    const store = new MemoryStore([["/c/0/0.tif", file]]);
    if (isLittle) {
      await adoptTiffs(store, "");
      assertEquals([...(await readAll(store)).data], [0x010203, 0xfa00ff]);
    } else {
      await assertRejects(
        () => adoptTiffs(store, ""),
        RangeError,
        "elements of 24 bits",
      );
    }
  }
});
