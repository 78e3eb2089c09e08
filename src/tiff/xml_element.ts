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
