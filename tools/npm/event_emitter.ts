/** Stands in for `node:events` in the bundled command line, where Commander extends its class. */
export { EventEmitter } from "eventemitter3";
