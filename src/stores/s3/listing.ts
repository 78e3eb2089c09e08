import type { StoreKey, StoreOptions } from "../store.ts";
import { keyProblem } from "../store_key.ts";
import { assertStorePrefix } from "../store_prefix.ts";
import { isTemporaryKey } from "./journal_key.ts";
import { sendForXml } from "./multipart.ts";
import { type Bucket, encodeText } from "./bucket.ts";
import { textOf } from "./xml.ts";

/** The longest part of an answer that an error quotes, in characters. */
const LONGEST_QUOTE = 200;

/** An object as a listing shows it. */
export interface ListedObject {
  readonly key: StoreKey;
  /** Its length in bytes. */
  readonly size: number;
  /** When it was stored, in milliseconds since 1970; `NaN` if the service does not tell. */
  readonly modified: number;
}

/** Lists the objects of a bucket whose keys begin with `prefix`, journals included. */
export async function* listAll(
  { service, name, prefix: root }: Bucket,
  prefix: string,
  { signal }: StoreOptions,
): AsyncGenerator<ListedObject> {
  let token: string | undefined;
  do {
    const search = "?" + Object.entries({
      ...token !== undefined && { "continuation-token": token },
      "encoding-type": "url",
      "list-type": "2",
      prefix: root + prefix.slice(1),
    }).map(([name, value]) => `${name}=${encodeText(value)}`).join("&");
    const options = signal ? { signal } : {};
    const { xml, answer } = await sendForXml(service, name, options, [200], {
      search,
    });
    if (answer === undefined) {
      throw new Error(
        `Cannot list bucket ${
          JSON.stringify(name.slice(1))
        }: it does not exist`,
      );
    }
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
    for (const contents of xml.split(/<Contents\b/).slice(1)) {
      const text = textOf(contents, "Key");
      if (text === undefined) continue;
      const key = isEncoded
        ? decodeURIComponent(text.replaceAll("+", "%20"))
        : text;
      yield {
        key: `/${key.slice(root.length)}` as StoreKey,
        size: Number(textOf(contents, "Size") ?? 0),
        modified: Date.parse(textOf(contents, "LastModified") ?? ""),
      };
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
  for await (const { key } of listAll(bucket, prefix, options)) {
    options.signal?.throwIfAborted();
    // Other programs make keys such as "folder/", which name no value.
    if (keyProblem(key.slice(1)) === undefined && !isTemporaryKey(key)) {
      yield key;
    }
  }
}
