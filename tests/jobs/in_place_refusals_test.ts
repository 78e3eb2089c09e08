/** Conversions in place that are refused, and change nothing. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { convert, convertInPlace } from "../../jobs.ts";
import {
  ChunkKeyError,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  MissingPartError,
  PartSizeError,
  type Store,
} from "../../mod.ts";
import type { ConvertInPlaceOptions } from "../../src/jobs/in_place/convert_in_place.ts";
import { tiffContainer } from "../../tiff.ts";
import { FileChanges } from "../../src/stores/mod.ts";
import { encodeJson, groupMetadata, readJson } from "../support/documents.ts";
import {
  assertReadableOrRefused,
  convertedState,
  createExample,
  createGroup,
  disturbed,
  memoryFolder,
  stateOf,
} from "./in_place_support.ts";
import { stride } from "../support/runs.ts";

const INDEX: ConvertInPlaceOptions = { parts: ["", ".index:7"] };

// deno-lint-ignore no-explicit-any -- constructors take different arguments
type ErrorClass = new (...args: any[]) => Error;

/** What is refused: the options, the error, a part of its message, and what differs from an array of chunks in one object. */
type Refusal = [
  options: ConvertInPlaceOptions,
  ErrorClass: ErrorClass,
  message: string,
  example?: {
    /** The layout of the array. */
    readonly from?: ConvertInPlaceOptions;
    /** Changes the array before the conversion. */
    change?(folder: string): Promise<unknown>;
    readonly path?: string;
  },
];

const template = (format: string) => ({
  keyEncoding: { name: "template", configuration: { format } },
});
const put = (path: string) => async (folder: string) => {
  const file = `${folder}/${path}`;
  await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
  await Deno.writeTextFile(file, "{}");
};
const link = (path: string) => async (folder: string) => {
  await Deno.rename(`${folder}/${path}`, `${folder}/moved`);
  await Deno.symlink(`${folder}/moved`, `${folder}/${path}`);
};

const SUFFIX = { suffix: ".x" };
const FOLDERS = template("c/{0}/{1}/x");
const UNFINISHED = ".zarr-parts-unfinished.json";

const REFUSALS: Refusal[] = [
  [
    { container: () => tiffContainer } as ConvertInPlaceOptions,
    TypeError,
    'Unknown option "container" of convertInPlace; known are "keyEncoding"',
  ],
  [{ concurrency: 0 }, RangeError, "from 1, found 0"],
  [{ plain: true, ...SUFFIX }, RangeError, '"plain" and "suffix"'],
  [INDEX, MetadataError, '"/b', { path: "b" }],
  [{ parts: [".head:1", ""] }, RangeError, "all bytes would have to be moved"],
  [
    template("c/{1}/{0}"),
    RangeError,
    "convert twice, first to keys with another suffix",
  ],
  // Keys of other parts.
  [
    { parts: [{ keySuffix: ".index" }, { keySuffix: "", size: 7 }] },
    RangeError,
    "are keys of other objects",
    { from: INDEX },
  ],
  // Another size of a part with the same key.
  [
    { parts: ["", { keySuffix: ".index", size: 6 }] },
    RangeError,
    "are keys of other objects",
    { from: INDEX },
  ],
  [
    { parts: ["", ".index:13"] },
    PartSizeError,
    "is 12 bytes long, where the new parts take 13",
  ],
  [SUFFIX, MissingPartError, ".index", {
    from: INDEX,
    change: (folder) => Deno.remove(`${folder}/c/1/0.index`),
  }],
  [INDEX, Error, "remove it, or choose other keys", {
    change: put("c/1/0.index"),
  }],
  [SUFFIX, Error, '"/c/1/1.x" is no chunk, and would be one', {
    change: put("c/1/1.x"),
  }],
  [{ parts: [] }, Error, '"/c/1/1" is no chunk, and would be one', {
    from: { parts: [".data", ".index:7"] },
    change: put("c/1/1"),
  }],
  [
    FOLDERS,
    RangeError,
    '"/c/1/0" would be both a file and the folder of "/c/1/0/x"',
  ],
  [
    { plain: true },
    RangeError,
    '"/c/1/0" would be both a file and the folder of "/c/1/0/x"',
    { from: FOLDERS },
  ],
  [
    template("d/{0}/{1}"),
    RangeError,
    '"/d" would be both a file and the folder of "/d/',
    { change: put("d") },
  ],
  [
    template("d/{0}/{1}"),
    RangeError,
    '"/d/1/0" would be both a file and the folder of "/d/1/0/readme"',
    { change: put("d/1/0/readme") },
  ],
  [INDEX, Error, "Expected a regular file, found a folder", {
    change: (folder) => Deno.mkdir(`${folder}/c/1/0.index`),
  }],
  [INDEX, Error, "its file has 2 names (hard links)", {
    change: (folder) => Deno.link(`${folder}/c/1/0`, `${folder}/other`),
  }],
  [INDEX, Error, "found a symbolic link", { change: link("c/1/0") }],
  // A file that only gets another name.
  [SUFFIX, Error, "found a symbolic link", { change: link("c/1/0") }],
  [INDEX, Error, '"/c/1" is a symbolic link to a folder', {
    change: link("c/1"),
  }],
  [INDEX, Error, "found a symbolic link", { change: link("zarr.json") }],
  [INDEX, Error, "a conversion to it is unfinished", {
    change: put(UNFINISHED),
  }],
  [INDEX, Error, `"/x/${UNFINISHED}"`, { change: put(`x/${UNFINISHED}`) }],
];

