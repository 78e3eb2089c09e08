import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as zarr from "zarrita";
import {
  DamageError,
  FileSystemStore,
  MetadataError,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { verify } from "../../jobs.ts";
import {
  adoptPyramid,
  type AdoptPyramidOptions,
  adoptTiffs,
  verifyAdopted,
} from "../../tiff.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { treeOf } from "../support/tree.ts";
import { elementAt, geoEntries, pyramidFile } from "./pyramid_file.ts";

registerCodecs(zarr);

type Size = readonly [number, number];
const SIZES: readonly Size[] = [[80, 48], [40, 24], [20, 12]];

/** Writes files into a folder, adopts them as a group, and hands on the folder. */
async function adopted(
  files: Readonly<Record<string, Uint8Array>>,
  coordinates: Readonly<Record<string, readonly number[]>>,
  options: AdoptPyramidOptions,
  test: (
    store: FileSystemStore,
    result: Awaited<ReturnType<typeof adoptPyramid>>,
    folder: string,
  ) => Promise<void>,
): Promise<void> {
  await inTempDir(async (folder) => {
    for (const [name, bytes] of Object.entries(files)) {
      await Deno.writeFile(`${folder}/${name}`, bytes);
    }
    const store = new FileSystemStore(folder);
    const result = await adoptPyramid(store, "group", {
      files: Object.entries(coordinates).map(([name, coordinates]) => ({
        coordinates,
        key: `/${name}` as StoreKey,
      })),
      ...options,
    });
    await test(store, result, folder);
  });
}

async function read(
  store: Store,
  path: string,
): Promise<{ shape: number[]; data: number[] }> {
  const root = zarr.root(withZarrParts(store)).resolve(path);
  const array = await zarr.open(root, { kind: "array" });
  const { data, shape, stride } = await zarr.get(array);
  const elements = data as Uint8Array;
  return {
    shape,
    data: Array.from(elements, (_, i) => {
      let [rest, at] = [i, 0];
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        at += (rest % shape[axis]!) * stride[axis]!;
        rest = Math.floor(rest / shape[axis]!);
      }
      return elements[at]!;
    }),
  };
}

/** The elements of a level in C order, with bands first. */
function expectedOf(
  level: number,
  [height, width]: Size,
  bands = 1,
  seed = 0,
): number[] {
  return Array.from({ length: bands * height * width }, (_, i) => {
    const [band, pixel] = [
      Math.floor(i / height / width),
      i % (height * width),
    ];
    const y = Math.floor(pixel / width);
    return elementAt(level, y, pixel % width, band, seed);
  });
}

Deno.test("adoptPyramid takes the overviews of several pages that follow all of them", async () => {
  const sizes: Size[] = [[32, 48], [32, 48], [16, 24], [16, 24], [8, 12]];
  const kinds = [0, 0, 1, 1, 1];
  await adopted(
    { "a.tif": pyramidFile(sizes, { kinds }) },
    { "a.tif": [0, 0, 0] },
    {},
    async (store, { levels }) => {
      // The last one is of one page alone, as thumbnails are.
      assertEquals(levels.length, 2);
      for (const level of [0, 1]) {
        const { data } = await read(store, `group/${level}`);
        const pages = [2 * level, 2 * level + 1];
        assertEquals(
          data,
          pages.flatMap((page) => expectedOf(page, sizes[page]!)),
        );
      }
    },
  );
  await adopted(
    { "a.tif": pyramidFile(sizes, { kinds }) },
    { "a.tif": [0, 0] },
    { page: 0 },
    (_, { levels }) => Promise.resolve(assertEquals(levels.length, 2)),
  );
});

