/** Arrays behind a server that answers a RangeError with 404, from which clients read the fill value. */
import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ByteRange,
  HttpStore,
  plainView,
  type StoreKey,
} from "../../mod.ts";
import {
  ELEMENTS,
  KEY,
  KINDS,
  type Stored,
  storedArray,
} from "./damaged_arrays.ts";

/** Answers requests with the values of the plain view of a store. */
function serverOf(
  { store }: Stored,
): (request: Request) => Promise<Response> {
  const view = plainView(store);
  return async (request) => {
    const key = new URL(request.url).pathname as StoreKey;
    try {
      const size = await view.size(key);
      const range = rangeOf(request);
      const bytes = range
        ? await view.getRange(key, range)
        : await view.get(key);
      if (size === undefined || bytes === undefined) return status(404);
      const body = bytes as Uint8Array<ArrayBuffer>;
      if (range === undefined) return new Response(body);
      const start = "offset" in range ? range.offset : size - body.length;
      const content = `bytes ${start}-${start + body.length - 1}/${size}`;
      return new Response(body, {
        status: 206,
        headers: { "content-range": content },
      });
    } catch (error) {
      return status(error instanceof RangeError ? 404 : 500);
    }
  };
}

function status(status: number): Response {
  return new Response(null, { status });
}

function rangeOf(request: Request): ByteRange | undefined {
  const header = request.headers.get("range");
  const [, start, end] = /^bytes=(\d*)-(\d*)$/.exec(header ?? "") ?? [];
  if (start === undefined) return undefined;
  return start === ""
    ? { suffixLength: Number(end) }
    : { offset: Number(start), length: Number(end) - Number(start) + 1 };
}

/** The elements that zarrita reads from the server, without this package's wrapper. */
async function read(stored: Stored): Promise<unknown> {
  const store = new HttpStore("https://example.org", {
    retryDelay: 0,
    fetch: serverOf(stored),
    retries: 0,
  });
  const array = await zarr.open(zarr.root(store).resolve("a"), {
    kind: "array",
  });
  return (await zarr.get(array)).data;
}

const DAMAGES: Record<string, (part: Uint8Array) => Uint8Array | undefined> = {
  "cut by one byte": (part) => part.slice(1),
  "longer by one byte": (part) => new Uint8Array([...part, 0]),
  "missing": () => undefined,
};

for (const [name, kind] of Object.entries(KINDS)) {
  // zarrita itself reads no index at the start.
  if (name.includes("at the start")) continue;
  for (const [suffix, size] of kind.parts) {
    for (const [how, change] of Object.entries(DAMAGES)) {
      const isNoticed = size !== undefined ||
        how === "missing" && kind.parts.length > 1;
      if (!isNoticed) continue;
      Deno.test(`a server that answers a RangeError with 404 fails for a chunk ${name} if ${KEY}${suffix} is ${how}`, async () => {
        const stored = await storedArray(kind);
        assertEquals(await read(stored), ELEMENTS);
        const key = `${KEY}${suffix}` as StoreKey;
        const part = change((await stored.store.get(key))!);
        if (part === undefined) await stored.store.delete(key);
        else await stored.store.set(key, part);
        await assertRejects(() => read(stored), Error, "found 500");
      });
    }
  }
}

Deno.test("a server that answers a RangeError with 404 has no value for keys that are no chunk's", async () => {
  const stored = await storedArray(KINDS["with a header"]!);
  const serve = serverOf(stored);
  const statusOf = async (path: string) =>
    (await serve(new Request(`https://example.org${path}`))).status;
  assertEquals(await statusOf(KEY), 200);
  for (const path of ["/a/c/1", "/a/c", "/a/c/0/0", "/a/c/00", "/a//c/0"]) {
    assertEquals(await statusOf(path), 404, path);
  }
});
