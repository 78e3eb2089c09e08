import { hash } from "../../arrays/share.ts";
import { fileStamp } from "../../stores/file_system/file_stamp.ts";
import type { Store, StoreOptions } from "../../stores/store.ts";
import type { ConvertOptions } from "../plan/convert_options.ts";
import type { ConvertPlan } from "../plan/convert_plan.ts";
import type { ConvertWork, WorkItem } from "./convert_work.ts";
import { changed } from "./finish_conversion.ts";
import { runConcurrently } from "../run_concurrently.ts";

/**
 * Notices values of a file store that are replaced while a run copies others. Other stores
 * tell no versions without reading.
 */
export class SourceStamps {
  readonly #store: Store;
  /** The sum of the hashes of all stamps before their values were copied. */
  #sum = 0;
  /** Whether the store has stamps. */
  #isFound = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Notes a value before it is copied. */
  async take(item: WorkItem, options: StoreOptions): Promise<void> {
    const number = await this.#hashOf(item, options);
    if (number !== undefined) this.#isFound = true;
    this.#sum = added(this.#sum, number);
  }

  /**
   * Looks at all values again after the last one was copied.
   *
   * @throws {Error} If a value was replaced.
   */
  async check(
    plan: ConvertPlan,
    work: ConvertWork,
    { concurrency = 4, signal }: ConvertOptions,
  ): Promise<void> {
    if (!this.#isFound) return;
    let sum = 0;
    await runConcurrently(work, concurrency, async (item, signal) => {
      const number = await this.#hashOf(item, { signal });
      sum = added(sum, number);
    }, signal);
    if (sum !== this.#sum) throw changed(plan);
  }

  /** A hash of the files of a value; `undefined` if they have no stamps. */
  async #hashOf(
    { keys }: WorkItem,
    options: StoreOptions,
  ): Promise<number | undefined> {
    let text = "";
    for (const key of keys) {
      const stamp = await fileStamp(this.#store, key, options);
      if (stamp !== undefined) text += `${key} ${stamp}\n`;
    }
    return text === "" ? undefined : hash(text);
  }
}

function added(sum: number, number = 0): number {
  return (sum + number) % Number.MAX_SAFE_INTEGER;
}
