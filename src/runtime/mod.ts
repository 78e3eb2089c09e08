export {
  copyBytes,
  digestOf,
  isSameBytes,
  joinBytes,
  ownBytes,
} from "./bytes.ts";
export { JsonNumber } from "./json_number.ts";
export {
  type NativeZlib,
  nativeZlib,
  outputLimit,
  pieceSize,
} from "./native_zlib.ts";
export {
  loadOnce,
  mapConcurrently,
  pause,
  rejectOnAbort,
  runConcurrently,
} from "./tasks.ts";
