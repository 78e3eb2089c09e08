/** TIFFs as other programs write them, against the book or by its leave, adopted and read by zarrita. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { deflateSync, zstdCompressSync } from "node:zlib";
import * as zarr from "zarrita";
import { verify } from "../../jobs.ts";
import { DamageError, MemoryStore, type StoreKey } from "../../mod.ts";
import { encodeLzw } from "../../src/codecs/lzw_codec.ts";
import { encodeRuns } from "../../src/codecs/run_length_codec.ts";
import {
  adoptTiffs,
  type AdoptTiffsOptions,
  describeTiff,
  verifyAdopted,
} from "../../tiff.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { fixture, placeOf } from "../codecs/jpeg_fixtures.ts";
import { buildTiff, type TiffEntry } from "../tiff/build_tiff.ts";

registerCodecs(zarr);

const KEYS: readonly StoreKey[] = [
  "/c/0/0.tif",
  "/c/0/0/0.tif",
  "/c/0/0/0/0.tif",
];
/** Where the data of a file starts. */
const DATA_AT = 4096;

/** A file with pieces of data one after another, whose places are in the tags of strips. */
function fileOf(
  pieces: readonly Uint8Array[],
  entries: readonly TiffEntry[],
  next?: number,
): Uint8Array {
  const offsets = pieces.map((_, i) =>
    pieces.slice(0, i).reduce((sum, { length }) => sum + length, DATA_AT)
  );
  const all: TiffEntry[] = [
    [258, "short", [8]],
    [273, "long", offsets],
    [279, "long", pieces.map(({ length }) => length)],
    ...entries,
  ];
  const changed = [...new Map(all.map((entry) => [entry[0], entry])).values()]
    .filter(([, , values]) => (values as number[]).length !== 0);
  const head = buildTiff({
    directories: [{ entries: changed, ...next === undefined ? {} : { next } }],
    size: DATA_AT,
  });
  return new Uint8Array([...head, ...pieces.flatMap((piece) => [...piece])]);
}

const picture = (height: number, width: number): TiffEntry[] => [
  [256, "long", [width]],
  [257, "long", [height]],
];
const compression = (code: number): TiffEntry => [259, "short", [code]];
const rowsPerStrip = (rows: number): TiffEntry => [278, "long", [rows]];
/** Removes an entry. */
const without = (tag: number): TiffEntry => [tag, "short", []];

function rowsOf(count: number, width: number, first = 0): Uint8Array {
  return Uint8Array.from(
    { length: count * width },
    (_, i) => Math.floor((first * width + i) / 3) % 17,
  );
}

/** Adopts a file, and reads its elements by zarrita. */
async function readOf(
  bytes: Uint8Array,
  rank = 2,
  options: AdoptTiffsOptions = {},
) {
  const store = new MemoryStore([[KEYS[rank - 2]!, bytes]]);
  await adoptTiffs(store, "", options);
  assertEquals((await verifyAdopted(store, "")).mismatches, []);
  const isWhole = await verify(store, "", { deep: true })
    .then(({ findings }) => findings.length === 0);
  const array = await zarr.open(withZarrParts(store), { kind: "array" });
  try {
    const { data, shape } = await zarr.get(array);
    assert(isWhole);
    return { data: Array.from(data as Uint8Array), shape };
  } catch (error) {
    assert(!isWhole, "Damage that verify does not find");
    throw error;
  }
}

/** The cause of the error of a codec. */
async function damageOf(bytes: Uint8Array, rank = 2): Promise<DamageError> {
  const error = await assertRejects(() => readOf(bytes, rank));
  const cause = (error as Error).cause ?? error;
  assert(cause instanceof DamageError, String(cause));
  assertEquals(cause.key, KEYS[rank - 2]);
  return cause;
}

const COMPRESSIONS: Record<
  string,
  [number, (bytes: Uint8Array) => Uint8Array]
> = {
  LZW: [5, encodeLzw],
  Deflate: [8, (bytes) => new Uint8Array(deflateSync(bytes))],
  PackBits: [32773, (bytes) => encodeRuns(bytes, 10)],
  zstd: [50000, (bytes) => new Uint8Array(zstdCompressSync(bytes))],
};

