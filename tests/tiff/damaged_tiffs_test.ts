import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { DamageError, MemoryStore } from "../../mod.ts";
import {
  adoptPyramid,
  adoptTiffs,
  describeTiff,
  verifyAdopted,
} from "../../tiff.ts";
import { runs, stride } from "../support/runs.ts";
import { buildTiff, type TiffDirectory, type TiffEntry } from "./build_tiff.ts";

/** The entries of a page of 16 × 16 bytes in one tile. */
function page(...changes: TiffEntry[]): TiffDirectory {
  const entries: TiffEntry[] = [
    [256, "short", [16]],
    [257, "short", [16]],
    [258, "short", [8]],
    [322, "short", [16]],
    [323, "short", [16]],
    [324, "long", [8]],
    [325, "long", [256]],
  ];
  const changed = new Map([...entries, ...changes].map((e) => [e[0], e]));
  return { entries: [...changed.values()] };
}

/** A page with changed entries such as `258=8,8`, or without an entry such as `-258`. */
function changed(changes: string): TiffDirectory {
  if (changes.startsWith("-")) {
    const tag = -Number(changes);
    return { entries: page().entries.filter(([own]) => own !== tag) };
  }
  return page(
    ...changes.split(" ").map((change): TiffEntry => {
      const [tag, list] = change.split("=") as [string, string];
      const values = list.split(",").map(Number);
      const isLong = values.some((value) => value > 0xffff);
      return [Number(tag), isLong ? "long" : "short", values];
    }),
  );
}

/** Describes a file, and counts the bytes that are read. */
async function describe(bytes: Uint8Array) {
  const store = new MemoryStore([["/a.tif", bytes]]);
  let read = 0;
  const description = await describeTiff(async (range) => {
    const found = await store.getRange("/a.tif", range);
    read += found!.length;
    assert(read <= 4 * bytes.length + 2 ** 21, `${read} bytes were read`);
    return found;
  }, { key: "/a.tif" });
  return description;
}

const TIFF = buildTiff({ directories: [page()] });

Deno.test("describeTiff refuses files with damaged directories", async (t) => {
  const big = buildTiff({ isBig: true, directories: [page()] });
  /** A file of one directory that another one follows, or of one with another entry. */
  const followed = (next: number, isBig = false) =>
    buildTiff({ isBig, directories: [{ ...page(), next }] });
  const having = (...entry: TiffEntry) =>
    buildTiff({ directories: [page(entry)] });
  const circle = "circle of directories, from 8 on";
  const cases: [string, Uint8Array, string][] = [
    ["an empty file", new Uint8Array(), "has 0 bytes, where the header alone"],
    ["another file", new TextEncoder().encode("%PDF-1.4 "), "25 50 44 46"],
    [
      "a header of both byte orders",
      Uint8Array.of(0x49, 0x4d, 42, 0, 8, 0, 0, 0),
      "49 4d 2a 00",
    ],
    ["an unknown version", TIFF.with(2, 44), "49 49 2c 00"],
    ["a BigTIFF of other offsets", big.with(4, 4), "offsets of 4 bytes"],
    ["a BigTIFF that is cut", big.subarray(0, 12), "offsets of 0 bytes"],
    [
      "a directory beyond the end",
      followed(99_999),
      "where a directory at 99999 ends",
    ],
    [
      "a directory that is cut short",
      TIFF.subarray(0, TIFF.length - 1),
      "where a directory at 8 ends",
    ],
    ["a directory that follows itself", followed(8), circle],
    [
      "a circle of two directories",
      buildTiff({ directories: [page(), { ...page(), next: 8 }] }),
      circle,
    ],
    ["a sub-directory that is its parent", having(330, "long", [8]), circle],
    ...[["signedByte", [-56]], ["signedLong", [-1]], ["double", [0.5]]].map((
      [type, values],
    ): [string, Uint8Array, string] => [
      `a sub-directory at ${values}`,
      having(330, type as "double", values as number[]),
      "for the tag 330",
    ]),
    [
      "a directory of too many entries",
      buildTiff({ isBig: true, directories: [{ ...page(), count: 65_536 }] }),
      "a directory of 65536 entries at 16",
    ],
    [
      "an offset beyond 2^53",
      followed(2 ** 60, true),
      "1152921504606846976, where 2^53−1 is the most",
    ],
    [
      "tables beyond the end",
      having(324, "long", { count: 9, offset: 4_000_000_000 }),
      "where a value of 36 bytes ends",
    ],
    [
      "a table of a huge count",
      having(324, "long", { count: 2 ** 31, offset: 8 }),
      "8589934592 bytes for the tag 324",
    ],
    [
      "a text of a huge count",
      having(34737, "ascii", { count: 2 ** 32 - 1, offset: 8 }),
      "4294967295 bytes for the tag 34737",
    ],
  ];
  // Describing this file takes seconds.
  if (stride(2) === 1) {
    cases.push([
      "tables of many directories at one place",
      buildTiff({
        directories: Array.from(
          { length: 40 },
          () => page([324, "long", { count: 2 ** 21, offset: 8 }]),
        ),
        size: 2 ** 23 + 8,
      }),
      "all values of a file 268435456",
    ]);
  }
  for (const [name, bytes, message] of cases) {
    await t.step(name, async () => {
      const error = await assertRejects(() => describe(bytes), DamageError);
      assertEquals(error.key, "/a.tif");
      assert(error.message.startsWith('TIFF "/a.tif" '), error.message);
      assert(error.message.includes(message), error.message);
    });
  }
  await t.step("no file", async () => {
    await assertRejects(
      () => describeTiff(() => Promise.resolve(undefined), { key: "/b.tif" }),
      Error,
      'There is no TIFF "/b.tif"',
    );
  });
  await t.step("an error of the store", async () => {
    const offline = new TypeError("offline");
    const error = await assertRejects(() =>
      describeTiff(() => Promise.reject(offline))
    );
    assertEquals(error, offline);
  });
});

