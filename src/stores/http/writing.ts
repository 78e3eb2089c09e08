import { assertPiece, assertValue } from "../byte_streams.ts";
import type { KeyLocks } from "../locks.ts";
import { MemoryGroupWriter } from "../memory_store.ts";
import type { Store, StoreGroup, StoreKey, StoreOptions } from "../store.ts";
import type { Requests } from "./exchange.ts";

/** Stores a value by a `PUT` request. */
export async function putValue(
  requests: Requests,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions,
): Promise<void> {
  assertValue(value);
  const source = value instanceof Uint8Array ? undefined : new Source(value);
  try {
    options.signal?.throwIfAborted();
    const answer = await requests.send(key, options, [200, 201, 204], {
      method: "PUT",
      body: source?.stream ?? value as Uint8Array<ArrayBuffer>,
    });
    await answer!.cancel();
  } catch (error) {
    await source?.cancel(error);
    options.signal?.throwIfAborted();
    throw source?.hasFailed ? source.error : error;
  }
}

/** Removes a value by a `DELETE` request. */
export async function deleteValue(
  requests: Requests,
  key: StoreKey,
  options: StoreOptions,
): Promise<void> {
  const answer = await requests.send(key, options, [200, 202, 204], {
    method: "DELETE",
  });
  await answer?.cancel();
}

/** A stream that is sent, and its error, which `fetch` hides. */
class Source {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #canceller = new AbortController();
  hasFailed = false;
  error: unknown;

  constructor(stream: ReadableStream<Uint8Array>) {
    const reader = this.#reader = stream.getReader();
    this.stream = new ReadableStream({
      pull: async (controller) => {
        try {
          const { value, done } = await reader.read();
          // A cancelled source seems to end, and the server would store its beginning.
          this.#canceller.signal.throwIfAborted();
          if (done) return controller.close();
          assertPiece(value);
          controller.enqueue(value as Uint8Array<ArrayBuffer>);
        } catch (error) {
          this.hasFailed = true;
          this.error = error;
          await reader.cancel(error).catch(() => {});
          throw error;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    }, { highWaterMark: 0 });
  }

  /** Cancels what is left of the stream, so that its writer does not wait for ever. */
  async cancel(reason: unknown): Promise<void> {
    this.#canceller.abort(reason);
    await this.#reader.cancel(reason).catch(() => {});
  }
}

/** Returns a group whose values are written only if there is one. */
export function writableGroup(
  store: Store,
  locks: KeyLocks,
  key: StoreKey,
  keys: readonly StoreKey[],
  read: StoreGroup["read"],
): StoreGroup {
  const group: StoreGroup = {
    read,
    // deno-lint-ignore require-await -- so that errors are rejections
    async write(options = {}) {
      assertOne(store, key, keys);
      options.signal?.throwIfAborted();
      return new MemoryGroupWriter(keys, options.signal, async (given) => {
        for (const [key, bytes] of given) {
          await store.set!(key, bytes, options);
        }
      });
    },
    async delete(options) {
      assertOne(store, key, keys);
      for (const key of keys) await store.delete!(key, options);
    },
    lock: (task, options) =>
      locks.write(key, () => {
        options?.signal?.throwIfAborted();
        return task(group);
      }),
  };
  return group;
}

function assertOne(
  store: Store,
  key: StoreKey,
  keys: readonly StoreKey[],
): void {
  if (keys.length <= 1) return;
  throw new TypeError(
    `Cannot change chunk ${JSON.stringify(key)} of several objects in ${
      String(store)
    }: over HTTP, readers could get the parts of two writes; write to the folder of the server by FileSystemStore, or to a bucket by S3Store`,
  );
}
