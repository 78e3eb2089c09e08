/**
 * Runs a task for each item, some of them at the same time, and returns their results
 * in the order of the items. After a failure no further task is started, and the first
 * error is thrown once all running tasks have ended.
 *
 * @param most How many tasks run at the same time, from 1.
 */
export async function forEachAtOnce<T, R>(
  items: readonly T[],
  most: number,
  task: (item: T, place: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  let failure: { error: unknown } | undefined;
  const work = async () => {
    while (next < items.length && failure === undefined) {
      const place = next++;
      try {
        results[place] = await task(items[place]!, place);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(
    Array.from({ length: Math.min(most, items.length) }, work),
  );
  if (failure !== undefined) throw (failure as { error: unknown }).error;
  return results;
}