/** Strips of 7 rows of 10 bytes, of which the last one has fewer. */
function strips(
  height: number,
  encode: (bytes: Uint8Array) => Uint8Array,
  lastRows = height % 7,
): Uint8Array[] {
  const whole = Array.from(
    { length: Math.floor(height / 7) },
    (_, i) => encode(rowsOf(7, 10, 7 * i)),
  );
  return [...whole, encode(rowsOf(lastRows, 10, height - height % 7))];
}

for (const [name, [code, encode]] of Object.entries(COMPRESSIONS)) {
  const entries = [...picture(24, 10), compression(code), rowsPerStrip(7)];
  Deno.test(`a last strip by ${name} with fewer rows is read, also in a mosaic and on several pages`, async () => {
    const expected = Array.from(rowsOf(24, 10));
    const file = fileOf(strips(24, encode), entries);
    assertEquals(await readOf(file), { data: expected, shape: [24, 10] });
    // Files that store rows outside of the picture.
    for (const rows of [4, 6, 7]) {
      const longer = fileOf(strips(24, encode, rows), entries);
      assertEquals((await readOf(longer)).data, expected);
    }
    const store = new MemoryStore();
    await store.set(
      "/c/0/0.tif",
      fileOf(strips(21, encode).slice(0, 3), [
        ...entries,
        [257, "long", [21]],
      ]),
    );
    await store.set("/c/1/0.tif", file.slice());
    await assertRejects(
      () => adoptTiffs(store, ""),
      RangeError,
      "only a shorter",
    );
    await store.set(
      "/c/1/0.tif",
      fileOf(strips(10, encode), [
        ...entries,
        [257, "long", [10]],
      ]),
    );
    await adoptTiffs(store, "");
    const array = await zarr.open(withZarrParts(store), { kind: "array" });
    const { data, shape } = await zarr.get(array);
    assertEquals(shape, [31, 10]);
    assertEquals(
      Array.from(data as Uint8Array),
      [...rowsOf(21, 10), ...rowsOf(10, 10)],
    );
  });

  Deno.test(`strips by ${name} that lack a row of the picture are damaged`, async () => {
    const short = fileOf(strips(24, encode, 2), entries);
    await damageOf(short);
    const [first, ...others] = strips(24, encode);
    assert(first);
    await damageOf(fileOf([encode(rowsOf(6, 10)), ...others], entries));
  });
}

Deno.test("a last strip with fewer rows is read after each predictor, with several bands, and of packed bits", async () => {
  const differences = (row: number[], step: number) =>
    row.map((value, i) => value - (row[i - step] ?? 0) & 255);
  const row = [5, 9, 200, 3, 7, 7];
  for (const bands of [1, 3]) {
    const encoded = Uint8Array.from(
      [row, row, row].flatMap((row) => differences(row, bands)),
    );
    const file = fileOf(
      [encodeLzw(encoded.subarray(0, 12)), encodeLzw(encoded.subarray(12))],
      [
        ...picture(3, 6 / bands),
        compression(5),
        rowsPerStrip(2),
        [258, "short", Array(bands).fill(8)],
        [277, "short", [bands]],
        [317, "short", [2]],
      ],
    );
    assertEquals(await readOf(file, bands === 1 ? 2 : 3), {
      data: [...row, ...row, ...row],
      shape: bands === 1 ? [3, 6] : [3, 2, 3],
    });
  }
  // Predictor 3: the bytes of 1.5 and -2, the highest first, as differences.
  const floats = Uint8Array.of(0x3f, 0x81, 0x00, 0x40, 0, 0, 0, 0);
  const file = fileOf([
    encodeLzw(Uint8Array.of(...floats, ...floats)),
    encodeLzw(floats),
  ], [
    ...picture(3, 2),
    compression(5),
    rowsPerStrip(2),
    [258, "short", [32]],
    [339, "short", [3]],
    [317, "short", [3]],
  ]);
  assertEquals((await readOf(file)).data, [1.5, -2, 1.5, -2, 1.5, -2]);
  const bits = fileOf([
    encodeRuns(Uint8Array.of(0b10100000, 0b01000000, 0b11111111, 0xff), 2),
    encodeRuns(Uint8Array.of(0b10000000, 0b10000000), 2),
  ], [
    ...picture(3, 9),
    compression(32773),
    rowsPerStrip(2),
    [258, "short", [1]],
  ]);
  assertEquals(await readOf(bits), {
    data: [
      ...[1, 0, 1, 0, 0, 0, 0, 0, 0],
      ...[1, 1, 1, 1, 1, 1, 1, 1, 1],
      ...[1, 0, 0, 0, 0, 0, 0, 0, 1],
    ],
    shape: [3, 9],
  });
});

