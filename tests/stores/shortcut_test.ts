import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import type { ByteReader } from "../../mod.ts";
import { offerShortcut, takeShortcut } from "../../src/stores/byte_streams.ts";
import { FileSystemStore } from "../../src/stores/file_system/file_system_store.ts";
import { writeAll } from "../../src/stores/store.ts";
import { assertSameBytes } from "../splitter/oracle.ts";
import { settle } from "../splitter/probes.ts";
import { countingBytes } from "../support/bytes.ts";
import { TOUCHES } from "../support/touched_stream.ts";
import { observedBody } from "./http_stub.ts";
import { readAll, streamOf } from "./store_values.ts";
import { filesIn, inTempDir } from "./temp_dir.ts";

const READER: ByteReader = { read: () => Promise.resolve(null) };
const BYTES = countingBytes(300_000);

/** Reads all bytes of a reader, in memory of `size` bytes at a time. */
async function readerBytes(
  reader: ByteReader,
  size: number,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const memory = new Uint8Array(size);
  for (let read; (read = await reader.read(memory)) !== null;) {
    pieces.push(memory.slice(0, read));
  }
  await reader.close?.();
  return new Uint8Array(Buffer.concat(pieces));
}

Deno.test("takeShortcut returns the offered shortcut, and locks the stream", () => {
  const drain = () => Promise.resolve();
  const stream = streamOf(countingBytes(3));
  const shortcut = { reader: READER, drain };
  assertStrictEquals(offerShortcut(stream, shortcut), stream);
  assertEquals(stream.locked, false);
  assertStrictEquals(takeShortcut(stream, "reader"), READER);
  assertEquals(stream.locked, true);
  // A second caller gets no shortcut of either kind.
  assertStrictEquals(takeShortcut(stream, "reader"), undefined);
  assertStrictEquals(takeShortcut(stream, "drain"), undefined);
  const other = offerShortcut(streamOf(), shortcut);
  assertStrictEquals(takeShortcut(other, "drain"), drain);
  assertEquals(other.locked, true);
});

Deno.test("takeShortcut does not lock a stream without such a shortcut", async () => {
  const plain = streamOf(countingBytes(3));
  const other = offerShortcut(streamOf(countingBytes(3)), { reader: READER });
  assertStrictEquals(takeShortcut(plain, "reader"), undefined);
  assertStrictEquals(takeShortcut(other, "drain"), undefined);
  for (const stream of [plain, other]) {
    assertEquals(stream.locked, false);
    assertEquals(await readAll(stream), countingBytes(3));
  }
});

Deno.test("takeShortcut returns nothing for a stream that is locked or partly read", async () => {
  const { stream, cancelled } = observedBody();
  offerShortcut(stream, { reader: READER });
  const reader = stream.getReader();
  assertStrictEquals(takeShortcut(stream, "reader"), undefined);
  assertEquals((await reader.read()).value?.length, 4);
  assertStrictEquals(takeShortcut(stream, "reader"), undefined);
  reader.releaseLock();
  assertStrictEquals(takeShortcut(stream, "reader"), undefined);
  assertEquals([stream.locked, cancelled()], [false, false]);
  const unread = offerShortcut(observedBody().stream, { reader: READER });
  unread.getReader().releaseLock();
  assertStrictEquals(takeShortcut(unread, "reader"), READER);
});

Deno.test("FileSystemStore.stream offers its file as a reader", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/k", BYTES);
    for (const size of [1000, 299_999, 300_000, 300_001]) {
      const stream = (await store.stream("/k"))!;
      const reader = takeShortcut(stream, "reader")!;
      assert(stream.locked);
      assertSameBytes(await readerBytes(reader, size), BYTES);
    }
    const unread = takeShortcut((await store.stream("/k"))!, "reader")!;
    await unread.close!();
  });
});

const FILE_TOUCHES: typeof TOUCHES = {
  ...TOUCHES,
  "read into memory in part": async (stream) => {
    const reader = stream.getReader({ mode: "byob" });
    const { value } = await reader.read(new Uint8Array(10));
    reader.releaseLock();
    return value!.length;
  },
};

for (const [what, touch] of Object.entries(FILE_TOUCHES)) {
  Deno.test(`FileSystemStore.stream that was ${what} returns the rest`, async () => {
    await inTempDir(async (root) => {
      const store = new FileSystemStore(root);
      await store.set("/k", BYTES);
      const stream = (await store.stream("/k"))!;
      const start = await touch(stream);
      await settle();
      // With a shortcut or without.
      const reader = takeShortcut(stream, "reader");
      const rest = reader
        ? await readerBytes(reader, 70_001)
        : new Uint8Array(Buffer.concat(await Array.fromAsync(stream)));
      assertSameBytes(rest, BYTES.slice(start));
    });
  });
}

Deno.test("FileSystemStore.stream with a signal offers no shortcut", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/k", BYTES);
    const { signal } = new AbortController();
    const stream = (await store.stream("/k", { signal }))!;
    assertStrictEquals(takeShortcut(stream, "reader"), undefined);
    assertStrictEquals(takeShortcut(stream, "drain"), undefined);
    assertEquals(await readAll(stream), BYTES);
  });
});

Deno.test("FileSystemStore.set drains a stream that offers draining, and passes its signal", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    const { stream, pulls } = observedBody();
    const { signal } = new AbortController();
    const memory = new Uint8Array(4);
    offerShortcut(stream, {
      async drain(writer, options) {
        assertStrictEquals(options?.signal, signal);
        for (const byte of [1, 2]) {
          await writeAll(writer, memory.fill(byte));
        }
      },
    });
    await store.set("/c/k", stream, { signal });
    assertEquals(pulls(), 0);
    assertEquals(
      await store.get("/c/k"),
      Uint8Array.of(1, 1, 1, 1, 2, 2, 2, 2),
    );
    assertEquals(await filesIn(`${root}/c`), ["k"]);
  });
});

Deno.test("FileSystemStore.set keeps the earlier value if draining fails", async () => {
  await inTempDir(async (root) => {
    const store = new FileSystemStore(root);
    await store.set("/k", BYTES);
    const failure = new Error("the source broke");
    for (const key of ["/k", "/new/k"] as const) {
      const stream = offerShortcut(streamOf(), {
        async drain(writer) {
          await writer.write(countingBytes(3));
          throw failure;
        },
      });
      const result = await store.set(key, stream).catch((error) => error);
      assertStrictEquals(result, failure);
    }
    assertEquals(await filesIn(root), ["k", "new"]);
    assertEquals(await filesIn(`${root}/new`), []);
    assertEquals(await store.get("/k"), BYTES);
  });
});
