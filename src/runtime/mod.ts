/** What JavaScript lacks for the rooms above: tasks that run at the same time, bytes, floats of 16 bits, and zlib of Node. */
export {
  copyBytes,
  decodeBase64,
  digestOf,
  encodeBase64,
  freeMemory,
  isSameBytes,
  isSameList,
  joinBytes,
  ownBytes,
  uint32,
} from "./bytes.ts";
export { halfToNumber, numberToHalf, roundHalfEven } from "./float16.ts";
export {
  hasNativeZstd,
  type NativeZlib,
  nativeZlib,
  outputLimit,
  ownOutput,
  pieceSize,
} from "./native_zlib.ts";
export {
  loadOnce,
  mapConcurrently,
  MemoryLimit,
  nextTurn,
  pause,
  rejectOnAbort,
  runConcurrently,
} from "./tasks.ts";
