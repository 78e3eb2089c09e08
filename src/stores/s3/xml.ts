/** The text of the first element of a name, without entities. */
export function textOf(xml: string, name: string): string | undefined {
  const element = new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}>`);
  const text = element.exec(xml)?.[1];
  return text === undefined ? undefined : unescapeXml(text);
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
