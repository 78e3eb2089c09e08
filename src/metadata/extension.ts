import { checkMembers, refuse } from "./check.ts";
import { MetadataError } from "./metadata_error.ts";
import { isMembers } from "./node_documents.ts";

/** An extension's metadata with all members filled in. */
export interface Extension {
  readonly name: string;
  readonly configuration: Record<string, unknown>;
  readonly mustUnderstand: boolean;
}

/**
 * Parses an extension's metadata: `{ name, configuration?, must_understand? }`, or
 * the name alone.
 *
 * @param what The kind of extension for messages, such as "codec".
 * @throws {MetadataError} If the metadata is not valid.
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
