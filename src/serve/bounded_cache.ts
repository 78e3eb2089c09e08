/** Options of {@linkcode BoundedCache}. */
interface BoundedCacheOptions<T> {
  /** How long an entry is kept, in milliseconds. */
  lifetime: number;
  /** The most weight of all entries. */
  limit: number;
  weightOf?: (value: T) => number;
  /** Called for each entry that is removed or replaced. */
  onRemoval?: (key: string, value: T) => void;
}

/**
 * Least-recently-used cache. Removes entries that are too old, and those that were used
 * the longest time ago once all entries together weigh too much.
 */
export class BoundedCache<T> {
  readonly #entries = new Map<string, { value: T; expiry: number }>();
  readonly #options: BoundedCacheOptions<T>;
  #weight = 0;

  constructor(options: BoundedCacheOptions<T>) {
    this.#options = options;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiry <= Date.now()) {
      this.delete(key);
      return undefined;
    }
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: T): void {
    this.delete(key);
    const expiry = Date.now() + this.#options.lifetime;
    this.#entries.set(key, { value, expiry });
    this.#weight += this.#weightOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#options.limit) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.#weightOf(entry.value);
    this.#options.onRemoval?.(key, entry.value);
  }

  #weightOf(value: T): number {
    return this.#options.weightOf?.(value) ?? 1;
  }
}
