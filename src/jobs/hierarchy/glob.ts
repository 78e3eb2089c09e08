import { describe } from "../../errors/mod.ts";

/**
 * Returns a function that matches paths with a glob, in time that grows with the product of
 * both lengths alone: names of nodes may be chosen by somebody else, and regular expressions
 * with several stars can take hours for a long name.
 *
 * - `*` is any part of a name, `?` one character, `[a-z]` one of some, `[!a-z]` one of the others.
 * - `**` in place of a name is any number of names, also none.
 * - `{a,b}` is one of several texts, which may have slashes, and `{0..3}` one of several numbers.
 * - A backslash takes the next character as it is written.
 *
 * @param option The name of the option, for messages.
 * @throws {RangeError} If the glob is too long, has too many alternatives, or a group of another
 * syntax, such as `+(a)`.
 */
export function globMatcher(
  glob: string,
  option: string,
): (path: string) => boolean {
  const refuse = (expected: string): never => {
    throw new RangeError(
      `Expected the option "${option}" to have globs ${expected}, found ${
        describe(glob)
      }`,
    );
  };
  if (glob.length > LONGEST) refuse(`of at most ${LONGEST} characters`);
  if (/(?<!\\)(?:\\\\)*[!@+?*]\(/.test(glob)) {
    refuse(
      'with "{a,b}" for one of several texts, and "\\(" for a parenthesis after one of !@+?*',
    );
  }
  const globs = alternativesOf(glob) ??
    refuse(`with at most ${MOST_ALTERNATIVES} alternatives`);
  const patterns = globs.map((each) => each.split("/").map(parseName));
  return (path) => {
    const names = path.split("/").map((name) => Array.from(name));
    return patterns.some((pattern) => matchesNames(pattern, names));
  };
}

/** The longest glob, in UTF-16 code units. */
const LONGEST = 4096;
/** The most globs without braces that a glob stands for. */
const MOST_ALTERNATIVES = 1000;

/** The globs without braces that a glob stands for; `undefined` if there are too many. */
function alternativesOf(glob: string): string[] | undefined {
  let heads = [""];
  let at = 0;
  while (at < glob.length) {
    const group = glob[at] === "{" ? groupAt(glob, at) : undefined;
    const length = glob[at] === "\\" ? 2 : 1;
    const end = group?.end ?? at + length;
    const inner = group?.texts ?? [glob.slice(at, end)];
    const tails: string[] = [];
    for (const text of inner) {
      const found = group === undefined ? [text] : alternativesOf(text);
      if (found === undefined) return undefined;
      tails.push(...found);
      if (heads.length * tails.length > MOST_ALTERNATIVES) return undefined;
    }
    heads = heads.flatMap((head) => tails.map((tail) => head + tail));
    at = end;
  }
  return heads;
}

/** The texts of a group in braces, and its end; `undefined` for a brace that begins none. */
function groupAt(
  glob: string,
  start: number,
): { texts: string[]; end: number } | undefined {
  const cuts = [start];
  let depth = 0;
  for (let i = start; i < glob.length; i++) {
    if (glob[i] === "\\") i++;
    else if (glob[i] === "{") depth++;
    else if (glob[i] === "," && depth === 1) cuts.push(i);
    else if (glob[i] === "}" && --depth === 0) {
      cuts.push(i);
      const texts = cuts.slice(1)
        .map((cut, part) => glob.slice(cuts[part]! + 1, cut));
      const listed = texts.length > 1 ? texts : numbersOf(texts[0]!);
      return listed && { texts: listed, end: i + 1 };
    }
  }
  return undefined;
}

/** The numbers of a range such as `0..3`, with as many digits as the longer end if one begins with 0. */
function numbersOf(text: string): string[] | undefined {
  const [, first, last] = /^(\d{1,9})\.\.(\d{1,9})$/.exec(text) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const isPadded = [first, last].some((digits) => /^0\d/.test(digits));
  const width = isPadded ? Math.max(first.length, last.length) : 0;
  const step = Number(first) <= Number(last) ? 1 : -1;
  // One number too many says that there are too many.
  const count = Math.min(
    Math.abs(Number(last) - Number(first)),
    MOST_ALTERNATIVES,
  ) + 1;
  return Array.from(
    { length: count },
    (_, i) => String(Number(first) + i * step).padStart(width, "0"),
  );
}

/** One character of a pattern. */
type OneCharacter = (character: string) => boolean;

/** A pattern of a name: characters, and `*` for any number of them; `**` for any number of names. */
type NamePattern = "**" | readonly (OneCharacter | "*")[];

function parseName(text: string): NamePattern {
  if (text === "**") return "**";
  const characters = Array.from(text);
  const pattern: (OneCharacter | "*")[] = [];
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i]!;
    if (character === "*") pattern.push("*");
    else if (character === "?") pattern.push(() => true);
    else {
      const set = character === "[" ? setAt(characters, i) : undefined;
      if (set !== undefined) {
        pattern.push(set.matches);
        i = set.last;
        continue;
      }
      const isEscape = character === "\\" && i + 1 < characters.length;
      const own = isEscape ? characters[++i]! : character;
      pattern.push((each) => each === own);
    }
  }
  return pattern;
}

