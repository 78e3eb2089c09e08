/// <reference lib="dom" />
/** Appends a new element with a class and a text. */
export function append<K extends keyof HTMLElementTagNameMap>(
  parent: HTMLElement,
  name: K,
  text = "",
  className = "",
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (text !== "") element.textContent = text;
  if (className !== "") element.className = className;
  parent.append(element);
  return element;
}

/** A number with commas between thousands, and with six digits at the most after the first. */
export function numberText(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 7 });
}
