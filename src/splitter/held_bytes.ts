/** Memory that nobody uses, to be used again: for each chunk it would take longer than to split a small one. */
const idle: Uint8Array[] = [];
const MOST_IDLE = 16;
const LEAST_MEMORY = 16 * 1024;

/** Keeps the last bytes of a sequence in memory that grows as they come. */
export class HeldBytes {
  #memory: Uint8Array = idle.pop() ?? new Uint8Array(LEAST_MEMORY);
  #start = 0;
  #end = 0;
  /** The most bytes that are ever held at once. */
  readonly #most: number;

  /** @param most The most bytes that are ever held at once; memory is only reserved as they come. */
  constructor(most: number) {
    this.#most = most;
  }

  /** How many bytes are held. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Returns the first of the held bytes, which are not held any more. The view is good until the next `add`. */
  pass(length: number): Uint8Array {
    const start = this.#start;
    this.#start += length;
    return this.#memory.subarray(start, this.#start);
  }

  /** Copies more bytes behind the held ones. */
  add(bytes: Uint8Array): void {
    if (this.#end + bytes.length > this.#memory.length) {
      this.#makeRoom(this.length + bytes.length);
    }
    this.#memory.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Gives the memory back. */
  release(): void {
    if (this.#memory.length === LEAST_MEMORY && idle.length < MOST_IDLE) {
      idle.push(this.#memory);
    }
  }

  #makeRoom(needed: number): void {
    const { length } = this;
    // Memory is half as large again as what is held, so that held bytes seldom move.
    const size = Math.ceil(1.5 * Math.min(this.#most, 2 * needed));
    if (size > this.#memory.length) {
      const memory = new Uint8Array(size);
      memory.set(this.#memory.subarray(this.#start, this.#end));
      this.#memory = memory;
    } else this.#memory.copyWithin(0, this.#start, this.#end);
    this.#start = 0;
    this.#end = length;
  }
}
