/** The top of the page: which conversation this is, which model speaks, and the clock. */

import { rememberLanguage } from "./text/translate.js";
import { inWords, span, when } from "./text/format.js";
import { flowName } from "./state.js";
import { Icon, Problem, html, useApp } from "./ui.js";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export function Header() {
  const { state, act, t } = useApp();
  const model = state.server?.agent.models.find(({ id }) => id === state.server?.agent.model);
  return html`<header class="top">
    <h1><span class="brand">falai</span> <span class="agent">${state.server?.agent.name}</span></h1>
    <${Branches} />
    <div class="row end">
      <button type="button" class="plain" onClick=${() => act.set("dialog", { dialog: "model" })}>
        <${Icon} name="model" /><span>${t("model.open", { name: t(`model.${model?.id}`, { or: model?.label }) })}</span></button>
      <button type="button" class="plain" disabled=${!!state.busy} onClick=${() => act.save()}>
        <${Icon} name="save" /><span>${t("save.open")}</span></button>
      <${Language} />
    </div>
    <${Problem} at="page" />
  </header>`;
}

/** The branches: to switch between, to compare, to begin anew. */
function Branches() {
  const { state, act, t } = useApp();
  const { branches = [], branch } = state.server ?? {};
  return html`<div class="row branches">
    <select aria-label=${t("branch.choose")} value=${branch} onChange=${(/** @type {any} */ e) => act.load(e.target.value)}>
      ${branches.map((one, at) => html`<option value=${one.id}>${branchTitle(one, at, t)}</option>`)}
    </select>
    ${branches.length > 1 &&
    html`<button type="button" class="plain" onClick=${() => act.set("dialog", { dialog: "compare" })}>
      <${Icon} name="compare" /><span>${t("compare.open")}</span></button>`}
    <button type="button" class="plain" disabled=${!!state.busy} onClick=${() => act.fresh()}><${Icon} name="plus" /><span>${t("branch.new")}</span></button>
  </div>`;
}

/** @param {import("./types").Branch} branch @param {number} at @param {import("./types").Translate} t */
export const branchTitle = ({ from, turn }, at, t) =>
  from ? t("branch.from", { number: at + 1, turn }) : t("branch.title", { number: at + 1 });

function Language() {
  const { state, act, t } = useApp();
  const change = (/** @type {any} */ event) => {
    rememberLanguage(event.target.value);
    act.set("lang", { lang: event.target.value });
  };
  return html`<select aria-label=${t("language")} value=${state.lang} onChange=${change}>
    <option value="en" lang="en">English</option><option value="pt" lang="pt">Português</option>
  </select>`;
}

/** The clock of this playground and the ways to move it. */
export function Clock() {
  const { state, act, t } = useApp();
  const { clock, agent } = /** @type {import("./types").Server} */ (state.server);
  const move = (/** @type {any} */ by) => () => act.moveClock(by);
  return html`<section class="clock" aria-label=${t("clock.title")}>
    <div class="now"><${Icon} name="clock" /><time datetime=${clock.now}>${when(clock.now, state.lang, agent.timezone)}</time>
      ${clock.aheadMs >= 1000 && html`<span class="soft">${t("clock.ahead", { span: span(clock.aheadMs, state.lang) })}</span>`}
    </div>
    <div class="row">
      <button type="button" disabled=${!clock.nextWake || !!state.busy} onClick=${move({ next: true })}><${Icon} name="skip" />${t("clock.skip")}</button>
      <button type="button" disabled=${!!state.busy} onClick=${move({ ms: HOUR })}>${t("clock.hour")}</button>
      <button type="button" disabled=${!!state.busy} onClick=${move({ ms: DAY })}>${t("clock.day")}</button>
      <button type="button" class="plain" onClick=${() => act.set("dialog", { dialog: "clock" })}>${t("clock.other")}</button>
    </div>
    <p class="next soft">${nextWords(state, t)}</p>
    ${state.dialog !== "clock" && html`<${Problem} at="clock" />`}
  </section>`;
}

/** What the clock comes to next. @param {import("./types").State} state @param {import("./types").Translate} t */
function nextWords({ server, lang }, t) {
  const { nextWake, now } = /** @type {import("./types").Server} */ (server).clock;
  if (!nextWake) return t("clock.nothing");
  const span = inWords(Date.parse(nextWake.at) - Date.parse(now), lang);
  return t("clock.next", { span, flow: flowName(server, nextWake.flow) });
}