type ErrorClass = typeof RangeError | typeof DamageError;

Deno.test("describeTiff tells why pages cannot be chunks", async (t) => {
  const cases: [string | TiffDirectory, string, ErrorClass?][] = [
    ["-256", "it has a width of 0", DamageError],
    ["-257", "it has a height of 0", DamageError],
    ["322=0", "it has a tileWidth of 0", DamageError],
    ["323=0", "it has a tileHeight of 0", DamageError],
    ["-323", "it has a tileHeight of 0", DamageError],
    ["277=0", "it has a bands of 0", DamageError],
    [
      "325=0",
      "its tile 0 has 0 bytes at the offset 8, where both are 0 for a tile that is left out",
      DamageError,
    ],
    ["324=0", "its tile 0 has 256 bytes at the offset 0", DamageError],
    [
      "258=8,16,8 277=3",
      "its bands have different data types, BitsPerSample 8,16,8",
    ],
    [
      "258=40",
      "elements of 40 bits (SampleFormat 1), for which Zarr has no data type: convert the file, such as by gdal_translate -ot UInt32 -co NBITS=32",
    ],
    ["258=12 339=2", "gdal_translate -ot Int32 -co NBITS=32"],
    ["258=12 259=8 317=2", "the predictor 2 for elements of 12 bits"],
    [
      "259=7 262=6 277=3 284=2 324=8,8,8 325=9,9,9",
      "planes of colors in YCbCr with fewer elements than pixels",
    ],
    ["259=7 277=5", "JPEG with 5 bands, where 4 are the most"],
    [
      "322=65536 323=32768",
      "it has tiles or strips of 2147483648 bytes, where 2147483647 are the most",
    ],
    [
      {
        entries: [
          [256, "long", [2 ** 16]],
          [257, "long", [2 ** 15]],
          [258, "short", [8]],
          [259, "short", [5]],
          [273, "long", [8]],
          [279, "long", [100]],
        ],
      },
      "it has tiles or strips of 2147483648 bytes",
    ],
    [
      {
        entries: [
          [256, "short", [16]],
          [257, "short", [16]],
          [258, "short", [8]],
          [259, "short", [32773]],
          [273, "long", [8]],
        ],
      },
      "it has no lengths of its strips (StripByteCounts), which its compression needs",
    ],
    ["258=32 339=5", "elements of 32 bits (SampleFormat 5)"],
    ["256=2147483648 257=2147483648", "it has 18014398509481984 tiles"],
    ["-324", "the offsets of 0 and the lengths of 1", DamageError],
    [
      "256=17",
      "it has 2 tiles, and a directory with the offsets of 1",
      DamageError,
    ],
    ["325=256,256", "the offsets of 1 and the lengths of 2", DamageError],
    [
      page([324, "double", [8.5]]),
      "its tile 0 has 256 bytes at the offset 8.5, expected whole numbers",
      DamageError,
    ],
    [
      page([325, "signedShort", [-256]]),
      "its tile 0 has -256 bytes at the offset 8, expected whole numbers",
      DamageError,
    ],
    [
      "325=255",
      "its tile 0 has 255 bytes, where its elements take 256",
      DamageError,
    ],
    [
      page([259, "short", [7]], [347, "byte", new Array(200_000).fill(0)]),
      "tables of 200000 bytes for JPEG",
      DamageError,
    ],
    ["259=7 258=16", "JPEG, which is for elements of uint8 and not of uint16"],
    ["259=6", "compressed by old-style JPEG"],
    ["259=12345", "an unknown method (Compression 12345)"],
    ["317=2", "which some programs apply and others do not"],
    ["317=3 259=8", "the predictor 3 for elements of uint8"],
    ["317=7 259=8", "the predictor 7 for elements of uint8"],
    ["266=3", "it has FillOrder 3, expected 1 or 2"],
    ["259=34887 258=64", "compressed by LERC, with elements of uint64"],
    ["259=34887 266=2", "FillOrder 2 and LercParameters none"],
    ["262=6 277=3 258=8,8,8", "fewer elements than pixels"],
    ["32998=4", "tiles of several planes"],
  ];
  for (const [directory, problem, thrown = RangeError] of cases) {
    await t.step(problem, async () => {
      const bytes = buildTiff({
        directories: [
          typeof directory === "string" ? changed(directory) : directory,
        ],
      });
      const { pages: [found] } = await describe(bytes);
      assert(found!.problem?.includes(problem), String(found!.problem));
      const store = new MemoryStore([["/c/0/0.tif", bytes]]);
      await assertRejects(
        () => adoptTiffs(store, ""),
        thrown,
        `File "/c/0/0.tif" ${
          thrown === RangeError ? "cannot be part of an array" : "is damaged"
        }: ${found!.problem}`,
      );
      assertEquals(await Array.fromAsync(store.list()), ["/c/0/0.tif"]);
    });
  }
});

