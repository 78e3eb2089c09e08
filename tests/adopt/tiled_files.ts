import {
  arrayMetadata,
  MemoryStore,
  type Store,
  type StoreKey,
  TemplateChunkKeyEncoding,
} from "../../mod.ts";
import type {
  AdoptedArray,
  AdoptionOptions,
} from "../../src/adopt/adopt_files.ts";
import { adoptTiffs } from "../../tiff.ts";
import { adoptZip } from "../../zip.ts";
import { encodeJson } from "../support/documents.ts";
import { buildTiff } from "../tiff/build_tiff.ts";
import { makeZip } from "../zip/make_zip.ts";

/** The bytes before the tile of a file. */
const START = 512;

/** A TIFF of one tile of 16 × 16 bytes, which starts at byte 512 unless said otherwise. */
export function tiffOf(value: number, start = START): Uint8Array<ArrayBuffer> {
  const head = buildTiff({
    directories: [{
      entries: [
        [256, "long", [16]],
        [257, "long", [16]],
        [258, "short", [8]],
        [322, "short", [16]],
        [323, "short", [16]],
        [324, "long", [start]],
        [325, "long", [256]],
      ],
    }],
  });
  const file = new Uint8Array(start + 256).fill(value, start);
  file.set(head);
  return file;
}

/** A TIFF of 12 × 16 bytes in strips of some rows, between which there are other bytes. */
export function stripsOf(rows: number): Uint8Array<ArrayBuffer> {
  const count = 12 / rows;
  const starts = Array.from(
    { length: count },
    (_, i) => START + i * (rows * 16 + 1),
  );
  const head = buildTiff({
    directories: [{
      entries: [
        [256, "long", [16]],
        [257, "long", [12]],
        [258, "short", [8]],
        [273, "long", starts],
        [278, "long", [rows]],
        [279, "long", starts.map(() => rows * 16)],
      ],
    }],
  });
  const file = new Uint8Array(START + 12 * 16 + count);
  file.set(head);
  return file;
}

/** A zip with an array of 16 × 16 bytes in one chunk. */
export function zipOf(value: number): Uint8Array<ArrayBuffer> {
  const metadata = arrayMetadata({
    shape: [16, 16],
    dataType: "uint8",
    chunkShape: [16, 16],
  });
  return new Uint8Array(
    makeZip([
      { name: "zarr.json", bytes: encodeJson(metadata) },
      { name: "c/0/0", bytes: new Uint8Array(256).fill(value) },
    ]).file,
  );
}

/** The files of an array of 3 × 4 files, of which one is missing, by the names of files. */
export function mosaicOf(
  fileOf: (value: number) => Uint8Array<ArrayBuffer>,
  extension: string,
): Record<string, Uint8Array<ArrayBuffer>> {
  const files: Record<string, Uint8Array<ArrayBuffer>> = {};
  for (let y = 0; y < 3; y++) {
    for (let x = 0; x < 4; x++) {
      if (y === 1 && x === 2) continue;
      files[`y${y}_x${x}${extension}`] = fileOf(16 * y + x);
    }
  }
  return files;
}

/** A store with the files of a mosaic in a folder. */
export function mosaicStore(
  files: Readonly<Record<string, Uint8Array>>,
  folder: StoreKey = "/a",
): MemoryStore {
  return new MemoryStore(
    Object.entries(files).map(([name, bytes]) =>
      [`${folder}/${name}`, bytes] as const
    ),
  );
}

/** The files of an array in one format, and their adoption. */
export interface Mosaic {
  fileOf(value: number): Uint8Array<ArrayBuffer>;
  /** Creates a store with eleven files in the folder `a`. */
  store(): MemoryStore;
  /** Adopts the files in the folder `a`. */
  adopt(store: Store, options?: AdoptionOptions): Promise<AdoptedArray>;
}

/** Mosaics by the extension of their files. */
export const MOSAICS: Readonly<Record<"tif" | "zip", Mosaic>> = {
  tif: createMosaic(tiffOf, adoptTiffs, ".tif"),
  zip: createMosaic(zipOf, adoptZip, ".zip"),
};

function createMosaic(
  fileOf: Mosaic["fileOf"],
  adopt: typeof adoptTiffs | typeof adoptZip,
  extension: string,
): Mosaic {
  const chunkKeyEncoding = new TemplateChunkKeyEncoding(
    `y{0}_x{1}${extension}`,
  );
  return {
    fileOf,
    store: () => mosaicStore(mosaicOf(fileOf, extension)),
    adopt: (store, options) =>
      adopt(store, "a", { chunkKeyEncoding, ...options }),
  };
}
