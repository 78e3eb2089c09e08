import type { HttpStoreOptions } from "../http/requests.ts";

/**
 * The credentials of a user of a bucket.
 *
 * @example
 * ```ts
 * import type { S3Credentials } from "@zarr-parts/zarr-parts/s3";
 *
 * const credentials: S3Credentials = { accessKeyId: "AKIA…", secretAccessKey: "…" };
 * ```
 */
export interface S3Credentials {
  /** The name of the access key. */
  accessKeyId: string;
  /** The secret of the access key. */
  secretAccessKey: string;
  /** The token of temporary credentials. */
  sessionToken?: string;
}

/**
 * How {@linkcode S3Store} reaches a bucket.
 *
 * @example
 * ```ts
 * import { S3Store, type S3StoreOptions } from "@zarr-parts/zarr-parts/s3";
 *
 * const options: S3StoreOptions = { region: "eu-central-1" };
 * new S3Store("s3://sentinel-cogs/sentinel-s2-l2a-cogs", options); // a public bucket
 * ```
 */
export interface S3StoreOptions extends HttpStoreOptions {
  /**
   * The credentials that requests are signed with, or a function that is called for each
   * request, for credentials that expire. Requests are not signed by default, as public
   * buckets need it.
   */
  credentials?:
    | S3Credentials
    | (() => S3Credentials | Promise<S3Credentials>);
  /** The region of the bucket. Defaults to `us-east-1`. */
  region?: string;
  /** The URL of another S3 service than that of AWS, such as `http://127.0.0.1:9000`. */
  endpoint?: string | URL;
  /**
   * Whether the bucket is in the path of URLs, and not in the name of the host. By
   * default it is if `endpoint` is given, or if the name of the bucket has a dot.
   */
  pathStyle?: boolean;
  /**
   * The length in bytes, from 5 MiB on, of the pieces in which long values are stored:
   * streams of at least one piece, and bytes of more than eight. It doubles with each
   * 1,000 pieces. Defaults to 8 MiB.
   */
  pieceSize?: number;
}
