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
  UnfinishedWriteError,
} from "../../mod.ts";
import type { ConvertInPlaceOptions } from "../../src/jobs/in_place/convert_in_place.ts";
import { v2Folders, withoutV2Nodes } from "../../src/metadata/mod.ts";
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
      const isSaid = error instanceof DamageError ||
        error instanceof UnfinishedWriteError;
      assert(isSaid, String(error));
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

/** Thrown by operations on files of a program that counts as killed. */
export class Killed extends Error {}

/** A disturbance of the operations that change files. */
export interface Disturbance {
  /** The number of the operation, from 0. */
  readonly at: number;
  /** Whether this operation and all later ones do nothing, or this one has no space, or writes half before all later ones do nothing. */
  readonly kind: "kill" | "half" | "no space";
}

/** The settings of {@linkcode disturbed}. */
interface DisturbanceOptions {
  readonly disturbance?: Disturbance | undefined;
  /** Called before each operation, such as `rename /data/c/0`. */
  readonly before?: (operation: string) => void;
}

/** The functions of `Deno` and the methods of open files that change files, and what they do. */
const CHANGES = {
  mkdirSync: "mkdir",
  renameSync: "rename",
  removeSync: "remove",
  remove: "remove",
  rename: "rename",
} as const;
const FILE_CHANGES = { writeSync: "write", truncateSync: "truncate" } as const;

/** Runs a task while operations that change files are disturbed, and counts them. */
export async function disturbed(
  task: () => Promise<unknown>,
  { disturbance, before }: DisturbanceOptions,
): Promise<{ count: number; disturbed: string | undefined; error: unknown }> {
  let isKilled = false;
  let count = 0;
  let name: string | undefined;
  const step = (operation: string, path: unknown, half?: () => void) => {
    if (isKilled) throw new Killed(operation);
    before?.(`${operation} ${path}`);
    if (count++ !== disturbance?.at) return;
    name = operation;
    if (disturbance.kind === "no space") {
      throw Object.assign(new Error("No space left"), { code: "ENOSPC" });
    }
    isKilled = true;
    if (disturbance.kind === "half") half?.();
    throw new Killed(operation);
  };
  // deno-lint-ignore no-explicit-any -- functions of different types are replaced alike
  const [deno, file]: any[] = [Deno, Deno.FsFile.prototype];
  const originals = { ...deno };
  const { writeSync, truncateSync } = file;
  const methods = { writeSync, truncateSync };
  for (const [each, operation] of Object.entries(CHANGES)) {
    deno[each] = (...args: unknown[]) => {
      step(operation, args[0]);
      return originals[each](...args);
    };
  }
  deno.openSync = (path: string, options: Deno.OpenOptions) => {
    if (options.create || options.createNew) step("create", path);
    return originals.openSync(path, options);
  };
  for (const [each, operation] of Object.entries(FILE_CHANGES)) {
    file[each] = function (argument: Uint8Array) {
      const run = methods[each as keyof typeof methods];
      step(operation, "", () => {
        if (each !== "writeSync") return;
        run.call(this, argument.subarray(0, argument.length >> 1));
      });
      return run.call(this, argument);
    };
  }
  let error: unknown;
  try {
    await task();
  } catch (thrown) {
    error = thrown;
  } finally {
    for (const each of [...Object.keys(CHANGES), "openSync"]) {
      deno[each] = originals[each];
    }
    Object.assign(file, methods);
  }
  return { count, disturbed: name, error };
}
