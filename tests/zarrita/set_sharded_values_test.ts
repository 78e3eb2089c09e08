import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  MemoryStore,
  type ShardContainer,
  type Store,
} from "../../mod.ts";
import {
  registerCodecs,
  setSharded,
  type SetShardedOptions,
  withZarrParts,
} from "../../zarrita.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { concatParts } from "../support/metadata.ts";
import { observed } from "../support/observed_store.ts";
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
      [
        { ...chunk, data: data.subarray(1) },
        RangeError,
        "at least 24 elements",
      ],
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

registerCodecs(zarr.registry);

Deno.test("setSharded stores no more shards after its signal aborts, and rejects with the reason", async () => {
  const reason = new Error("Enough");
  const stored = await shardedStore();
  const controller = new AbortController();
  let count = 0;
  const store: Store = observed(stored, ({ method }) => {
    if (method === "set" && ++count === 1) controller.abort(reason);
  });
  const partly = await openIn(store);
  const selection = [zarr.slice(2, 10)]; // No whole shard but one.
  const aborted = await assertRejects(() =>
    setSharded(zarr, partly, selection, 7, { signal: controller.signal })
  );
  assertEquals(aborted, reason);
  assert(count < 3, `${count} shards were stored`);
});

registerCodecs(zarr.registry);

const DATA = Uint8Array.from({ length: 12 }, (_, i) => i + 1);
const INDEX = { key_suffix: ".index", size: 36 };

/** A container whose bytes say which shard they belong to. */
function containerOf([shard]: readonly number[]): ShardContainer {
  return {
    head: () => Uint8Array.of(100, shard!),
    before: (place) => Uint8Array.of(200 + place),
    tail: () => Uint8Array.of(101, shard!),
  };
}

/** An array of three shards of two inner chunks of two elements. */
async function created(
  { parts, location = "end" }: {
    parts?: { key_suffix: string; size?: number }[];
    location?: "start" | "end";
  } = {},
) {
  const stored = new MemoryStore();
  const changes = parts
    ? { storage_transformers: [concatParts(...parts)] }
    : {};
  await createArrayChunks(stored, "", shardedMetadata(changes, { location }));
  const array = await zarr.open(withZarrParts(stored), { kind: "array" });
  const write = (
    selection: zarr.Slice[] | null,
    data: Uint8Array,
    options: SetShardedOptions,
  ) => setSharded(zarr, array, selection, data, options);
  const file = async (i: number) => {
    const value = await stored.get(`/c/${i}`);
    return value && [...value];
  };
  return { stored, array, write, file };
}

Deno.test("setSharded writes the container of each shard around its inner chunks", async () => {
  const { array, write, file } = await created({
    parts: [{ key_suffix: "" }, INDEX],
  });
  await write(null, DATA, { container: containerOf });
  assertEquals(await file(0), [100, 0, 200, 1, 2, 201, 3, 4, 101, 0]);
  assertEquals(await file(2), [100, 2, 200, 9, 10, 201, 11, 12, 101, 2]);
  assertEquals((await zarr.get(array, null)).data, DATA);
});

Deno.test("setSharded writes a container whose head fills the head parts, and refuses others", async () => {
  for (const size of [1, 2, 3]) {
    const parts = [{ key_suffix: ".head", size }, { key_suffix: "" }, INDEX];
    const { stored, write, file } = await created({ parts });
    const writing = write(null, DATA, { container: containerOf });
    if (size === 2) {
      await writing;
      assertEquals(await stored.get("/c/1.head"), Uint8Array.of(100, 1));
      assertEquals(await file(1), [200, 5, 6, 201, 7, 8, 101, 1]);
      continue;
    }
    await assertRejects(
      () => writing,
      RangeError,
      `Expected a container with a head of ${size} bytes, as many as the head parts of the array take, found a head of 2 bytes`,
    );
    assertEquals(await file(0), undefined);
  }
});
