import { readRange, readSize, readValue } from "../stores/capabilities.ts";
import { digestOf } from "../stores/digest.ts";
import type { Place } from "../views/translation.ts";
import type { Deadline } from "./deadline.ts";
import { validatorsOf } from "./validators.ts";
import { type Value, valueInMemory, WINDOW } from "./value.ts";
import { windowStream } from "./window_stream.ts";

/**
 * Looks up a value whose versions the store does not tell, or an inner chunk, which is
 * read whole. Values in memory have the digest of their bytes as their tag.
 */
export async function unversionedValue(
  { store, key }: Place,
  deadline: Deadline,
): Promise<Value | undefined> {
  const isWhole = typeof store.stream !== "function" ||
    typeof store.size !== "function";
  const size = isWhole
    ? undefined
    : await deadline.run((options) => readSize(store, key, options));
  if (isWhole || size !== undefined && size <= WINDOW) {
    const bytes = await deadline.run((options) =>
      readValue(store, key, options)
    );
    return bytes && valueInMemory(bytes, await digestOf(bytes));
  }
  if (size === undefined) return undefined;
  const read = (start: number, end: number) =>
    deadline.run(async (options) => {
      const range = { offset: start, length: end - start };
      const bytes = await readRange(store, key, range, options);
      return bytes?.length === range.length ? [bytes] : undefined;
    });
  return {
    size,
    validators: validatorsOf(undefined),
    isCurrent: () => Promise.resolve(true),
    async open(start, end) {
      const windowEnd = Math.min(start + WINDOW, end);
      const first = await read(start, windowEnd);
      if (first === undefined || end === windowEnd) return first;
      return windowStream(
        first,
        start,
        end,
        read,
        deadline,
        () => deadline.close(),
      );
    },
    release() {},
  };
}
