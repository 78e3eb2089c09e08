/** A request that was answered. */
export interface Access {
  readonly request: Request;
  readonly response: Response;
  /** When the request came, by `performance.now`. */
  readonly start: number;
  /** Whether the client has taken the whole answer. */
  readonly isComplete: boolean;
}

/** The line about a request as text. */
export function textLine(
  { request, response, start, isComplete }: Access,
): string {
  const { headers, method, url } = request;
  const range = headers.get("range");
  const milliseconds = (performance.now() - start).toFixed(1);
  return [
    method,
    new URL(url).pathname,
    ...range === null ? [] : [range],
    response.status,
    `${bodyLength(request, response)} bytes`,
    `${milliseconds} ms`,
    ...isComplete ? [] : ["(not taken whole)"],
  ].join(" ");
}

/** The line about a request as JSON. */
export function jsonLine(
  { request, response, start, isComplete }: Access,
): string {
  const { headers, method, url } = request;
  const range = headers.get("range");
  return JSON.stringify({
    method,
    path: new URL(url).pathname,
    ...range !== null && { range },
    status: response.status,
    bytes: bodyLength(request, response),
    milliseconds: Number((performance.now() - start).toFixed(1)),
    isComplete,
  });
}

/** The length of the body of an answer. Answers to HEAD have none, whatever they announce. */
function bodyLength({ method }: Request, { headers }: Response): number {
  return method === "HEAD" ? 0 : Number(headers.get("content-length") ?? 0);
}
