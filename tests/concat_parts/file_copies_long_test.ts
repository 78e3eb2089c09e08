import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  MissingPartError,
  PartSizeError,
  type StoreKey,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { watchFiles } from "../support/file_spy.ts";
import { treeOf } from "../support/tree.ts";
import { assertSameBytes } from "../splitter/oracle.ts";

const WINDOW = 1024 * 1024;
const KEY = "/c/0";
const HEAD = 300_000;
const TAIL = 270_000;
const LARGE = new ConcatParts([
  { keySuffix: ".h", size: HEAD },
  { keySuffix: "" },
  { keySuffix: ".t", size: TAIL },
]);
const SMALL = new ConcatParts([
  { keySuffix: ".h", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".t", size: 2 },
]);
// More than all windows together.
const CHUNK = countingBytes(5 * WINDOW + 70_001);

function onFiles(
  name: string,
  run: (files: FileSystemStore, root: string) => Promise<void>,
): void {
  Deno.test(`ConcatParts.apply: ${name}`, async () => {
    await inTempDir((root) => run(new FileSystemStore(root), root));
  });
}

async function assertStored(
  files: FileSystemStore,
  key: StoreKey,
  bytes: Uint8Array,
): Promise<void> {
  assertSameBytes((await files.get(key))!, bytes, key);
}

for (const [name, parts] of Object.entries({ LARGE, SMALL })) {
  const pieces = parts.split(CHUNK);
  const sizes = `${name.toLowerCase()} sized parts`;

  onFiles(
    `set takes a file's bytes straight to its ${sizes}`,
    async (files) => {
      await files.set("/whole", CHUNK);
      for (const most of [undefined, 700_001]) {
        const traffic = await watchFiles(async () => {
          await parts.apply(files).set(KEY, (await files.stream("/whole"))!);
        }, most);
        assertEquals(traffic.read, CHUNK.length);
        const journal = traffic.written - CHUNK.length;
        assert(journal > 0 && journal < 1024, `${journal} bytes more`);
        assertEquals(traffic.memory.size, 1);
        // Only bytes that were held back are copied.
        const held = pieces[2]!.length;
        assert(
          traffic.direct >= CHUNK.length - 8 * held,
          `${traffic.direct} bytes were not copied`,
        );
        for (const [i, { keySuffix }] of parts.parts.entries()) {
          await assertStored(files, `${KEY}${keySuffix}`, pieces[i]!);
        }
      }
    },
  );

  onFiles(`stream of ${sizes} goes straight to a file`, async (files, root) => {
    await parts.apply(files).set(KEY, CHUNK);
    for (const most of [undefined, 700_001]) {
      const traffic = await watchFiles(async () => {
        await files.set("/whole", (await parts.apply(files).stream(KEY))!);
      }, most);
      // Small parts were read by `get` before.
      assertEquals(traffic.written, CHUNK.length);
      assertEquals(
        traffic.direct,
        name === "LARGE" ? CHUNK.length : pieces[1]!.length,
      );
      await assertStored(files, "/whole", CHUNK);
    }
    assertEquals(Object.keys(await treeOf(root)), [
      ...["/c", KEY, `${KEY}.h`, `${KEY}.t`],
      "/whole",
    ]);
  });
}

onFiles(
  "a chunk in files is cut in another way, in another folder",
  async (files, root) => {
    const others = new FileSystemStore(`${root}/others`);
    await LARGE.apply(files).set(KEY, CHUNK);
    const to = SMALL.apply(others);
    await to.set(KEY, (await LARGE.apply(files).stream(KEY))!);
    for (const [i, piece] of SMALL.split(CHUNK).entries()) {
      await assertStored(others, `${KEY}${SMALL.parts[i]!.keySuffix}`, piece);
    }
  },
);

/** Damage to the parts before or during a copy. */
const DAMAGES: Record<
  string,
  {
    error: typeof PartSizeError | typeof MissingPartError;
    before?: (root: string) => Promise<void>;
    meanwhile?: (root: string) => Promise<void>;
  }
> = {};
for (const [suffix, size] of [["h", HEAD], ["t", TAIL]] as const) {
  const path = `${KEY}.${suffix}`;
  for (const by of [-1, 1]) {
    DAMAGES[`of which ${path} is ${by > 0 ? "longer" : "shorter"} by a byte`] =
      {
        error: PartSizeError,
        before: (root) => Deno.truncate(root + path, size + by),
      };
  }
  DAMAGES[`of which ${path} is cut short during the copy`] = {
    error: PartSizeError,
    meanwhile: (root) => Deno.truncate(root + path, size - 1),
  };
}
for (const suffix of ["", ".h", ".t"]) {
  DAMAGES[`that lacks ${KEY}${suffix}`] = {
    error: MissingPartError,
    before: (root) => Deno.remove(`${root}${KEY}${suffix}`),
  };
}

for (const [what, { error, before, meanwhile }] of Object.entries(DAMAGES)) {
  onFiles(`a chunk ${what} is not copied`, async (files, root) => {
    const composed = LARGE.apply(files);
    await composed.set(KEY, CHUNK);
    await files.set("/whole", countingBytes(9));
    await SMALL.apply(files).set("/d/0", countingBytes(9));
    await before?.(root);
    const tree = await smallFiles(root);
    for (
      const copy of [
        (stream: ReadableStream<Uint8Array>) => files.set("/whole", stream),
        (stream: ReadableStream<Uint8Array>) =>
          SMALL.apply(files).set("/d/0", stream),
      ]
    ) {
      const found = await composed.stream(KEY).then(async (stream) => {
        await meanwhile?.(root);
        await copy(stream!);
      }).catch((found) => found);
      assert(found instanceof error, `${found}`);
      assertEquals(await smallFiles(root), tree);
    }
  });
}

/** All files and folders, with the bytes of small files. */
async function smallFiles(root: string): Promise<Record<string, unknown>> {
  const tree: Record<string, unknown> = await treeOf(root);
  for (const [path, bytes] of Object.entries(tree)) {
    // Parts may be cut short by the test.
    if (path.startsWith("/c/")) tree[path] = "part";
    else assert(bytes === "folder" || (bytes as number[]).length < 100);
  }
  return tree;
}

onFiles(
  "set of a file that does not fit closes it, and the earlier chunk stays",
  async (files, root) => {
    await SMALL.apply(files).set(KEY, countingBytes(9));
    const tree = await treeOf(root);
    await files.set("/whole", countingBytes(4));
    const found = await SMALL.apply(files)
      .set(KEY, (await files.stream("/whole"))!).catch((error) => error);
    assert(found instanceof PartSizeError);
    assertStrictEquals(found.actual, 4);
    await files.delete("/whole");
    assertEquals(await treeOf(root), tree);
  },
);