Deno.test("in place, whatever cannot be done safely is refused, and nothing changes", async () => {
  for (const [options, ErrorClass, message, example = {}] of REFUSALS) {
    const { from = {}, change, path = "" } = example;
    const folder = await memoryFolder();
    try {
      const store = new FileSystemStore(folder);
      await createExample(store, from);
      await change?.(folder);
      const before = await stateOf(folder);
      const error = await assertRejects(
        () => convertInPlace({ store, path }, options),
        ErrorClass,
        message,
      );
      assert(!(error instanceof ChunkKeyError));
      assertEquals(await stateOf(folder), before, message);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
});

Deno.test("in place, only file stores are converted", async () => {
  const store = new MemoryStore([["/zarr.json", encodeJson(groupMetadata())]]);
  for (const other of [store, { get: () => store.get("/zarr.json") }]) {
    await assertRejects(
      () => convertInPlace(other as Store, INDEX),
      TypeError,
      "expected a FileSystemStore",
    );
  }
});

Deno.test("in place, files with several names may get other names", async () => {
  const folder = await memoryFolder();
  const store = new FileSystemStore(folder);
  await createExample(store, {});
  await Deno.link(`${folder}/c/1/0`, `${folder}/mine`);
  const bytes = await Deno.readFile(`${folder}/mine`);
  await convertInPlace(store, { suffix: ".x" });
  assertEquals(await Deno.readFile(`${folder}/mine`), bytes);
  assertEquals(await Deno.readFile(`${folder}/c/1/0.x`), bytes);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("in place, other work on the node is refused while a run is at work, and after it was killed", async () => {
  for (const isKilled of [false, true]) {
    const folder = await memoryFolder();
    const store = new FileSystemStore(folder);
    await createGroup(store, INDEX, {});
    const expected = await convertedState(folder, INDEX);
    const target = new FileSystemStore(await memoryFolder());
    const sub = { store, path: "sub" };
    let unlock;
    if (isKilled) {
      const disturbance = { at: 20, kind: "kill" } as const;
      await disturbed(() => convertInPlace(sub, INDEX), { disturbance });
      assert(!await assertReadableOrRefused(folder, "sub/b"));
    } else unlock = await FileChanges.of(store)!.lock("/sub");
    const others: (() => Promise<unknown>)[] = isKilled
      ? [
        () => convertInPlace(store, INDEX),
        () => convertInPlace({ store, path: "sub/b" }, { parts: [] }),
        () => convert(sub, target, INDEX),
        () => convert({ store, path: "a" }, sub, { overwrite: true }),
      ]
      : [() => convertInPlace(sub, INDEX)];
    for (const other of others) await assertRejects(other, Error);
    await unlock?.();
    await convertInPlace(sub, INDEX);
    await convertInPlace(store, INDEX);
    assertEquals(await stateOf(folder), expected);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("in place, changes by another program are noticed, and nothing is cut off of its files", async () => {
  const changes: {
    layout: ConvertInPlaceOptions;
    options: ConvertInPlaceOptions;
    change(folder: string): void;
    message: string;
  }[] = [
    {
      layout: {},
      options: INDEX,
      change: (folder) => Deno.writeTextFileSync(`${folder}/zarr.json`, "{}"),
      message: '"/zarr.json"',
    },
    ...[{ layout: {}, options: INDEX }, {
      layout: INDEX,
      options: { parts: [] },
    }].map((conversion) => ({
      ...conversion,
      change: (folder: string) =>
        Deno.linkSync(`${folder}/c/1/0`, `${folder}/other`),
      message: '"/c/1/0"',
    })),
    {
      layout: INDEX,
      options: { parts: [] },
      change: (folder) => Deno.removeSync(`${folder}/c/1/0`),
      message: '"/c/1/0"',
    },
  ];
  for (const { layout, options, change, message } of changes) {
    const folder = await memoryFolder();
    const store = new FileSystemStore(folder);
    await createExample(store, layout);
    const bytes = await Deno.readFile(`${folder}/c/1/0`);
    let isChanged = false;
    const { error } = await disturbed(
      () => convertInPlace(store, { ...options, concurrency: 1 }),
      {
        before(operation) {
          // All has been checked, and the marker is written.
          if (isChanged || !operation.endsWith("unfinished.json")) return;
          isChanged = true;
          change(folder);
        },
      },
    );
    assertStringIncludes(String(error), "Another program has changed");
    assertStringIncludes(String(error), message);
    const other = await Deno.readFile(`${folder}/other`).catch(() => bytes);
    assertEquals(other, bytes);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("in place, a run that is aborted undoes its work, or is finished by the next", async () => {
  let isOver = false;
  for (let at = 0; !isOver; at += stride(4)) {
    const folder = await memoryFolder();
    const store = new FileSystemStore(folder);
    await createExample(store, INDEX);
    const before = await stateOf(folder);
    const expected = await convertedState(folder, { parts: [] });
    const controller = new AbortController();
    let count = 0;
    const { signal } = controller;
    const { error } = await disturbed(
      () => convertInPlace(store, { parts: [], signal, concurrency: 1 }),
      {
        before: () => {
          if (count++ === at) controller.abort(new Error("aborted"));
        },
      },
    );
    isOver = count <= at;
    if (error !== undefined) {
      assertEquals((error as Error).message, "aborted");
      const state = await stateOf(folder);
      const isLeft = state["/.zarr-parts-unfinished.json"] !== undefined;
      if (!isLeft) assertEquals(state, before, String(at));
      await convertInPlace(store, { parts: [] });
    }
    assertEquals(await stateOf(folder), expected, String(at));
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("in place, groups above get new consolidated metadata, and a store without them cannot finish", async () => {
  const folder = await memoryFolder();
  const store = new FileSystemStore(folder);
  await createGroup(store, {}, INDEX);
  const disturbance = { at: 25, kind: "kill" } as const;
  const options = { parts: [], suffix: ".x" };
  await disturbed(
    () => convertInPlace({ store, path: "sub/b" }, options),
    { disturbance },
  );
  const inner = new FileSystemStore(`${folder}/sub/b`);
  await assertRejects(
    () => convertInPlace(inner, options),
    RangeError,
    "a store that holds that group",
  );
  await convertInPlace({ store, path: "sub/b" }, options);
  const { consolidated_metadata: { metadata } } = await readJson(
    store,
    "/zarr.json",
  );
  assertEquals(metadata["sub/b"], await readJson(store, "/sub/b/zarr.json"));
  assertEquals(metadata["sub/b"].chunk_key_encoding.name, "suffix");
  assertEquals(metadata.a, await readJson(store, "/a/zarr.json"));
  await Deno.remove(folder, { recursive: true });
});

Deno.test("in place, a dry run changes nothing, and says the same as the run", async () => {
  const folder = await memoryFolder();
  const store = new FileSystemStore(folder);
  await createGroup(store, {}, INDEX);
  const before = await stateOf(folder);
  const dry = await convertInPlace(store, { ...INDEX, dryRun: true });
  assertEquals(await stateOf(folder), before);
  // The array at /sub/b has this layout.
  assertEquals(dry.arrays.map(({ path, chunks }) => [path, chunks]), [[
    "a",
    3,
  ]]);
  assertEquals([dry.total, dry.copied, dry.isFinished], [3, 0, false]);
  const progress: number[] = [];
  const real = await convertInPlace(store, {
    ...INDEX,
    onProgress: ({ done, total }) => progress.push(done / total),
  });
  assertEquals(real, { ...dry, copied: 3, bytes: 21, isFinished: true });
  assertEquals(progress, progress.toSorted((a, b) => a - b));
  assertEquals(progress.at(-1), 1);
  const again = await convertInPlace(store, INDEX);
  assertEquals([again.arrays, again.total, again.isFinished], [[], 0, true]);
  await Deno.remove(folder, { recursive: true });
});
