import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import type { StoreKey } from "../../mod.ts";
import type { Case, Subject } from "./conformance.ts";
import { HOSTILE_KEYS, listed, streamOf } from "./store_values.ts";

const KEY = "/c/0/1";

export const writingCases: readonly Case[] = [
  {
    name: "set does not keep the caller's memory",
    needs: ["set"],
    async run({ store, value }) {
      const memory = new Uint8Array(value(9).length + 20);
      const bytes = memory.subarray(10, -10);
      bytes.set(value(9));
      await store.set!(KEY, bytes);
      memory.fill(99);
      assertEquals(await store.get(KEY), value(9));
    },
  },
  {
    name: "set of a stream that fails half-way keeps the earlier value",
    needs: ["set", "stream"],
    async run(subject) {
      const { store, value } = subject;
      await unchanged(subject, async (key) => {
        const failure = new Error("the source broke");
        const chunks = [value(70_001)];
        const broken = new ReadableStream<Uint8Array>({
          pull(controller) {
            const chunk = chunks.pop();
            if (chunk) controller.enqueue(chunk);
            else controller.error(failure);
          },
        });
        assertStrictEquals(
          await assertRejects(() => store.set!(key, broken)),
          failure,
        );
      });
    },
  },
  {
    name: "set with an aborted signal changes nothing and cancels the stream",
    needs: ["set"],
    async run(subject) {
      const { store, value } = subject;
      const reason = new Error("never mind");
      const signal = AbortSignal.abort(reason);
      await unchanged(subject, async (key) => {
        assertStrictEquals(
          await assertRejects(() => store.set!(key, value(9), { signal })),
          reason,
        );
        if (store.stream === undefined) return;
        const { stream, cancelled } = endless(value(9));
        assertStrictEquals(
          await assertRejects(() => store.set!(key, stream, { signal })),
          reason,
        );
        assertStrictEquals(await cancelled, reason);
      });
    },
  },
  {
    name: "set that is aborted half-way keeps the earlier value",
    needs: ["set", "stream"],
    async run(subject) {
      const { store, value } = subject;
      await unchanged(subject, async (key) => {
        const controller = new AbortController();
        const { stream, cancelled, reached } = endless(value(70_001));
        const setting = store.set!(key, stream, { signal: controller.signal });
        await reached;
        const reason = new Error("enough");
        controller.abort(reason);
        assertStrictEquals(await assertRejects(() => setting), reason);
        assertStrictEquals(await cancelled, reason);
      });
    },
  },
  {
    name: "of concurrent sets of one key, one whole value is stored",
    needs: ["set"],
    async run({ store, value }) {
      const values = Array.from(
        { length: 8 },
        (_, i) => value(100_000 * (i % 3) + i, i),
      );
      await Promise.all(
        values.map((bytes, i) =>
          store.set!(KEY, i % 2 && store.stream ? streamOf(bytes) : bytes)
        ),
      );
      const stays = await store.get(KEY);
      const same = values.filter((bytes) => bytes.length === stays?.length);
      assertEquals(same.length, 1);
      assertEquals(stays, same[0]);
      if (store.list) assertEquals(await listed(store), [KEY]);
    },
  },
  {
    name: "set rejects an invalid key, and writes nothing",
    needs: ["set"],
    async run({ store, value }) {
      for (const key of HOSTILE_KEYS) {
        await assertRejects(
          () => store.set!(key, value(3)),
          RangeError,
          JSON.stringify(key),
        );
        if (store.stream === undefined) continue;
        const { stream, cancelled } = endless(value(3));
        const error = await assertRejects(
          () => store.set!(key, stream),
          RangeError,
        );
        assertStrictEquals(await cancelled, error);
      }
      if (store.list) assertEquals(await listed(store), []);
    },
  },
  {
    name: "set rejects values other than bytes and streams",
    needs: ["set", "stream"],
    async run(subject) {
      await unchanged(subject, async (key) => {
        for (const wrong of ["abc", new ArrayBuffer(3), [1, 2], undefined]) {
          await assertRejects(
            () => subject.store.set!(key, wrong as unknown as Uint8Array),
            TypeError,
          );
        }
      });
    },
  },
  {
    name: "delete rejects aborted signals and invalid keys",
    needs: ["set", "delete"],
    async run(subject) {
      const { store } = subject;
      await unchanged(subject, async (key) => {
        const reason = new Error("never mind");
        const signal = AbortSignal.abort(reason);
        assertStrictEquals(
          await assertRejects(async () => {
            await store.delete!(key, { signal });
          }),
          reason,
        );
        for (const hostile of HOSTILE_KEYS) {
          await assertRejects(
            async () => {
              await store.delete!(hostile);
            },
            RangeError,
            JSON.stringify(hostile),
          );
        }
      });
    },
  },
  {
    name: "list allows the deletion of returned keys",
    needs: ["list", "set", "delete"],
    async run({ store, value }) {
      const keys = [0, 1, 2, 3].map((i) => `/c/${i % 2}/${i}` as const);
      for (const key of keys) await store.set!(key, value(1));
      for await (const key of store.list!("/c/1/")) await store.delete!(key);
      assertEquals(await listed(store), ["/c/0/0", "/c/0/2"]);
    },
  },
  {
    name: "list rejects with the reason of the signal",
    needs: ["list"],
    async run({ store, fill, value }) {
      await fill("/c/0/0", value(1));
      await fill("/c/0/1", value(1));
      const reason = new Error("enough");
      const before = AbortSignal.abort(reason);
      const meanwhile = new AbortController();
      let given = 0;
      for (const signal of [before, meanwhile.signal]) {
        assertStrictEquals(
          await assertRejects(async () => {
            for await (const _ of store.list!("/c/", { signal })) {
              given++;
              meanwhile.abort(reason);
            }
          }),
          reason,
        );
      }
      assertEquals(given, 1);
    },
  },
  {
    name: "list rejects a prefix that no key can start with",
    needs: ["list"],
    async run({ store }) {
      for (
        const prefix of ["", "c/", "//", "/../", "/a/./b", "/a\\", "/a\u0000"]
      ) {
        await assertRejects(
          () => Array.fromAsync(store.list!(prefix as StoreKey)),
          RangeError,
          JSON.stringify(prefix),
        );
      }
    },
  },
];

/** Runs something that must change neither a present value nor an absent one. */
export async function unchanged(
  { store, fill, value }: Subject,
  run: (key: StoreKey) => Promise<void>,
): Promise<void> {
  await fill(KEY, value(5));
  await run(KEY);
  assertEquals(await store.get(KEY), value(5));
  await run("/c/0/2");
  await run("/new/c/0/2");
  assertEquals(await store.get("/c/0/2"), undefined);
  assertEquals(await store.get("/new/c/0/2"), undefined);
  if (store.list) assertEquals(await listed(store), [KEY]);
}

/** A stream of one chunk that then neither goes on nor ends. */
function endless(chunk: Uint8Array): {
  stream: ReadableStream<Uint8Array>;
  /** Resolves to the reason once the stream is cancelled. */
  cancelled: Promise<unknown>;
  /** Resolves once the chunk was taken and more is asked for. */
  reached: Promise<void>;
} {
  const cancelled = Promise.withResolvers<unknown>();
  const reached = Promise.withResolvers<void>();
  let given = false;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!given) {
        given = true;
        return controller.enqueue(chunk);
      }
      reached.resolve();
      return new Promise(() => {});
    },
    cancel: cancelled.resolve,
  }, { highWaterMark: 0 });
  assert(!stream.locked);
  return { stream, cancelled: cancelled.promise, reached: reached.promise };
}
