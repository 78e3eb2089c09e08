import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { writeAll } from "../../src/stores/store.ts";
import { assertSameBytes } from "../splitter/oracle.ts";
import type { Case } from "./conformance.ts";
import { unchanged } from "./conformance_writing.ts";
import { HOSTILE_KEYS, listed } from "./store_values.ts";

const KEY = "/c/0/1";

/** The tests of stores with `writer`. */
export const writerCases: readonly Case[] = [
  {
    name: "writer stores the written bytes only when it is closed",
    needs: ["writer", "list"],
    async run({ store, value }) {
      let earlier: Uint8Array | undefined;
      for (const more of [3, 0, 70_001, 1]) {
        const bytes = value(more, more);
        const writer = await store.writer!(KEY);
        for (const [start, end] of [[0, 1], [1, 40_000], [40_000]]) {
          await writeAll(writer, bytes.subarray(start, end));
          assertEquals(await store.get(KEY), earlier);
          assertEquals(await listed(store), earlier ? [KEY] : []);
        }
        await writer.close();
        assertEquals(await store.get(KEY), bytes);
        assertEquals(await listed(store), [KEY]);
        earlier = bytes;
      }
    },
  },
  {
    name: "writer accepts memory that is reused after each write",
    needs: ["writer"],
    async run({ store, value }) {
      const bytes = value(300_000);
      const memory = new Uint8Array(70_001);
      const writer = await store.writer!(KEY);
      for (let at = 0; at < bytes.length; at += memory.length) {
        const piece = bytes.subarray(at, at + memory.length);
        memory.set(piece);
        await writeAll(writer, memory.subarray(0, piece.length));
        memory.fill(99);
      }
      await writer.close();
      assertSameBytes((await store.get(KEY))!, bytes);
    },
  },
  {
    name: "writer that is aborted, once or twice, keeps the earlier value",
    needs: ["writer"],
    async run(subject) {
      const { store, value } = subject;
      await unchanged(subject, async (key) => {
        for (const bytes of [value(70_001), value(9), new Uint8Array()]) {
          const writer = await store.writer!(key);
          await writeAll(writer, bytes);
          await writer.abort!(new Error("never mind"));
          await writer.abort!(new Error("never mind"));
          // Whether that is an error is not said, but nothing may be stored.
          await Promise.allSettled([writer.close()]);
        }
      });
    },
  },
  {
    name: "writer that was closed keeps its value when it is aborted",
    needs: ["writer"],
    async run({ store, value }) {
      const writer = await store.writer!(KEY);
      await writeAll(writer, value(9));
      await writer.close();
      await writer.abort!(new Error("too late"));
      await writer.abort!(new Error("too late"));
      assertEquals(await store.get(KEY), value(9));
    },
  },
  {
    name: "writer with an aborted signal changes nothing",
    needs: ["writer"],
    async run(subject) {
      const reason = new Error("never mind");
      const signal = AbortSignal.abort(reason);
      await unchanged(subject, async (key) => {
        assertStrictEquals(
          await assertRejects(() => subject.store.writer!(key, { signal })),
          reason,
        );
      });
    },
  },
  {
    name: "writer whose signal aborts neither writes nor stores",
    needs: ["writer"],
    async run(subject) {
      const { store, value } = subject;
      const reason = new Error("enough");
      await unchanged(subject, async (key) => {
        for (const isTried of [true, false]) {
          const controller = new AbortController();
          const { signal } = controller;
          const writer = await store.writer!(key, { signal });
          await writeAll(writer, value(9));
          controller.abort(reason);
          if (isTried) {
            assertStrictEquals(
              await assertRejects(() => writer.write(value(9))),
              reason,
            );
          }
          assertStrictEquals(
            await assertRejects(async () => await writer.close()),
            reason,
          );
          await writer.abort!(reason);
        }
      });
    },
  },
  {
    name:
      "of two writers of one key, the whole value of the last closed one is stored",
    needs: ["writer"],
    async run({ store, value }) {
      const values = [value(70_001, 1), value(9, 2)];
      for (const order of [[0, 1], [1, 0]]) {
        const writers = await Promise.all(
          values.map(() => store.writer!(KEY)),
        );
        for (const half of [0, 1]) {
          for (const [i, bytes] of values.entries()) {
            const middle = bytes.length >> 1;
            await writeAll(
              writers[i]!,
              half ? bytes.subarray(middle) : bytes.subarray(0, middle),
            );
          }
        }
        for (const i of order) {
          await writers[i]!.close();
          assertEquals(await store.get(KEY), values[i]);
        }
      }
    },
  },
  {
    name: "writer and set of one key do not mix, and the later value is stored",
    needs: ["writer", "set"],
    async run({ store, value }) {
      for (const isAborted of [true, false]) {
        const writer = await store.writer!(KEY);
        await writeAll(writer, value(70_001));
        await store.set!(KEY, value(9));
        assertEquals(await store.get(KEY), value(9));
        await (isAborted ? writer.abort!("enough") : writer.close());
        assertEquals(
          await store.get(KEY),
          isAborted ? value(9) : value(70_001),
        );
      }
    },
  },
  {
    name: "writer rejects an invalid key, and writes nothing",
    needs: ["writer", "list"],
    async run({ store }) {
      for (const key of HOSTILE_KEYS) {
        await assertRejects(
          () => store.writer!(key),
          RangeError,
          JSON.stringify(key),
        );
      }
      assertEquals(await listed(store), []);
    },
  },
];
