/** The house of the conversation: tabs (ARIA's pattern: arrows move, one tab is in the tab order). */

import { Calls } from "./panels/calls.js";
import { Editor } from "./panels/editor.js";
import { Fields } from "./panels/fields.js";
import { Flows } from "./panels/flows.js";
import { Graph } from "./panels/graph.js";
import { Session } from "./panels/session.js";
import { TurnPanel } from "./panels/turn.js";
import { html, useApp } from "./ui.js";

const PANELS = { fields: Fields, flows: Flows, turn: TurnPanel, calls: Calls, graph: Graph, editor: Editor, session: Session };
const TABS = /** @type {(keyof typeof PANELS)[]} */ (Object.keys(PANELS));

export function House() {
  const { state, act, t } = useApp();
  const tab = /** @type {keyof typeof PANELS} */ (state.tab);
  const choose = (/** @type {string} */ name) => act.set("tab", { tab: name });
  return html`<section class="house" aria-label=${t("house.title")}>
    <div class="tabs" role="tablist" aria-label=${t("house.title")} onKeyDown=${(/** @type {KeyboardEvent} */ e) => byArrows(e, tab, choose)}>
      ${TABS.map(
        (name) => html`<button type="button" role="tab" id=${`tab-${name}`} aria-controls="panel" aria-selected=${name === tab}
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
