/** Files that other programs wrote, adopted as arrays, and read by other programs. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  FileSystemStore,
  HttpStore,
  MemoryStore,
  plainView,
  type Store,
} from "../../mod.ts";
import { snippetsFor } from "../../src/cli/page/array_page.ts";
import type { AdoptedArray } from "../../src/adopt/adopt_files.ts";
import type { AdoptedVerification } from "../../src/adopt/mod.ts";
import { innermostCodecs } from "../../src/zarrita/sharded_array.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { serve, storeHandler } from "../stores/loopback.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { runScript } from "./python.ts";

registerCodecs(zarr);

/** The functions for files of a format. */
interface Format {
  adopt(
    store: Store,
    path: string,
    options: Record<string, unknown>,
  ): Promise<AdoptedArray>;
  verify(store: Store, path: string): Promise<AdoptedVerification>;
  /** The least number of cases whose files are adopted. */
  readonly least: number;
}

/** A case of a script that writes files. */
interface Case {
  readonly name: string;
  readonly options: Record<string, unknown>;
  /** A part of the message of the refusal, or `null`. */
  readonly refused: string | null;
  /** The file of the elements. */
  readonly elements: string;
  readonly shape: number[];
  readonly dtype: string;
  /** The SHA-256 of each file before it is adopted. */
  readonly checksums: Record<string, string>;
  /** A part of the error of zarr-python, if it cannot read the array. */
  readonly python?: string;
  /** `false` if zarrita does not have the data type. */
  readonly zarrita?: false;
}

async function readBy(store: Store): Promise<[number[], Uint8Array]> {
  const root = zarr.root(withZarrParts(store));
  const array = await zarr.open(root, { kind: "array" });
  const { data, shape } = await zarr.get(array);
  const { buffer, byteOffset, byteLength } = data as Uint8Array;
  return [shape, new Uint8Array(buffer, byteOffset, byteLength)];
}

async function checksumsOf(
  folder: string,
  names: readonly string[],
): Promise<Record<string, string>> {
  const entries = names.map(async (name) => {
    const bytes = await Deno.readFile(`${folder}/${name}`);
    const digest = await crypto.subtle.digest("SHA-256", bytes);
    return [name, new Uint8Array(digest).toHex()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Copies the plain view of an array into a folder. */
async function storePlain(store: Store, folder: string): Promise<void> {
  const view = plainView(store);
  const plain = new FileSystemStore(folder);
  for await (const key of view.list!("/")) {
    if (!/^\/(?:zarr\.json|c(?:\/.*\d)?)$/.test(key)) continue;
    await plain.set(key, (await view.get(key))!);
  }
}

async function check(
  { adopt, verify }: Format,
  folder: string,
  { name, options, refused, elements, shape, checksums, ...rest }: Case,
): Promise<void> {
  const files = `${folder}/${name}`;
  const store = new FileSystemStore(files);
  if (refused !== null) {
    const before = await Array.fromAsync(store.list());
    await assertRejects(() => adopt(store, "", options), Error, refused);
    assertEquals(await Array.fromAsync(store.list()), before);
    return;
  }
  const { chunks, report } = await adopt(store, "", options);
  assertEquals(await verify(store, ""), {
    files: report.files,
    mismatches: [],
  });
  assertEquals(chunks.metadata.shape, shape);
  if (rest.zarrita !== false) {
    const expected = await Deno.readFile(elements);
    assertEquals(await readBy(store), [shape, expected]);
    const memory = new MemoryStore();
    for await (const key of store.list()) {
      await memory.set(key, (await store.get(key))!);
    }
    const server = serve(storeHandler(memory));
    try {
      const http = new HttpStore(server.url);
      assertEquals(await readBy(http), [shape, expected]);
    } finally {
      await server.close();
    }
  }
  assertEquals(await checksumsOf(files, Object.keys(checksums)), checksums);
  await storePlain(store, `${folder}/plain/${name}`);
}

/** The lines that the page of an array shows for zarr-python. */
async function linesFor(path: string): Promise<string> {
  const document = JSON.parse(await Deno.readTextFile(`${path}/zarr.json`));
  const codecs = innermostCodecs(document.codecs) as { name: string }[];
  const names = codecs.map(({ name }) => name);
  const [lines] = snippetsFor(path, document.shape.length, true, names);
  const isNeeded = names.some((name) => name.startsWith("imagecodecs_"));
  assertEquals(lines!.code.includes("register_codecs()"), isNeeded);
  assertEquals(lines!.note!.includes('"imagecodecs>=2026.5.10'), isNeeded);
  return lines!.code;
}

/**
 * Runs a script that writes files, adopts the files of each of its cases, and compares
 * what zarrita and zarr-python read with the elements that the script wrote. Files stay
 * as they are, and no file is added where the files are refused.
 */
export async function assertAdopted(
  python: string,
  script: string,
  format: Format,
): Promise<void> {
  await inTempDir(async (folder) => {
    await runScript(python, script, folder);
    const cases: Case[] = JSON.parse(
      await Deno.readTextFile(`${folder}/cases.json`),
    );
    const wrong: string[] = [];
    for (const each of cases) {
      await check(format, folder, each).catch((error) => {
        wrong.push(`${each.name}: ${error.message.slice(0, 400)}`);
      });
    }
    assertEquals(wrong, []);
    const adopted = cases.filter(({ refused }) => refused === null);
    const read = await Promise.all(adopted.map(async (each) => {
      const path = `${folder}/plain/${each.name}`;
      return { ...each, path, code: await linesFor(path) };
    }));
    assert(read.length >= format.least, `${read.length} cases`);
    const list = `${folder}/read.json`;
    await Deno.writeTextFile(list, JSON.stringify(read));
    await runScript(python, "read_adopted.py", list);
  });
}