Deno.test("describeTiff passes over what it does not know", async (t) => {
  const cases: [string, TiffDirectory][] = [
    ["unknown tags", page([65_000, "ascii", "hello\0"])],
    [
      "unknown tags whose values are beyond the end",
      page([65_000, "long", { count: 2 ** 30, offset: 2 ** 31 }]),
    ],
    ["unknown types", page([339, "unknown", [3]])],
    ["values without elements", page([42113, "ascii", ""])],
    [
      "a description that is too long",
      page([270, "ascii", { count: 2 ** 31, offset: 8 }]),
    ],
    ["an empty sub-directory", page([330, "long", [0]])],
  ];
  for (const isBig of [false, true]) {
    for (const isLittle of [false, true]) {
      for (const [name, directory] of cases) {
        await t.step(`${name}, ${isBig}, ${isLittle}`, async () => {
          const bytes = buildTiff({
            isBig,
            isLittle,
            directories: [directory],
          });
          const { pages } = await describe(bytes);
          assertEquals(pages.length, 1);
          const [{ problem, tiles }] = pages as [typeof pages[number]];
          assertEquals([problem, tiles], [undefined, [{
            offset: 8,
            length: 256,
          }]]);
        });
      }
    }
  }
});

Deno.test("describeTiff follows sub-directories of all types", async () => {
  for (const type of ["long", "ifd", "long8", "ifd8"] as const) {
    const isBig = type.endsWith("8");
    const start = isBig ? 16 : 8;
    const reduced = page([254, "long", [1]]);
    // The chain ends after the first directory, and both others are its sub-directories.
    const first = buildTiff({
      isBig,
      directories: [page([330, type, [0, 0]])],
    });
    const one = buildTiff({ isBig, directories: [reduced] });
    const length = one.length - start;
    const bytes = new Uint8Array(first.length + 500 + length);
    bytes.set(
      buildTiff({
        isBig,
        directories: [
          page([330, type, [first.length, first.length + 500]]),
        ],
      }),
    );
    bytes.set(one.subarray(start), first.length);
    bytes.set(one.subarray(start), first.length + 500);
    const { pages } = await describe(bytes);
    assertEquals(
      pages.map(({ kind, parent }) => [kind, parent]),
      [["image", undefined], ["overview", 0], ["overview", 0]],
    );
  }
});

Deno.test("describeTiff describes or refuses whatever bytes a file has", async () => {
  const files = [
    buildTiff({ directories: [page([330, "long", [200]]), page()], size: 900 }),
    buildTiff({
      isBig: true,
      isLittle: false,
      directories: [page()],
      size: 900,
    }),
  ];
  const change = fc.tuple(
    fc.nat({ max: 400 }),
    fc.integer({ min: 0, max: 255 }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...files),
      fc.array(change, { minLength: 1, maxLength: 6 }),
      fc.option(fc.nat({ max: 900 })),
      async (file, changes, length) => {
        const bytes = file.slice(0, length ?? undefined);
        for (const [at, byte] of changes) {
          if (at < bytes.length) bytes[at] = byte;
        }
        try {
          const { pages } = await describe(bytes);
          assert(pages.length <= 100);
        } catch (error) {
          if (!(error instanceof DamageError)) throw error;
        }
      },
    ),
    { numRuns: runs(2000) },
  );
});

