import { checkMembers } from "../../metadata/check.ts";
import { parseExtension } from "../../metadata/extension.ts";
import { below } from "../../metadata/metadata_error.ts";

/**
 * Checks the configuration of a codec, which may be missing. The paths of errors
 * start at the codec.
 *
 * @param names The members that the configuration may have.
 */
export function parseCodecConfiguration<N extends string>(
  name: string,
  names: readonly N[],
  metadata: unknown,
): Partial<Record<N, unknown>> {
  const { configuration } = parseExtension(
    { name, configuration: metadata },
    "codec",
  );
  return below(
    "/configuration",
    () =>
      checkMembers(configuration, `the configuration of ${name}`, [], names),
  );
}
