import type { StoreKey, StoreOptions } from "../store.ts";
import { keyProblem } from "../store_key.ts";
import { assertStorePrefix } from "../store_prefix.ts";
import { isTemporaryKey } from "./journal_key.ts";
import { type Bucket, encodeText } from "./bucket.ts";
import { textOf, textsOf } from "./xml.ts";

/** The longest part of an answer that an error quotes, in characters. */
const LONGEST_QUOTE = 200;

/** Lists the keys of a bucket that begin with `prefix`, journals included. */
export async function* listAll(
  { service, name, prefix: root }: Bucket,
  prefix: string,
  { signal }: StoreOptions,
): AsyncGenerator<StoreKey> {
  let token: string | undefined;
  do {
    const search = "?" + Object.entries({
      ...token !== undefined && { "continuation-token": token },
      "encoding-type": "url",
      "list-type": "2",
      prefix: root + prefix.slice(1),
    }).map(([name, value]) => `${name}=${encodeText(value)}`).join("&");
    const options = signal ? { signal } : {};
    const answer = await service.send(name, options, [200], { search });
    if (answer === undefined) {
      throw new Error(
        `Cannot list bucket ${
          JSON.stringify(name.slice(1))
        }: it does not exist`,
      );
    }
    const xml = new TextDecoder().decode(await answer.bytesUpTo(Infinity));
    token = textOf(xml, "IsTruncated") === "true"
      ? textOf(xml, "NextContinuationToken") ?? ""
      : undefined;
    if (token === "" || !/<ListBucketResult\b/.test(xml)) {
      throw new Error(
        `Cannot list bucket ${
          JSON.stringify(name.slice(1))
        }: expected ListBucketResult with all keys or with a NextContinuationToken, found ${
          JSON.stringify(xml.slice(0, LONGEST_QUOTE))
        }`,
      );
    }
    const isEncoded = textOf(xml, "EncodingType") === "url";
    for (const text of textsOf(xml, "Key")) {
      const key = isEncoded
        ? decodeURIComponent(text.replaceAll("+", "%20"))
        : text;
      yield `/${key.slice(root.length)}` as StoreKey;
    }
  } while (token !== undefined);
}

/** Lists the keys of values. */
export async function* listKeys(
  bucket: Bucket,
  prefix: StoreKey,
  options: StoreOptions,
): AsyncGenerator<StoreKey> {
  assertStorePrefix(prefix);
  for await (const key of listAll(bucket, prefix, options)) {
    options.signal?.throwIfAborted();
    // Other programs make keys such as "folder/", which name no value.
    if (keyProblem(key.slice(1)) === undefined && !isTemporaryKey(key)) {
      yield key;
    }
  }
}
