import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { jsonText } from "../format.ts";

/** A piece of a page, in which texts are escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

/** A part of a page with a heading. */
export function section(title: string, content: Html): Html {
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, "-");
  return html`<section class="${id}" aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${content}
</section>`;
}

/** Two columns, of sections or nothing. */
export function columns(
  left: readonly (Html | "")[],
  right: readonly (Html | "")[],
): Html {
  return html`
    <div class="columns">
      <div>${left}</div>
      <div>${right}</div>
    </div>
  `;
}

/** A remark. */
export function muted(text: string | Html): Html {
  return html`<p class="muted">${text}</p>`;
}

/** A failure, in place of what it keeps from the page. */
export function alert(message: string): Html {
  return html`<p class="alert" role="alert">${message}.</p>`;
}

/** Properties by their names, without those that are `undefined` or empty. */
export function fieldList(
  fields: readonly (readonly [string, string | undefined])[],
): Html {
  return html`<dl>${
    fields.map(([name, text]) =>
      text && html`
        <div>
          <dt>${name}</dt>
          <dd>${text}</dd>
        </div>
      `
    )
  }</dl>`;
}

/** A value as JSON. */
export function jsonBlock(value: unknown): Html {
  return html`<pre tabindex="0">${jsonText(value)}</pre>`;
}

/** The link to the document of a node. */
export function documentLink(url: string): Html {
  return html`<p><a href="${url}/zarr.json">zarr.json</a></p>`;
}
