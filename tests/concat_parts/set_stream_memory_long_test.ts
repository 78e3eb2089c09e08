import { assert, assertEquals } from "@std/assert";
import {
  ConcatParts,
  FileSystemStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { watchFiles } from "../support/file_spy.ts";
import { observedStream } from "../support/observed_stream.ts";
import { assertSameBytes, WINDOW } from "../splitter/oracle.ts";
import { settle } from "../splitter/probes.ts";

const PIECE = 64 * 1024;
const MIB = 1024 * 1024;
/** The longest piece of a joined stream. */
const LONGEST_PIECE = MIB;
const SIZE = 64 * MIB;
const TAIL = 300_000;
const KEY = "/c/0";
const PARTS = new ConcatParts([
  { keySuffix: ".h", size: 270_000 },
  { keySuffix: "" },
  { keySuffix: ".t", size: TAIL },
]);

/** Pieces that begin with their place, each in memory of its own. */
function* piecesOfSize(size: number): Generator<Uint8Array> {
  for (let at = 0; at < size; at += PIECE) {
    const piece = new Uint8Array(Math.min(PIECE, size - at)).fill(at / PIECE);
    new DataView(piece.buffer).setUint32(0, at);
    yield piece;
  }
}

/** Sets the long chunk, and returns the most bytes that were read and not yet written. */
async function setLong(files: FileSystemStore): Promise<number> {
  const { stream, pulled } = observedStream(piecesOfSize(SIZE));
  let written = 0;
  let ahead = 0;
  const store: Store = {
    get: (key) => files.get(key),
    set: (key, value) => files.set(key, value),
    async writer(key) {
      const writer = await files.writer(key);
      return {
        async write(bytes) {
          ahead = Math.max(ahead, pulled() - written);
          const count = await writer.write(bytes);
          written += count;
          return count;
        },
        close: () => writer.close(),
        abort: (reason) => writer.abort!(reason),
      };
    },
  };
  await PARTS.apply(store).set!(KEY, stream);
  assertEquals([pulled(), written], [SIZE, SIZE]);
  return ahead;
}

Deno.test("ConcatParts.apply: a long stream is set and read with few pieces in memory", async () => {
  await inTempDir(async (root) => {
    const files = new FileSystemStore(root);
    const ahead = await setLong(files);
    // The tail is held back; one piece is written, one waits, one is read.
    assert(ahead <= TAIL + 3 * PIECE, `${ahead} bytes`);

    const expected = piecesOfSize(SIZE);
    let taken = 0;
    const { read } = await watchFiles(async (traffic) => {
      const whole = new Uint8Array(PIECE);
      let filled = 0;
      for await (const piece of (await PARTS.apply(files).stream(KEY))!) {
        // One piece was read for this turn, one ahead, and small parts at once.
        const ahead = traffic.read - taken;
        assert(ahead <= 2 * LONGEST_PIECE, `${traffic.read} of ${taken}`);
        taken += piece.length;
        for (let at = 0; at < piece.length;) {
          const part = piece.subarray(at, at + PIECE - filled);
          whole.set(part, filled);
          at += part.length;
          filled = (filled + part.length) % PIECE;
          if (filled === 0) assertSameBytes(whole, expected.next().value!);
        }
      }
    });
    assertEquals([read, taken], [SIZE, SIZE]);
  });
});

Deno.test("FileSystemStore.set copies a long chunk in parts with few windows in memory", async () => {
  await inTempDir(async (root) => {
    const files = new FileSystemStore(root);
    await setLong(files);
    const traffic = await watchFiles(async () => {
      await files.set("/copy", (await PARTS.apply(files).stream(KEY))!);
    });
    assertEquals([traffic.read, traffic.written], [SIZE, SIZE]);
    assert(traffic.ahead <= 4 * WINDOW, `${traffic.ahead} bytes`);
    let at = 0;
    using copy = await Deno.open(`${root}/copy`);
    const found = new Uint8Array(PIECE);
    for (const piece of piecesOfSize(SIZE)) {
      for (let filled = 0; filled < PIECE;) {
        filled += (await copy.read(found.subarray(filled)))!;
      }
      assertSameBytes(found, piece, `at ${at}`);
      at += PIECE;
    }
  });
});

Deno.test("ConcatParts.apply: set of a stream waits for a store that takes a stream slowly", async () => {
  let taken = 0;
  const waiting: (() => void)[] = [];
  const { stream, pulled } = observedStream(piecesOfSize(4 * MIB));
  const composed = PARTS.apply<Store>({
    get: () => Promise.resolve(undefined),
    delete: () => Promise.resolve(),
    stream: () => Promise.resolve(undefined),
    async set(_, value) {
      for await (const piece of value as ReadableStream<Uint8Array>) {
        await new Promise<void>((resolve) => waiting.push(resolve));
        taken += piece.length;
      }
    },
  });
  let isDone = false;
  const setting = composed.set!(KEY, stream).finally(() => isDone = true);
  for (let turns = 0; !isDone; turns++) {
    await settle();
    assert(turns < 200 && (isDone || waiting.length > 0), `${taken} bytes`);
    assert(pulled() - taken <= TAIL + 6 * PIECE, `${pulled()} of ${taken}`);
    for (const goOn of waiting.splice(0)) goOn();
  }
  await setting;
  assertEquals([pulled(), taken], [4 * MIB, 4 * MIB]);
});

Deno.test("ConcatParts.apply: set gives stores no memory that is used again", async () => {
  await inTempDir(async (root) => {
    const files = new FileSystemStore(root);
    // Longer than all windows together; a store keeps the pieces until the end.
    const long = countingBytes(5 * MIB + 70_001);
    await files.set("/long", long);
    const composed = PARTS.apply(new MemoryStore());
    await composed.set(KEY, (await files.stream("/long"))!);
    assertSameBytes((await composed.get(KEY))!, long);
  });
});
