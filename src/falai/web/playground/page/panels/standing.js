/** How the conversation stands: what it knows, what runs and what is waited for, and the session as it is stored. */

import { flowName } from "../state.js";
import { block, inWords, inline, when } from "../text/words.js";
import { Empty, Section, Tag, html, useApp } from "../ui.js";
/** @import { Field, Run, Server, Wait } from "../types" */

export function Fields() {
  const { state, t } = useApp();
  const fields = state.server?.fields ?? [];
  if (!fields.length) return html`<${Empty}>${t("fields.none")}<//>`;
  const known = fields.filter((field) => field.known).length;
  return html`<p class="soft">${t("fields.count", { known, all: fields.length })}</p>
    <table class="fields"><thead>
      <tr>${["field", "fields.value", "fields.asked", "fields.source"].map((key) => html`<th scope="col">${t(key)}</th>`)}</tr></thead>
    <tbody>${fields.map((field) => html`<${Row} key=${field.name} field=${field} />`)}</tbody></table>`;
}

/** @param {{ field: Field }} props */
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

/** @param {{ field: Field }} props */
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

// --- flows ------------------------------------------------------------------------------------

export function Flows() {
  const { state, t } = useApp();
  const { runs = [], waits = [] } = state.server ?? {};
  return html`<${Section} title=${t("runs.title")}>
      ${runs.length ? html`<ul class="cards">${runs.map((run) => html`<${RunCard} key=${run.id} run=${run} />`)}</ul>` : html`<${Empty}>${t("runs.none")}<//>`}
    <//>
    <${Section} title=${t("waits.title")}>
      ${waits.length ? html`<ul class="cards">${waits.map((wait) => html`<${WaitCard} key=${wait.key} wait=${wait} />`)}</ul>` : html`<${Empty}>${t("waits.none")}<//>`}
    <//>`;
}

/** @param {{ run: Run }} props */
function RunCard({ run: { flow, name, step, status, floor } }) {
  const { state, act, t } = useApp();
  return html`<li class=${`card ${floor ? "floor" : ""}`}>
    <div><strong>${name || flowName(state.server, flow)}</strong> ${floor && html`<${Tag} kind="floor">${t("runs.floor")}<//>`}
      <p>${t(`run.${status}`, { or: status })}${step && html` · ${t("runs.step", { step })}`}</p></div>
    <button type="button" class="link" onClick=${() => act.set("flow", { flow })}>${t("runs.graph")}</button>
  </li>`;
}

/** @param {{ wait: Wait }} props */
function WaitCard({ wait: { at, flow, step, event } }) {
  const { state, t } = useApp();
  const { clock, agent } = /** @type {Server} */ (state.server);
  return html`<li class="card"><div>
    <strong>${at ? inWords(Date.parse(at) - Date.parse(clock.now), state.lang) : t("waits.open")}</strong>
    ${at && html` <time class="soft" datetime=${at}>${when(at, state.lang, agent.timezone)}</time>`}
    <p>${flowName(state.server, flow)}${step && html` › ${step}`}${event && html` · ${t("waits.event", { event })}`}</p>
  </div></li>`;
}

export function Session() {
  const { state, t } = useApp();
  return html`<pre class="raw" tabindex="0" aria-label=${t("tab.session")}>${block(state.server?.session)}</pre>`;
}
