/** What was read from files and written to them, in JavaScript's memory or not at all. */
export interface FileTraffic {
  /** How many bytes were read so far, into memory that was given, and written. */
  read: number;
  written: number;
  /** The most that was read and not yet written, at any time. */
  ahead: number;
  /** The memory that was read into. */
  readonly memory: Set<ArrayBufferLike>;
  /** How many bytes were written straight from that memory. */
  direct: number;
}

/**
 * Runs something and watches `Deno.FsFile` meanwhile. What `file.readable` and
 * `Deno.readFile` read is not seen.
 *
 * @param most How many bytes a file takes at once; if not given, all it is given.
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
  const { read, write } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.read = async function (bytes) {
    traffic.memory.add(bytes.buffer);
    const count = await read.call(this, bytes);
    traffic.read += count ?? 0;
    traffic.ahead = Math.max(traffic.ahead, traffic.read - traffic.written);
    return count;
  };
  Deno.FsFile.prototype.write = async function (bytes) {
    const count = await write.call(this, bytes.subarray(0, most));
    traffic.written += count;
    if (traffic.memory.has(bytes.buffer)) traffic.direct += count;
    return count;
  };
  try {
    await run(traffic);
  } finally {
    Object.assign(Deno.FsFile.prototype, { read, write });
  }
  return traffic;
}
