/** Runs a task, and returns the maps that it constructs, with the greatest size that each had. */
export async function recordedMaps(
  run: () => Promise<void>,
): Promise<{ map: Map<unknown, unknown>; most: number }[]> {
  const records: { map: Map<unknown, unknown>; most: number }[] = [];
  const original = globalThis.Map;
  class RecordedMap<K, V> extends original<K, V> {
    #record: { map: Map<unknown, unknown>; most: number } | undefined;

    constructor(entries?: Iterable<readonly [K, V]>) {
      super();
      this.#record = { map: this, most: 0 };
      records.push(this.#record);
      for (const [key, value] of entries ?? []) this.set(key, value);
    }

    override set(key: K, value: V): this {
      super.set(key, value);
      const record = this.#record;
      if (record !== undefined) record.most = Math.max(record.most, this.size);
      return this;
    }
  }
  globalThis.Map = RecordedMap as unknown as MapConstructor;
  try {
    await run();
  } finally {
    globalThis.Map = original;
  }
  return records;
}
