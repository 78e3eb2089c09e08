import { assert, assertEquals } from "@std/assert";
import {
  decodeShardIndex,
  HttpStore,
  MemoryStore,
  parseShardLayout,
  shardIndexSize,
} from "../../mod.ts";
import { parseTiffArray } from "../../src/tiff/tiff_array.ts";
import { pictureOf, tilePlaces } from "../../src/tiff/tiff_array.ts";
import { adoptTiffs, describeTiff, type TiffPage } from "../../tiff.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { runs, stride } from "../support/runs.ts";
import { buildTiff, type TiffDirectory, type TiffEntry } from "./build_tiff.ts";
import { storeTiffs } from "./store_tiffs.ts";
import { caseOf, TIFF_CASES } from "./tiff_cases.ts";

type Codec = NonNullable<TiffPage["codecs"]>[number];

/** The codecs without the configuration that only encoding needs. */
function codecNames(codecs: readonly (string | Codec)[]): unknown[] {
  return codecs.map((codec) => {
    if (typeof codec === "string") return codec;
    const { name, configuration } = codec;
    return name === "bytes" || name.endsWith("delta") ||
        name.endsWith("floatpred")
      ? [name, { ...configuration, dist: 1 }]
      : name;
  });
}

Deno.test("describeTiff finds the tiles of what tiffContainer wrote", async () => {
  let files = 0;
  for (let i = 0; i < TIFF_CASES.length; i += stride(5)) {
    const tiffCase = TIFF_CASES[i]!;
    const { metadata, options, name } = tiffCase;
    const store = new MemoryStore();
    const { chunks, shards } = await storeTiffs(store, "", tiffCase);
    const array = parseTiffArray(metadata, options);
    const { axes, bits, tileShape } = array;
    const layout = parseShardLayout(metadata.codecs[0], array.shardShape);
    for (const { shard } of shards) {
      const key = chunks.key(shard);
      const size = shardIndexSize(layout);
      const bytes = await chunks.getRange(shard, { suffixLength: size });
      const index = decodeShardIndex(bytes!, layout);
      const picture = pictureOf(array, shard);
      const { pages } = await describeTiff(
        (range) => store.getRange(key, range),
        { key },
      );
      const places = tilePlaces(array, picture);
      assertEquals(pages.length, places.length, name);
      const kept = picture.shape.map((_, i) => i)
        .filter((i) => !axes.pages.includes(i));
      // One band in a dimension of its own is a page without bands.
      const isBand = (i: number) => i !== axes.y && i !== axes.x;
      const own = kept.filter((i) => !(isBand(i) && picture.shape[i] === 1));
      for (const [i, page] of pages.entries()) {
        assertEquals(page.problem, undefined, name);
        assertEquals(page.kind, "image");
        assertEquals(page.shape, own.map((i) => picture.shape[i]!), name);
        assertEquals(page.tileShape, own.map((i) => tileShape[i]!), name);
        const dataType = metadata.data_type === "bool"
          ? "uint8" // TIFF has no booleans of one byte.
          : metadata.data_type;
        assertEquals(page.dataType, dataType, name);
        const expected = places[i]!.map((place) => index[place]);
        page.tiles.forEach((tile, n) => {
          if (expected[n] !== undefined) assertEquals(tile, expected[n], name);
          else if (options.sparse) assertEquals(tile, undefined, name);
          else assert(tile!.length > 0, name); // The tile of the fill value.
        });
        assertEquals(page.tiles.length, expected.length, name);
        const inner = (metadata.codecs[0] as unknown as {
          configuration: { codecs: (string | Codec)[] };
        }).configuration.codecs;
        const wanted = bits === 8
          ? inner.map((codec) =>
            Object(codec).name === "bytes" ? { name: "bytes" } : codec
          )
          : inner;
        assertEquals(codecNames(page.codecs!), codecNames(wanted), name);
      }
      files++;
    }
  }
  assert(files > runs(300), `${files} files`);
});

