/** The attributes of an element by their names. */
export type Attributes = Readonly<
  Record<string, string | number | boolean | undefined>
>;

/**
 * An element of XML with escaped attributes; those that are `undefined` are left out. The
 * library that reads XML is loaded on first use, which a container cannot wait for.
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
 * Escapes a text for an attribute, or for an element. Bio-Formats reads no characters by
 * their numbers, such as `&#181;`; so those that XML does not have are left out, and ends of
 * lines are spaces.
 */
export function escaped(text: string): string {
  return text.toWellFormed()
    .replaceAll(/\s/g, " ")
    // deno-lint-ignore no-control-regex
    .replaceAll(/[\0-\x1f\ufffe\uffff]/g, "")
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!);
}
