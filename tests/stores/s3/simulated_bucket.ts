import { joinBytes } from "../../../src/runtime/bytes.ts";

/** An object of a simulated bucket. */
interface StoredObject {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  /** The metadata, as headers. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When it was stored, as a listing shows it. */
  readonly modified?: string;
}

interface PendingUpload {
  readonly key: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly pieces: Map<number, StoredObject>;
  /** Whether a completion was cut off, after which MinIO completes the upload never more. */
  isSpoilt: boolean;
}

/** The limits of a simulated service. */
export interface Limits {
  /** Whether `DELETE` ignores `If-Match`. */
  ignoresDeleteConditions?: boolean;
  /** Whether `PUT` ignores conditions. */
  ignoresPutConditions?: boolean;
  /** Whether spoilt uploads seem to be completed, as in versitygw once it was killed. */
  claimsSpoilt?: boolean;
  /** The number of keys of one answer to a listing. */
  page?: number;
}

/** A bucket in memory with the requests that `S3Store` sends, each of which is one step. */
export class SimulatedBucket {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, PendingUpload>();
  readonly #limits: Limits;
  #ids = 0;

  constructor(limits: Limits = {}) {
    this.#limits = limits;
  }

  /** Answers a request, whose body has been read. The bucket is the first name of the path. */
  answer(
    { method, url, headers }: Request,
    body: Uint8Array<ArrayBuffer>,
  ): Response {
    const { pathname, searchParams } = new URL(url);
    const [, , ...names] = pathname.split("/").map(decodeURIComponent);
    const key = names.join("/");
    if (searchParams.has("list-type")) return this.#list(searchParams);
    const id = searchParams.get("uploadId");
    const metadata = Object.fromEntries(
      [...headers].filter(([name]) => name.startsWith("x-amz-meta-")),
    );
    if (searchParams.has("uploads")) {
      const id = `upload ${this.#ids++}`;
      const upload = { key, metadata, pieces: new Map(), isSpoilt: false };
      this.uploads.set(id, upload);
      return xml(`<r><UploadId>${id}</UploadId></r>`);
    }
    if (id !== null) {
      const upload = this.uploads.get(id);
      if (!upload || upload.key !== key) return failure(404, "NoSuchUpload");
      if (method === "DELETE" && upload.isSpoilt && this.#limits.claimsSpoilt) {
        return failure(404, "NoSuchUpload");
      } else if (method === "DELETE") this.uploads.delete(id);
      else if (method === "PUT") {
        const source = headers.get("x-amz-copy-source");
        const bytes = source === null ? body : this.#copied(source, headers);
        if (bytes === undefined) return failure(404, "NoSuchKey");
        const piece = { bytes, etag: etagOf(bytes), metadata: {} };
        upload.pieces.set(Number(searchParams.get("partNumber")), piece);
        return source === null
          ? new Response(null, { headers: { etag: piece.etag } })
          : xml(
            `<CopyPartResult><ETag>${
              piece.etag.replaceAll('"', "&quot;")
            }</ETag></CopyPartResult>`,
          );
      } else return this.#complete(id, upload, headers, body);
      return new Response(null, { status: 204 });
    }
    const object = this.objects.get(key);
    switch (method) {
      case "PUT": {
        if (
          !this.#limits.ignoresPutConditions && !isAllowed(headers, object)
        ) return failure(412, "PreconditionFailed");
        const etag = etagOf(body);
        this.objects.set(key, { bytes: body.slice(), etag, metadata });
        return new Response(null, { headers: { etag } });
      }
      case "DELETE":
        if (
          object && !this.#limits.ignoresDeleteConditions &&
          // S3 knows no other condition here.
          ![null, object.etag].includes(headers.get("if-match"))
        ) return failure(412, "PreconditionFailed");
        this.objects.delete(key);
        return new Response(null, { status: 204 });
      default:
        return object
          ? send(method, headers, object)
          : failure(404, "NoSuchKey");
    }
  }

  /** Does to a completion what MinIO does if the connection is lost meanwhile. */
  cutOff({ method, url }: Request): void {
    const id = new URL(url).searchParams.get("uploadId");
    const upload = this.uploads.get(id ?? "");
    if (method === "POST" && upload) upload.isSpoilt = true;
  }

