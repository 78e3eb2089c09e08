import type {
  ByteWriter,
  GroupWriter,
  Store,
  StoreGroup,
  StoreKey,
} from "../../mod.ts";
import { ALL_METHODS, observed } from "./observed_store.ts";

/**
 * Is called before a step, such as `"close /c/0"`, and after it if it changes the
 * store. It can fail the step by throwing, and delay it.
 */
export type OnStep = (step: string, isDone: boolean) => void | Promise<void>;

/** Runs a step between the calls for its start and its end. */
type Step = <T>(name: string, run: () => T) => Promise<Awaited<T>>;

/**
 * Wraps a store and calls `onStep` for the steps of a change: `get`, `set` with
 * each `piece` of a stream, `delete`, `writer` with `write`, `close` and `abort`; and
 * the same steps of groups, with `commit` and `abort` of the whole group. A failing
 * step releases its resources, as the steps of all stores must. There is no step
 * after `commit`, since a commit that is done must not fail.
 *
 * @param methods The methods of `store` that the wrapper has.
 */
export function stepped(
  store: Store,
  onStep: OnStep,
  methods: readonly (keyof Store)[] = ALL_METHODS,
): Store {
  const { get, set, delete: remove, writer, group, ...reading } = observed(
    store,
    () => {},
    methods,
  );
  const step: Step = async <T>(
    name: string,
    run: () => T,
  ): Promise<Awaited<T>> => {
    await onStep(name, false);
    const result = await run();
    await onStep(name, true);
    return result;
  };
  const changing: Pick<
    Store,
    "get" | "set" | "delete" | "writer" | "group"
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
  if (writer) {
    changing.writer = (key, options) =>
      steppedWriter(key, () => writer(key, options), onStep, step);
  }
  if (group) {
    changing.group = (key, keys) =>
      steppedGroup(key, group(key, keys), onStep, step);
  }
  return { ...reading, ...changing };
}

async function steppedWriter(
  key: StoreKey,
  open: () => Promise<ByteWriter>,
  onStep: OnStep,
  step: Step,
): Promise<ByteWriter> {
  await onStep(`writer ${key}`, false);
  const opened = await open();
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
}

function steppedGroup(
  chunkKey: StoreKey,
  group: StoreGroup,
  onStep: OnStep,
  step: Step,
): StoreGroup {
  return {
    read: (task, options) =>
      group.read((values) =>
        task({
          get: (key, options) =>
            step(`get ${key}`, () => values.get(key, options)),
          getRange: (key, range, options) =>
            values.getRange(key, range, options),
          stream: (key, options) => values.stream(key, options),
          size: (key, options) => values.size(key, options),
          version: (key) => values.version(key),
        }), options),
    async write(options): Promise<GroupWriter> {
      await onStep(`group ${chunkKey}`, false);
      const writer = await group.write!(options);
      return {
        set: (key, bytes) => step(`set ${key}`, () => writer.set(key, bytes)),
        writer: (key) =>
          steppedWriter(key, () => writer.writer(key), onStep, step),
        async close() {
          await onStep(`commit ${chunkKey}`, false);
          await writer.close();
        },
        async abort(reason) {
          await writer.abort(reason);
          await onStep(`abort ${chunkKey}`, true);
        },
      };
    },
    delete: (options) =>
      step(`delete ${chunkKey}`, () => group.delete!(options)),
    lock: (task, options) =>
      group.lock!(
        (locked) => task(steppedGroup(chunkKey, locked, onStep, step)),
        options,
      ),
  };
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