for (const isPlanar of [false, true]) {
  for (const bands of [1, 3]) {
    Deno.test(`adoptPyramid makes an array of each level of ${bands} bands, planar ${isPlanar}, with the elements of its page`, async () => {
      const file = pyramidFile(SIZES, { bands, isPlanar });
      const rank = bands === 1 ? 2 : 3;
      await adopted(
        { "a.tif": file },
        { "a.tif": new Array(rank).fill(0) },
        {},
        async (store, { levels, attributes, notes }, folder) => {
          assertEquals(notes, []);
          assertEquals(levels.length, 3);
          for (const [level, size] of SIZES.entries()) {
            const { shape, data } = await read(store, `group/${level}`);
            assertEquals(shape, bands === 1 ? [...size] : [bands, ...size]);
            assertEquals(data, expectedOf(level, size, bands));
            const { mismatches } = await verifyAdopted(store, `group/${level}`);
            assertEquals(mismatches, []);
          }
          const names = bands === 1 ? ["y", "x"] : ["band", "y", "x"];
          assertEquals(levels[1]!.chunks.metadata.dimension_names, names);
          const before = bands === 1 ? [] : [1];
          // deno-lint-ignore no-explicit-any
          const { ome, multiscales } = attributes as any;
          assertEquals(
            // deno-lint-ignore no-explicit-any
            ome.multiscales[0].axes.map(({ name }: any) => name),
            names,
          );
          assertEquals(
            ome.multiscales[0].datasets[2].coordinateTransformations,
            [{ type: "scale", scale: [...before, 4, 4] }],
          );
          assertEquals(multiscales.layout[2], {
            asset: "2",
            derived_from: "1",
            transform: {
              scale: [...before, 2, 2],
              translation: [...before, 0, 0].fill(0),
            },
          });
          assertEquals(await Deno.readFile(`${folder}/a.tif`), file);
          const { findings } = await verify(store, "group", { deep: true });
          assertEquals(findings, []);
        },
      );
    });
  }
}

Deno.test("adoptPyramid puts the bands of a mosaic before its rows", async () => {
  const sizes: Size[] = [[32, 32], [16, 16]];
  const [one, other] = [0, 1].map((seed) =>
    pyramidFile(sizes, { bands: 3, seed })
  );
  await adopted(
    { "a.tif": one!, "b.tif": other! },
    { "a.tif": [0, 0, 0], "b.tif": [1, 0, 0] },
    {},
    async (store) => {
      for (const [level, size] of sizes.entries()) {
        const { shape, data } = await read(store, `group/${level}`);
        const [height, width] = size;
        assertEquals(shape, [3, 2 * height, width]);
        const [first, second] = [0, 1].map((seed) =>
          expectedOf(level, size, 3, seed)
        );
        const area = height * width;
        const expected = [0, 1, 2].flatMap((band) =>
          [first!, second!].flatMap((part) =>
            part.slice(band * area, (band + 1) * area)
          )
        );
        assertEquals(data, expected);
      }
    },
  );
});

Deno.test("adoptPyramid tells the place of a mosaic, and that of each level", async () => {
  const sizes: Size[] = [[64, 64], [32, 32], [16, 16]];
  const edge: Size[] = [[64, 32], [32, 16], [16, 8]];
  await adopted(
    {
      "a.tif": pyramidFile(sizes, { entries: geoEntries(500_000, 5_300_000) }),
      "b.tif": pyramidFile(edge, {
        entries: geoEntries(500_640, 5_300_000),
        seed: 1,
      }),
    },
    { "a.tif": [0, 0], "b.tif": [0, 1] },
    { attributes: { source: "survey", zarr_conventions: [{ uuid: "own" }] } },
    async (store, { levels, attributes, notes }) => {
      assertEquals(notes, []);
      assertEquals(
        levels.map(({ chunks: { metadata: { shape } } }) => shape),
        [[64, 96], [32, 48], [16, 24]],
      );
      assertEquals(
        levels.map(({ path }) => path),
        ["0/data", "1/data", "2/data"],
      );
      for (const level of [0, 1, 2]) {
        const { data, shape } = await read(store, `group/${level}/data`);
        const [one, other] = [sizes, edge].map((sizes, seed) =>
          expectedOf(level, sizes[level]!, 1, seed)
        );
        const [height, width] = shape as [number, number];
        const at = sizes[level]![1];
        const joined = Array.from({ length: height * width }, (_, i) => {
          const [y, x] = [Math.floor(i / width), i % width];
          return x < at ? one![y * at + x] : other![y * (width - at) + x - at];
        });
        assertEquals(data, joined);
      }
      const { zarr_conventions: conventions, ome: _, multiscales, ...told } =
        // deno-lint-ignore no-explicit-any
        attributes as any;
      assertEquals(told, {
        "proj:code": "EPSG:32632",
        "spatial:dimensions": ["y", "x"],
        "spatial:registration": "pixel",
        "spatial:transform_type": "affine",
        "spatial:transform": [10, 0, 500_000, 0, -20, 5_300_000],
        "spatial:shape": [64, 96],
        "spatial:bbox": [500_000, 5_298_720, 500_960, 5_300_000],
        source: "survey",
      });
      // deno-lint-ignore no-explicit-any
      assertEquals(conventions.map(({ name, uuid }: any) => name ?? uuid), [
        "multiscales",
        "proj:",
        "spatial:",
        "own",
      ]);
      assertEquals(multiscales.layout[2].asset, "2/data");
      assertEquals(multiscales.layout[2].derived_from, "1/data");
      assertEquals(multiscales.layout[2]["spatial:shape"], [16, 24]);
      const transform = [40, 0, 500_000, 0, -80, 5_300_000];
      assertEquals(multiscales.layout[2]["spatial:transform"], transform);
      const own = levels[2]!.chunks.metadata.attributes;
      assertEquals(own?.["spatial:transform"], transform);
      assertEquals(own?.["proj:code"], "EPSG:32632");
    },
  );
});

