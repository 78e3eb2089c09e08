/** Arrays that are converted in place, and operations on files that fail. */
import { assert, assertEquals } from "@std/assert";
import { convert } from "../../jobs.ts";
import {
  ArrayChunks,
  arrayMetadata,
  createArrayChunks,
  DamageError,
  FileSystemStore,
  MetadataError,
  openArrayChunks,
  type StoreKey,
} from "../../mod.ts";
import type { ConvertInPlaceOptions } from "../../src/jobs/in_place/convert_in_place.ts";
import { v2Folders, withoutV2Nodes } from "../../src/metadata/mod.ts";
import { fileChangesOf } from "../../src/stores/file_system/file_changes.ts";
import type { FileChanges } from "../../src/stores/file_system/file_changes.ts";
import { countingBytes } from "../support/bytes.ts";
import { encodeJson, groupMetadata, readJson } from "../support/documents.ts";

/** The stored chunks of a grid of 2 × 3, and their lengths. */
const CHUNKS: [number[], number][] = [[[0, 0], 40], [[1, 2], 97], [[1, 0], 12]];

/** A folder in memory, where there is a file system for it. */
export async function memoryFolder(): Promise<string> {
  try {
    return await Deno.makeTempDir({ dir: "/dev/shm" });
  } catch {
    return await Deno.makeTempDir();
  }
}

/** Creates an array of a layout with some chunks of different lengths. */
export async function createExample(
  store: FileSystemStore,
  layout: ConvertInPlaceOptions,
  path = "",
): Promise<void> {
  const metadata = arrayMetadata({
    shape: [4, 5],
    dataType: "uint8",
    chunkShape: [2, 2],
    attributes: { scale: 0.5 },
    ...layout.keyEncoding && { keyEncoding: layout.keyEncoding },
    ...layout.suffix && { suffix: layout.suffix },
    ...layout.parts?.length && { parts: layout.parts },
  });
  const chunks = await createArrayChunks(store, path, metadata);
  for (const [i, [coordinates, length]] of CHUNKS.entries()) {
    await chunks.set(coordinates, countingBytes(length, i));
  }
}

/** Creates a group with consolidated metadata, of two arrays and a text. */
export async function createGroup(
  store: FileSystemStore,
  a: ConvertInPlaceOptions,
  b: ConvertInPlaceOptions,
): Promise<void> {
  await createExample(store, a, "a");
  await createExample(store, b, "sub/b");
  await store.set("/readme.txt", encodeJson("text"));
  await store.set("/sub/zarr.json", encodeJson(groupMetadata()));
  const nodes = {
    a: await readJson(store, "/a/zarr.json"),
    sub: groupMetadata(),
    "sub/b": await readJson(store, "/sub/b/zarr.json"),
  };
  await store.set("/zarr.json", encodeJson(groupMetadata(nodes)));
}

/** Adds metadata of Zarr v2 to an array with `v2` keys, as `zarr migrate v3` leaves it. */
export async function addV2Documents(
  store: FileSystemStore,
  path = "",
): Promise<void> {
  const root = path === "" ? "" : `/${path}` as const;
  await store.set(`${root}/.zarray`, encodeJson({ zarr_format: 2 }));
  await store.set(`${root}/.zattrs`, encodeJson({ scale: 0.5 }));
}

/** Checks that a reader of Zarr v2 finds all chunks, or no array. */
export async function assertV2Reads(
  folder: string,
  path: string,
): Promise<void> {
  const root = `${folder}/${path}`;
  const isFound = await Deno.stat(`${root}/.zarray`).catch(() => undefined);
  if (isFound === undefined) return;
  for (const [i, [coordinates, length]] of CHUNKS.entries()) {
    const bytes = await Deno.readFile(`${root}/${coordinates.join(".")}`);
    assertEquals(bytes, countingBytes(length, i), String(coordinates));
  }
}

/** Checks that consolidated metadata of Zarr v2 leads its readers to all chunks. */
export async function assertV2Consolidated(folder: string): Promise<void> {
  const store = new FileSystemStore(folder);
  const { metadata } = await readJson(store, "/sub/.zmetadata");
  if (!("b/.zarray" in metadata)) return;
  for (const [i, [coordinates, length]] of CHUNKS.entries()) {
    const bytes = await store.get(`/sub/b/${coordinates.join(".")}`);
    assertEquals(bytes, countingBytes(length, i), String(coordinates));
  }
}

/** The files and folders below a folder, with digests of the files. */
export async function stateOf(
  folder: string,
  path = "",
): Promise<Record<string, string>> {
  const state: Record<string, string> = {};
  const entries = Deno.readDir(folder + path);
  for await (const { name, isDirectory, isSymlink } of entries) {
    const below = `${path}/${name}`;
    if (isSymlink) {
      state[below] = await Deno.readLink(folder + below);
    } else if (isDirectory) {
      state[below] = "folder";
      Object.assign(state, await stateOf(folder, below));
    } else {
      const bytes = await Deno.readFile(folder + below);
      state[below] = name === "zarr.json"
        ? new TextDecoder().decode(bytes)
        : bytes.toHex();
    }
  }
  return Object.fromEntries(Object.entries(state).sort());
}

