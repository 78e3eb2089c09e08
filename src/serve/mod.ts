/** The handler that answers HTTP requests for the values of a store. */
export { createHandler } from "./create_handler.ts";
export { failureMessage } from "./failure.ts";
export {
  type HandlerOptions,
  type KeepOptions,
  type ServedForm,
} from "./handler_options.ts";
export { parseMount, pathBelow } from "./request_key.ts";