/** The characters of a set in brackets, and the place of its last bracket; `undefined` for a bracket that begins none. */
function setAt(
  characters: readonly string[],
  start: number,
): { matches: OneCharacter; last: number } | undefined {
  const isOther = ["!", "^"].includes(characters[start + 1] ?? "");
  const first = start + (isOther ? 2 : 1);
  const ranges: [from: string, to: string][] = [];
  for (let i = first; i < characters.length; i++) {
    // A bracket at the start is one of the set.
    if (characters[i] === "]" && i > first) {
      const matches = (character: string) => {
        const place = character.codePointAt(0)!;
        const isIn = ranges.some(([from, to]) =>
          from.codePointAt(0)! <= place && place <= to.codePointAt(0)!
        );
        return isIn !== isOther;
      };
      return { matches, last: i };
    }
    if (characters[i] === "\\") i++;
    const from = characters[i];
    const isRange = characters[i + 1] === "-" && characters[i + 2] !== "]";
    if (isRange) i += characters[i + 2] === "\\" ? 3 : 2;
    const to = characters[i];
    if (from !== undefined && to !== undefined) ranges.push([from, to]);
  }
  return undefined;
}

/** Whether the names of a path match patterns of names, one after another. */
function matchesNames(
  patterns: readonly NamePattern[],
  names: readonly (readonly string[])[],
): boolean {
  /** Adds a place in the patterns, and those after patterns that match no name. */
  const add = (places: Set<number>, place: number): void => {
    for (let i = place; !places.has(i); i++) {
      places.add(i);
      if (patterns[i] !== "**") return;
    }
  };
  let places = new Set<number>();
  add(places, 0);
  for (const name of names) {
    const next = new Set<number>();
    for (const place of places) {
      const pattern = patterns[place];
      if (pattern === "**") add(next, place);
      else if (pattern && matchesName(pattern, name)) add(next, place + 1);
    }
    places = next;
  }
  return places.has(patterns.length);
}

/** Whether a name matches a pattern. A star that has matched once is never shortened, since the next star can take what follows. */
function matchesName(
  pattern: Exclude<NamePattern, "**">,
  name: readonly string[],
): boolean {
  let at = 0;
  let star = -1;
  let starEnd = 0;
  for (let i = 0; i < name.length;) {
    const next = pattern[at];
    if (next === "*") {
      star = at++;
      starEnd = i;
    } else if (next?.(name[i]!)) {
      at++;
      i++;
    } else if (star >= 0) {
      at = star + 1;
      i = ++starEnd;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}
