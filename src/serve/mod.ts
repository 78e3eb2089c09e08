export { createHandler } from "./create_handler.ts";
export { failureMessage } from "./failure.ts";
export {
  type HandlerOptions,
  type KeepOptions,
  parseMount,
  type ServedForm,
  type WriteOptions,
} from "./handler_options.ts";
export { pathBelow } from "./request_key.ts";
