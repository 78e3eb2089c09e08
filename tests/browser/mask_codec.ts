/** A codec that changes each byte, which neither zarrita nor this package has. */
const MASK = {
  fromConfig: () => ({
    kind: "bytes_to_bytes",
    encode: (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x5a),
    decode: (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x5a),
  }),
};

/** Registers the codec `mask`. */
export function registerMask(
  registry: { set(name: string, load: () => Promise<never>): unknown },
): void {
  registry.set("mask", () => Promise.resolve(MASK as never));
}
