"""Words of English, Portuguese and Spanish, as far as telling intents apart needs them.

A text becomes stems: folded (no accents, no case), without words that carry no intent, without
endings; words that mean the same to a front desk become one concept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ["Token", "asks_something", "fold", "polarity", "stems", "tokens", "word_set"]

Token = re.Match[str]


def word_set(words: str) -> frozenset[str]:
    """The words of a list that is written as one text."""
    return frozenset(words.split())


_MARKS: Final = {0x2019: "'", 0x2212: "-", 0x2010: "-", 0x2011: "-"}
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")

_STOP: Final = word_set("""
a an the this that these those some any of in on at to for from with without by as is are was be been am i im i'm i'd
i'll i've me my mine we us our you your they them their it its it's he she his her and or but if then so do does did
don't doesn't have has had can could would will should may might must just only also too very please there here now
want wants wanting need needs like likes ask asks asking tell tells say says said saying talk talks speak speaks know
knows knowing get gets getting give gives make makes let lets wish wishes try tries look looks looking how what which
who when where why customer user client person's someone's message about something anything thing things new hi hello instead
hey good morning afternoon evening thank thanks
o os as um uma uns umas de da do das dos em no na nos nas para pra pro por com sem e ou mas se que qual quais quem
quando onde como quanto porque eu meu minha meus minhas me mim nos nosso voce voces seu sua ele ela eles elas isso isto
este esta esse essa aquele ser sou e' esta estou ter tem tenho quero queria quer querer gostaria preciso precisa pode
posso poderia saber sabe falar fala dizer diz pedir pede cliente favor aqui la ja ola oi bom boa dia tarde noite
obrigado obrigada costa sobre algo alguma algum mensagem apenas so somente
el la los las un una unos unas de del al en para por con sin y o pero si que cual cuales quien cuando donde como cuanto
yo mi mis mio me nos nosotros nuestro usted ustedes tu tus su sus el ella ellos eso esto este esta ese esa ser soy es
estoy estar tener tiene tengo quiero quiere quisiera querer gustaria necesito necesita puede puedo podria saber sabe
hablar habla decir dice pedir pide cliente favor aqui alli ya hola buenos buenas dias tardes noches gracias sobre algo
alguna algun mensaje solo solamente
""")  # fmt: skip

_ENDINGS: Final = (
    "amentos", "imentos", "amento", "imento", "aciones", "ations", "ation", "acion", "acoes", "mente", "ments", "acao",
    "iendo", "ment", "ings", "ando", "endo", "indo", "ing", "ies", "ied", "ar", "er", "ir", "ed", "ly", "es", "as",
    "os", "ou", "ei", "am", "em", "s", "e", "o", "a", "y",
)  # fmt: skip

_CONCEPTS: Final = {
    "book": "book schedule reserve reservation agendar marcar reservar reserva agenda",
    "appointment": "appointment visit consultation consulta cita turno visita",
    "reschedule": "reschedule rebook move postpone change remarcar reagendar mudar adiar trocar cambiar mover reprogramar",
    "cancel": "cancel desmarcar cancelar anular",
    "price": "price cost fee charge quote much preco custo custa custar valor orcamento precio cuesta costo costar tarifa",
    "hours": "hours open opening close closing horario horarios aberto abre abrem fecha abierto abren cierra cierran",
    "place": "address location directions parking endereco localizacao direccion ubicacion",
    "person": "person human agent representative receptionist colleague staff someone somebody pessoa humano atendente"
    " recepcionista alguem persona agente representante alguien",
    "complaint": "complain complaint unhappy angry reclamar reclamacao queja quejarse reclamo",
    "pain": "pain hurts hurt ache toothache dor doi dolor duele",
    "pay": "pay payment invoice bill pagar pagamento fatura boleto pago factura",
    "cannot": "cannot can't unable impossible won't couldn't impossivel imposible",
    "quit": "stop quit unsubscribe leave parar sair pare basta dejar salir",
}  # fmt: skip

_YES: Final = word_set(
    "yes yeah yep yup sure ok okay correct right exactly confirm confirmed absolutely perfect fine agreed great sim claro"
    " isso certo correto exato confirmo perfeito combinado si correcto exacto vale perfecto acuerdo"
)
_NO: Final = word_set(
    "no nope nah not wrong incorrect don't isn't never nao errado incorreto nunca negativo incorrecto equivocado"
)
_BUT: Final = word_set("but except mas pero")
_QUESTION_WORDS: Final = word_set(
    "what when where who which why how whats what's qual quais quando onde quem como quanto quantos por-que que cual"
    " cuales cuando donde quien cuanto cuantos"
)
_REQUEST = re.compile(
    r"^(do|does|is|are|can|could|would|will|have|has) (you|u|i|we|it|there|they|the|your)\b"
    r"|^(voce|voces|tem|ha|posso|pode|podem|da para|hay|puedo|puede|pueden|tienen|tiene|es posible) "
    r"|\b(tell me|send me|show me|let me know|i'?d like to know|i want to know|how much|how long|me (diga|diz|fala|manda|envia)"
    r"|quero saber|gostaria de saber|quanto custa|me (dice|envia|manda)|quiero saber|quisiera saber|cuanto cuesta)\b"
)


def fold(text: str) -> str:
    """The text without case and accents, in ASCII digits, character by character: positions stay what they were."""
    return "".join(_folded(character) for character in text.translate(_MARKS))


def tokens(folded: str) -> Iterator[Token]:
    """The words and numbers of a folded text."""
    return _WORD.finditer(folded)


def stems(text: str) -> frozenset[str]:
    """What a text is about."""
    return frozenset(_stem(word) for word in _words(fold(text)) if word not in _STOP)


def polarity(text: str) -> bool | None:
    """Yes, no, or neither; "yes, but …" is neither."""
    words = list(_words(fold(text)))
    start = words[:4]
    if start[:2] == ["no", "problem"]:
        return True
    if not _BUT.isdisjoint(words) or (_NO.isdisjoint(start) and _YES.isdisjoint(start)):
        return None
    return _NO.isdisjoint(start)


def asks_something(text: str) -> bool:
    """Whether the customer wants something in return (M-3.6)."""
    folded = fold(text).strip()
    first = next(_words(folded), "")
    return "?" in text or first in _QUESTION_WORDS or _REQUEST.search(folded) is not None


def _words(folded: str) -> Iterator[str]:
    return (token[0] for token in tokens(folded))


@lru_cache(maxsize=4096)
def _folded(character: str) -> str:
    base = unicodedata.normalize("NFKD", character)[0].lower()[0]
    digit = unicodedata.decimal(base, None)
    return base if digit is None else str(digit)


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    return _CONCEPT_OF.get(word) or _CONCEPT_OF.get(bare := _bare(word), bare)


def _bare(word: str) -> str:
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), "")
    bare = word.removesuffix(ending)
    doubled = ending and len(bare) > 4 and bare[-1] == bare[-2]
    return bare[:-1] if doubled else bare


_CONCEPT_OF: Final = {
    key: f"={concept}" for concept, words in _CONCEPTS.items() for word in words.split() for key in (word, _bare(word))
}
