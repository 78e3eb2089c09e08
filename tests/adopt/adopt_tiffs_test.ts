import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import {
  FileSystemStore,
  MemoryStore,
  type Store,
  type StoreKey,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";
import {
  adoptTiffs,
  type AdoptTiffsOptions,
  describeTiff,
  verifyAdopted,
} from "../../tiff.ts";
import { withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { buildTiff, type TiffEntry } from "../tiff/build_tiff.ts";
import { elementAt, pyramidFile } from "./pyramid_file.ts";
import { runs } from "../support/runs.ts";

const GRID = new TemplateChunkKeyEncoding("y{0}_x{1}.tif");
/** Where the tiles of a file start. Directories lie before. */
const TILES_AT = 2048;

interface Picture {
  readonly y: number;
  readonly x: number;
  readonly height: number;
  readonly width: number;
}

/** A TIFF of one page, which is a part of a picture. */
function tiffOf(
  { y, x, height, width }: Picture,
  entries: TiffEntry[] = [],
  start = TILES_AT,
): Uint8Array<ArrayBuffer> {
  return pyramidFile([[height, width]], { origin: [y, x], entries, start });
}

function square(y: number, x: number, side = 32): Picture {
  return { y: y * 32, x: x * 32, height: side, width: side };
}

/** A mosaic of 2 × 3 files. */
function mosaic(): MemoryStore {
  return new MemoryStore(
    [0, 1].flatMap((y) =>
      [0, 1, 2].map((x) =>
        [`/m/y${y}_x${x}.tif`, tiffOf(square(y, x))] as const
      )
    ),
  );
}

async function read(
  store: Store,
  path: string,
): Promise<{ shape: number[]; data: number[] }> {
  const root = zarr.root(withZarrParts(store)).resolve(path);
  const array = await zarr.open(root, { kind: "array" });
  const { data, shape } = await zarr.get(array);
  return { shape, data: Array.from(data as Uint8Array) };
}

function picture(height: number, width: number, level = 0): number[] {
  return Array.from(
    { length: height * width },
    (_, i) => elementAt(level, Math.floor(i / width), i % width),
  );
}

Deno.test("adoptTiffs makes a mosaic of the files that its encoding names", async () => {
  const store = mosaic();
  await store.set("/m/notes.txt", new Uint8Array(3));
  const { chunks, report } = await adoptTiffs(store, "m", {
    chunkKeyEncoding: GRID,
    attributes: { source: "a survey" },
  });
  assertEquals(report, {
    files: 6,
    missingFiles: 0,
    innerChunks: 24,
    indexBytes: 6 * (32 + 4 * 16 + 4),
    notes: [],
  });
  const { metadata } = chunks;
  assertEquals(metadata.shape, [64, 96]);
  assertEquals(metadata.dimension_names, ["y", "x"]);
  assertEquals(metadata.attributes, { source: "a survey" });
  assertEquals(await read(store, "m"), {
    shape: [64, 96],
    data: picture(64, 96),
  });
  assertEquals(await verifyAdopted(store, "m"), { files: 6, mismatches: [] });
});

Deno.test("adoptTiffs reads mosaics of any files like a picture that is cut into them", async () => {
  const side = fc.integer({ min: 1, max: 3 });
  const edge = fc.integer({ min: 1, max: 48 });
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        rows: side,
        columns: side,
        tiles: side,
        height: edge,
        width: edge,
      }),
      fc.array(fc.nat({ max: 8 })),
      async ({ rows, columns, tiles, height, width }, missing) => {
        const length = tiles * 16;
        const [lastHeight, lastWidth] = [height, width]
          .map((n) => Math.min(n, length));
        const store = new MemoryStore();
        const shape = [
          (rows - 1) * length + lastHeight!,
          (columns - 1) * length + lastWidth!,
        ];
        const data = picture(shape[0]!, shape[1]!);
        for (let n = 0; n < rows * columns; n++) {
          const [y, x] = [Math.floor(n / columns), n % columns];
          const part = {
            y: y * length,
            x: x * length,
            height: y === rows - 1 ? lastHeight! : length,
            width: x === columns - 1 ? lastWidth! : length,
          };
          // The last file gives the array its shape.
          if (missing.includes(n) && n < rows * columns - 1) {
            for (let i = 0; i < data.length; i++) {
              const [row, column] = [Math.floor(i / shape[1]!), i % shape[1]!];
              const isInside = row >= part.y && row < part.y + part.height &&
                column >= part.x && column < part.x + part.width;
              if (isInside) data[i] = 7;
            }
            continue;
          }
          await store.set(`/y${y}_x${x}.tif`, tiffOf(part));
        }
        const options = { chunkKeyEncoding: GRID, fillValue: 7 };
        // Without a whole file, nothing says how long files are.
        const isKnown = [0, 1].every((dimension) =>
          [rows, columns][dimension] === 1 ||
          Array.from({ length: rows * columns - 1 }, (_, n) => n).some((n) =>
            !missing.includes(n) &&
            [Math.floor(n / columns), n % columns][dimension]! <
              [rows, columns][dimension]! - 1
          ) || [lastHeight, lastWidth][dimension] === length
        );
        if (!isKnown) return;
        await adoptTiffs(store, "", options);
        assertEquals(await read(store, ""), { shape, data });
        const { mismatches } = await verifyAdopted(store, "");
        assertEquals(mismatches, []);
      },
    ),
    { numRuns: runs(200) },
  );
});

