/** A table of texts. */
export interface Table {
  readonly title: string;
  /** How many columns at the left are words, which are aligned left; if not given, 1. */
  readonly labels?: number;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A table for the terminal. */
export function textOf({ title, labels = 1, head, rows }: Table): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((cells) => cells[column]!.length))
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) =>
      column < labels
        ? cell.padEnd(widths[column]!)
        : cell.padStart(widths[column]!)
    ).join("  ");
  const lines = [head, ...rows].map((cells) => `  ${line(cells)}`.trimEnd());
  return [title, ...lines, ""].join("\n");
}

/** A table in Markdown, with its title as a heading of the second level. */
export function markdownOf({ title, labels = 1, head, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, column) => column < labels ? "---" : "---:");
  return [`## ${title}`, "", ...[head, rule, ...rows].map(line), ""].join(
    "\n",
  );
}
