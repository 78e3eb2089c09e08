/** The bytes that went through files. */
export interface FileTraffic {
  /** The number of bytes that were read into given memory, and written. */
  read: number;
  written: number;
  /** The largest number of bytes that were read and not written yet. */
  ahead: number;
  /** The buffers that bytes were read into. */
  readonly memory: Set<ArrayBufferLike>;
  /** The number of bytes that were written from those buffers. */
  direct: number;
}

/**
 * Runs a function and counts the bytes that go through `Deno.FsFile`, except for
 * those of `file.readable` and `Deno.readFile`.
 *
 * @param most The number of bytes that a file takes in one write; by default all.
 */
export async function watchFiles(
  run: (traffic: FileTraffic) => Promise<void>,
  most?: number,
): Promise<FileTraffic> {
  const traffic: FileTraffic = {
    read: 0,
    written: 0,
    ahead: 0,
    memory: new Set(),
    direct: 0,
  };
  const { read, readSync, write, writeSync } = Deno.FsFile.prototype;
  const countRead = (bytes: Uint8Array, count: number | null) => {
    traffic.memory.add(bytes.buffer);
    traffic.read += count ?? 0;
    traffic.ahead = Math.max(traffic.ahead, traffic.read - traffic.written);
    return count;
  };
  Deno.FsFile.prototype.read = async function (bytes) {
    return countRead(bytes, await read.call(this, bytes));
  };
  Deno.FsFile.prototype.readSync = function (bytes) {
    return countRead(bytes, readSync.call(this, bytes));
  };
  const count = (bytes: Uint8Array, written: number) => {
    traffic.written += written;
    if (traffic.memory.has(bytes.buffer)) traffic.direct += written;
    return written;
  };
  Deno.FsFile.prototype.write = async function (bytes) {
    return count(bytes, await write.call(this, bytes.subarray(0, most)));
  };
  Deno.FsFile.prototype.writeSync = function (bytes) {
    return count(bytes, writeSync.call(this, bytes.subarray(0, most)));
  };
  try {
    await run(traffic);
  } finally {
    Object.assign(Deno.FsFile.prototype, {
      read,
      readSync,
      write,
      writeSync,
    });
  }
  return traffic;
}
