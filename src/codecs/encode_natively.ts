import {
  loadOnce,
  type NativeZlib,
  nativeZlib,
  ownBytes,
} from "../runtime/mod.ts";
import type { Encoder, EncodingThreads } from "./encoding_threads.ts";

/** Fewer bytes are encoded about as fast as they are sent to another thread. */
const LEAST_BYTES = 32 * 1024;

const loadThreads = /* @__PURE__ */ loadOnce(() =>
  import("./encoding_threads.ts")
);

let threads: EncodingThreads | undefined;
/** How many tasks run that may use the threads. */
let users = 0;

/** Runs a task during which codecs may encode by other threads. The threads end with the last such task. */
export async function withEncodingThreads(
  task: () => Promise<void>,
): Promise<void> {
  const native = nativeZlib();
  if (native === null) return await task();
  users++;
  try {
    const { prepareThreads } = await loadThreads();
    threads ??= prepareThreads(native);
    await task();
  } finally {
    if (--users === 0) {
      threads?.close();
      threads = undefined;
    }
  }
}

/** Encodes bytes by a function of `node:zlib`, in another thread if one may be used. */
export async function encodeNatively(
  native: NativeZlib,
  name: Encoder,
  bytes: Uint8Array,
  options: object,
): Promise<Uint8Array> {
  const used = threads;
  if (used !== undefined && bytes.length >= LEAST_BYTES) {
    try {
      return ownBytes(await used.encode(name, bytes, options));
    } catch (error) {
      if (used !== threads) throw error; // Nobody waits for the bytes any more.
      // This thread encodes where others cannot, or throws the error of the function.
    }
  }
  return ownBytes(native[name]!(bytes, options));
}
