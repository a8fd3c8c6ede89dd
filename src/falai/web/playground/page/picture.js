/**
 * Puts a drawing of the server into the page.
 *
 * What came as text is read as XML, and only the elements and attributes that a drawing needs get in: no
 * scripts, no links, no styles of its own (graph.css has them), nothing that asks for something elsewhere.
 */

import { useEffect, useRef } from "preact/hooks";
import { html } from "./ui.js";

const ELEMENTS = new Set(["svg", "g", "path", "rect", "text", "title"]);
const ATTRIBUTES = new Set(
  "class d height rx transform viewBox width x y data-flow data-kind data-source data-step data-target".split(" "),
);

/** @param {{ svg: string, label: string, lit?: Record<string, string> }} props */
export function Picture({ svg, label, lit = {} }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => frame.current?.replaceChildren(...drawn(svg, label)), [svg, label]);
  useEffect(() => light(frame.current, lit), [svg, label, JSON.stringify(lit)]);
  return html`<div class="picture" tabindex="0" role="region" aria-label=${label} ref=${frame}></div>`;
}

/** @param {string} text @param {string} label */
function drawn(text, label) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (root.localName !== "svg") return [];
  clean(root);
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", label);
  return [document.importNode(root, true)];
}

/** @param {Element} element */
function clean(element) {
  for (const { name } of [...element.attributes]) if (!ATTRIBUTES.has(name)) element.removeAttribute(name);
  for (const child of [...element.children]) isKnown(child) ? clean(child) : child.remove();
}

/** @param {Element} element */
const isKnown = ({ localName, namespaceURI }) => ELEMENTS.has(localName) && namespaceURI === "http://www.w3.org/2000/svg";

/** @param {HTMLElement | null} frame @param {Record<string, string>} lit */
function light(frame, lit) {
  frame?.querySelectorAll("[data-step]").forEach((node) => {
    node.classList.remove("visited", "now", "here");
    const how = lit[node.getAttribute("data-step") ?? ""];
    if (how) node.classList.add(how);
  });
}
