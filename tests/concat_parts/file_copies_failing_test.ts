import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import {
  ConcatParts,
  concatStream,
  FileSystemStore,
  PartSizeError,
} from "../../mod.ts";
import { inTempDir, replaced } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { observedStream, piecesOf } from "../support/observed_stream.ts";
import { TOUCHES } from "../support/touched_stream.ts";
import { treeOf } from "../support/tree.ts";
import { settle } from "../splitter/probes.ts";
import { assertSameBytes } from "../splitter/oracle.ts";

const KEY = "/c/0";
const HEAD = 300_000;
const PARTS = new ConcatParts([
  { keySuffix: ".h", size: HEAD },
  { keySuffix: "" },
  { keySuffix: ".t", size: 2 },
]);
const CHUNK = countingBytes(HEAD + 200_003);
const EARLIER = countingBytes(9);

/** Runs a test with files of a chunk in parts, and of an earlier copy. */
function onCopies(
  name: string,
  run: (files: FileSystemStore, root: string) => Promise<void>,
): void {
  Deno.test(`FileSystemStore.set ${name}`, async () => {
    await inTempDir(async (root) => {
      const files = new FileSystemStore(root);
      await PARTS.apply(files).set(KEY, CHUNK);
      await files.set("/copy", EARLIER);
      await run(files, root);
      assertEquals(Object.keys(await treeOf(root)), [
        ...["/c", KEY, `${KEY}.h`, `${KEY}.t`],
        "/copy",
      ]);
    });
  });
}

for (const [what, touch] of Object.entries(TOUCHES)) {
  onCopies(
    `of a chunk's stream that was ${what} stores the rest`,
    async (files) => {
      const stream = (await PARTS.apply(files).stream(KEY))!;
      const start = await touch(stream);
      await settle();
      await files.set("/copy", stream);
      assertSameBytes((await files.get("/copy"))!, CHUNK.slice(start));
    },
  );
}

onCopies(
  "of a chunk's stream that had failed rejects with its error",
  async (files, root) => {
    await Deno.truncate(`${root}${KEY}.h`, HEAD - 1);
    const stream = (await PARTS.apply(files).stream(KEY))!;
    const error = await assertRejects(async () => {
      for await (const _ of stream.values({ preventCancel: true }));
    }, PartSizeError);
    assertStrictEquals(
      await files.set("/copy", stream).catch((error) => error),
      error,
    );
    assertEquals(await files.get("/copy"), EARLIER);
  },
);

onCopies(
  "refuses a chunk's stream that another reader reads",
  async (files) => {
    const stream = (await PARTS.apply(files).stream(KEY))!;
    const reader = stream.getReader();
    await assertRejects(() => files.set("/copy", stream), TypeError);
    assertEquals(await files.get("/copy"), EARLIER);
    await reader.cancel();
  },
);

onCopies("that cannot open a file closes the parts", async (files) => {
  const stream = (await PARTS.apply(files).stream(KEY))!;
  const failure = new Error("disk full");
  const { openSync } = Deno;
  await replaced("openSync", (path, options) => {
    if (options?.write) throw failure;
    return openSync(path, options);
  }, async () => {
    assertStrictEquals(
      await files.set("/copy", stream).catch((error) => error),
      failure,
    );
  });
  assertEquals(await files.get("/copy"), EARLIER);
});

/** Runs something while `act` is called before each write to a file. */
async function beforeWrites(
  act: (count: number) => void,
  run: () => Promise<void>,
): Promise<void> {
  const { write, writeSync } = Deno.FsFile.prototype;
  let count = 0;
  Deno.FsFile.prototype.write = async function (bytes) {
    act(++count);
    return await write.call(this, bytes);
  };
  Deno.FsFile.prototype.writeSync = function (bytes) {
    act(++count);
    return writeSync.call(this, bytes);
  };
  try {
    await run();
  } finally {
    Object.assign(Deno.FsFile.prototype, { write, writeSync });
  }
}

for (const at of [1, 2]) {
  onCopies(
    `of a chunk's stream whose write ${at} fails leaves the earlier value`,
    async (files) => {
      const failure = new Error("disk full");
      await beforeWrites((count) => {
        if (count === at) throw failure;
      }, async () => {
        const stream = (await PARTS.apply(files).stream(KEY))!;
        assertStrictEquals(
          await files.set("/copy", stream).catch((error) => error),
          failure,
        );
      });
      assertEquals(await files.get("/copy"), EARLIER);
    },
  );

  for (const whose of ["its own", "the stream's"]) {
    onCopies(
      `of a chunk's stream that is aborted by ${whose} signal at write ${at} leaves the earlier value`,
      async (files) => {
        const controller = new AbortController();
        const reason = new Error("Enough");
        const { signal } = controller;
        const [reading, writing] = whose === "its own"
          ? [{}, { signal }]
          : [{ signal }, {}];
        await beforeWrites((count) => {
          if (count === at) controller.abort(reason);
        }, async () => {
          const stream = (await PARTS.apply(files).stream(KEY, reading))!;
          assertStrictEquals(
            await files.set("/copy", stream, writing).catch((error) => error),
            reason,
          );
        });
        assertEquals(await files.get("/copy"), EARLIER);
      },
    );
  }
}

onCopies(
  "of joined parts cancels the one that is read when it is aborted",
  async (files) => {
    const waits = Promise.withResolvers<void>();
    const { stream, fate } = observedStream(
      piecesOf(countingBytes(9), 2),
      waits.resolve,
    );
    const controller = new AbortController();
    const parts = new ConcatParts([{ keySuffix: "" }]);
    const setting = files.set("/copy", concatStream(parts, () => stream), {
      signal: controller.signal,
    });
    await waits.promise;
    const reason = new Error("Enough");
    controller.abort(reason);
    assertStrictEquals(await setting.catch((error) => error), reason);
    assertEquals(fate(), { cancelled: reason });
    assertEquals(await files.get("/copy"), EARLIER);
  },
);
