import type { StoreKey, StoreOptions } from "../store.ts";
import {
  assertStorePrefix,
  isJournal,
  isProbe,
  isTemporary,
  journalName,
  keyProblem,
  splitPath,
} from "../store_key.ts";
import { type Bucket, encodeText, textOf } from "./bucket.ts";
import { sendForXml } from "./objects.ts";

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

/** The key of the journal of a chunk, beside the chunk. */
export async function journalKey(key: StoreKey): Promise<StoreKey> {
  const { folder, name } = splitPath(key);
  return `${folder}/${await journalName(name)}` as StoreKey;
}

/** Whether a key is that of a journal, or of another value that only this package uses. */
export function isTemporaryKey(key: StoreKey): boolean {
  return isTemporary(splitPath(key).name);
}

/** Whether a key is that of a journal. */
export function isJournalKey(key: StoreKey): boolean {
  return isJournal(splitPath(key).name);
}

/** Whether a key is that of an object that a program removes again at once. */
export function isProbeKey(key: StoreKey): boolean {
  return isProbe(splitPath(key).name);
}
