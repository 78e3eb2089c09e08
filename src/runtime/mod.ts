export { copyBytes, digestOf, isOwn, joinBytes, ownBytes } from "./bytes.ts";
export { JsonNumber } from "./json_number.ts";
export {
  type NativeZlib,
  nativeZlib,
  outputLimit,
  pieceSize,
} from "./native_zlib.ts";
export {
  forEachAtOnce,
  LimitedTasks,
  loadOnce,
  pause,
  rejectOnAbort,
  runConcurrently,
} from "./tasks.ts";
