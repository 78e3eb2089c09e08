import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  FileSystemStore,
  MetadataError,
  MissingPartError,
  PartSizeError,
  plainView,
} from "../../mod.ts";
import { getSharded, registerCodecs, withZarrParts } from "../../zarrita.ts";
import { pathOf } from "../docs/pages.ts";
import {
  type DataType,
  elementsOf,
  encodeElements,
} from "../zarrita/elements.ts";
import INDEX from "./index.json" with { type: "json" };

registerCodecs(zarr);

interface Case {
  readonly name: string;
  readonly document: string;
  readonly sentence: string;
  readonly arrays?: readonly {
    readonly path: string;
    readonly shape: readonly number[];
    readonly data_type: string;
    readonly elements: string;
  }[];
  readonly refused?: {
    readonly at: string;
    readonly as: string;
    readonly path?: string;
  };
}

const CASES: readonly Case[] = INDEX.cases;

const CLASSES: Record<string, new (...args: never[]) => Error> = {
  "metadata": MetadataError,
  "missing part": MissingPartError,
  "part size": PartSizeError,
  "damage": Error,
};

type Shown = { get(key: `/${string}`): Promise<Uint8Array | undefined> };
type Opened = zarr.Array<zarr.DataType, Shown>;

/** Reads the other chunks to their end if one is refused, so that a test leaves no file open. */
function createQueue() {
  const reads: Promise<void>[] = [];
  return {
    add(read: () => Promise<void>) {
      reads.push(read());
    },
    async onIdle() {
      await Promise.allSettled(reads);
      return await Promise.all(reads);
    },
  };
}

const get = (array: Opened) => zarr.get(array, null, { createQueue });

/** How an array is shown to zarrita, and read. */
const WAYS: Record<
  string,
  [(store: FileSystemStore) => unknown, (array: Opened) => unknown]
> = {
  "zarrita": [withZarrParts, get],
  "getSharded": [withZarrParts, (array) => getSharded(zarr, array as never)],
  "plainView": [plainView, get],
};

/** What zarrita alone does not do: nested shards, an index at the start, and checks of lengths. */
function isBeyondZarrita({ name, refused }: Case): boolean {
  return ["shards_nested", "shards_index_first"].includes(name) ||
    refused?.as === "damage";
}

for (const test of CASES) {
  const { name, arrays, refused } = test;
  for (const [way, [show, read]] of Object.entries(WAYS)) {
    if (way === "plainView" && isBeyondZarrita(test)) continue;
    Deno.test(`the array ${name} is as the index says, by ${way}`, async () => {
      const folder = pathOf(`tests/conformance/arrays/${name}`);
      const shown = zarr.root(show(new FileSystemStore(folder)) as Shown);
      const open = (path: string) =>
        zarr.open.v3(shown.resolve(path), { kind: "array" });
      for (const { path, shape, data_type, elements } of arrays ?? []) {
        const array = await open(path);
        assertEquals([array.shape, array.dtype], [shape, data_type], path);
        const found = elementsOf(await read(array));
        assertEquals(
          encodeElements(found, data_type as DataType, "little").toHex(),
          elements,
          path,
        );
      }
      if (refused === undefined) return;
      const { at, as, path = "" } = refused;
      const error = await assertRejects(async () => {
        const array = await open(path);
        // A plain view leaves the document as it is, and refuses chunks.
        if (at === "read" || way === "plainView") await read(array);
      }, Error);
      assert(isOrWraps(error, CLASSES[as]!), `${error}`);
    });
  }
}

function isOrWraps(
  error: unknown,
  expected: new (...args: never[]) => Error,
): boolean {
  return error instanceof expected ||
    error instanceof Error && isOrWraps(error.cause, expected);
}

Deno.test("the index names each array of the corpus once, and its sentences are in the documents", async () => {
  const names = CASES.map(({ name }) => name).sort();
  const folder = pathOf("tests/conformance/arrays");
  const stored = await Array.fromAsync(Deno.readDir(folder));
  assertEquals(names, stored.map(({ name }) => name).sort());
  const text = await Deno.readTextFile(pathOf("docs/specification.md"));
  const missing = CASES.filter(({ document, sentence }) =>
    document === "zarr-parts" &&
    !text.replaceAll(/\s+/g, " ").includes(sentence)
  );
  assertEquals(missing, []);
});
