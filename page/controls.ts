/// <reference lib="dom" />
import { PALETTES } from "./colors.ts";
import { append } from "./elements.ts";

/** The time after the last move of a slider until its value is taken, in milliseconds. */
const PAUSE = 120;

/** A slider on the page. */
export interface Slider {
  /** Shows a number, without telling that it was chosen. */
  show(value: number): void;
}

/**
 * Adds a slider that chooses a number from 0 to `last`.
 *
 * @param onMove Called while the slider moves.
 * @param onChange Called once the slider was moved.
 */
export function addSlider(
  controls: HTMLElement,
  name: string,
  { step, last }: { step: number; last: number },
  value: number,
  onMove: (value: number) => void,
  onChange: (value: number) => void,
): Slider {
  const label = append(controls, "label");
  append(label, "span", name);
  const slider = append(label, "input");
  // Not an <output>, which screen readers would read beside the slider.
  const output = append(label, "b");
  output.ariaHidden = "true";
  slider.type = "range";
  slider.ariaLabel = name;
  slider.step = String(step);
  slider.min = "0";
  slider.max = String(last);
  const show = (value: number) => {
    slider.value = String(value);
    output.textContent = slider.value;
  };
  show(value);
  let timer: number | undefined;
  slider.oninput = () => {
    output.textContent = slider.value;
    clearTimeout(timer);
    timer = setTimeout(
      () => onMove(Number(slider.value)),
      PAUSE,
    ) as unknown as number;
  };
  slider.onchange = () => {
    clearTimeout(timer);
    onChange(Number(slider.value));
  };
  return { show };
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

/**
 * Adds boxes that show and hide channels.
 *
 * @param shown The places of the channels that are shown, which the boxes change.
 */
export function addChannels(
  controls: HTMLElement,
  channels: readonly { index: number; label: string; color: string }[],
  shown: Set<number>,
  onChange: () => void,
): void {
  const group = append(controls, "fieldset", "", "channels");
  append(group, "legend", "channels");
  for (const { index, label, color } of channels) {
    const line = append(group, "label");
    const box = append(line, "input");
    box.type = "checkbox";
    box.checked = shown.has(index);
    append(line, "i").style.background = color;
    append(line, "span", label);
    box.onchange = () => {
      if (box.checked) shown.add(index);
      else shown.delete(index);
      onChange();
    };
  }
}