Deno.test("adoptTiffs finds files with default keys, and refuses two suffixes", async () => {
  for (const suffix of [".tif", ".tiff"]) {
    const store = new MemoryStore();
    await store.set(`/c/0/1${suffix}`, tiffOf(square(0, 1)));
    const { chunks, report } = await adoptTiffs(store, "");
    assertEquals(chunks.key([0, 1]), `/c/0/1${suffix}`);
    assertEquals(report.missingFiles, 1);
    assertEquals(report.notes, [
      "The first file along dimension 1 has the grid coordinate 1: elements before it have the fill value",
    ]);
  }
  const store = new MemoryStore();
  await store.set("/c/0/0.tif", tiffOf(square(0, 0)));
  await store.set("/c/0/1.tiff", tiffOf(square(0, 1)));
  await assertRejects(
    () => adoptTiffs(store, ""),
    RangeError,
    'Found "/c/0/1.tiff" and "/c/0/0.tif", which are of different encodings',
  );
});

Deno.test("adoptTiffs takes files by a list in a store that cannot list", async () => {
  const memory = mosaic();
  const store: Store = {
    get: (key) => memory.get(key),
    set: (key, value) => memory.set(key, value),
    delete: (key) => memory.delete(key),
  };
  const at = (y: number, x: number) => ({
    coordinates: [y, x],
    key: `/m/y${y}_x${x}.tif` as StoreKey,
  });
  await assertRejects(
    () => adoptTiffs(store, "m", { chunkKeyEncoding: GRID }),
    TypeError,
    'has no "list" method: give them by the option "files"',
  );
  const files = [at(0, 0), at(0, 1)];
  await adoptTiffs(store, "m", { chunkKeyEncoding: GRID, files });
  assertEquals((await read(store, "m")).data, picture(32, 64));
  assertEquals(await verifyAdopted(store, "m"), { files: 2, mismatches: [] });
});

Deno.test("adoptTiffs stacks files along a new first dimension", async () => {
  const store = new MemoryStore();
  for (const t of [0, 1, 2]) {
    await store.set(`/c/${t}/0/0.tiff`, tiffOf(square(0, t)));
  }
  await assertRejects(
    () => adoptTiffs(store, ""),
    RangeError,
    'is at [0, 0, 0], where an array of it has the dimensions ["y", "x"]: give one coordinate for each, or set stack: true',
  );
  const { chunks } = await adoptTiffs(store, "", { stack: true });
  assertEquals(chunks.chunkShape, [1, 32, 32]);
  assertEquals(chunks.metadata.dimension_names, ["stack", "y", "x"]);
  const { shape, data } = await read(store, "");
  assertEquals(shape, [3, 32, 32]);
  const row = picture(32, 96);
  const expected = [0, 1, 2].flatMap((t) =>
    row.filter((_, i) => Math.floor(i % 96 / 32) === t)
  );
  assertEquals(data, expected);
});