Deno.test("adoptPyramid names rows and columns as GDAL does where bands with a place come last", async () => {
  const entries = geoEntries(0, 0);
  await adopted(
    { "a.tif": pyramidFile(SIZES, { bands: 3, entries }) },
    { "a.tif": [0, 0, 0] },
    {},
    async (store, { levels, attributes, notes }) => {
      assertEquals(notes, []);
      assertEquals(attributes["spatial:dimensions"], ["Y", "X"]);
      assertEquals(attributes.ome, undefined);
      // deno-lint-ignore no-explicit-any
      const { layout } = attributes.multiscales as any;
      assertEquals(layout[1].transform.scale, [2, 2, 1]);
      const { metadata } = levels[1]!.chunks;
      assertEquals(metadata.dimension_names, ["Y", "X", "band"]);
      assertEquals(metadata.shape, [40, 24, 3]);
      assertEquals(metadata.attributes?.["spatial:dimensions"], ["Y", "X"]);
      assertEquals((await verify(store, "group", { deep: true })).findings, []);
    },
  );
});

Deno.test("adoptPyramid leaves out levels that do not fit together, with a note", async () => {
  const sizes: Size[] = [[32, 32], [16, 16], [8, 8]];
  const cases: [string, Record<string, Size[]>, number, string][] = [
    ["a tile that does not divide", { a: sizes, b: sizes }, 2, "do not divide"],
    [
      "a file with fewer",
      { a: sizes, b: sizes.slice(0, 2) },
      2,
      'File "/b" has levels up to 1',
    ],
    [
      "a file with none",
      { a: sizes.slice(0, 1), b: sizes },
      1,
      'File "/a" has levels up to 0',
    ],
  ];
  for (const [, files, count, note] of cases) {
    const bytes = Object.entries(files).map(([name, sizes]) =>
      [name, pyramidFile(sizes)] as const
    );
    await adopted(
      Object.fromEntries(bytes),
      { a: [0, 0], b: [0, 1] },
      {},
      (_, { levels, notes }) => {
        assertEquals(levels.length, count);
        assertEquals(notes.length, 1);
        assertStringIncludes(notes[0]!, note);
        return Promise.resolve();
      },
    );
  }
});

Deno.test("adoptPyramid takes an overview without tiles, and no overview of another kind", async () => {
  await adopted(
    {
      "a.tif": pyramidFile(SIZES, { sparse: [2] }),
      "b.tif": pyramidFile(SIZES, { seed: 1 }),
    },
    { "a.tif": [0, 0, 0], "b.tif": [1, 0, 0] },
    { stack: true },
    async (store, { levels }) => {
      const { data } = await read(store, "group/2");
      const size = SIZES[2]![0] * SIZES[2]![1];
      assertEquals(data.slice(0, size), new Array(size).fill(0));
      assertEquals(data.slice(size), expectedOf(2, SIZES[2]!, 1, 1));
      assertEquals(levels[2]!.report.innerChunks, 2);
      const { findings } = await verify(store, "group", { deep: true });
      assertEquals(findings, []);
    },
  );
  const file = pyramidFile(SIZES);
  // The second overview becomes one of elements with a sign.
  const view = new DataView(file.buffer);
  const directories = [8];
  for (let i = 0; i < 2; i++) {
    const count = view.getUint16(directories[i]!, true);
    directories.push(view.getUint32(directories[i]! + 2 + 12 * count, true));
  }
  const planarConfiguration = directories[2]! + 2 + 5 * 12;
  view.setUint16(planarConfiguration, 339, true);
  view.setUint16(planarConfiguration + 8, 2, true);
  await adopted(
    { "a.tif": file },
    { "a.tif": [0, 0] },
    {},
    (_, { levels, notes }) => {
      assertEquals(levels.length, 2);
      assertStringIncludes(
        notes[0]!,
        'an overview 2 with the dimensions and data type ["y", "x", "int8"]',
      );
      return Promise.resolve();
    },
  );
});

