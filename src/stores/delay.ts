import { rejectOnAbort } from "./abort.ts";

/** Waits some milliseconds, or rejects earlier, once the signal aborts. */
export async function delay(
  milliseconds: number,
  signal?: AbortSignal,
): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const waiting = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  try {
    await rejectOnAbort(waiting, signal);
  } finally {
    clearTimeout(timer!);
  }
}
