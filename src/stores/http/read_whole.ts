import type { Requests } from "./exchange.ts";
import { loadOnFailure } from "./load_on_failure.ts";
import type { StoreOptions } from "../store.ts";

/** Runs a task that requests bytes and returns them, and runs it again if their connection is lost. */
export async function readWhole<T>(
  { policy }: Requests,
  options: StoreOptions,
  task: () => Promise<T>,
): Promise<T> {
  try {
    return await task();
  } catch (error) {
    const { readAgain } = await loadOnFailure();
    return await readAgain(error, policy, options, task);
  }
}