Deno.test("adoptPyramid writes the document of the group last, and removes what is new after a failure", async () => {
  const file = pyramidFile(SIZES, { entries: geoEntries(0, 0) });
  const files = [{ coordinates: [0, 0], key: "/a.tif" as const }];
  await inTempDir(async (folder) => {
    await Deno.writeFile(`${folder}/a.tif`, file);
    const filesOf = async () =>
      Object.entries(await treeOf(folder))
        .filter(([, bytes]) => bytes !== "folder");
    const before = await filesOf();
    const written: string[] = [];
    for (let fails = 0;; fails++) {
      let count = 0;
      written.length = 0;
      class FailingStore extends FileSystemStore {
        override async set(
          ...[key, ...rest]: Parameters<FileSystemStore["set"]>
        ) {
          if (count++ === fails) throw new Error("The disk is full");
          written.push(key);
          await super.set(key, ...rest);
        }
      }
      const store = new FailingStore(folder);
      const done = await adoptPyramid(store, "group", { files })
        .catch((error) => {
          assertEquals(error.message, "The disk is full");
        });
      if (done !== undefined) break;
      assertEquals(await filesOf(), before);
    }
    assertEquals(written.length, 10);
    assertEquals(written.slice(3), [
      "/group/0/data/zarr.json",
      "/group/1/data/zarr.json",
      "/group/2/data/zarr.json",
      "/group/0/zarr.json",
      "/group/1/zarr.json",
      "/group/2/zarr.json",
      "/group/zarr.json",
    ]);
    // A run that was killed before the end is run again.
    const complete = await treeOf(folder);
    for (
      const missing of [["/group/zarr.json"], [
        "/group/zarr.json",
        "/group/2/zarr.json",
        "/group/2/data/c/0/0.tif",
      ]]
    ) {
      for (const key of missing) await Deno.remove(`${folder}${key}`);
      await adoptPyramid(new FileSystemStore(folder), "group", { files });
      assertEquals(await treeOf(folder), complete);
    }
  });
});

Deno.test("adoptPyramid refuses to replace documents, indexes and links without overwrite, and arrays with it", async () => {
  const file = pyramidFile(SIZES);
  await adopted(
    { "a.tif": file },
    { "a.tif": [0, 0] },
    {},
    async (store, _, folder) => {
      const files = [{ coordinates: [0, 0], key: "/a.tif" as const }];
      const again = (options: AdoptPyramidOptions, path = "group") =>
        adoptPyramid(store, path, { files, ...options });
      await assertRejects(() => again({}), MetadataError, "is there already");
      await Deno.remove(`${folder}/group/zarr.json`);
      await Deno.writeTextFile(`${folder}/group/1/zarr.json`, "{}");
      await assertRejects(() => again({}), MetadataError, "/group/1/zarr.json");
      const { levels } = await again({ overwrite: true });
      assertEquals(levels.length, 3);
      await adoptTiffs(store, "array", { files, link: true });
      await assertRejects(
        () => again({ overwrite: true }, "array"),
        MetadataError,
        "is not that of a group",
      );
      // Files that are changed to have a place or fewer levels.
      await Deno.writeFile(
        `${folder}/a.tif`,
        pyramidFile(SIZES, { entries: geoEntries(0, 0) }),
      );
      await assertRejects(
        () => again({ overwrite: true }),
        MetadataError,
        '"/group/0/zarr.json" is not that of a group',
      );
      await again({}, "other");
      await Deno.writeFile(`${folder}/a.tif`, pyramidFile(SIZES.slice(0, 2)));
      await assertRejects(
        () => again({ overwrite: true }, "other"),
        MetadataError,
        '"/other/0/zarr.json" is not that of an array',
      );
      const fewer = await again({ overwrite: true });
      assertEquals(fewer.levels.length, 2);
    },
  );
});

Deno.test("verify finds a file that was changed after adoptPyramid, in each level", async () => {
  const [file, other] = [SIZES, [[80, 64], [40, 48], [20, 24]] as Size[]]
    .map((sizes) => pyramidFile(sizes));
  await adopted(
    { "a.tif": file! },
    { "a.tif": [0, 0] },
    {},
    async (store, _, folder) => {
      // A program that writes the file in place changes all links.
      await Deno.writeFile(`${folder}/a.tif`, other!);
      const { findings } = await verify(store, "group");
      const keys = findings.map(({ key }) => key);
      assertEquals(
        keys,
        [0, 1, 2].map((level) => `/group/${level}/c/0/0.tif`),
      );
      await assertRejects(() => read(store, "group/1"), DamageError);
    },
  );
});
