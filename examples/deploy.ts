/**
 * Serves the arrays at a URL or in a bucket to every Zarr client, on Deno Deploy or
 * anywhere:
 *
 *     STORE_URL=https://example.com/data deno serve --allow-net --allow-env examples/deploy.ts
 *
 * | variable | what it is |
 * | --- | --- |
 * | STORE_URL | the folder with the arrays: `https://example.com/data` or `s3://bucket/data` |
 * | AWS_REGION | the region of the bucket |
 * | AWS_ENDPOINT_URL | another S3 service than that of AWS |
 * | AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN | for a bucket that is not public |
 * | CACHE_CONTROL | the header `Cache-Control` of values, `public, max-age=60` by default |
 */
import { HttpStore, type Store } from "@zarr-parts/zarr-parts";
import { S3Store } from "@zarr-parts/zarr-parts/s3";
import { createHandler } from "@zarr-parts/zarr-parts/serve";

const variables = Deno.env.toObject();

function openStore(url: string): Store {
  if (!url.startsWith("s3:")) return new HttpStore(url);
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: region,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
  } = variables;
  return new S3Store(url, {
    ...endpoint && { endpoint },
    ...region && { region },
    ...accessKeyId && secretAccessKey && {
      credentials: {
        accessKeyId,
        secretAccessKey,
        ...sessionToken && { sessionToken },
      },
    },
  });
}

if (variables.STORE_URL === undefined) {
  throw new Error(
    "Expected the URL of a folder or a bucket in the environment variable STORE_URL",
  );
}

export default {
  fetch: createHandler(openStore(variables.STORE_URL), {
    cacheControl: variables.CACHE_CONTROL ?? "public, max-age=60",
  }),
} satisfies Deno.ServeDefaultExport;
