import type {
  Backend,
  ByteWriter,
  PendingValues,
  Store,
  StoreKey,
} from "../../mod.ts";
import { backendOf, storeOf } from "../../src/stores/mod.ts";
import { type Method, observed } from "./observed_store.ts";

/**
 * Is called before a step, such as `"set /c/0"`, and after it if it changes the
 * store. It can fail the step by throwing, and delay it.
 */
export type OnStep = (step: string, isDone: boolean) => void | Promise<void>;

/**
 * Wraps a store and calls `onStep` for the steps of a change: `get`, `set` and `delete` of
 * a foreign store; with the method `group`, those of a store of this package: `prepare`,
 * `set`, `write`, `close`, `commit`, `delete` and `abort`. There is no step after `commit`,
 * since a commit that is done must not fail.
 *
 * @param methods The methods of `store` that the wrapper has.
 */
export function stepped(
  store: Store,
  onStep: OnStep,
  methods: readonly Method[] = ["get", "getRange", "size", "set", "delete"],
): Store {
  const step = async <T>(
    name: string,
    run: () => T,
  ): Promise<Awaited<T>> => {
    await onStep(name, false);
    const result = await run();
    await onStep(name, true);
    return result;
  };
  if (methods.includes("group")) {
    return storeOf(
      steppedBackend(backendOf(store), onStep, step),
      () => `stepped(${store})`,
    );
  }
  const { get, set, delete: remove, ...reading } = observed(
    store,
    () => {},
    methods,
  );
  return {
    ...reading,
    get: (key, options) => step(`get ${key}`, () => get(key, options)),
    ...set && {
      set: (key, value, options) =>
        step(`set ${key}`, () => set(key, value, options)),
    },
    ...remove && {
      delete: (key, options) =>
        step(`delete ${key}`, () => remove(key, options)),
    },
  };
}

function steppedBackend(
  backend: Backend,
  onStep: OnStep,
  step: <T>(name: string, run: () => T) => Promise<Awaited<T>>,
): Backend {
  return {
    read: (keys, task, options) =>
      backend.read(
        keys,
        (values) =>
          task({
            size: (key) => values.size(key),
            read: (key, range, options) =>
              range
                ? values.read(key, range, options)
                : step(`get ${key}`, () => values.read(key, range, options)),
            stream: (key, range) => values.stream(key, range),
            version: (key) => values.version(key),
          }),
        options,
      ),
    ...backend.readOf && { readOf: backend.readOf.bind(backend) },
    async prepare(keys, options): Promise<PendingValues> {
      const name = options?.name ?? keys[0]!;
      await onStep(`prepare ${name}`, false);
      const pending = await backend.prepare!(keys, options);
      return {
        set: (key, bytes) => step(`set ${key}`, () => pending.set(key, bytes)),
        writer: async (key) =>
          steppedWriter(key, await pending.writer(key), step),
        async commit(check) {
          await onStep(`commit ${name}`, false);
          await pending.commit(check);
        },
        async abort(reason) {
          await pending.abort(reason);
          await onStep(`abort ${name}`, true);
        },
      };
    },
    remove: (keys, options) =>
      step(
        `delete ${options?.name ?? keys[0]}`,
        () => backend.remove!(keys, options),
      ),
    update: (keys, change, options) =>
      backend.update!(keys, async (values) => {
        const update = await change({
          size: (key) => values.size(key),
          read: (key, range, options) =>
            range
              ? values.read(key, range, options)
              : step(`get ${key}`, () => values.read(key, range, options)),
          stream: (key, range) => values.stream(key, range),
          version: (key) => values.version(key),
        });
        const name = options?.name ?? keys[0]!;
        if (update !== "keep") await onStep(`commit ${name}`, false);
        return update;
      }, options),
    ...backend.list && { list: backend.list.bind(backend) },
  };
}

function steppedWriter(
  key: StoreKey,
  opened: ByteWriter,
  step: <T>(name: string, run: () => T) => Promise<Awaited<T>>,
): ByteWriter {
  return {
    write: (bytes) => step(`write ${key}`, () => opened.write(bytes)),
    close: () => step(`close ${key}`, () => opened.close()),
  };
}