/** LZW of programs before TIFF 6.0: from the lowest bit on, each byte by a code of its own. */
function encodeOldLzw(bytes: Uint8Array): Uint8Array {
  let [held, heldBits, width, next] = [0n, 0n, 9n, 258];
  const write = (code: number) => {
    held |= BigInt(code) << heldBits;
    heldBits += width;
  };
  write(256);
  bytes.forEach((byte, i) => {
    write(byte);
    if (i > 0 && ++next === 2 ** Number(width)) width++;
  });
  write(257);
  const encoded = [];
  for (let bit = 0n; bit < heldBits; bit += 8n) {
    encoded.push(Number(held >> bit & 255n));
  }
  return new Uint8Array(encoded);
}

Deno.test("streams are read that other programs read, of one piece", async (t) => {
  const bytes = rowsOf(30, 30);
  const lzw = encodeLzw(bytes);
  const longer = Uint8Array.of(...bytes, 7);
  const cases: [string, number, Uint8Array][] = [
    ["LZW with one byte too many", 5, encodeLzw(longer)],
    ["LZW with many bytes too many", 5, encodeLzw(rowsOf(90, 30))],
    ["LZW without an end code", 5, lzw.slice(0, -1)],
    ["LZW with other bytes behind", 5, Uint8Array.of(...lzw, 1, 2, 3)],
    ["LZW of old programs", 5, encodeOldLzw(bytes)],
    ["PackBits with one byte too many", 32773, encodeRuns(longer, 901)],
    [
      "PackBits with a last count that goes too far",
      32773,
      Uint8Array.of(
        ...encodeRuns(bytes.subarray(0, 898), 30),
        9,
        bytes[898]!,
        bytes[899]!,
      ),
    ],
    [
      "PackBits with other bytes behind",
      32773,
      Uint8Array.of(...encodeRuns(bytes, 30), 77, 1),
    ],
    [
      "zlib with other bytes behind",
      8,
      Uint8Array.of(...deflateSync(bytes), 1, 2, 3),
    ],
  ];
  for (const [name, code, stream] of cases) {
    for (const tag of ["strips", "tiles"]) {
      await t.step(`${name}, in ${tag}`, async () => {
        const entries = [...picture(30, 30), compression(code)];
        const file = tag === "strips"
          ? fileOf([stream], entries)
          : fileOf([stream], [
            ...entries,
            [322, "short", [30]],
            [323, "short", [30]],
          ]);
        assertEquals((await readOf(file)).data, Array.from(bytes));
      });
    }
  }
});

Deno.test("edge tiles with the rows of the picture alone are read", async () => {
  for (const [code, encode] of Object.values(COMPRESSIONS)) {
    const tile = (rows: number) => encode(rowsOf(rows, 16));
    const file = fileOf([tile(16), tile(16), tile(3), tile(5)], [
      ...picture(19, 32),
      compression(code),
      [322, "short", [16]],
      [323, "short", [16]],
    ]);
    const { data } = await readOf(file);
    const [top, bottom] = [rowsOf(16, 16), rowsOf(3, 16)];
    for (const [y, x] of [[0, 0], [15, 31], [16, 0], [18, 15], [18, 31]]) {
      const tile = y! < 16 ? top : bottom;
      assertEquals(data[y! * 32 + x!], tile[y! % 16 * 16 + x! % 16]);
    }
  }
});

