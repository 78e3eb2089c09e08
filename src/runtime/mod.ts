/** What JavaScript lacks for the rooms above: tasks that run at the same time, bytes, and zlib of Node. */
export {
  copyBytes,
  digestOf,
  isSameBytes,
  joinBytes,
  ownBytes,
} from "./bytes.ts";
export {
  type NativeZlib,
  nativeZlib,
  outputLimit,
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
