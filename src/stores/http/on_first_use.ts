/** Requests for sizes, and reading from servers that support `HEAD` or ranges only in part. */
export { cutWhole } from "./fallback.ts";
export { emptyRange, fetchSize } from "./size.ts";
export { rangeError } from "./unexpected_range.ts";
