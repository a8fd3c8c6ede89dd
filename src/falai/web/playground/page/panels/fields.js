/** What the conversation knows: each field, its value, how often it was asked for, and where the value came from. */

import { inline } from "../text/format.js";
import { Empty, Tag, html, useApp } from "../ui.js";

export function Fields() {
  const { state, t } = useApp();
  const fields = state.server?.fields ?? [];
  if (!fields.length) return html`<${Empty}>${t("fields.none")}<//>`;
  const known = fields.filter((field) => field.known).length;
  return html`<p class="soft">${t("fields.count", { known, all: fields.length })}</p>
    <table class="fields"><thead><tr>${["field", "fields.value", "fields.asked", "fields.source"].map((key) => html`<th scope="col">${t(key)}</th>`)}</tr></thead>
    <tbody>${fields.map((field) => html`<${Row} key=${field.name} field=${field} />`)}</tbody></table>`;
}

/** @param {{ field: import("../types").Field }} props */
function Row({ field }) {
  const { t } = useApp();
  const { name, description, type, known, value, pending, asked } = field;
  return html`<tr class=${known ? "known" : ""}>
    <th scope="row">${name}<span class="about">${[description, type].filter(Boolean).join(" · ")}</span></th>
    <td>${known ? html`<span class="value">${inline(value)}</span>` : !pending && html`<span class="soft">${t("fields.unknown")}</span>`}
      ${pending && html`<${Tag} kind="pending">${t("fields.pending")}<//>`}</td>
    <td>${asked ? html`${asked}×` : html`<span class="soft">—</span>`}</td>
    <td><${Source} field=${field} /></td>
  </tr>`;
}

/** @param {{ field: import("../types").Field }} props */
function Source({ field: { source } }) {
  const { act, t } = useApp();
  if (!source) return html`<span class="soft">—</span>`;
  const look = () => {
    act.set("turn", { n: source.turn });
    act.set("tab", { tab: "turn" });
  };
  return html`<button type="button" class="link" onClick=${look}>${t("turn.n", { n: source.turn })}</button>
    ${source.how && html` <span class="soft">${t(`how.${source.how}`, { or: source.how })}</span>`}`;
}
