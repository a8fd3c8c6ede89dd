/** The page as a whole: puts the parts together and keeps the document's own properties. */

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Actions } from "./actions.js";
import { Chat, Composer } from "./chat.js";
import { Dialogs } from "./dialogs.js";
import { Editor, Graph } from "./panels/graphs.js";
import { Fields, Flows, Session } from "./panels/standing.js";
import { Calls, TurnPanel } from "./panels/turn.js";
import { branchTitle, createStore, flowName, initial } from "./state.js";
import { inWords, preferredLanguage, rememberLanguage, span, translator, when } from "./text/words.js";
import { AppContext, Icon, Problem, Select, html, useApp } from "./ui.js";
/** @import { Server, State, Translate } from "./types" */

const store = createStore(initial(preferredLanguage()));
const act = new Actions(store);

function Playground() {
  const [state, setState] = useState(store.get());
  useEffect(() => store.subscribe(setState), []);
  const t = translator(state.lang);
  useEffect(() => {
    document.documentElement.lang = state.lang;
    document.title = [state.server?.agent.name, t("title")].filter(Boolean).join(" · ");
  }, [state.lang, state.server?.agent.name]);
  useEffect(() => afterWake(state.server), [state.server]);
  return html`<${AppContext.Provider} value=${{ state, act, t }}>
    <a class="skip" href="#composer">${t("skip")}</a>
    <${Page} />
    <div class="sr" role="status" aria-live="polite">${state.said}</div>
  <//>`;
}

function Page() {
  const { state, t } = useApp();
  if (state.shut) return html`<main class="whole"><h1>${t("shut.title")}</h1><p>${t("shut.text")}</p></main>`;
  if (!state.server)
    return html`<main class="whole"><${Problem} at="page" /><p>${t(state.lost ? "lost" : "loading")}</p></main>`;
  return html`<${Header} />
    ${state.lost && html`<div class="lost" role="alert">${t("lost")}</div>`}
    <${Sides} />
    <main class=${`page show-${state.side}`}>
      <div class="talk"><${Clock} /><${Chat} /><${Composer} /></div>
      <${House} />
    </main>
    <${Dialogs} />`;
}

/** On a narrow screen one side is shown at a time. */
function Sides() {
  const { state, t } = useApp();
  return html`<nav class="switch" aria-label=${t("house.title")}>
    ${
      /** @type {const} */ (["chat", "house"]).map(
        (side) =>
          html`<button type="button" aria-pressed=${state.side === side}
            onClick=${() => act.set("side", { side })}>${t(`side.${side}`)}</button>`,
      )
    }
  </nav>`;
}

// --- the top: which conversation this is, which model speaks, and the clock -------------------

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function Header() {
  const { state, act, t } = useApp();
  const model = state.server?.agent.models.find(({ id }) => id === state.server?.agent.model);
  return html`<header class="top">
    <h1><span class="brand">falai</span> <span class="agent">${state.server?.agent.name}</span></h1>
    <${Branches} />
    <div class="row end">
      <button type="button" class="plain" onClick=${() => act.set("dialog", { dialog: "model" })}>
        <${Icon} name="model" /><span>${t("model.open", { name: t(`model.${model?.id}`, { or: model?.label }) })}</span></button>
      <button type="button" class="plain" disabled=${state.busy} onClick=${() => act.save()}>
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
    <${Select} label=${t("branch.choose")} value=${branch} set=${(/** @type {string} */ id) => act.load(id)}
      options=${branches.map((one, at) => [one.id, branchTitle(one, at, t)])} />
    ${
      branches.length > 1 &&
      html`<button type="button" class="plain" onClick=${() => act.set("dialog", { dialog: "compare" })}>
      <${Icon} name="compare" /><span>${t("compare.open")}</span></button>`
    }
    <button type="button" class="plain" disabled=${state.busy} onClick=${() => act.fresh()}><${Icon} name="plus" />
      <span>${t("branch.new")}</span></button>
  </div>`;
}

function Language() {
  const { state, act, t } = useApp();
  const set = (/** @type {string} */ lang) => {
    rememberLanguage(lang);
    act.set("lang", { lang });
  };
  return html`<${Select} label=${t("language")} value=${state.lang} set=${set} options=${[
    ["en", "English"],
    ["pt", "Português"],
  ]} />`;
}

