import { assertEquals } from "@std/assert";
import { listed } from "../stores/store_values.ts";
import type { AnyStore, EncodedArray } from "./fixtures_again.ts";
import type { Way } from "./fixtures_ways.ts";

interface KeyEncoding {
  readonly name: string;
  readonly configuration?: {
    readonly separator?: string;
    readonly suffix?: string;
    readonly base_encoding?: KeyEncoding | string;
  };
}

interface Part {
  readonly key_suffix: string;
  readonly size?: number;
}

/** Asserts that a store has the chunks of an array under exactly the keys, and in exactly the parts, of its document. */
export async function assertStored(
  store: AnyStore,
  { node, chunks }: EncodedArray,
  { chunk_key_encoding, storage_transformers }: Way,
): Promise<void> {
  const root = node.path && `/${node.path}`;
  const layers = (storage_transformers ?? []).flatMap(({ configuration }) =>
    configuration ? [configuration.parts as Part[]] : []
  );
  const values = chunks.flatMap(([coordinates, bytes]) => {
    const key = keyOf(chunk_key_encoding as KeyEncoding, coordinates);
    return partsOf(`${root}/${key}`, [...bytes], layers);
  });
  assertEquals(
    await listed(store),
    [`${root}/zarr.json`, ...values.map(([key]) => key)].sort(),
  );
  for (const [key, bytes] of values) {
    assertEquals([...(await store.get(key as "/"))!], bytes, key);
  }
}

function keyOf(
  encoding: KeyEncoding | string,
  coordinates: readonly number[],
): string {
  const { name, configuration = {} } = typeof encoding === "string"
    ? { name: encoding }
    : encoding;
  const { separator, suffix, base_encoding = "default" } = configuration;
  if (name === "suffix") return keyOf(base_encoding, coordinates) + suffix;
  return name === "v2"
    ? coordinates.join(separator ?? ".") || "0"
    : ["c", ...coordinates].join(separator ?? "/");
}

/** Every stored value of a chunk, by its key: the parts of the first layer, each in those of the next. */
function partsOf(
  key: string,
  bytes: number[],
  [parts, ...layers]: readonly Part[][],
): [string, number[]][] {
  if (parts === undefined) return [[key, bytes]];
  const sized = parts.reduce((sum, { size = 0 }) => sum + size, 0);
  let rest = bytes;
  return parts.flatMap(({ key_suffix, size = bytes.length - sized }) => {
    const part = rest.slice(0, size);
    rest = rest.slice(size);
    return partsOf(key + key_suffix, part, layers);
  });
}
