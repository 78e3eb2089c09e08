import type fc from "fast-check";
import type { Store } from "../../mod.ts";

/**
 * A store whose requests wait for their turn before they are done and after.
 *
 * @param fails Asked before each `set` and `delete` whether that one fails.
 */
export function scheduledStore(
  store: Store,
  scheduler: fc.Scheduler,
  fails: () => boolean = () => false,
): Store {
  const turn = (label: string) =>
    scheduler.schedule(Promise.resolve(), label) as Promise<void>;
  async function step<T>(label: string, run: () => Promise<T>): Promise<T> {
    await turn(label);
    const result = await run();
    await turn(`${label} done`);
    return result;
  }
  const change = (label: string, run: () => Promise<unknown>) =>
    step(label, async () => {
      if (fails()) throw new Error("The store has failed");
      await run();
    });
  return {
    get: (key, options) => step(`get ${key}`, () => store.get(key, options)),
    getRange: (key, range, options) =>
      step(`getRange ${key}`, () => store.getRange!(key, range, options)),
    size: (key, options) =>
      step(`size ${key}`, () => store.size!(key, options)),
    set: (key, value, options) =>
      change(`set ${key}`, () => store.set!(key, value, options)),
    delete: (key, options) =>
      change(`delete ${key}`, () => store.delete!(key, options)),
  };
}
