import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { createArrayChunks, MemoryStore } from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { concatParts } from "../support/metadata.ts";
import { stepped } from "../support/stepped_store.ts";
import {
  openIn,
  readAnew,
  row,
  shardedMetadata,
  shardedStore,
  squareShards,
} from "./sharded_array.ts";

registerCodecs(zarr.registry);

const IN_PARTS = shardedMetadata({
  storage_transformers: [concatParts(
    { key_suffix: ".header", size: 4 },
    { key_suffix: "" },
    { key_suffix: ".index", size: 36 },
  )],
});

/** The array of {@linkcode squareShards}, in which every element is 1. */
async function square() {
  const { stored, array } = await squareShards();
  await setSharded(zarr, array, null, 1);
  return { stored, array };
}

Deno.test("setSharded rejects elements of another type or shape, and stores nothing", async () => {
  const { stored, array } = await square();
  const before = await contentsOf(stored);
  const data = countingBytes(24);
  const chunk = { data, shape: [4, 6], stride: [6, 1] };
  for (
    const [value, ErrorClass, message] of [
      [{ ...chunk, shape: [4, 4] }, RangeError, "found [4, 4]"],
      [{ ...chunk, shape: [6, 4] }, RangeError, "[4, 6]"],
      [{ ...chunk, shape: [24] }, RangeError, "found [24]"],
      [{ ...chunk, stride: [1] }, RangeError, "stride"],
      [{ ...chunk, stride: undefined }, RangeError, "stride"],
      [{ ...chunk, stride: [7, 1] }, RangeError, "at least 27 elements"],
      [{ ...chunk, stride: [-6, 1] }, RangeError, "elements"],
      [new Float64Array(24), TypeError, "in a Uint8Array, found Float64Array"],
      [new Int8Array(24), TypeError, "found Int8Array"],
      [Array.from(data), TypeError, "found Array"],
      [data.buffer, RangeError, "Expected 24 elements"],
      [{ ...chunk, data: new Float32Array(24) }, TypeError, "Float32Array"],
      ["7", TypeError, 'to be a number, found "7"'],
      [7n, TypeError, "to be a number"],
      [true, TypeError, "to be a number"],
      [undefined, TypeError, "to be a number"],
      [null, TypeError, "to be a number"],
      [() => 7, TypeError, "to be a number"],
    ] as const
  ) {
    await assertRejects(
      () => setSharded(zarr, array, null, value as never),
      ErrorClass,
      message,
    );
  }
  assertEquals(await contentsOf(stored), before);
});

Deno.test("setSharded rejects a selection outside of the array, and stores nothing", async () => {
  const { stored, array } = await square();
  const before = await contentsOf(stored);
  const slice = (start: unknown, stop: unknown, step: unknown = null) => [
    null,
    { start, stop, step },
  ];
  for (
    const selection of [
      ...[[], [null], [null, null, null], "..", 0, zarr.slice(2), undefined],
      ...[[4, null], [-5, null], [0.5, null], [NaN, null], ["1", null]],
      ...[slice(0, 2, 0), slice(0, 2, -1), slice(0.5, 2), slice(NaN, 2)],
      ...[slice("0", 2), [undefined, null], [{}, null], [[0, 2], null]],
    ]
  ) {
    const error = await assertRejects(() =>
      setSharded(zarr, array, selection as never, 9)
    );
    assertEquals(
      error instanceof TypeError || error instanceof RangeError,
      true,
      `${JSON.stringify(selection)}: ${error}`,
    );
  }
  assertEquals(await contentsOf(stored), before);
  await setSharded(zarr, array, [-1, zarr.slice(-2, 6)], 9);
  assertEquals(
    (await zarr.get(array, [3, null])).data,
    [1, 1, 1, 1, 9, 9]
      .reduce((row, element, i) => (row[i] = element, row), new Uint8Array(6)),
  );
});

Deno.test("setSharded and zarr.set keep a header, and write zeros for it in a new shard", async () => {
  const stored = new MemoryStore();
  await createArrayChunks(stored, "", IN_PARTS);
  const array = await openIn(stored);
  const header = async () => Array.from((await stored.get("/c/0.header"))!);
  await zarr.set(array, [zarr.slice(0, 2)], 5);
  assertEquals(await header(), [0, 0, 0, 0]);
  await setSharded(zarr, array, null, 6);
  assertEquals(await header(), [0, 0, 0, 0]);
  await stored.set("/c/0.header", Uint8Array.of(1, 2, 3, 4));
  await setSharded(zarr, array, null, 7);
  assertEquals(await header(), [1, 2, 3, 4]);
  await setSharded(zarr, array, [1], 8);
  await zarr.set(array, null, 9);
  assertEquals(await header(), [1, 2, 3, 4]);
  const prefix = Uint8Array.of(9, 9, 9, 9);
  await setSharded(zarr, array, null, 7, { prefix });
  assertEquals(await header(), [9, 9, 9, 9]);
  assertEquals(await readAnew(stored), new Array(12).fill(7));
});

Deno.test("setSharded loses no element of concurrent calls that change one inner chunk", async () => {
  const stored = await shardedStore();
  const array = await openIn(stored);
  const numbers = Array.from({ length: 12 }, (_, i) => 50 + i);
  await Promise.all(
    numbers.map((number, i) => setSharded(zarr, array, [i], number)),
  );
  assertEquals(await readAnew(stored), numbers);
});

Deno.test("setSharded that is aborted does not wait for a stalled store or for other writers", async () => {
  const stored = await shardedStore();
  const { promise: stalled, resolve: goOn } = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const store = stepped(stored, (step, isDone) => {
    if (!step.startsWith("set") || isDone) return;
    began.resolve();
    return stalled;
  });
  const array = await openIn(store);
  const first = setSharded(zarr, array, null, row(...new Array(12).fill(1)));
  await began.promise;
  const reason = new Error("Enough");
  const controller = new AbortController();
  const { signal } = controller;
  const second = setSharded(zarr, array, null, 2, { signal });
  controller.abort(reason);
  assertEquals(await assertRejects(() => second), reason);
  goOn();
  await first;
  assertEquals(await readAnew(stored), new Array(12).fill(1));
});
