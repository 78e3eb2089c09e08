/** The handler that answers HTTP requests for the values of a store. */
export { createHandler, failureMessage } from "./create_handler.ts";
export {
  type HandlerOptions,
  type KeepOptions,
  parseMount,
  type ServedForm,
} from "./handler_options.ts";
export { pathBelow } from "./request.ts";
export { nodesIn } from "./shown_store.ts";
