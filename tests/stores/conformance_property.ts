import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { ByteRange, StoreKey } from "../../mod.ts";
import { writeAll } from "../../src/stores/store.ts";
import type { Case, Subject } from "./conformance.ts";
import { sliced } from "./sliced.ts";
import { listed, readAll, streamOf } from "./store_values.ts";

const key = fc.constantFrom<StoreKey>(
  "/c/0/0",
  "/c/0/1",
  "/c/0/10",
  "/c/1/0",
  "/c/10/0",
  "/x/y/c/0/1",
  "/xy/c/0/0",
);
const length = fc.oneof(
  { weight: 9, arbitrary: fc.nat(30) },
  { weight: 1, arbitrary: fc.constant(70_001) },
);
const count = fc.oneof(
  { weight: 9, arbitrary: fc.nat(40) },
  { weight: 1, arbitrary: fc.maxSafeNat() },
);
const operation = fc.oneof(
  fc.record({
    do: fc.constant("set" as const),
    key,
    more: length,
    first: fc.nat(250),
    how: fc.constantFrom("bytes", "stream", "writer"),
  }),
  fc.record({
    do: fc.constant("delete" as const),
    key: fc.oneof(key, fc.constantFrom<StoreKey>("/c/0/1/0", "/c/7/1")),
  }),
  fc.record({ do: fc.constant("read" as const), key }),
  fc.record({
    do: fc.constant("range" as const),
    key,
    range: fc.oneof(
      fc.record({ offset: count, length: count }),
      fc.record({ suffixLength: count }),
    ) as fc.Arbitrary<ByteRange>,
  }),
  fc.record({
    do: fc.constant("list" as const),
    prefix: fc.constantFrom<StoreKey>(
      ...[
        "/",
        "/c/",
        "/c/0/",
        "/c/0/1",
        "/c/0/1/",
        "/c/0/100",
        "/c/1",
      ] as const,
      ...["/x", "/x/", "/nothing/", "/..c"] as const,
    ),
  }),
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

export const propertyCases: readonly Case[] = [
  {
    name: "any sequence of operations gives the same results as a Map",
    needs: ["get"],
    async run(_, open) {
      await fc.assert(
        fc.asyncProperty(
          fc.array(operation, { maxLength: 20 }),
          async (operations) => {
            const subject = await open();
            try {
              const oracle = new Map<StoreKey, Uint8Array>();
              for (const each of operations) {
                await perform(each, subject, oracle);
              }
              for (const [key, value] of oracle) {
                assertEquals(await subject.store.get(key), value);
              }
            } finally {
              await subject.close?.();
            }
          },
        ),
        { numRuns: 15 },
      );
    },
  },
];

/** Does one operation on the store and on the oracle, and compares the results. */
async function perform(
  operation: Operation,
  { store, fill, value }: Subject,
  oracle: Map<StoreKey, Uint8Array>,
): Promise<void> {
  switch (operation.do) {
    case "set": {
      const { key, more, first, how } = operation;
      const bytes = value(more, first);
      const at = Math.min(first, bytes.length);
      const empty = new Uint8Array();
      const pieces = [empty, bytes.subarray(0, at), empty, bytes.subarray(at)];
      if (store.set === undefined) await fill(key, bytes);
      else if (how === "writer" && store.writer) {
        const writer = await store.writer(key);
        for (const piece of pieces) await writeAll(writer, piece);
        await writer.close();
      } else if (how === "stream" && store.stream) {
        await store.set(key, streamOf(...pieces));
      } else await store.set(key, bytes);
      oracle.set(key, value(more, first));
      break;
    }
    case "delete":
      if (store.delete === undefined) break;
      await store.delete(operation.key);
      oracle.delete(operation.key);
      break;
    case "read": {
      const { key } = operation;
      const expected = oracle.get(key);
      assertEquals(await store.get(key), expected);
      if (store.size) assertEquals(await store.size(key), expected?.length);
      if (store.stream) {
        assertEquals(await readAll(await store.stream(key)), expected);
      }
      break;
    }
    case "range": {
      const { key, range } = operation;
      const expected = oracle.get(key);
      if (store.getRange === undefined) break;
      assertEquals(
        await store.getRange(key, range),
        expected && sliced(expected, range),
      );
      break;
    }
    case "list":
      if (store.list === undefined) break;
      assertEquals(
        await listed(store, operation.prefix),
        [...oracle.keys()].filter((key) => key.startsWith(operation.prefix))
          .sort(),
      );
  }
}
