/** The texts of all elements of a name, without their entities. */
export function textsOf(xml: string, name: string): string[] {
  const element = new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}>`, "g");
  return Array.from(xml.matchAll(element), ([, text]) => unescapeXml(text!));
}

/** The text of the first element of a name. */
export function textOf(xml: string, name: string): string | undefined {
  return textsOf(xml, name)[0];
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

function unescapeXml(text: string): string {
  return text.replace(
    /&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi,
    (entity, hex, decimal, name) =>
      hex || decimal
        ? String.fromCodePoint(hex ? parseInt(hex, 16) : Number(decimal))
        : ENTITIES[name] ?? entity,
  );
}
