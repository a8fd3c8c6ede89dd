/** What one turn did: its outcome lines in plain words, what changed, what began and ended; and its model calls. */

import { InputWords } from "../chat.js";
import { flowName, turnOf } from "../state.js";
import { block, inline, number, took, when } from "../text/words.js";
import { Empty, Icon, Section, Tag, html, useApp } from "../ui.js";
/** @import { Call, Change, Outcome, Translate, Turn } from "../types" */

export function TurnPanel() {
  const { state, t } = useApp();
  const turn = turnOf(state);
  if (!turn) return html`<${Empty}>${t("turn.none")}<//>`;
  const { outcomes, changes, started, ended, skipped } = turn;
  const flows = started.length + ended.length + skipped.length;
  return html`<${Stepper} />
    <p class="lead"><${InputWords} turn=${turn} /></p>
    ${turn.problem && html`<div class="problem"><p><strong>${t("turn.problem")}</strong> ${turn.problem.message}</p></div>`}
    ${
      outcomes.length > 0 &&
      html`<${Section} title=${t("turn.outcomes")}>
      <ol class="outcomes">${outcomes.map((outcome) => html`<${OutcomeLine} outcome=${outcome} turn=${turn} />`)}</ol><//>`
    }
    ${changes.length > 0 && html`<${Section} title=${t("turn.changes")}><${Changes} changes=${changes} /><//>`}
    ${flows > 0 && html`<${Section} title=${t("tab.flows")}><${Comings} turn=${turn} /><//>`}
    ${!outcomes.length && !changes.length && !flows && html`<${Empty}>${t("turn.nothing")}<//>`}`;
}

/** Which turn is looked at, and the way to those beside it. */
export function Stepper() {
  const { state, act, t } = useApp();
  const turns = state.server?.turns ?? [];
  const at = turns.findIndex(({ n }) => n === turnOf(state)?.n);
  const go = (/** @type {number} */ to) => () => act.set("turn", { n: turns[to].n });
  return html`<div class="stepper">
    <button type="button" class="plain" aria-label=${t("turn.before")} disabled=${at <= 0} onClick=${go(at - 1)}>
      <${Icon} name="left" /></button>
    <h2>${t("turn.of", { n: turns[at]?.n, all: turns.at(-1)?.n })}</h2>
    <button type="button" class="plain" aria-label=${t("turn.after")} disabled=${at === turns.length - 1}
      onClick=${go(at + 1)}><${Icon} name="right" /></button>
  </div>`;
}

/** @param {{ outcome: Outcome, turn: Turn }} props */
function OutcomeLine({ outcome, turn }) {
  const { state, t } = useApp();
  const { flow, step, kind, status, code, words, detail, until, next } = outcome;
  const zone = state.server?.agent.timezone;
  const talked = kind === "collect" && turn.messages.some((message) => message.step === step);
  return html`<li class=${`outcome ${status}`}>
    <p><${Tag} kind=${status}>${t(`status.${status}`, { or: status })}<//>
      <span class="where">${flow ? flowName(state.server, flow) : t("turn.itself")}${step && html` › <b>${step}</b>`}</span></p>
    <p>${code ? t(`outcome.${code}`, { or: words || code }) : t(`did.${talked ? "prompt" : kind}`, { or: words })}</p>
    ${detail && html`<p class="soft">${detail}</p>`}
    <p class="soft">${code && html`<code>${code}</code> `}${until && `${t("turn.until", { at: when(until, state.lang, zone) })} `}${next && t("turn.next", { step: next })}</p>
  </li>`;
}

/** @param {{ changes: Change[] }} props */
function Changes({ changes }) {
  const { t } = useApp();
  return html`<ul class="changes">${changes.map(
    ({ field, old, new: now, source }) => html`<li><b>${field}</b>
      ${old != null && html`<del>${inline(old)}</del> <span class="soft" aria-hidden="true">→</span>`}
      <ins>${now == null ? t("turn.cleared") : inline(now)}</ins>
      ${source && html`<span class="soft">${t(`how.${source}`, { or: source })}</span>`}</li>`,
  )}</ul>`;
}

/** The flows that began, ended, or were passed over. @param {{ turn: Turn }} props */
function Comings({ turn: { started, ended, skipped } }) {
  const { state, t } = useApp();
  const name = (/** @type {string} */ flow) => html`<b>${flowName(state.server, flow)}</b>`;
  return html`<ul class="changes">
    ${started.map(({ flow }) => html`<li><${Tag} kind="ok">${t("turn.started")}<//> ${name(flow)}</li>`)}
    ${ended.map(
      ({ flow, why }) => html`<li>
      <${Tag}>${t("turn.ended")}<//> ${name(flow)} <span class="soft">${why && t(`why.${why}`, { or: why })}</span></li>`,
    )}
    ${skipped.map(
      ({ flow, words, code }) =>
        html`<li><${Tag} kind="skipped">${t("turn.skipped")}<//> ${name(flow)} <span class="soft">${code ? t(`outcome.${code}`, { or: words }) : words}</span></li>`,
    )}
  </ul>`;
}

// --- model calls ------------------------------------------------------------------------------

export function Calls() {
  const { state, t } = useApp();
  const turn = turnOf(state);
  if (!turn) return html`<${Empty}>${t("turn.none")}<//>`;
  return html`<${Stepper} />
    ${
      turn.calls.length
        ? turn.calls.map(
            (call, at) => html`<${CallCard} key=${`${turn.n}-${at}`} call=${call} open=${turn.calls.length === 1} />`,
          )
        : html`<${Empty}>${t("calls.none")}<//>`
    }`;
}

/** @param {{ call: Call, open: boolean }} props */
function CallCard({ call, open }) {
  const { state, t } = useApp();
  const { name, model, prompt, reply, error } = call;
  return html`<details class="call" open=${open}>
    <summary><strong>${t(`call.${name}`, { or: name })}</strong> <span class="soft">${model}</span> ${error && html`<${Tag} kind="failed">${t("status.failed")}<//>`}
      <span class="figures">${figures(call, state.lang, t)}</span></summary>
    ${error && html`<p class="wrong">${error}</p>`}
    <h3>${t("calls.prompt")}</h3><pre tabindex="0" aria-label=${t("calls.prompt")}>${block(prompt)}</pre>
    <h3>${t("calls.reply")}</h3><pre tabindex="0" aria-label=${t("calls.reply")}>${block(reply)}</pre>
  </details>`;
}

/** Tokens, time and price, as far as they are known. @param {Call} call @param {string} lang @param {Translate} t */
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
