import { arrayRoot, readDocument } from "../arrays/mod.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { describe } from "../errors/mod.ts";
import { type ArrayMetadata, formatZarrJson } from "../metadata/mod.ts";
import { isSameBytes } from "../runtime/mod.ts";
import {
  assertStore,
  assertWritable,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  assertKind,
  planAdoption,
  type PlannedAdoption,
  type PlannedGroup,
  refuse,
  writeAdoption,
} from "./adopt_files.ts";
import type { AdoptedArray } from "./adoption_options.ts";
import { commonFile } from "./files_to_adopt.ts";
import { notesOnStarts } from "./suggest_format.ts";
import {
  type AdoptPyramidOptions,
  assertAdoptPyramid,
} from "./adopt_tiffs_options.ts";
import {
  geoArrayAttributes,
  type GeoPlace,
  geoPlaceOf,
  joinAttributes,
  pyramidAttributes,
  valueAttributes,
  withBandsFirst,
} from "../tiff/mod.ts";
import {
  canMoveBands,
  findTiffs,
  geoPlaceOfTiffs,
  leftOut,
  levelOf,
  metadataOf,
  pictureNames,
  type ReadFile,
  readFiles,
  type TiffLevel,
  tiffsToRead,
} from "./tiffs_to_adopt.ts";

