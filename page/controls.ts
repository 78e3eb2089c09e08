/// <reference lib="dom" />
import { PALETTES } from "./colors.ts";
import { append } from "./elements.ts";

/** The time after the last move of a slider until its value is taken, in milliseconds. */
const PAUSE = 120;

/** Adds a slider that chooses a number from 0 to `last`. */
export function addSlider(
  controls: HTMLElement,
  name: string,
  { step, last }: { step: number; last: number },
  value: number,
  onChange: (value: number) => void,
): void {
  const label = append(controls, "label");
  append(label, "span", name);
  const slider = append(label, "input");
  const output = append(label, "output", String(value));
  slider.type = "range";
  slider.step = String(step);
  slider.min = "0";
  slider.max = String(last);
  slider.value = String(value);
  let timer: number | undefined;
  slider.oninput = () => {
    output.textContent = slider.value;
    clearTimeout(timer);
    timer = setTimeout(
      () => onChange(Number(slider.value)),
      PAUSE,
    ) as unknown as number;
  };
}

/** Adds a list of the palettes. */
export function addPalettes(
  controls: HTMLElement,
  chosen: string,
  onChange: (name: string) => void,
): void {
  const label = append(controls, "label");
  append(label, "span", "colors");
  const list = append(label, "select");
  for (const name of Object.keys(PALETTES)) {
    append(list, "option", name).value = name;
  }
  list.value = chosen;
  list.onchange = () => onChange(list.value);
}
