/**
 * Well-known text of coordinate reference systems, of all versions.
 *
 * Source: https://docs.ogc.org/is/18-010r11/18-010r11.pdf
 */

/** The most systems in one another, and the most brackets in one another; no real system has as many. */
export const DEEPEST = 50;

/** A node of well-known text: `KEYWORD[value, …]`. */
export interface WktNode {
  readonly keyword: string;
  readonly values: (string | WktNode)[];
}

/** Parses well-known text; `undefined` if it is none. */
export function parseWkt(text: string): WktNode | undefined {
  const root: WktNode = { keyword: "", values: [] };
  const open = [root];
  for (
    const [token] of text.matchAll(/"(?:[^"]|"")*"|[[\](),]|[^\s[\](),"]+/g)
  ) {
    const { values } = open.at(-1)!;
    if (token === "[" || token === "(") {
      const keyword = values.pop();
      if (typeof keyword !== "string") return undefined;
      const node = { keyword: keyword.toUpperCase(), values: [] };
      values.push(node);
      open.push(node);
      if (open.length > DEEPEST) return undefined;
    } else if (token === "]" || token === ")") {
      open.pop();
      if (open.length === 0) return undefined;
    } else if (token !== ",") {
      values.push(
        token.startsWith('"')
          ? token.slice(1, -1).replaceAll('""', '"')
          : token,
      );
    }
  }
  const [node] = root.values;
  return open.length === 1 && typeof node === "object" ? node : undefined;
}

/** The nodes in a node that have one of some keywords. */
export function nodesIn(
  { values }: WktNode,
  ...keywords: readonly string[]
): WktNode[] {
  return values.filter((value) => typeof value !== "string")
    .filter(({ keyword }) => keywords.includes(keyword));
}

/** The code of EPSG that a node has. */
export function epsgOf(node: WktNode): number | undefined {
  const id = nodesIn(node, "ID", "AUTHORITY")
    .find(({ values }) => String(values[0]).toUpperCase() === "EPSG");
  const code = Number(id?.values[1]);
  return Number.isInteger(code) ? code : undefined;
}