/**
 * Makes a group of TIFF files with overviews: its arrays `0`, `1` and so on are the
 * pages themselves and their overviews, from the largest to the smallest. All arrays are
 * of the same files, which are not changed: each file gets the key of its chunk in each
 * array by a hard link, which takes no space, and an index beside it. The `zarr.json` of
 * the group is written last.
 *
 * Files with a place on the earth become arrays `0/data`, `1/data` and so on, since GDAL
 * reads levels as overviews only if each is in a group of its own.
 *
 * The attributes of the group describe the levels by two conventions: `multiscales` of the
 * [Zarr conventions](https://github.com/zarr-conventions/multiscales), with the place on
 * the earth as `spatial:` and `proj:` attributes if the files have tags of GeoTIFF; and
 * `ome` of [OME-Zarr 0.5](https://ngff.openmicroscopy.org/0.5/), if OME-Zarr allows the
 * dimensions. Without a place on the earth, bands come before the dimensions of a
 * picture, as in OME-Zarr.
 *
 * Several files make a mosaic or a stack, as with `adoptTiffs`. Levels that not all files
 * have, or whose pictures do not fit together, are left out with a note.
 *
 * @param store The store that holds the files, and takes the indexes and the metadata.
 * @param path The group's path in the store; empty for the root.
 * @param options The names of the files, and which pages or series of them are adopted.
 * @returns The arrays, and reports about their files.
 * @throws {RangeError} If there are no files, or the pages themselves cannot be one array.
 * @throws {DamageError} If a file is not a TIFF, or its directories are damaged.
 * @throws {MetadataError} If a node or another index is there already, without
 * `overwrite`, or an array with it.
 * @throws {Error} If `finish` is set, and a file lacks its index.
 * @throws {TypeError} If an option is unknown or of a wrong type, or the store is
 * read-only, or cannot list or link files, as `FileSystemStore` can.
 *
 * @example A cloud-optimized GeoTIFF
 * ```ts
 * import { FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { adoptPyramid } from "@zarr-parts/zarr-parts/tiff";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * await Deno.copyFile("tests/fixtures/tiffs/scene.tif", `${folder}/scene.tif`);
 *
 * const { levels } = await adoptPyramid(new FileSystemStore(folder), "scene.zarr", {
 *   files: [{ coordinates: [0, 0], key: "/scene.tif" }],
 * });
 * assertEquals(levels.map(({ chunks }) => chunks.metadata.shape), [[128, 128], [64, 64], [32, 32]]);
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function adoptPyramid(
  store: Store,
  path: string,
  options: AdoptPyramidOptions = {},
): Promise<AdoptedPyramid> {
  assertStore(store);
  assertAdoptPyramid(options);
  const root = arrayRoot(path);
  const document: StoreKey = `${root}/zarr.json`;
  assertWritable(store, document);
  const { signal, overwrite = false } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const { encoding, files } = await findTiffs(
    store,
    root,
    { ...options, isPyramid: true },
    storeOptions,
  );
  const { toRead, own } = tiffsToRead(files, options);
  const written = options.finish ? files.length : own;
  const progress = new Progress(toRead.length + written, options);
  const read = await readFiles(
    store,
    toRead,
    { ...options, isPyramid: true },
    progress.step,
    storeOptions,
  );
  const { place, notes: placeNotes } = geoPlaceOfTiffs(read);
  // All shares read the same file for this decision, even if the places of other files do not fit.
  const { key } = commonFile(files);
  const { picture } = read.find((file) => file.key === key)!;
  const isNested = picture.place !== undefined &&
    geoPlaceOf(picture.place) !== undefined;
  const { levels, areBandsFirst, notes } = levelsOf(read, !isNested);
  progress.total = toRead.length + levels.length * written;
  const paths = levels.map((_, i) => isNested ? `${i}/${VARIABLE}` : `${i}`);
  const values = await valueAttributes(
    read.flatMap(({ picture }) => picture.values),
    levels[0]!.shard.dataType,
  );
  const documents = documentsOf(read, levels, place, paths, {
    ...options,
    values: values.attributes,
    encoding,
    name: options.name ?? read[0]!.series?.name ?? path.split("/").at(-1)!,
    dimensionNames: options.dimensionNames ??
      (isNested ? namesForGdal(levels[0]!.shard.dimensionNames) : undefined),
  });
  const groupOptions = { overwrite, ...storeOptions };
  const groups = [
    await planGroup(store, document, documents.group, false, groupOptions),
  ];
  if (isNested) {
    for (const i of levels.keys()) {
      const key: StoreKey = `${root}/${i}/zarr.json`;
      groups.unshift(await planGroup(store, key, {}, true, groupOptions));
    }
  }
  const { dimensionNames } = read[0]!.levels[0]!.shard;
  const y = dimensionNames.indexOf("y");
  const all = files.map(({ key, coordinates }) => ({
    key,
    coordinates: areBandsFirst && dimensionNames.at(-1) === "band"
      ? withBandsFirst(coordinates, y)
      : coordinates,
  }));
  const planned: PlannedAdoption[] = [];
  for (const [i, { files: own }] of levels.entries()) {
    const level = `${root}/${paths[i]}`.slice(1);
    planned.push(
      await planAdoption(store, level, documents.arrays[i]!, own, {
        ...options,
        link: true,
        isLevel: true,
        all,
      }),
    );
  }
  const next: StoreKey = `${root}/${levels.length}/zarr.json`;
  const isLeft = overwrite &&
    await readSize(store, next, storeOptions) !== undefined;
  const reports = await writeAdoption(
    store,
    path,
    planned,
    options,
    progress.step,
    groups,
  );
  return {
    levels: planned.map(({ chunks }, i) => ({
      path: paths[i]!,
      chunks,
      report: { ...reports[i]!, notes: [] },
    })),
    attributes: documents.group,
    notes: [
      ...notesOnStarts(files, encoding),
      ...notes,
      ...placeNotes,
      ...values.notes,
      ...documents.notes,
      ...isLeft
        ? [
          `${
            describe(next)
          } of an earlier adoption still exists, and is not a level of the new one: remove it`,
        ]
        : [],
    ],
  };
}

/**
 * Names of dimensions by which GDAL finds rows and columns that are not the last dimensions;
 * `undefined` if they are.
 */
function namesForGdal(names: readonly string[]): string[] | undefined {
  if (names.at(-1) !== "band") return undefined;
  return names.map((name) =>
    ["y", "x"].includes(name) ? name.toUpperCase() : name
  );
}

/** The name of the arrays in the groups of levels. */
const VARIABLE = "data";

/**
 * A group whose arrays are the levels of files.
 *
 * @example
 * ```ts
 * import type { AdoptedPyramid } from "@zarr-parts/zarr-parts/tiff";
 *
 * const shapesOf = ({ levels }: AdoptedPyramid) =>
 *   levels.map(({ chunks }) => chunks.metadata.shape);
 * ```
 */
export interface AdoptedPyramid {
  /** The arrays from the largest to the smallest, with their paths in the group. */
  readonly levels: readonly (AdoptedArray & { readonly path: string })[];
  /** The attributes of the group. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Notes on unusual properties, such as levels that are left out. */
  readonly notes: readonly string[];
}

/** Reports the steps of an adoption. The number of all steps is known once the files are read. */
class Progress {
  total: number;
  #done = 0;
  readonly #options: AdoptPyramidOptions;

