import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { ConcatParts } from "../../mod.ts";
import { readAll } from "../stores/store_values.ts";
import { countingBytes } from "../support/bytes.ts";
import { observedStream, piecesOf } from "../support/observed_stream.ts";
import { hasGroups, onStoresBelow } from "./stores_below.ts";
import { assertSameBytes } from "../splitter/oracle.ts";
import { settle } from "../splitter/probes.ts";
import { KEY, PARTS } from "./set_stream.ts";

// Sized parts that are read whole, and as streams.
const SMALL = PARTS;
const LARGE = new ConcatParts([
  { keySuffix: ".h", size: 300_000 },
  { keySuffix: "" },
  { keySuffix: ".t", size: 270_000 },
]);

/** The value of all bytes of a chunk, which must be the same. */
function fillOf(bytes: Uint8Array | undefined): number {
  assert(bytes !== undefined);
  assert(bytes.every((byte) => byte === bytes[0]), `${bytes}`);
  return bytes[0]!;
}

onStoresBelow(
  "a chunk is copied onto itself, also cut in another way",
  async (below) => {
    const store = below.open();
    const chunk = countingBytes(700_000);
    await SMALL.apply(store).set!(KEY, chunk);
    for (const to of [SMALL, LARGE, LARGE, SMALL]) {
      // The size of the head tells which of the two stored the chunk.
      const from = await store.get(`${KEY}.h`).then((head) =>
        head!.length === 3 ? SMALL : LARGE
      );
      const reading = from.apply(store);
      const writing = from === to ? reading : to.apply(store);
      await writing.set!(KEY, (await reading.stream(KEY))!);
      assertSameBytes((await to.apply(store).get(KEY))!, chunk);
    }
  },
);

onStoresBelow(
  "one of several streams that are set at once is stored, and all of its bytes",
  async (below) => {
    const store = below.open();
    const [a, b] = [PARTS.apply(store), PARTS.apply(store)];
    const failure = new Error("Line cut");
    const results = await Promise.allSettled([1, 2, 3, 4, 5, 6].map((i) => {
      const bytes = new Uint8Array(9 + i).fill(i);
      const { stream } = observedStream(
        piecesOf(bytes, i),
        i === 6 ? failure : undefined,
      );
      return (i % 2 ? a : b).set!(KEY, i === 3 ? bytes : stream);
    }));
    assertEquals(results.filter(({ status }) => status === "rejected"), [
      { status: "rejected", reason: failure },
    ]);
    const stays = (await a.get(KEY))!;
    const fill = fillOf(stays);
    assert(fill >= 1 && fill <= 5);
    assertEquals(stays.length, 9 + fill);
  },
);

onStoresBelow(
  "a stream that is set blocks no other operation until all of it has come",
  async (below) => {
    const store = below.open();
    const composed = PARTS.apply(store);
    await composed.set!(KEY, new Uint8Array(9).fill(1));
    const waits = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const slow = async function* () {
      yield new Uint8Array(7).fill(3);
      waits.resolve();
      await goOn.promise;
      yield new Uint8Array(7).fill(3);
    };
    const setting = composed.set!(KEY, ReadableStream.from(slow()));
    await waits.promise;
    const earlier = await composed.stream(KEY);
    assertEquals(fillOf(await composed.get(KEY)), 1);
    await composed.set!(KEY, new Uint8Array(20).fill(2));
    assertEquals(fillOf(await composed.get(KEY)), 2);
    const { stream } = observedStream(piecesOf(new Uint8Array(8).fill(4), 3));
    await PARTS.apply(store).set!(KEY, stream);
    assertEquals(fillOf(await composed.get(KEY)), 4);
    goOn.resolve();
    await setting;
    assertEquals(await composed.get(KEY), new Uint8Array(14).fill(3));
    await earlier!.cancel();
  },
);

onStoresBelow(
  "a read while a stream is set gives the chunk from before or after it",
  async (below, kind) => {
    const reads: Promise<number>[] = [];
    const late: Promise<number>[] = [];
    let isSetting = false;
    const store = below.open(async (step, isDone) => {
      // Reading makes steps itself.
      if (!isSetting || step.startsWith("get ")) return;
      const reader = PARTS.apply(store);
      const streamed = async () => readAll(await reader.stream(KEY));
      const started = [
        reader.get(KEY),
        reader.getRange(KEY, { offset: 2, length: 6 }),
        streamed(),
      ].map((read) => read.then(fillOf));
      if (/^writer? /.test(step)) {
        // Nothing is locked yet: this would wait for itself.
        assertEquals(await Promise.all(started), [1, 1, 1], step);
      } else if (
        hasGroups(kind)
          ? step.startsWith("commit")
          : isDone && step.startsWith("close ")
      ) {
        late.push(...started);
      }
      reads.push(...started);
    });
    const composed = PARTS.apply(store);
    await composed.set!(KEY, new Uint8Array(9).fill(1));
    const { stream } = observedStream(piecesOf(new Uint8Array(11).fill(2), 2));
    isSetting = true;
    await composed.set!(KEY, stream);
    isSetting = false;
    assert(reads.length > 0);
    for (const fill of await Promise.all(reads)) {
      assert(fill === 1 || fill === 2);
    }
    assertEquals(new Set(await Promise.all(late)).has(1), false);
    assertEquals(fillOf(await composed.get(KEY)), 2);
  },
);

onStoresBelow(
  "a stream that is set is stored after earlier reads have finished",
  async (below, kind) => {
    const goOn = Promise.withResolvers<void>();
    const isAsked = Promise.withResolvers<void>();
    let isHeld = false;
    let stored = 0;
    const store = below.open(async (step, isDone) => {
      if (isHeld && /^get .*\.t/.test(step) && !isDone) {
        isHeld = false;
        isAsked.resolve();
        await goOn.promise;
      }
      if (
        hasGroups(kind)
          ? step.startsWith("commit")
          : isDone && /^(set|close) /.test(step)
      ) stored++;
    });
    const composed = PARTS.apply(store);
    await composed.set!(KEY, new Uint8Array(9).fill(1));
    isHeld = true;
    const reading = PARTS.apply(store).get(KEY);
    await isAsked.promise;
    stored = 0;
    const { stream, fate } = observedStream(
      piecesOf(new Uint8Array(11).fill(2), 2),
    );
    const setting = composed.set!(KEY, stream);
    await settle();
    assertEquals(fate(), { ended: true });
    assertStrictEquals(stored, 0);
    goOn.resolve();
    assertEquals(fillOf(await reading), 1);
    await setting;
    assertEquals(fillOf(await composed.get(KEY)), 2);
  },
);
