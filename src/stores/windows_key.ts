// deno-lint-ignore no-control-regex
const FORBIDDEN = /[<>:"|?*\u0000-\u001f]/;

/** Matches names of devices, also with an extension or spaces before the extension. */
const DEVICE =
  /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)/i;

/**
 * The problem of a key that Windows cannot hold as the path of a file, or `undefined`
 * for a valid one.
 *
 * Source: https://learn.microsoft.com/windows/win32/fileio/naming-a-file
 *
 * @param key The key without its leading `/`.
 */
export function windowsKeyProblem(key: string): string | undefined {
  const forbidden = FORBIDDEN.exec(key);
  if (forbidden !== null) {
    return `holds ${
      JSON.stringify(forbidden[0])
    }, which names of files on Windows cannot hold`;
  }
  for (const segment of key.split("/")) {
    const device = DEVICE.exec(segment);
    if (device !== null) {
      return `holds the name ${
        JSON.stringify(device[0].replace(/[ .]+$/, ""))
      }, which is that of a device on Windows`;
    }
    if (/[. ]$/.test(segment)) {
      return `holds a name that ends in ${
        segment.endsWith(".") ? "a dot" : "a space"
      }, which Windows removes`;
    }
  }
}