  constructor(total: number, options: AdoptPyramidOptions) {
    this.total = total;
    this.#options = options;
  }

  readonly step = (): void => {
    this.#options.onProgress?.({ done: ++this.#done, total: this.total });
  };
}

/** Makes the arrays of all levels that all files have, and that fit together. */
function levelsOf(
  files: readonly ReadFile[],
  mayMoveBands: boolean,
): { levels: TiffLevel[]; areBandsFirst: boolean; notes: string[] } {
  const counts = files.map(({ levels }) => levels.length);
  const count = Math.min(...counts);
  const fewest = files.find(({ levels }) => levels.length === count)!;
  const notes = [...fewest.notes];
  if (Math.max(...counts) > count && notes.length === 0) {
    notes.push(
      `${fewest.name} has levels up to ${
        count - 1
      }: those that other files have beyond are left out`,
    );
  }
  const areBandsFirst = mayMoveBands &&
    Array.from({ length: count }, (_, level) => level)
      .every((level) => resultOf(() => canMoveBands(files, level)) !== false);
  const levels: TiffLevel[] = [];
  for (let i = 0; i < count; i++) {
    try {
      levels.push(levelOf(files, i, areBandsFirst));
    } catch (error) {
      if (i === 0 || !(error instanceof RangeError)) throw error;
      notes.push(leftOut(i, error));
      break;
    }
  }
  return { levels, areBandsFirst, notes };
}

/** The result of a task; `undefined` for files that do not fit together. */
function resultOf(task: () => boolean): boolean | undefined {
  try {
    return task();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Composes the metadata of the arrays and the attributes of the group. */
function documentsOf(
  files: readonly ReadFile[],
  levels: readonly TiffLevel[],
  place: GeoPlace | undefined,
  paths: readonly string[],
  options: AdoptPyramidOptions & {
    encoding: ChunkKeyEncoding;
    name: string;
    values: Readonly<Record<string, unknown>>;
  },
): {
  arrays: ArrayMetadata[];
  group: Record<string, unknown>;
  notes: readonly string[];
} {
  const { encoding, name, dimensionNames, attributes, values } = options;
  const { series } = files[0]!;
  const [{ shard }] = levels as [TiffLevel];
  const dimensions = pictureNames(shard, options);
  const pyramid = pyramidAttributes({
    name,
    axes: (dimensionNames ?? shard.dimensionNames).map((name, i) => ({
      name: name ?? "",
      ...series?.scales[shard.dimensionNames[i]!],
    })),
    channels: shard.dimensionNames.includes("c") ? series?.channels : undefined,
    dataType: shard.dataType,
    levels: levels.map(({ geo }, i) => ({ path: paths[i]!, ...geo })),
    place: dimensions && place,
    dimensions: dimensions ?? ["y", "x"],
  });
  return {
    arrays: levels.map(({ shard, mosaic, geo }) =>
      metadataOf(shard, mosaic, encoding, {
        dimensionNames,
        attributes: orNone({
          ...values,
          ...dimensions && geoArrayAttributes(place, geo, dimensions),
        }),
      })
    ),
    group: joinAttributes(pyramid.attributes, attributes),
    notes: pyramid.notes,
  };
}

function orNone<T extends object>(members: T): T | undefined {
  return Object.keys(members).length > 0 ? members : undefined;
}

/**
 * Plans the document of a group.
 *
 * @param isLevel Whether the store may have the same document already.
 * @throws {MetadataError} If there is a document already, without `overwrite`, or with it
 * one that is not that of a group.
 */
async function planGroup(
  store: Store,
  document: StoreKey,
  attributes: Readonly<Record<string, unknown>>,
  isLevel: boolean,
  { overwrite, ...options }: StoreOptions & { overwrite: boolean },
): Promise<PlannedGroup> {
  const bytes = formatZarrJson({
    zarr_format: 3,
    node_type: "group",
    attributes,
  });
  const found = await readDocument(store, document, options);
  if (found === undefined) return { document, bytes, hasDocument: false };
  if (!overwrite) {
    if (isLevel && isSameBytes(found, bytes)) {
      return { document, bytes, hasDocument: true };
    }
    refuse(store, document, document);
  }
  await assertKind(store, document, "group", options);
  return { document, bytes, hasDocument: true };
}
