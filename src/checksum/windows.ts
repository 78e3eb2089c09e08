import { WasmInstance } from "./wasm_instance.ts";

/**
 * Memory through which bytes pass on their way from one place to another: while
 * one window is filled, those before it are looked at and written.
 */
export interface Windows {
  /** Four pieces of memory of one size, which is reserved when they are first asked for. */
  readonly buffers: readonly Uint8Array[];
  /** Gives the memory back. Nobody may read or write it any more. */
  release(): void;
}

const COUNT = 4;
const SIZE = 1024 * 1024;

/** How many instances with windows there can be, in use or not: 33 MiB. */
const MOST_INSTANCES = 8;
let instances = 0;
const idle: WasmInstance[] = [];

/** Windows in memory of JavaScript's own. */
export function plainWindows(): Windows {
  let buffers: Uint8Array[] | undefined;
  return {
    get buffers() {
      return buffers ??= makePlain();
    },
    release: () => {},
  };
}

/**
 * Windows in the memory of an instance, where checksums need no copy. Plain ones
 * if too many are in use: nobody waits for one who may wait for them.
 */
export function wasmWindows(module: WebAssembly.Module): Windows {
  let instance: WasmInstance | undefined;
  let buffers: Uint8Array[] | undefined;
  return {
    get buffers() {
      if (buffers !== undefined) return buffers;
      instance = idle.pop() ?? newInstance(module);
      return buffers = instance ? windowsOf(instance) : makePlain();
    },
    release() {
      if (instance !== undefined) idle.push(instance);
      instance = undefined;
      buffers = [];
    },
  };
}

function makePlain(): Uint8Array[] {
  return Array.from({ length: COUNT }, () => new Uint8Array(SIZE));
}

function windowsOf({ input }: WasmInstance): Uint8Array[] {
  return Array.from(
    { length: COUNT },
    (_, i) => input.subarray(i * SIZE, (i + 1) * SIZE),
  );
}

function newInstance(module: WebAssembly.Module): WasmInstance | undefined {
  if (instances === MOST_INSTANCES) return undefined;
  try {
    const instance = new WasmInstance(module, COUNT * SIZE);
    instances++;
    return instance;
  } catch {
    return undefined; // No memory left for it.
  }
}
