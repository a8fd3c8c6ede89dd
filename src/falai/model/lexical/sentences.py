"""What a model without language says: stock sentences in three languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from falai.model.lexical.words import fold, tokens

__all__ = ["SENTENCES", "Language", "Sentences", "language_of"]

Language = Literal["en", "pt", "es"]
_NAMES: Final[dict[str, Language]] = {
    "en": "en", "english": "en", "ingles": "en",
    "pt": "pt", "portuguese": "pt", "portugues": "pt",
    "es": "es", "spanish": "es", "espanol": "es", "castellano": "es",
}  # fmt: skip


def language_of(name: str | None) -> Language | None:
    """The language that a name ("Portuguese", "Brazilian Portuguese") or a tag ("pt-BR") means, if it is one of these."""
    return next((_NAMES[token[0]] for token in tokens(fold(name or "")) if token[0] in _NAMES), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """One language. `{}` is filled in: a name, a label, a list of options."""

    introduction: str
    hello: str
    noted: str
    all_right: str
    cannot_answer: str
    did_not_work: str
    still_open: str
    changed: str
    unreadable: str
    hello_again: str
    ask: str
    ask_yes_no: str
    ask_option: str
    or_: str


SENTENCES: Final[dict[Language, Sentences]] = {
    "en": Sentences(
        introduction=(
            "I am {}. I work without a language model here, and go by single words. "
            "Tell me in a few of them what it is about."
        ),
        hello="Hello!",
        noted="Thank you, I have noted that.",
        all_right="All right.",
        cannot_answer="I cannot answer that myself; I can only take things down.",
        did_not_work="I am sorry, that did not work.",
        still_open="That is not done yet; I will try it again.",
        changed="I have changed that.",
        unreadable="I am afraid I could not use that.",
        hello_again="Hello, it is me again. Shall we go on?",
        ask="Please tell me: {}?",
        ask_yes_no="{}: yes or no?",
        ask_option="Please choose: {}?",
        or_="or",
    ),
    "pt": Sentences(
        introduction=(
            "Eu sou {}. Aqui trabalho sem um modelo de linguagem e me guio por palavras soltas. "
            "Diga em poucas delas do que se trata."
        ),
        hello="Olá!",
        noted="Obrigado, está anotado.",
        all_right="Certo.",
        cannot_answer="Isso eu não sei responder; só consigo anotar.",
        did_not_work="Desculpe, isso não funcionou.",
        still_open="Isso ainda não foi feito; vou tentar de novo.",
        changed="Já mudei isso.",
        unreadable="Não consegui usar essa resposta.",
        hello_again="Olá, sou eu de novo. Vamos continuar?",
        ask="Por favor, me diga: {}?",
        ask_yes_no="{}: sim ou não?",
        ask_option="Por favor, escolha: {}?",
        or_="ou",
    ),
    "es": Sentences(
        introduction=(
            "Soy {}. Aquí trabajo sin un modelo de lenguaje y me guío por palabras sueltas. "
            "Dígame en pocas de ellas de qué se trata."
        ),
        hello="¡Hola!",
        noted="Gracias, queda anotado.",
        all_right="De acuerdo.",
        cannot_answer="Eso no lo sé responder; solo puedo tomar nota.",
        did_not_work="Lo siento, eso no funcionó.",
        still_open="Eso todavía no está hecho; lo intentaré de nuevo.",
        changed="Ya lo cambié.",
        unreadable="No pude usar esa respuesta.",
        hello_again="Hola, soy yo otra vez. ¿Seguimos?",
        ask="Por favor, dígame: ¿{}?",
        ask_yes_no="{}: ¿sí o no?",
        ask_option="Por favor, elija: ¿{}?",
        or_="o",
    ),
}
