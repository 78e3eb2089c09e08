import { checkMembers, refuse } from "./check.ts";
import { MetadataError } from "./metadata_error.ts";
import { isMembers } from "./node_documents.ts";

/** An extension point's metadata in its long form: a name and a configuration. */
export interface Extension {
  readonly name: string;
  readonly configuration: Record<string, unknown>;
  readonly mustUnderstand: boolean;
}

/**
 * Reads `{ name, configuration?, must_understand? }`, or the name alone.
 *
 * @param what What it is in messages: "chunk key encoding", "storage transformer".
 */
export function parseExtension(metadata: unknown, what: string): Extension {
  if (typeof metadata === "string") {
    return {
      name: checkName(metadata),
      configuration: {},
      mustUnderstand: true,
    };
  }
  if (!isMembers(metadata)) {
    refuse(`a ${what}, a name or an object with a name`, metadata);
  }
  const { name, configuration = {}, must_understand = true } = checkMembers(
    metadata,
    `a ${what}`,
    ["name"],
    ["configuration", "must_understand"],
  );
  if (!isMembers(configuration)) {
    refuse("a configuration object", configuration, "/configuration");
  }
  if (typeof must_understand !== "boolean") {
    refuse("true or false", must_understand, "/must_understand");
  }
  return {
    name: checkName(name, "/name"),
    configuration,
    mustUnderstand: must_understand,
  };
}

function checkName(name: unknown, path = ""): string {
  if (typeof name !== "string") refuse("a name", name, path);
  if (name !== "") return name;
  throw new MetadataError("Expected a name, found an empty string", path);
}
