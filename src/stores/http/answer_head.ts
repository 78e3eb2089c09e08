import type { Answer } from "./exchange.ts";

/** The length of the value in bytes, if `Content-Length` tells it. */
export function contentLength(answer: Answer): number | undefined {
  const length = answer.headers.get("content-length") ?? "";
  return /^\d{1,15}$/.test(length) && !isEncoded(answer)
    ? Number(length)
    : undefined;
}

/** Whether the body is compressed, or was before the runtime decoded it. */
export function isEncoded({ headers }: Answer): boolean {
  return (headers.get("content-encoding") ?? "identity") !== "identity";
}
