/** The compiled modules, by their base64. */
const compiled = new Map<string, WebAssembly.Module>();

/**
 * The compiled form of a module, or `undefined` where it cannot be had: without
 * SIMD, or where the runtime or a page's policy lets no module be compiled.
 *
 * @param base64 The binary module.
 */
export function compileModule(base64: string): WebAssembly.Module | undefined {
  const known = compiled.get(base64);
  if (known !== undefined) return known;
  try {
    const binary = Uint8Array.from(
      atob(base64),
      (character) => character.charCodeAt(0),
    );
    // The module is itself the probe: it is not valid where SIMD is unknown.
    if (!WebAssembly.validate(binary)) return undefined;
    const module = new WebAssembly.Module(binary);
    compiled.set(base64, module);
    return module;
  } catch {
    return undefined;
  }
}