Deno.test("lengths that directories lack are found, or the file is refused", async (t) => {
  const raw = rowsOf(24, 10);
  const cases: [string, Uint8Array][] = Object.entries(COMPRESSIONS)
    .filter(([name]) => ["LZW", "Deflate"].includes(name))
    .flatMap(([name, [code, encode]]): [string, Uint8Array][] => [
      [
        `${name} without StripByteCounts`,
        fileOf(strips(24, encode), [
          ...picture(24, 10),
          compression(code),
          rowsPerStrip(7),
          without(279),
        ]),
      ],
      [
        `one strip by ${name} of the length 0`,
        fileOf([encode(raw)], [
          ...picture(24, 10),
          compression(code),
          [279, "long", [0]],
        ]),
      ],
      [
        `${name} of Zeiss, with the lengths before compression`,
        fileOf(strips(24, encode), [
          ...picture(24, 10),
          compression(code),
          rowsPerStrip(7),
          [279, "long", [70, 70, 70, 30]],
          [34412, "byte", [0, 0, 0, 0]],
        ]),
      ],
    ]);
  const bare = (...entries: TiffEntry[]) =>
    fileOf([raw], [...picture(24, 10), ...entries]);
  cases.push(
    ["one strip of the length 0", bare([279, "long", [0]])],
    ["one strip that is too short", bare([279, "short", [100]])],
    ["no StripByteCounts", bare(without(279))],
    [
      "strips in the tags of tiles",
      bare(
        without(273),
        without(279),
        [324, "long", [DATA_AT]],
        [325, "long", [240]],
      ),
    ],
    [
      "tiles in the tags of strips",
      bare([322, "short", [10]], [323, "short", [24]]),
    ],
    [
      "offsets of more strips than there are",
      bare([273, "long", [DATA_AT, 5, 6]], [279, "long", [240, 1, 1]]),
    ],
    ["a page that is a smaller version alone", bare([254, "long", [1]])],
    ["a mask alone", bare([254, "long", [4]])],
  );
  for (const [name, file] of cases) {
    await t.step(name, async () => {
      assertEquals((await readOf(file)).data, Array.from(raw));
    });
  }
  await t.step("a strip of the length 0 among others", async () => {
    const file = fileOf(strips(24, encodeLzw), [
      ...picture(24, 10),
      compression(5),
      rowsPerStrip(7),
      [279, "long", [30, 0, 30, 30]],
    ]);
    const message = "its strip 1 has 0 bytes at the offset";
    assert((await damageOf(file)).message.includes(message));
  });
  await t.step("a file of Zeiss of more than 4 GiB", async () => {
    const file = fileOf([raw], [...picture(24, 10), [34412, "byte", [0]]]);
    const store = new MemoryStore([["/a", file]]);
    for (const size of [2 ** 32, 2 ** 32 + 1]) {
      const { pages: [page] } = await describeTiff(
        (range) => store.getRange("/a", range),
        { size },
      );
      assertEquals(page!.problem?.includes("4 GiB") ?? false, size > 2 ** 32);
    }
  });
});

Deno.test("a strip of more than 2 GiB without compression is divided", async () => {
  const rows = 40_000 * 65_536;
  const file = fileOf([], [
    ...picture(40_000, 65_536),
    [273, "long", [DATA_AT]],
    [279, "long", [rows]],
  ]);
  const { pages: [page] } = await describeTiff((range) =>
    new MemoryStore([["/a", file]]).getRange("/a", range)
  );
  assertEquals(page!.tileShape, [20_000, 65_536]);
  assertEquals(page!.tiles, [
    { offset: DATA_AT, length: rows / 2 },
    { offset: DATA_AT + rows / 2, length: rows / 2 },
  ]);
});

