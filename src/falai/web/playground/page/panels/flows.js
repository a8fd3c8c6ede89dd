/** What is going on: the live runs, which of them has the floor, and what is waited for and until when. */

import { inWords, when } from "../text/format.js";
import { flowName } from "../state.js";
import { Empty, Section, Tag, html, useApp } from "../ui.js";

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

/** @param {{ run: import("../types").Run }} props */
function RunCard({ run: { flow, name, step, status, floor } }) {
  const { state, act, t } = useApp();
  return html`<li class=${`card ${floor ? "floor" : ""}`}>
    <div><strong>${name || flowName(state.server, flow)}</strong> ${floor && html`<${Tag} kind="floor">${t("runs.floor")}<//>`}
      <p>${t(`run.${status}`, { or: status })}${step && html` · ${t("runs.step", { step })}`}</p></div>
    <button type="button" class="link" onClick=${() => act.set("flow", { flow })}>${t("runs.graph")}</button>
  </li>`;
}

/** @param {{ wait: import("../types").Wait }} props */
function WaitCard({ wait: { at, flow, step, event } }) {
  const { state, t } = useApp();
  const { clock, agent } = /** @type {import("../types").Server} */ (state.server);
  return html`<li class="card"><div>
    <strong>${at ? inWords(Date.parse(at) - Date.parse(clock.now), state.lang) : t("waits.open")}</strong>
    ${at && html` <time class="soft" datetime=${at}>${when(at, state.lang, agent.timezone)}</time>`}
    <p>${flowName(state.server, flow)}${step && html` › ${step}`}${event && html` · ${t("waits.event", { event })}`}</p>
  </div></li>`;
}