Deno.test("adoptTiffs makes an array of each overview by links", () =>
  inTempDir(async (folder) => {
    const sides = [48, 24, 12];
    const file = pyramidFile(sides.map((side) => [side, side]));
    const store = new FileSystemStore(folder);
    await store.set("/scene.tif", file);
    const files = [{ coordinates: [0, 0], key: "/scene.tif" as const }];
    for (const [overview, side] of sides.entries()) {
      const path = `levels/${overview}`;
      await adoptTiffs(store, path, { files, link: true, overview });
      const data = picture(side, side, overview);
      assertEquals(await read(store, path), { shape: [side, side], data });
      assertEquals((await verifyAdopted(store, path)).mismatches, []);
    }
    await assertRejects(
      () => adoptTiffs(store, "levels/3", { files, link: true, overview: 3 }),
      RangeError,
      'File "/scene.tif" has no overview 3 of page 0, since it has 2',
    );
  }));

Deno.test("describeTiff tells planes that one directory stands for, or that they cannot be found", async () => {
  const planes = async (description: string, more: TiffEntry[] = []) => {
    const file = tiffOf({ y: 0, x: 0, height: 32, width: 16 }, [
      [270, "ascii", `${description}\0`],
      ...more,
    ]);
    const { pages } = await describeTiff((range) =>
      new MemoryStore([["/a", file]]).getRange("/a", range)
    );
    return pages;
  };
  const imageJ = "ImageJ=1.53t\nslices=3\nimages=3\nloop=false\n";
  const found = await planes(imageJ);
  assertEquals(
    found.map(({ tiles }) => tiles.map((tile) => tile!.offset)),
    [[2048, 2304], [2560, 2816], [3072, 3328]],
  );
  const truncated = (await planes('{"shape": [2, 32, 16], "truncated": true}'))
    .length;
  assertEquals(truncated, 2);
  for (
    const other of [
      "images=3",
      "ImageJ=1.53t\nimages=1\n",
      '{"shape": [2, 32, 16]}',
      '{"shape": ["a", null], "truncated": true}',
      "{",
    ]
  ) {
    const [page, ...others] = await planes(other);
    assertEquals([page!.problem, others.length], [undefined, 0], other);
  }
  for (
    const more of [
      [[259, "short", [8]]],
      [[324, "long", [2048, 2500]]],
      [[256, "long", [15]]],
      [[270, "ascii", "ImageJ=1\nimages=999999999\n\0"]],
      [[270, "ascii", '{"shape": [3, 32, 8], "truncated": true}\0']],
    ] satisfies TiffEntry[][]
  ) {
    const [page, ...others] = await planes(imageJ, more);
    assertEquals(others.length, 0);
    assert(page!.problem?.includes("planes, of which its directory has one"));
  }
});