Deno.test("stacks of MetaMorph, NIH Image and ImageJ of one directory are read as all their planes, or refused", async (t) => {
  const planes = rowsOf(60, 10);
  const strips = [planes.slice(0, 100), planes.slice(100, 200)];
  const entries = [...picture(20, 10), rowsPerStrip(10)];
  const nih = new Array(256).fill(0);
  nih[130] = 3;
  const marks: [string, TiffEntry][] = [
    ["MetaMorph", [33629, "double", [1, 2, 3]]],
    ["NIH Image", [43314, "short", nih]],
    ["ImageJ", [270, "ascii", "ImageJ=1.53t\nimages=3\n\0"]],
  ];
  for (const [name, mark] of marks) {
    await t.step(name, async () => {
      const whole = new Uint8Array([
        ...fileOf(strips, [...entries, mark]),
        ...planes.slice(200),
      ]);
      assertEquals(await readOf(whole, 3), {
        data: Array.from(planes),
        shape: [3, 20, 10],
      });
      assertEquals((await readOf(whole, 2, { page: 2 })).data, [
        ...planes.slice(400),
      ]);
      await assertRejects(() => readOf(whole.slice(0, -1), 3), DamageError);
      const packed = strips.map(encodeLzw);
      const file = fileOf(packed, [...entries, compression(5), mark]);
      await assertRejects(() => readOf(file), RangeError, "it counts 3 planes");
    });
  }
});

Deno.test("verifyAdopted finds nothing after the adoption of sparse tiles with any fill value", async () => {
  for (
    const text of [
      ...["9007199254740992", "9007199254740994", "1e20", "-1e19", "1e21"],
      ...["123456789012345670000", "1.2345e18", "-3.4028234663852886e+38"],
      ...["nan", "-inf", "0.1", "-0", "1e-320"],
    ]
  ) {
    for (
      const [bits, format] of [[32, 3], [64, 3], [64, 2], [64, 1], [16, 3]]
    ) {
      const file = fileOf([new Uint8Array(100 * bits! / 8)], [
        ...picture(20, 10),
        rowsPerStrip(10),
        [258, "short", [bits!]],
        [339, "short", [format!]],
        [273, "long", [DATA_AT, 0]],
        [279, "long", [100 * bits! / 8, 0]],
        [42113, "ascii", `${text}\0`],
      ]);
      const { shape } = await readOf(file); // Verifies, too.
      assertEquals(shape, [20, 10]);
    }
  }
});

/** A page of JPEG with the colors of a fixture. */
function jpegPage(
  jpeg: Uint8Array,
  [height, width, bands]: readonly number[],
  ...entries: TiffEntry[]
): Uint8Array {
  return fileOf([jpeg], [
    ...picture(height!, width!),
    compression(7),
    [258, "short", Array(bands).fill(8)],
    [277, "short", [bands!]],
    ...entries,
  ]);
}

Deno.test("JPEG is read as libtiff reads it", async (t) => {
  const rgb = fixture("33x17x3 -sample 2x2");
  const shape = [17, 33, 3];
  assertEquals(rgb.shape, shape);
  const read = async (...entries: TiffEntry[]) =>
    (await readOf(jpegPage(rgb.jpeg, shape, ...entries), 3)).data;
  const converted = await read([262, "short", [6]]);
  await t.step(
    "colors by PhotometricInterpretation, not by the stream",
    async () => {
      const stored = await read([262, "short", [2]]);
      assert(stored.some((value, i) => value !== converted[i]));
      assertEquals(await read([262, "short", [1]]), stored);
    },
  );
  await t.step(
    "another size or kind than the tags tell is refused",
    async () => {
      const frame = placeOf(rgb.jpeg, 0xc0);
      const lossless = rgb.jpeg.with(frame + 1, 0xc3);
      const cases: [Uint8Array, number[], string][] = [
        [lossless, shape, "found lossless"],
        [rgb.jpeg.with(frame + 4, 12), shape, "samples of 8 bits, found 12"],
        [rgb.jpeg, [17, 32, 3], "found [17, 33, 3]"],
        [rgb.jpeg, [17, 33, 4], "found [17, 33, 3]"],
      ];
      for (const [jpeg, shape, message] of cases) {
        const error = await assertRejects(
          () => readOf(jpegPage(jpeg, shape), 3),
          RangeError,
        );
        assert(error.message.includes(message), error.message);
      }
      const tables: TiffEntry = [347, "byte", [
        0xff,
        0xd8,
        0xff,
        0xc4,
        0,
        5,
        9,
        9,
        9,
      ]];
      const damaged = jpegPage(rgb.jpeg, shape, tables);
      const error = await assertRejects(() => readOf(damaged, 3), DamageError);
      assertEquals(error.key, KEYS[1]);
    },
  );
});