Deno.test("describeTiff tells description, place and fill value", async () => {
  const store = new MemoryStore();
  const geoKeyDirectory = [1, 1, 0, 2, 1024, 0, 1, 1, 3072, 0, 1, 32632];
  const tiffCase = caseOf({
    dataType: "float32",
    options: {
      description: "Höhe in m",
      noData: -9999.5,
      georeference: {
        modelPixelScale: [30, 20, 0],
        modelTiepoint: [0, 0, 0, 399960, 5300040, 0],
        geoKeyDirectory,
        geoDoubleParams: [0.25],
        geoAsciiParams: "WGS 84|",
      },
    },
  });
  const { chunks } = await storeTiffs(store, "", tiffCase);
  const { pages: [page] } = await describeTiff((range) =>
    store.getRange(chunks.key([0, 1]), range)
  );
  assertEquals(page!.description, "Höhe in m");
  assertEquals(page!.fillValue, -9999.5);
  assertEquals(page!.place, {
    modelPixelScale: [30, 20, 0],
    modelTiepoint: [0, 0, 0, 399960 + 64 * 30, 5300040, 0],
    geoKeyDirectory,
    geoDoubleParams: [0.25],
    geoAsciiParams: "WGS 84|",
  });
});

/** The entries of a page of 16 × 16 bytes in one strip. */
function stripPage(more: TiffDirectory["entries"] = []): TiffDirectory {
  return {
    entries: [
      [256, "short", [16]],
      [257, "short", [16]],
      [258, "short", [8]],
      [273, "long", [8]],
      [279, "long", [256]],
      ...more,
    ],
  };
}

Deno.test("describeTiff reads GDAL_NODATA as a number of the data type", async () => {
  const cases: [string, number, number, number | bigint][] = [
    ["255", 8, 1, 255],
    ["255.0", 8, 1, 255],
    [" -1 ", 8, 2, -1],
    ["256", 8, 1, 0],
    ["-1", 8, 1, 0],
    ["1.5", 8, 1, 0],
    ["nan", 8, 1, 0],
    ["", 8, 1, 0],
    ["x", 32, 3, 0],
    ["18446744073709551615", 64, 1, 18446744073709551615n],
    ["-9223372036854775808", 64, 2, -9223372036854775808n],
    ["9007199254740993", 64, 2, 9007199254740993n],
    ["nan", 32, 3, NaN],
    ["-nan", 64, 3, NaN],
    ["inf", 32, 3, Infinity],
    ["-inf", 64, 3, -Infinity],
    ["-3.4028234663852886e+38", 32, 3, -3.4028234663852886e38],
    ["0.1", 32, 3, Math.fround(0.1)],
    ["0.1", 64, 3, 0.1],
  ];
  for (const [text, bits, format, expected] of cases) {
    const entries = stripPage([[339, "short", [format]]]).entries
      .filter(([tag]) => tag !== 258);
    const bytes = buildTiff({
      directories: [{
        entries: [
          ...entries,
          [258, "short", [bits]],
          [42113, "ascii", text + "\0"],
        ],
      }],
    });
    const { pages: [page] } = await describeTiff(from(bytes));
    assertEquals(page!.fillValue, expected, `${text} of ${bits} bits`);
  }
});

function from(bytes: Uint8Array) {
  const store = new MemoryStore([["/a", bytes]]);
  return (range: Parameters<typeof store.getRange>[1]) =>
    store.getRange("/a", range);
}

/** A page with many tiles, whose tables lie beside the directory. */
function tiledPage(side: number, isBig: boolean): TiffDirectory {
  const places = Array.from({ length: side * side }, (_, i) => i);
  return {
    entries: [
      [256, "long", [side * 16]],
      [257, "long", [side * 16]],
      [258, "short", [8]],
      [259, "short", [8]],
      [322, "short", [16]],
      [323, "short", [16]],
      [324, isBig ? "long8" : "long", places.map((i) => 1000 + 100 * i)],
      [325, "long", places.map((i) => 1 + i % 99)],
    ],
  };
}

