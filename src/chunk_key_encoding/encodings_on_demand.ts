import { atPath } from "../errors/mod.ts";
import { assertMember, checkMembers, refuse } from "../metadata/mod.ts";
import { parseSeparator, spellingOf } from "./chunk_key_encoding.ts";
import { FanoutChunkKeyEncoding } from "./fanout_chunk_key_encoding.ts";
import type { ParseOnDemand } from "./registry.ts";
import { TemplateChunkKeyEncoding } from "./template_chunk_key_encoding.ts";
import { V2ChunkKeyEncoding } from "./v2_chunk_key_encoding.ts";

/** The encodings that are loaded when a document names one of them, since few arrays have them. */
export const ENCODINGS_ON_DEMAND: ParseOnDemand = {
  v2: (configuration) =>
    new V2ChunkKeyEncoding(parseSeparator("v2", configuration)),
  template: parseTemplate,
  fanout: parseFanout,
};

function parseTemplate(
  configuration: Record<string, unknown>,
): TemplateChunkKeyEncoding {
  const what = 'the configuration of "template"';
  const parsed = checkMembers(configuration, what, [], [
    "format",
    "template",
    "separator",
  ]);
  const spelling = spellingOf(parsed, "format", "template");
  assertMember(parsed, spelling, what);
  const { [spelling]: format, separator } = parsed;
  if (typeof format !== "string") refuse("a format", format, `/${spelling}`);
  if (separator !== undefined && typeof separator !== "string") {
    refuse("a separator", separator, "/separator");
  }
  return atPath(
    `/${spelling}`,
    () => new TemplateChunkKeyEncoding(format, separator),
  );
}

function parseFanout(
  configuration: Record<string, unknown>,
): FanoutChunkKeyEncoding {
  const { max_children } = checkMembers(
    configuration,
    'the configuration of "fanout"',
    [],
    ["max_children"],
  );
  return atPath(
    "/max_children",
    () => new FanoutChunkKeyEncoding(max_children as number | undefined),
  );
}