  #copied(
    source: string,
    headers: Headers,
  ): Uint8Array<ArrayBuffer> | undefined {
    const [, , ...names] = decodeURIComponent(source).split("/");
    const bytes = this.objects.get(names.join("/"))?.bytes;
    const range = /^bytes=(\d+)-(\d+)$/.exec(
      headers.get("x-amz-copy-source-range") ?? "",
    );
    return range ? bytes?.slice(Number(range[1]), Number(range[2]) + 1) : bytes;
  }

  #complete(
    id: string,
    { key, metadata, pieces, isSpoilt }: PendingUpload,
    headers: Headers,
    body: Uint8Array,
  ): Response {
    if (isSpoilt) {
      return this.#limits.claimsSpoilt
        ? xml("<CompleteMultipartUploadResult/>")
        : failure(400, "InvalidPart");
    }
    if (!isAllowed(headers, this.objects.get(key))) {
      return failure(412, "PreconditionFailed");
    }
    const named = Array.from(
      new TextDecoder().decode(body).matchAll(
        /<PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)</g,
      ),
      ([, number, etag]) => {
        const piece = pieces.get(Number(number));
        return piece?.etag === etag!.replaceAll("&quot;", '"')
          ? piece
          : undefined;
      },
    );
    if (named.includes(undefined) || named.length === 0) {
      return failure(400, "InvalidPart");
    }
    const bytes = joinBytes(
      named.map((piece) => piece!.bytes),
    ) as Uint8Array<ArrayBuffer>;
    this.uploads.delete(id);
    const etag = etagOf(bytes).replace(/"$/, `-${named.length}"`);
    this.objects.set(key, { bytes, etag, metadata });
    return xml("<CompleteMultipartUploadResult/>");
  }

  #list(query: URLSearchParams): Response {
    const start = query.get("continuation-token") ?? "";
    const keys = Array.from(this.objects.keys())
      .filter((key) => key.startsWith(query.get("prefix")!) && key > start)
      .sort();
    const page = keys.slice(0, this.#limits.page ?? 1000);
    const contents = page.map((key) => {
      const { bytes, modified } = this.objects.get(key)!;
      return `<Contents><Key>${
        encodeURIComponent(key).replaceAll("%20", "+").replaceAll("%2F", "/")
      }</Key><LastModified>${
        modified ?? new Date().toISOString()
      }</LastModified><Size>${bytes.length}</Size></Contents>`;
    });
    return xml(
      `<ListBucketResult><EncodingType>url</EncodingType>${contents.join("")}${
        page.length < keys.length
          ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${
            page.at(-1)!.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
          }</NextContinuationToken>`
          : "<IsTruncated>false</IsTruncated>"
      }</ListBucketResult>`,
    );
  }
}

/** Whether the conditions of a request hold. */
function isAllowed(
  headers: Headers,
  object: StoredObject | undefined,
): boolean {
  const match = headers.get("if-match");
  if (headers.get("if-none-match") === "*" && object) return false;
  return match === null || match === object?.etag;
}

function send(
  method: string,
  headers: Headers,
  { bytes, etag, metadata }: StoredObject,
): Response {
  const common: Record<string, string> = { etag, ...metadata };
  const size = bytes.length;
  if (method === "HEAD") {
    return new Response(null, {
      headers: { ...common, "content-length": `${size}` },
    });
  }
  const range = /^bytes=(\d*)-(\d*)$/.exec(headers.get("range") ?? "");
  if (range === null) return new Response(bytes.slice(), { headers: common });
  const [, first, last] = range;
  const start = first ? Number(first) : Math.max(0, size - Number(last));
  const end = first && last ? Math.min(Number(last) + 1, size) : size;
  if (start >= end) {
    return new Response(null, {
      status: 416,
      headers: { ...common, "content-range": `bytes */${size}` },
    });
  }
  return new Response(bytes.slice(start, end), {
    status: 206,
    headers: {
      ...common,
      "content-range": `bytes ${start}-${end - 1}/${size}`,
    },
  });
}

/** An entity tag that is equal for equal bytes, as those of S3 are. */
function etagOf(bytes: Uint8Array): string {
  let hash = 0;
  // Some bytes of long values, which differ in all of them here.
  const step = 1 + (bytes.length >> 12);
  for (let i = 0; i < bytes.length; i += step) {
    hash = (hash * 31 + bytes[i]!) >>> 0;
  }
  return `"${hash.toString(16).padStart(24, "0")}${
    bytes.length.toString(16).padStart(8, "0")
  }"`;
}

function xml(text: string, status = 200): Response {
  return new Response(text, {
    status,
    headers: { "content-type": "application/xml" },
  });
}

function failure(status: number, code: string): Response {
  return xml(
    `<Error><Code>${code}</Code><Message>No</Message></Error>`,
    status,
  );
}

/** Lets pauses end at once, and no request take too long. */
export function shortTimers(): Disposable {
  const { setTimeout } = globalThis;
  const replacement = (fire: () => void, milliseconds = 0) =>
    milliseconds > 30_000 ? 0 : setTimeout(fire, 0);
  Object.assign(globalThis, { setTimeout: replacement });
  return {
    [Symbol.dispose]: () => void Object.assign(globalThis, { setTimeout }),
  };
}
