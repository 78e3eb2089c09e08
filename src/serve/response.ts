import type { Answer } from "./answer.ts";

/** The headers of all answers, which let pages of any origin read them. */
const COMMON = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Accept-Ranges, Age, Content-Encoding, Content-Length, Content-Range, Date, ETag, Last-Modified",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
};

const CONDITIONS =
  "Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, If-Range";

/** Builds a response. Errors may not be cached. */
export function toResponse(
  { status, headers, body }: Answer,
  { isHead, cacheControl }: { isHead: boolean; cacheControl: string },
): Response {
  const isText = typeof body === "string";
  return new Response(
    isHead || status === 304 ? null : body as BodyInit | null | undefined,
    {
      status,
      headers: {
        ...COMMON,
        "cache-control": status < 400 ? cacheControl : "no-store",
        ...isText && {
          "content-type": "text/plain; charset=utf-8",
          "content-length": `${new TextEncoder().encode(body).length}`,
        },
        ...headers,
      },
    },
  );
}

/** Answers `OPTIONS`, which browsers send before requests with certain headers. */
export function preflight(methods: string, allowsWriting: boolean): Answer {
  return {
    status: 204,
    headers: {
      allow: methods,
      "access-control-allow-methods": methods,
      "access-control-allow-headers": allowsWriting
        ? `${CONDITIONS}, Authorization, Content-Type`
        : CONDITIONS,
      "access-control-max-age": "86400",
    },
  };
}
