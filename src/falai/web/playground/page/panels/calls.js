/** The model calls of a turn: what was asked, what came back, what it cost. */

import { block, number, took } from "../text/format.js";
import { turnOf } from "../state.js";
import { Empty, Tag, html, useApp } from "../ui.js";
import { Stepper } from "./turn.js";

export function Calls() {
  const { state, t } = useApp();
  const turn = turnOf(state);
  if (!turn) return html`<${Empty}>${t("turn.none")}<//>`;
  return html`<${Stepper} />
    ${turn.calls.length
      ? turn.calls.map((call, at) => html`<${CallCard} key=${`${turn.n}-${at}`} call=${call} open=${turn.calls.length === 1} />`)
      : html`<${Empty}>${t("calls.none")}<//>`}`;
}

/** @param {{ call: import("../types").Call, open: boolean }} props */
function CallCard({ call, open }) {
  const { state, t } = useApp();
  const { name, model, prompt, reply, error } = call;
  return html`<details class="call" open=${open}>
    <summary><strong>${t(`call.${name}`, { or: name })}</strong> <span class="soft">${model}</span> ${error && html`<${Tag} kind="failed">${t("calls.failed")}<//>`}
      <span class="figures">${figures(call, state.lang, t)}</span></summary>
    ${error && html`<p class="wrong">${error}</p>`}
    <h3>${t("calls.prompt")}</h3><pre tabindex="0" aria-label=${t("calls.prompt")}>${block(prompt)}</pre>
    <h3>${t("calls.reply")}</h3><pre tabindex="0" aria-label=${t("calls.reply")}>${block(reply)}</pre>
  </details>`;
}

/** Tokens, time and price, as far as they are known. @param {import("../types").Call} call @param {string} lang @param {import("../types").Translate} t */
function figures({ promptTokens, completionTokens, cachedTokens, ms, cost }, lang, t) {
  return [
    promptTokens != null && t("calls.in", { n: number(promptTokens, lang) }),
    cachedTokens && t("calls.cached", { n: number(cachedTokens, lang) }),
    completionTokens != null && t("calls.out", { n: number(completionTokens, lang) }),
    ms != null && took(ms, lang),
    cost && `US$ ${cost}`,
  ]
    .filter(Boolean)
    .join(" · ");
}
