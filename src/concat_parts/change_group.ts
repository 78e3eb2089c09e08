import type { StoreOptions } from "../stores/store.ts";
import type { GroupWriter, StoreGroup } from "../stores/store_group.ts";

/**
 * Replaces the values of a group together. If they cannot be written, the earlier
 * ones are kept.
 *
 * @param write Gives all values to the writer.
 * @param commit Stores the values by the function that it is given.
 */
export async function changeGroup(
  group: StoreGroup,
  options: StoreOptions,
  write: (writer: GroupWriter) => Promise<void>,
  commit: (close: () => Promise<void>) => Promise<void> = (close) => close(),
): Promise<void> {
  const writer = await group.write!(options);
  try {
    await write(writer);
    await commit(() => {
      options.signal?.throwIfAborted();
      return writer.close();
    });
  } catch (error) {
    await writer.abort(error).catch(() => {}); // The first error says more.
    throw error;
  }
}
