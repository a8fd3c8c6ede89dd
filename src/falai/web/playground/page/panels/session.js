/** The session as it is stored. */

import { block } from "../text/format.js";
import { html, useApp } from "../ui.js";

export function Session() {
  const { state, act, t } = useApp();
  const text = block(state.server?.session);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    act.say(t("session.copied"));
  };
  return html`<div class="row spread"><p class="soft">${t("session.about")}</p>
    <button type="button" onClick=${copy}>${t("session.copy")}</button></div>
    <pre class="raw" tabindex="0" aria-label=${t("tab.session")}>${text}</pre>`;
}
