import type * as v from "valibot";
import { parseExtension } from "../../metadata/extension.ts";
import { below } from "../../metadata/metadata_error.ts";
import { check, members } from "../../metadata/schema.ts";

/** Checks the configuration of a codec, which may be missing. Errors count their path from the codec. */
export function parseCodecConfiguration<E extends v.ObjectEntries>(
  name: string,
  entries: E,
  metadata: unknown,
): v.InferOutput<v.StrictObjectSchema<E, undefined>> {
  const { configuration } = parseExtension(
    { name, configuration: metadata },
    "codec",
  );
  const schema = members(`the configuration of ${name}`, entries);
  return below("/configuration", () => check(schema, configuration));
}
