/** The page's words in the reader's language. A key without a sentence gives what stands for it, else itself. */

import en from "./en.js";
import pt from "./pt.js";

/** @type {Record<string, Record<string, string>>} */
const TEXTS = { en, pt };
const STORED = "falai-playground-language";

/** @param {string} lang @returns {import("../types").Translate} */
export const translator = (lang) => (key, values = {}) =>
  (TEXTS[lang][key] ?? String(values.or ?? key)).replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));

/** What the reader chose before, else what the browser prefers. @returns {"en" | "pt"} */
export const preferredLanguage = () => {
  const wanted = localStorage.getItem(STORED) ?? navigator.language;
  return wanted.startsWith("pt") ? "pt" : "en";
};

/** @param {string} lang */
export const rememberLanguage = (lang) => localStorage.setItem(STORED, lang);