/** The clock of this playground and the ways to move it. */
function Clock() {
  const { state, act, t } = useApp();
  const { clock, agent } = /** @type {Server} */ (state.server);
  const move = (/** @type {any} */ by) => () => act.moveClock(by);
  return html`<section class="clock" aria-label=${t("clock.title")}>
    <div class="now"><${Icon} name="clock" /><time datetime=${clock.now}>${when(clock.now, state.lang, agent.timezone)}</time>
      ${clock.aheadMs >= 1000 && html`<span class="soft">${t("clock.ahead", { span: span(clock.aheadMs, state.lang) })}</span>`}
    </div>
    <div class="row">
      <button type="button" disabled=${!clock.nextWake || state.busy} onClick=${move({ next: true })}>
        <${Icon} name="skip" />${t("clock.skip")}</button>
      <button type="button" disabled=${state.busy} onClick=${move({ ms: HOUR })}>${t("clock.hour")}</button>
      <button type="button" disabled=${state.busy} onClick=${move({ ms: DAY })}>${t("clock.day")}</button>
      <button type="button" class="plain" onClick=${() => act.set("dialog", { dialog: "clock" })}>${t("clock.other")}</button>
    </div>
    <p class="next soft">${nextWords(state, t)}</p>
    ${state.dialog !== "clock" && html`<${Problem} at="clock" />`}
  </section>`;
}

/** What the clock comes to next. @param {State} state @param {Translate} t */
function nextWords({ server, lang }, t) {
  const { nextWake, now } = /** @type {Server} */ (server).clock;
  if (!nextWake) return t("clock.nothing");
  const span = inWords(Date.parse(nextWake.at) - Date.parse(now), lang);
  return t("clock.next", { span, flow: flowName(server, nextWake.flow) });
}

// --- the house: tabs by ARIA's pattern, arrows move and one tab is in the tab order -------------

const PANELS = {
  fields: Fields,
  flows: Flows,
  turn: TurnPanel,
  calls: Calls,
  graph: Graph,
  editor: Editor,
  session: Session,
};
const TABS = /** @type {(keyof typeof PANELS)[]} */ (Object.keys(PANELS));

function House() {
  const { state, act, t } = useApp();
  const tab = /** @type {keyof typeof PANELS} */ (state.tab);
  const choose = (/** @type {string} */ name) => act.set("tab", { tab: name });
  return html`<section class="house" aria-label=${t("house.title")}>
    <div class="tabs" role="tablist"
      aria-label=${t("house.title")} onKeyDown=${(/** @type {KeyboardEvent} */ e) => byArrows(e, tab, choose)}>
      ${TABS.map(
        (
          name,
        ) => html`<button type="button" role="tab" id=${`tab-${name}`} aria-controls="panel" aria-selected=${name === tab}
          tabindex=${name === tab ? 0 : -1} onClick=${() => choose(name)}>${t(`tab.${name}`)}</button>`,
      )}
    </div>
    <div class="panel" id="panel" role="tabpanel" tabindex="0" aria-labelledby=${`tab-${tab}`}>
      <h2 class="sr">${t(`tab.${tab}`)}</h2><${PANELS[tab]} /></div>
  </section>`;
}

/** @type {Record<string, (at: number) => number>} */
const MOVES = { ArrowRight: (at) => at + 1, ArrowLeft: (at) => at - 1, Home: () => 0, End: () => -1 };

/** @param {KeyboardEvent} event @param {keyof typeof PANELS} tab @param {(name: string) => void} choose */
function byArrows(event, tab, choose) {
  const move = MOVES[event.key];
  if (!move) return;
  event.preventDefault();
  const name = TABS.at(move(TABS.indexOf(tab)) % TABS.length) ?? tab;
  choose(name);
  document.getElementById(`tab-${name}`)?.focus();
}

// --- the clock goes on --------------------------------------------------------------------------

/** The server plays what comes due by itself; the page looks again when that time has come, and while it plays. */
/** @param {Server | null} server */
function afterWake(server) {
  if (!server) return;
  const { nextWake, now } = server.clock;
  const left = server.playing !== null ? 1000 : Math.max(Date.parse(nextWake?.at ?? "") - Date.parse(now) + 1000, 5000);
  if (!left) return;
  const timer = setTimeout(() => act.load(), Math.min(left, 2 ** 31 - 1));
  return () => clearTimeout(timer);
}

const root = /** @type {HTMLElement} */ (document.getElementById("playground"));
root.replaceChildren();
render(html`<${Playground} />`, root);
act.load();