/** The state of a folder after a conversion to another place. Nodes of Zarr v2 stay as they are. */
export async function convertedState(
  folder: string,
  options: ConvertInPlaceOptions,
): Promise<Record<string, string>> {
  const target = await memoryFolder();
  try {
    const [from, to] = [folder, target].map((each) =>
      new FileSystemStore(each)
    ) as [FileSystemStore, FileSystemStore];
    const { v2Nodes } = await convert(from, to, options);
    for (const path of v2Nodes) {
      await to.delete(`/${path}/zarr.json`);
      for (const name of [".zarray", ".zgroup", ".zattrs", ".zmetadata"]) {
        const key: StoreKey = `/${path}/${name}`;
        const bytes = await from.get(key);
        if (bytes === undefined) continue;
        // Nodes of Zarr v3 have other chunks now.
        const isV3 = new Set<string>();
        for (const below of v2Folders(bytes)) {
          const own: StoreKey = `/${path}/${below}zarr.json`;
          if (await from.size(own) !== undefined) isV3.add(below);
        }
        await to.set(key, withoutV2Nodes(bytes, (below) => isV3.has(below)));
      }
    }
    return await stateOf(target);
  } finally {
    await Deno.remove(target, { recursive: true });
  }
}

/**
 * Reads an array as any reader does: checks that it either has all of its chunks, or is
 * refused with a message that names the command.
 *
 * @returns Whether it can be read.
 */
export async function assertReadableOrRefused(
  folder: string,
  path: string,
): Promise<boolean> {
  const store = new FileSystemStore(folder);
  let chunks;
  try {
    chunks = await openArrayChunks(store, path);
  } catch (error) {
    assert(error instanceof MetadataError, String(error));
    assert(error.message.includes("convert --in-place"), error.message);
    return false;
  }
  await assertChunks(chunks);
  return true;
}

/** Reads the arrays that the consolidated metadata of a group describes. */
export async function assertConsolidated(folder: string): Promise<boolean> {
  const store = new FileSystemStore(folder);
  const { consolidated_metadata } = await readJson(store, "/zarr.json");
  for (const path of ["a", "sub/b"]) {
    const metadata = consolidated_metadata?.metadata[path];
    if (metadata === undefined) return false;
    await assertChunks(new ArrayChunks(store, path, metadata));
  }
  return true;
}

/** Reads chunks of an array that was opened before: checks that each is right, or an error. */
export async function assertRightOrError(chunks: ArrayChunks): Promise<void> {
  for (const [i, [coordinates, length]] of CHUNKS.entries()) {
    let bytes;
    try {
      bytes = await chunks.get(coordinates);
    } catch (error) {
      assert(error instanceof DamageError, String(error));
      continue;
    }
    assertEquals(bytes, countingBytes(length, i), String(coordinates));
  }
}

async function assertChunks(chunks: ArrayChunks): Promise<void> {
  for (const [i, [coordinates, length]] of CHUNKS.entries()) {
    const bytes = await chunks.get(coordinates);
    assertEquals(bytes, countingBytes(length, i), String(coordinates));
  }
  const listed = (await Array.fromAsync(chunks.list())).map(String).sort();
  assertEquals(listed, CHUNKS.map(([each]) => String(each)).sort());
}

/** The operations that change something. */
const CHANGES = [
  ...["write", "create", "cut", "extend", "link", "rename"] as const,
  ...["remove", "removeFolder"] as const,
];

/** Thrown by operations on files of a program that counts as killed. */
export class Killed extends Error {}

/** A disturbance of the operations on files. */
export interface Disturbance {
  /** The number of the operation, from 0. */
  readonly at: number;
  /** Whether this operation and all later ones do nothing, or this one has no space, or is done in half before all later ones do nothing. */
  readonly kind: "kill" | "half" | "no space";
}

/** Operations on files that are disturbed, and counted. */
export class DisturbedFiles {
  readonly files: FileChanges;
  count = 0;
  /** The name of the operation that was disturbed. */
  disturbed: string | undefined;
  readonly #unlocks: (() => Promise<void>)[] = [];

  /** @param before Called before each operation that changes something. */
  constructor(
    store: FileSystemStore,
    disturbance: Disturbance | undefined,
    hasLinks = true,
    before: (name: keyof FileChanges, key: StoreKey) => unknown = () => {},
  ) {
    const real = fileChangesOf(store)!;
    let isKilled = false;
    const step = async (name: keyof FileChanges, args: unknown[]) => {
      if (isKilled) throw new Killed(name);
      await before(name, args[0] as StoreKey);
      if (this.count++ !== disturbance?.at) return;
      this.disturbed = name;
      if (disturbance.kind === "no space") {
        throw Object.assign(new Error("No space left"), { code: "ENOSPC" });
      }
      if (disturbance.kind === "half" && name === "extend") {
        const [key, offset, bytes] = args as Parameters<FileChanges["extend"]>;
        const half = bytes.subarray(0, bytes.length >> 1);
        await real.extend(key, offset, half);
      }
      if (disturbance.kind === "half" && name === "create") {
        const [key, bytes] = args as Parameters<FileChanges["create"]>;
        await real.create(key, bytes.subarray(0, bytes.length >> 1));
      }
      isKilled = true;
      throw new Killed(name);
    };
    this.files = new Proxy(real, {
      get: (_, name: keyof FileChanges) => {
        if (name === "lock") {
          return async (folder: "") => {
            const unlock = await real.lock(folder);
            if (unlock === undefined) return undefined;
            this.#unlocks.push(unlock);
            return async () => {
              if (isKilled) throw new Killed("unlock");
              await unlock();
            };
          };
        }
        if (name === "link" && !hasLinks) return () => Promise.resolve(false);
        const operation = (real[name] as (...args: unknown[]) => unknown)
          .bind(real);
        const isChange = (CHANGES as readonly string[]).includes(name);
        return async (...args: unknown[]) => {
          if (isChange) await step(name, args);
          else if (isKilled) throw new Killed(name);
          return await operation(...args);
        };
      },
    });
  }

  /** Ends the locks, as the end of the program does. */
  async end(): Promise<void> {
    for (const unlock of this.#unlocks) await unlock().catch(() => {});
  }
}
