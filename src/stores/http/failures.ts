/** The modules that handle requests that fail. */
export { connectionError, statusError } from "./request_errors.ts";
export { readAgain, tryAgain } from "./retries.ts";