Deno.test("describeTiff takes at most 3 requests over HTTP", async (t) => {
  const pyramid = (isBig: boolean) =>
    [320, 160, 80, 40, 20, 10].map((side, i) => {
      const page = tiledPage(side, isBig);
      return i === 0
        ? page
        : { entries: [[254, "long", [1]] as const, ...page.entries] };
    });
  for (const isBig of [false, true].slice(0, 2 / stride(2))) {
    for (
      const [name, directories, start, most] of [
        ["one page at the start", [tiledPage(16, isBig)], 16, 1],
        ["one page at the end", [tiledPage(16, isBig)], 5_000_000, 2],
        ["100,000 tiles at the start", [tiledPage(320, isBig)], 16, 2],
        ["100,000 tiles at the end", [tiledPage(320, isBig)], 5_000_000, 3],
        ["a pyramid at the start", pyramid(isBig), 16, 3],
        [
          "a pyramid of small pages at the end",
          [
            tiledPage(16, isBig),
            ...pyramid(isBig).slice(4),
          ],
          5_000_000,
          2,
        ],
      ] as const
    ) {
      await t.step(`${name}${isBig ? ", BigTIFF" : ""}`, async () => {
        const bytes = buildTiff({
          isBig,
          start,
          directories: [...directories],
        });
        const requests: string[] = [];
        const handler = storeHandler(new MemoryStore([["/a.tif", bytes]]));
        const server = serve((request) => {
          requests.push(`${request.method} ${request.headers.get("range")}`);
          return handler(request);
        });
        try {
          const store = new HttpStore(server.url);
          const { pages } = await describeTiff((range) =>
            store.getRange("/a.tif", range)
          );
          assertEquals(pages.length, directories.length);
          for (const [i, page] of pages.entries()) {
            const offsets = directories[i]!.entries
              .find(([tag]) => tag === 324)![2] as number[];
            const lengths = directories[i]!.entries
              .find(([tag]) => tag === 325)![2] as number[];
            assertEquals(
              page.tiles,
              offsets.map((offset, i) => ({ offset, length: lengths[i]! })),
            );
          }
          assert(requests.length <= most, requests.join("\n"));
        } finally {
          await server.close();
        }
      });
    }
  }
});

Deno.test("adoptTiffs takes at most 3 requests for each file, that for its length included", async () => {
  const directories = [tiledPage(320, false)];
  for (const start of [8, 12_000_000]) {
    const bytes = buildTiff({
      start,
      directories,
      ...start === 8 && { size: 15_000_000 },
    });
    const store = new MemoryStore([["/c/0/0.tif", bytes]]);
    let requests = 0;
    const read = store.read.bind(store);
    store.read = (keys, task, options) => {
      if (keys[0] === "/c/0/0.tif") requests++;
      return read(keys, task, options);
    };
    await adoptTiffs(store, "");
    assert(requests <= 3, `${requests} requests`);
  }
});

Deno.test("describeTiff reads numbers of all types", async () => {
  const whole = ["byte", "undefined", "short", "long", "ifd"] as const;
  const signed = ["signedByte", "signedShort", "signedLong"] as const;
  const long = ["long8", "signedLong8", "ifd8"] as const;
  const cases: [TiffEntry[1], number[]][] = [
    ...[...whole, ...long].map((type): [TiffEntry[1], number[]] => [
      type,
      [3, 200],
    ]),
    ...signed.map((type): [TiffEntry[1], number[]] => [type, [3, -100]]),
    ["short", [2 ** 16 - 1]],
    ["signedShort", [-(2 ** 15)]],
    ["long", [2 ** 32 - 1, 2 ** 31]],
    ["signedLong", [-(2 ** 31)]],
    ["long8", [2 ** 53 - 1]],
    ["rational", [0.25, 3, 2 ** 29]],
    ["signedRational", [-0.25, 3]],
    ["float", [-0.5, 1e10]],
    ["double", [-0.1, 1e300, Infinity]],
  ];
  for (const [type, values] of cases) {
    for (const isLittle of [true, false]) {
      for (const isBig of [true, false]) {
        const bytes = buildTiff({
          isLittle,
          isBig,
          directories: [{ entries: [[33550, type, values]] }],
        });
        const store = new MemoryStore([["/a.tif", bytes]]);
        const { pages } = await describeTiff((range) =>
          store.getRange("/a.tif", range)
        );
        assertEquals(pages[0]!.place?.modelPixelScale, values, type);
      }
    }
  }
});

Deno.test("describeTiff reads files whose tags are damaged that nothing reads", async () => {
  const beyond = { count: 2 ** 20, offset: 2 ** 31 };
  for (
    const [tag, type] of [
      [282, "rational"], // XResolution
      [283, "rational"], // YResolution
      [296, "short"], // ResolutionUnit
      [338, "short"], // ExtraSamples
    ] as const
  ) {
    const bytes = buildTiff({
      directories: [{
        entries: [
          [256, "long", [16]],
          [257, "long", [16]],
          [258, "short", [8]],
          ...tag < 322 ? [[tag, type, beyond]] as const : [],
          [322, "short", [16]],
          [323, "short", [16]],
          [324, "long", [8]],
          [325, "long", [256]],
          ...tag > 325 ? [[tag, type, beyond]] as const : [],
        ],
      }],
    });
    const store = new MemoryStore([["/a.tif", bytes]]);
    const { pages } = await describeTiff(
      (range) => store.getRange("/a.tif", range),
      { key: "/a.tif" },
    );
    assertEquals(pages[0]?.shape, [16, 16], `tag ${tag}`);
  }
});
