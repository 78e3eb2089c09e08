/** The attributes of an element by their names. */
export type Attributes = Readonly<
  Record<string, string | number | boolean | undefined>
>;

/**
 * Composes an element of XML with escaped attributes; those that are `undefined` are left
 * out. The library that reads XML is loaded asynchronously, and so cannot serve a container,
 * which is synchronous.
 */
export function element(
  name: string,
  attributes: Attributes,
  children: readonly string[] = [],
): string {
  const text = Object.entries(attributes)
    .flatMap(([key, value]) =>
      value === undefined ? [] : [` ${key}="${escaped(String(value))}"`]
    )
    .join("");
  return children.length === 0
    ? `<${name}${text}/>`
    : `<${name}${text}>${children.join("")}</${name}>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/**
 * Escapes a text for an attribute, or for an element. Bio-Formats does not read numeric
 * character references, such as `&#181;`, so none are written: characters that XML does not
 * allow are left out, and ends of lines become spaces.
 */
export function escaped(text: string): string {
  return text.toWellFormed()
    .replaceAll(/\s/g, " ")
    // deno-lint-ignore no-control-regex
    .replaceAll(/[\0-\x1f\ufffe\uffff]/g, "")
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!);
}

/** The elements and attributes of an element; names of attributes start with `@`. */
export type XmlElement = Readonly<Record<string, unknown>>;

/**
 * Parses XML. Names of elements lose their prefixes.
 *
 * @param lists The names of the elements of which there may be several.
 * @returns `undefined` if the text is no XML.
 */
export async function parseXml(
  text: string,
  lists: readonly string[],
): Promise<XmlElement | undefined> {
  // Only files with such texts need a parser of XML.
  const { XMLParser } = await import("fast-xml-parser");
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: "@",
    removeNSPrefix: true,
    parseAttributeValue: false,
    parseTagValue: false,
    trimValues: false,
    isArray: (tag: string) => lists.includes(tag),
  });
  try {
    return parser.parse(text);
  } catch {
    return undefined;
  }
}

/** The value of a member that is an element; one without members for other values. */
export function elementOf(value: unknown): XmlElement {
  return typeof value === "object" && value !== null ? value as XmlElement : {};
}

/** The elements of a list. */
export function listOf(value: unknown): XmlElement[] {
  return Array.isArray(value) ? value.map(elementOf) : [];
}
