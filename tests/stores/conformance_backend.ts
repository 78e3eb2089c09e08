/** The methods of `Backend`, which every store of this package has, and the adapter of all others. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Backend, Snapshot, StoreKey } from "../../mod.ts";
import type { Case, Subject } from "./conformance.ts";
import { readAll } from "./store_values.ts";
import { sliced } from "./sliced.ts";

const KEY = "/c/0/1";

/** Keys of values that are written together. */
const keys: StoreKey[] = [KEY, "/c/0/11"];

const writing = ["set", "delete"] as const;

function readValues(
  backend: Backend,
  keys: readonly StoreKey[],
): Promise<(Uint8Array | undefined)[]> {
  return backend.read(
    keys,
    (values) => Promise.all(keys.map((key) => values.read(key))),
  );
}

async function commit(
  subject: Subject,
  more: number,
  check?: (values: Snapshot) => Promise<void>,
): Promise<void> {
  const pending = await subject.backend.prepare!(keys);
  try {
    for (const key of keys) await pending.set(key, subject.value(more));
    await pending.commit(check);
  } catch (error) {
    await pending.abort(error);
    throw error;
  }
}

export const backendCases: readonly Case[] = [
  {
    name:
      "a snapshot tells values, ranges, streams and sizes, and what is absent",
    needs: ["get"],
    async run(subject) {
      const { backend, fill, value } = subject;
      const bytes = value(70_001);
      await fill(KEY, bytes);
      const absent: StoreKey = "/c/0/2";
      await backend.read([KEY], async (values) => {
        for (
          const range of [
            { offset: 1, length: 2 },
            { offset: bytes.length - 1, length: 9 },
            { offset: bytes.length, length: 1 },
            { offset: 7, length: 66_000 },
            { offset: 0, length: 0 },
            { suffixLength: 5 },
          ]
        ) {
          const expected = sliced(bytes, range);
          assertEquals(await values.read(KEY, range), expected);
          assertEquals(
            await readAll(await values.stream(KEY, range)),
            expected,
          );
        }
        assertEquals(await values.size(KEY), bytes.length);
        const range = (await values.read(KEY, { offset: 1, length: 9 }))!;
        const read = (await values.read(KEY))!;
        const again = (await values.read(KEY))!;
        assertEquals([read, range], [bytes, bytes.slice(1, 10)]);
        read.fill(99); // It belongs to the caller.
        assertEquals(again, bytes);
        assertEquals(await readAll(await values.stream(KEY)), bytes);
        values.version(KEY)?.release();
      });
      await backend.read([absent], async (values) => {
        assertEquals(await values.size(absent), undefined);
        assertEquals(await values.read(absent), undefined);
        assertEquals(await values.stream(absent), undefined);
        assertEquals(values.version(absent), undefined);
      });
    },
  },
  {
    name:
      "a snapshot passes on the error of its task, and the reason of a signal",
    needs: ["get"],
    async run({ backend, fill, value }) {
      await fill(KEY, value(3));
      const failure = new Error("The checksum is wrong");
      const failing = backend.read([KEY], async (values) => {
        await values.read(KEY);
        throw failure;
      });
      assertEquals(await assertRejects(() => failing), failure);
      const signal = AbortSignal.abort(failure);
      const aborted = backend.read([KEY], (values) => values.read(KEY), {
        signal,
      });
      assertEquals(await assertRejects(() => aborted), failure);
    },
  },
  {
    name:
      "readOf reads the value of a version, and nothing once it has changed",
    needs: ["get"],
    async run({ backend, fill, value }) {
      if (backend.readOf === undefined) return;
      const range = { offset: 1, length: 2 };
      for (const changed of [value(9, 7), value(12)]) {
        await fill(KEY, value(9));
        const version = await backend.read([KEY], async (values) => {
          await values.read(KEY);
          return values.version(KEY);
        });
        // A web server may send nothing that tells versions apart, and other stores do not
        // notice what is changed behind them.
        if (version === undefined || version.ownChangesOnly) return;
        try {
          const read = () => backend.readOf!(version, KEY, range);
          const bytes = (await read())!;
          assertEquals(bytes, value(9).slice(1, 3));
          bytes.fill(99);
          assertEquals(await read(), value(9).slice(1, 3));
          const nothing = { offset: 0, length: 0 };
          const empty = await backend.readOf!(version, KEY, nothing);
          assertEquals(empty?.length, 0);
          const other = await backend.readOf!(version, "/c/0/2", range);
          assertEquals(other, undefined);
          await fill(KEY, changed);
          assertEquals(await read(), undefined);
          const gone = await backend.readOf!(version, KEY, nothing);
          assertEquals(gone, undefined);
        } finally {
          version.release();
        }
      }
    },
  },
  {
    name:
      "prepared values are in place once they are committed, and not before",
    needs: writing,
    async run(subject) {
      const { backend, value } = subject;
      for (const [round, how] of ["set", "writer"].entries()) {
        const before = await readValues(backend, keys);
        const pending = await backend.prepare!(keys);
        for (const key of keys) {
          const bytes = value(20 + round);
          if (how === "set") {
            await pending.set(key, bytes);
            bytes.fill(99); // The memory may be used again.
          } else {
            const writer = await pending.writer(key);
            for (let at = 0; at < bytes.length;) {
              at += await writer.write(bytes.subarray(at, at + 9));
            }
            await writer.close();
          }
        }
        assertEquals(await readValues(backend, keys), before);
        await pending.commit();
        await pending.abort(new Error("Too late"));
        const after = await readValues(backend, keys);
        assertEquals(after, keys.map(() => value(20 + round)));
      }
    },
  },
  {
    name: "commit refuses values of which one is not complete",
    needs: writing,
    async run(subject) {
      const { backend, value } = subject;
      await commit(subject, 3);
      const pending = await backend.prepare!(keys);
      await pending.set(keys[1]!, value(9));
      const writer = await pending.writer(keys[0]!);
      await writer.write(value(9));
      await assertRejects(() => pending.commit(), TypeError);
      await pending.abort(new Error("Not complete"));
      assertEquals(await readValues(backend, keys), keys.map(() => value(3)));
    },
  },
  {
    name: "aborted values are given up",
    needs: writing,
    async run(subject) {
      const { backend, value } = subject;
      await commit(subject, 3);
      const pending = await backend.prepare!(keys);
      await pending.set(keys[0]!, value(9));
      await pending.abort(new Error("Enough"));
      await pending.abort(new Error("Again"));
      assertEquals(await readValues(backend, keys), keys.map(() => value(3)));
    },
  },
  {
    name:
      "commit shows the present values to its check, and keeps them if it throws",
    needs: writing,
    async run(subject) {
      const { backend, value } = subject;
      const seen: (Uint8Array | undefined)[] = [];
      const look = async (values: Snapshot) =>
        void seen.push(await values.read(keys.at(-1)!));
      await commit(subject, 3);
      await commit(subject, 4, look);
      const refusal = new Error("Other bytes would be lost");
      const refused = commit(subject, 5, () => Promise.reject(refusal));
      assertEquals(await assertRejects(() => refused), refusal);
      assertEquals(seen.at(-1), value(3));
      assertEquals(await readValues(backend, keys), keys.map(() => value(4)));
    },
  },
  {
    name:
      "update replaces, keeps and deletes values, and keeps them if it fails",
    needs: writing,
    async run(subject) {
      const { backend, value, deletesTogether } = subject;
      const expectValues = async (more: number | undefined) =>
        assertEquals(
          await readValues(backend, keys),
          keys.map(() => more === undefined ? undefined : value(more)),
        );
      await backend.update!(keys, async (values) => {
        assertEquals(await values.read(keys[0]!), undefined);
        return keys.map(() => value(3));
      });
      await expectValues(3);
      await backend.update!(keys, async (values) => {
        assertEquals(await values.size(keys[0]!), value(3).length);
        return "keep";
      });
      await expectValues(3);
      const failure = new Error("Cannot encode");
      const failing = backend.update!(keys, () => Promise.reject(failure));
      assertEquals(await assertRejects(() => failing), failure);
      await expectValues(3);
      const deletions = [
        () => backend.update!(keys, () => Promise.resolve("delete")),
        () => backend.remove!(keys),
      ];
      for (const remove of deletions) {
        if (deletesTogether) {
          await remove();
          await expectValues(undefined);
          await remove();
          await commit(subject, 3);
        } else {
          await assertRejects(remove, TypeError, "ignores If-Match in DELETE");
          await expectValues(3);
        }
      }
    },
  },
  {
    name: "no update is lost, and no reader beside sees two of them",
    needs: writing,
    async run(subject) {
      const { backend, value } = subject;
      const updates = 8;
      const update = () =>
        backend.update!(keys, async (values) => {
          const read = await Promise.all(keys.map((key) => values.read(key)));
          const more = read[0] ? read[0].length - value(0).length : 0;
          assertEquals(read, keys.map(() => read[0] && value(more)));
          return keys.map(() => value(more + 1));
        });
      let isDone = false;
      let reads = 0;
      const reader = async () => {
        do {
          const [first, ...others] = await readValues(backend, keys);
          for (const other of others) assertEquals(other, first);
          reads++;
        } while (!isDone);
      };
      const reading = reader();
      try {
        await Promise.all(Array.from({ length: updates }, update));
      } finally {
        isDone = true;
        await reading;
      }
      assertEquals(
        await readValues(backend, keys),
        keys.map(() => value(updates)),
      );
      assert(reads > 0);
    },
  },
  {
    name:
      "changes reject with the reason of an aborted signal, and change nothing",
    needs: writing,
    async run(subject) {
      const { backend, value } = subject;
      await commit(subject, 3);
      const reason = new Error("Enough");
      const options = { signal: AbortSignal.abort(reason) };
      const changes = [
        async () => {
          const pending = await backend.prepare!(keys, options);
          try {
            for (const key of keys) await pending.set(key, value(9));
            await pending.commit();
          } finally {
            await pending.abort(reason);
          }
        },
        () => backend.remove!(keys, options),
        () =>
          backend.update!(
            keys,
            () => Promise.resolve(keys.map(() => value(9))),
            options,
          ),
      ];
      for (const change of changes) {
        assertEquals(await assertRejects(change), reason);
      }
      assertEquals(await readValues(backend, keys), keys.map(() => value(3)));
    },
  },
];
