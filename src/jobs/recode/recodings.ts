import type { Share } from "../../arrays/mod.ts";
import { processorCount, withThreads } from "../../threads/mod.ts";
import type {
  ConvertOptions,
  RecodedChunks,
} from "../convert/convert_options.ts";
import type { PlannedArray } from "../convert/convert_plan.ts";
import type { Place } from "../../hierarchy/mod.ts";
import { RecodedArray, type RecodeSettings } from "./recode_array.ts";
import type { RecodeSink } from "./target_chunks.ts";

/** The bytes of elements for which threads are started, which takes as long as to encode some MiB. */
const LEAST_TO_START = 16 * 2 ** 20;

/** The arrays of a conversion that get another encoding. */
export class Recodings {
  readonly #arrays: RecodedArray[] = [];
  readonly #threads: ConvertOptions["threads"];
  readonly #settings: RecodeSettings;

  constructor({ threads, memory, codecs }: ConvertOptions) {
    this.#threads = threads;
    const count = typeof threads === "object" ? threads.size : threads;
    this.#settings = {
      codecs,
      memory,
      threads: count ?? processorCount(),
    };
  }

  /**
   * Loads the codecs of an array, and divides the array into blocks.
   *
   * @param source The place of the source.
   * @throws {LayoutError} If the array cannot be decoded.
   * @throws {TypeError} If a codec that encodes is unknown, or only decodes.
   */
  async add(planned: PlannedArray, source: Place): Promise<void> {
    this.#arrays.push(
      await RecodedArray.create(planned, source, this.#settings),
    );
  }

  /** Takes the share of the work, once the stored chunks of the source are listed. */
  begin(share: Share | undefined): void {
    for (const array of this.#arrays) array.begin(share);
  }

  /** The number of stored chunks of the target that are made. */
  get total(): number {
    return this.#arrays.reduce((sum, { total }) => sum + total, 0);
  }

  /** What happens to the array at a path. */
  report(path: string): { recoded?: RecodedChunks } {
    const array = this.#arrays.find(({ planned }) => planned.path === path);
    return array === undefined
      ? {}
      : { recoded: { chunks: array.total, decodes: array.decodes } };
  }

  /** Whether the target may have a stored chunk. */
  mayMake(planned: PlannedArray, coordinates: readonly number[]): boolean {
    const array = this.#arrays.find((array) => array.planned === planned);
    return array?.mayMake(coordinates) ?? true;
  }

  /** Makes the chunks of the target, one array after another. */
  async run(sink: RecodeSink, signal: AbortSignal | undefined): Promise<void> {
    const threaded = this.#arrays.filter(({ isThreaded }) => isThreaded);
    const bytes = threaded.reduce((sum, { bytes }) => sum + bytes, 0);
    const isLarge = typeof this.#threads === "object"
      ? bytes > 0
      : bytes >= LEAST_TO_START;
    await withThreads(isLarge ? this.#threads : 0, async (threads) => {
      for (const array of this.#arrays) await array.run(sink, threads, signal);
    });
  }
}
