import { fileStamp } from "../../stores/file_system/file_stamp.ts";
import type { Store, StoreOptions } from "../../stores/store.ts";
import type { ConvertOptions } from "../plan/convert_options.ts";
import type { ConvertPlan } from "../plan/convert_plan.ts";
import type { ConvertWork, WorkItem } from "./convert_work.ts";
import { changed } from "./finish_conversion.ts";
import { addHash } from "../hierarchy/hash_sum.ts";
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
    const text = await this.#stampsOf(item, options);
    if (text === "") return;
    this.#isFound = true;
    this.#sum = addHash(this.#sum, text);
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
      const text = await this.#stampsOf(item, { signal });
      if (text !== "") sum = addHash(sum, text);
    }, signal);
    if (sum !== this.#sum) throw changed(plan);
  }

  /** The stamps of the files of a value; empty if they have none. */
  async #stampsOf(
    { keys }: WorkItem,
    options: StoreOptions,
  ): Promise<string> {
    let text = "";
    for (const key of keys) {
      const stamp = await fileStamp(this.#store, key, options);
      if (stamp !== undefined) text += `${key} ${stamp}\n`;
    }
    return text;
  }
}
