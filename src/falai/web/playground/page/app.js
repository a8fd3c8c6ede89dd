/** The page as a whole: puts the parts together and keeps the document's own properties. */

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Actions } from "./actions.js";
import { Chat } from "./chat.js";
import { Composer } from "./composer.js";
import { Dialogs } from "./dialogs.js";
import { House } from "./house.js";
import { createStore, initial } from "./state.js";
import { preferredLanguage, translator } from "./text/translate.js";
import { Clock, Header } from "./toolbar.js";
import { AppContext, Problem, html, useApp } from "./ui.js";

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
  if (!state.server) return html`<main class="whole"><${Problem} at="page" /><p>${t(state.lost ? "lost" : "loading")}</p></main>`;
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
  return html`<nav class="switch" aria-label=${t("side.title")}>
    ${/** @type {const} */ (["chat", "house"]).map(
      (side) => html`<button type="button" aria-pressed=${state.side === side} onClick=${() => act.set("side", { side })}>${t(`side.${side}`)}</button>`,
    )}
  </nav>`;
}

/** The server plays what comes due by itself; the page looks again when the next wake's time has come. */
/** @param {import("./types").Server | null} server */
function afterWake(server) {
  const next = server?.clock.nextWake;
  if (!next) return;
  const left = Date.parse(next.at) - Date.parse(server.clock.now) + 1000;
  const timer = setTimeout(() => act.load(), Math.min(Math.max(left, 5000), 2 ** 31 - 1));
  return () => clearTimeout(timer);
}

const root = /** @type {HTMLElement} */ (document.getElementById("playground"));
root.replaceChildren();
render(html`<${Playground} />`, root);
act.load();
