import { HttpStore } from "../../src/stores/http/http_store.ts";

export const URL_ = "https://example.org/data.zarr";

/** A store whose requests get these answers, one after the other. */
export function stub(
  url: string,
  ...responses: Response[]
): { store: HttpStore; requests: Request[] } {
  const requests: Request[] = [];
  const store = new HttpStore(url, {
    retries: 0,
    fetch(request) {
      requests.push(request);
      const response = responses.shift();
      return response
        ? Promise.resolve(response)
        : Promise.reject(new Error("No answer is left"));
    },
  });
  return { store, requests };
}

/** A body that repeats one piece of memory, endlessly or a number of times, and a record of its use. */
export function observedBody(
  chunk: Uint8Array = new Uint8Array(4),
  times = Infinity,
): {
  stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  pulls(): number;
  cancelled(): boolean;
} {
  let pulls = 0;
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      pulls++;
      controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
      if (pulls >= times) controller.close();
    },
    cancel() {
      cancelled = true;
    },
  }, { highWaterMark: 0 });
  return { stream, pulls: () => pulls, cancelled: () => cancelled };
}
