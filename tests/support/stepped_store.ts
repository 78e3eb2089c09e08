import type { ByteWriter, Store } from "../../mod.ts";
import { ALL_METHODS, observed } from "./observed_store.ts";

/**
 * Is called before a step, such as `"close /c/0"`, and after it if it changes the
 * store. It can fail the step by throwing, and delay it.
 */
export type OnStep = (step: string, isDone: boolean) => void | Promise<void>;

/**
 * Wraps a store and calls `onStep` for the steps of a change: `get`, `set` with
 * each `piece` of a stream, `delete`, `snapshot` with `restore` and `release`,
 * `writer` with `write`, `close` and `abort`. A failing step releases its
 * resources, as the steps of all stores must.
 *
 * @param methods The methods of `store` that the wrapper has.
 */
export function stepped(
  store: Store,
  onStep: OnStep,
  methods: readonly (keyof Store)[] = ALL_METHODS,
): Store {
  const { get, set, delete: remove, snapshot, writer, ...reading } = observed(
    store,
    () => {},
    methods,
  );
  async function step<T>(name: string, run: () => T): Promise<Awaited<T>> {
    await onStep(name, false);
    const result = await run();
    await onStep(name, true);
    return result;
  }
  const changing: Pick<
    Store,
    "get" | "set" | "delete" | "snapshot" | "writer"
  > = { get: (key, options) => step(`get ${key}`, () => get(key, options)) };
  if (set) {
    changing.set = (key, value, options) =>
      step(`set ${key}`, async () => {
        await set(
          key,
          value instanceof Uint8Array
            ? value
            : value.pipeThrough(passing(() => step(`piece ${key}`, () => {}))),
          options,
        );
      });
  }
  if (remove) {
    changing.delete = (key, options) =>
      step(`delete ${key}`, () => remove(key, options));
  }
  if (snapshot) {
    changing.snapshot = async (key, options) => {
      await onStep(`snapshot ${key}`, false);
      const taken = await snapshot(key, options);
      return {
        restore: () => step(`restore ${key}`, () => taken.restore()),
        async release() {
          await taken.release();
          await onStep(`release ${key}`, true);
        },
      };
    };
  }
  if (writer) {
    changing.writer = async (key, options): Promise<ByteWriter> => {
      await onStep(`writer ${key}`, false);
      const opened = await writer(key, options);
      return {
        write: (bytes) => step(`write ${key}`, () => opened.write(bytes)),
        async close() {
          try {
            await step(`close ${key}`, () => opened.close());
          } catch (error) {
            await opened.abort!(error);
            throw error;
          }
        },
        async abort(reason) {
          await opened.abort!(reason);
          await onStep(`abort ${key}`, true);
        },
      };
    };
  }
  return { ...reading, ...changing };
}

function passing(
  onPiece: () => Promise<void>,
): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    async transform(piece, controller) {
      await onPiece();
      controller.enqueue(piece);
    },
  });
}
