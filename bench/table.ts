/** A table of numbers, or of words about them. */
export interface Table {
  readonly title: string;
  /** The names of the columns; those of numbers stand on the right. */
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A table for the terminal. */
export function textOf({ title, head, rows }: Table): string {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((cells) => cells[column]!.length))
  );
  const line = (cells: readonly string[]) =>
    cells.map((cell, column) =>
      column === 0
        ? cell.padEnd(widths[column]!)
        : cell.padStart(widths[column]!)
    ).join("  ");
  const lines = [head, ...rows].map((cells) => `  ${line(cells)}`.trimEnd());
  return [title, ...lines, ""].join("\n");
}

/** A table with its title as a heading, in Markdown. */
export function markdownOf({ title, head, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, column) => column === 0 ? "---" : "---:");
  return [`## ${title}`, "", ...[head, rule, ...rows].map(line), ""].join("\n");
}
