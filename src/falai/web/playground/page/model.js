/** Which model understands and speaks; the scripted one is given its replies here. */

import { useState } from "preact/hooks";
import { Form } from "./dialogs.js";
import { Icon, html, useApp } from "./ui.js";

export function ModelForm() {
  const { state, act, t } = useApp();
  const agent = state.server?.agent;
  const [id, setId] = useState(agent?.model ?? "lexical");
  const [name, setName] = useState(agent?.models.find((model) => model.id === "real")?.name ?? "");
  const [replies, setReplies] = useState([{ call: "speak", reply: "" }]);
  const send = () => act.model({ id, ...(id === "scripted" && { replies: queueOf(replies) }), ...(id === "real" && name && { name }) });
  return html`<${Form} send=${send} label=${t("model.use")}>
    <fieldset><legend class="sr">${t("model.title")}</legend>
      ${agent?.models.map((model) => html`<${Choice} model=${model} chosen=${id === model.id} choose=${() => setId(model.id)} />`)}
    </fieldset>
    ${id === "scripted" && html`<${Queue} replies=${replies} set=${setReplies} />`}
    ${id === "real" &&
    html`<label>${t("model.name")}<input value=${name} placeholder="openai:gpt-5-mini" onInput=${(/** @type {any} */ e) => setName(e.target.value)} /></label>`}
  <//>`;
}

/** @param {{ model: import("./types").ModelChoice, chosen: boolean, choose: () => void }} props */
function Choice({ model: { id, label, available, why }, chosen, choose }) {
  const { t } = useApp();
  return html`<label class="choice">
    <input type="radio" name="model" value=${id} checked=${chosen} onChange=${choose} />
    <span><strong>${t(`model.${id}`, { or: label })}</strong><span class="soft">${t(`model.${id}.long`, { or: label })} ${!available && why}</span></span>
  </label>`;
}

/** @typedef {{ call: string, reply: string }} Reply */

/** The replies in the order in which they are given. @param {{ replies: Reply[], set: (replies: Reply[]) => void }} props */
function Queue({ replies, set }) {
  const { state, t } = useApp();
  const queued = state.server?.agent.queued;
  const change = (/** @type {number} */ at, /** @type {Partial<Reply>} */ part) =>
    set(replies.map((reply, i) => (i === at ? { ...reply, ...part } : reply)));
  return html`<div class="queue"><p>${t("queue.help")} ${!!queued && t("queue.left", { n: queued })}</p>
    <ol>${replies.map(
      ({ call, reply }, at) => html`<li class="row">
        <select aria-label=${t("queue.call")} value=${call} onChange=${(/** @type {any} */ e) => change(at, { call: e.target.value })}>
          <option value="understand">understand</option><option value="speak">speak</option>
        </select>
        <textarea class="code" rows="2" aria-label=${t("queue.reply")} placeholder=${t(`queue.${call}`)} value=${reply}
          onInput=${(/** @type {any} */ e) => change(at, { reply: e.target.value })}></textarea>
        <button type="button" class="plain" aria-label=${t("queue.remove")} onClick=${() => set(replies.filter((_, i) => i !== at))}><${Icon} name="close" /></button>
      </li>`,
    )}</ol>
    <button type="button" onClick=${() => set([...replies, { call: "speak", reply: "" }])}><${Icon} name="plus" />${t("queue.add")}</button>
  </div>`;
}

/** A reply that is JSON goes as what it says, any other as text. @param {Reply[]} replies */
const queueOf = (replies) => replies.filter(({ reply }) => reply.trim()).map(({ call, reply }) => ({ call, reply: valueOf(reply) }));

/** @param {string} text */
function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