Deno.test("verifyAdopted finds every file whose index is not right", async () => {
  const [file, index] = ["/m/y0_x1.tif", "/m/y0_x1.tif.index"] as const;
  /** Replaces the file by one with another entry. */
  const entry = (...entry: TiffEntry) => (s: MemoryStore) =>
    s.set(file, tiffOf(square(0, 1), [entry]));
  /** Changes a byte of the index. */
  const byte = (at: number, byte: number) => async (s: MemoryStore) =>
    s.set(index, (await s.get(index))!.with(at, byte));
  const changes: [reason: string, (store: MemoryStore) => unknown][] = [
    ["the file is missing, and its index is there", (s) => s.delete(file)],
    ["the file has no index", (s) => s.delete(index)],
    [
      "the index has 9 bytes, expected 100",
      (s) => s.set(index, new Uint8Array(9)),
    ],
    ["with a record of its file", byte(3, 0)],
    ["has the CRC32C", byte(40, 99)],
    [
      "is 3073 bytes long, where its index was made for 3072",
      (s) => s.set(file, tiffOf(square(0, 1), [], TILES_AT + 1)),
    ],
    [
      "inner chunk 1 has 256 bytes from 2048 on, where its index has 256 bytes from 2304 on",
      async (s) => {
        const moved = await s.get(file) as Uint8Array;
        const at = moved.findIndex((_, i) =>
          moved[i] === 0 && moved[i + 1] === 9 && moved[i + 5] === 10
        );
        await s.set(file, moved.with(at + 1, 8));
      },
    ],
    [
      'the file has the data type "int8", where the array has "uint8"',
      entry(339, "short", [2]),
    ],
    [
      "the file has the shape [32, 31], where the array has [32, 32]",
      entry(256, "long", [31]),
    ],
    ["the file has the codecs", entry(259, "short", [8])],
    [
      "starts with the bytes 00 00 00 00",
      (s) => s.set(file, new Uint8Array(3072)),
    ],
    [
      "with a record of its file",
      (s) => s.set("/m/y0_x0.tif.index", new Uint8Array(100)),
    ],
  ];
  for (const [reason, change] of changes) {
    const store = mosaic();
    await adoptTiffs(store, "m", { chunkKeyEncoding: GRID });
    await change(store);
    const { files, mismatches } = await verifyAdopted(store, "m");
    assertEquals([files, mismatches.length], [6, 1], reason);
    assert(mismatches[0]!.reason.includes(reason), mismatches[0]!.reason);
  }
});

Deno.test("adoptTiffs refuses options that are unknown or of a wrong type", async () => {
  const cases: [object, string][] = [
    [{ keyEncoding: "v2" }, 'Unknown option "keyEncoding" of adoptTiffs'],
    [{ page: -1 }, 'Expected the option "page" to be a whole number from 0'],
    [{ overview: 1.5 }, 'Expected the option "overview" to be a whole number'],
    [{ files: [{ key: "/a" }] }, "to be a list of { coordinates, key }"],
    [{ link: 1 }, 'Expected the option "link" to be true or false'],
    ...["yes", -1, 1.5, 201, NaN].map((stack): [object, string] => [
      { stack },
      'Expected the option "stack" to be true, false, or a whole number',
    ]),
    [{ fillValue: "7" }, 'Expected the option "fillValue" to be a number'],
    [{ chunkKeyEncoding: null }, 'the option "chunkKeyEncoding" to be'],
  ];
  for (const [options, message] of cases) {
    await assertRejects(
      () => adoptTiffs(mosaic(), "m", options as AdoptTiffsOptions),
      TypeError,
      message,
    );
  }
  await assertRejects(
    () => adoptTiffs({ get: () => Promise.resolve(undefined) }, "m"),
    TypeError,
    "the store is read-only",
  );
  await assertRejects(
    () => adoptTiffs(mosaic(), "m", { files: [] }),
    RangeError,
    "Expected files, found none",
  );
  const signal = AbortSignal.abort(new Error("Stopped"));
  await assertRejects(
    () => adoptTiffs(mosaic(), "m", { chunkKeyEncoding: GRID, signal }),
    Error,
    "Stopped",
  );
});

Deno.test("adoptTiffs makes an array without chunks of files whose tiles are all sparse", async () => {
  const entries: TiffEntry[] = [
    [256, "long", [32]],
    [257, "long", [16]],
    [258, "short", [8]],
    [322, "short", [16]],
    [323, "short", [16]],
    [324, "long", [0, 0]],
    [325, "long", [0, 0]],
    [42113, "ascii", "7"],
  ];
  const file = buildTiff({ directories: [{ entries }] });
  const store = new MemoryStore([["/m/c/0/0.tif", file]]);
  const { chunks, report } = await adoptTiffs(store, "m");
  assertEquals([report.files, report.innerChunks], [1, 0]);
  assertEquals(chunks.metadata.fill_value, 7);
  assertEquals((await read(store, "m")).data, new Array(512).fill(7));
  assertEquals(await verifyAdopted(store, "m"), { files: 1, mismatches: [] });
});