/** The entries of a page of strips of bytes without compression. */
function strips(
  width: number,
  height: number,
  ...others: TiffEntry[]
): TiffDirectory {
  const type = Math.max(width, height) < 2 ** 32 ? "long" : "long8";
  return {
    entries: [
      [256, type, [width]],
      [257, type, [height]],
      [258, "short", [8]],
      [273, "long", [8]],
      [279, "long", [1]],
      ...others,
    ],
  };
}

Deno.test("adoptTiffs and adoptPyramid refuse small files that claim to be huge", async (t) => {
  const tooLarge = [RangeError, "where 2147483647 are the most"] as const;
  const tooMany = [RangeError, "where 1048576 are the most"] as const;
  const truncated = [DamageError, "it is truncated"] as const;
  const cases: [
    string,
    TiffDirectory,
    readonly [typeof RangeError | typeof DamageError, string],
  ][] = [
    ["2^31 × 2^31 pixels in one strip", strips(2 ** 31, 2 ** 31), tooLarge],
    ["a prime number of rows", strips(1, 4_294_967_291), tooLarge],
    ["a prime number of rows near 2^53", strips(1, 2 ** 53 - 111), tooLarge],
    [
      "as many bands as a number can count",
      strips(1, 1, [277, "long", [2 ** 32 - 1]]),
      tooLarge,
    ],
    [
      "strips without a common height",
      strips(2 ** 31, 2 ** 31, [278, "long", [7]]),
      tooMany,
    ],
    [
      "a stack of MetaMorph of 2^20 planes",
      strips(1, 1, [33629, "rational", { count: 2 ** 20, offset: 8 }]),
      truncated,
    ],
    [
      "a stack of ImageJ of a million planes",
      strips(1, 1, [270, "ascii", "ImageJ=1\nimages=1000000"]),
      truncated,
    ],
  ];
  for (const [name, directory, [thrown, message]] of cases) {
    await t.step(name, async () => {
      const bytes = buildTiff({
        isBig: directory.entries.some(([, type]) => type === "long8"),
        directories: [directory],
      });
      const store = new MemoryStore([["/c/0/0.tif", bytes]]);
      for (const adopt of [adoptTiffs, adoptPyramid]) {
        await assertRejects(() => adopt(store, ""), thrown, message);
      }
    });
  }
});

Deno.test("adoptTiffs leaves out damaged pages behind a sound one, and notes them", async (t) => {
  const cases: [string, TiffDirectory[], number[], string[]][] = [
    ["none", [page(), page()], [2, 16, 16], []],
    [
      "a directory beyond the end",
      [page(), { ...page(), next: 99_999 }],
      [2, 16, 16],
      [
        'File "/a.tif" is adopted without its pages after the first 2: ends before 100001, where a directory at 99999 ends',
      ],
    ],
    [
      "a value beyond the end",
      [page(), page([324, "long", { count: 9, offset: 99_999 }]), page()],
      [2, 16, 16],
      [
        'File "/a.tif" is adopted without its damaged pages 1: the file ends before 100035, where a value of 36 bytes ends',
      ],
    ],
    [
      "a damaged table of tiles, and a circle",
      [page(), page([324, "long", [0]]), { ...page(), next: 8 }],
      [2, 16, 16],
      [
        'File "/a.tif" is adopted without its damaged pages 1: its tile 0 has 256 bytes at the offset 0, where both are 0 for a tile that is left out',
        'File "/a.tif" is adopted without its pages after the first 3: has a circle of directories, from 8 on',
      ],
    ],
  ];
  for (const [name, directories, shape, notes] of cases) {
    await t.step(name, async () => {
      const bytes = buildTiff({ directories, size: 600 });
      const store = new MemoryStore([["/c/0/0/0.tif", bytes]]);
      const { report, chunks } = await adoptTiffs(store, "");
      assertEquals(
        report.notes.slice(0, notes.length),
        notes.map((note) => note.replace("/a.tif", "/c/0/0/0.tif")),
      );
      assertEquals(chunks.metadata.shape, shape);
      assertEquals((await verifyAdopted(store, "")).mismatches, []);
      const first = new MemoryStore([["/c/0/0.tif", bytes]]);
      const only = await adoptTiffs(first, "", { page: 0 });
      assertEquals(only.report.notes, []);
      assertEquals(only.chunks.metadata.shape, [16, 16]);
      // A page beyond those that are found may be there in a whole file.
      await assertRejects(
        () => adoptTiffs(first, "", { page: 9, overwrite: true }),
        notes.join().includes("after the first") ? DamageError : RangeError,
      );
    });
  }
  await t.step("a damaged first page", async () => {
    const bytes = buildTiff({
      directories: [page([324, "long", [0]]), page()],
    });
    const store = new MemoryStore([["/c/0/0.tif", bytes]]);
    await assertRejects(() => adoptTiffs(store, ""), DamageError, "is damaged");
  });
});
