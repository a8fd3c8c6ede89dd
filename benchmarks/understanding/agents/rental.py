"""A car rental whose authors write Portuguese: all wire types, accents in options, values of mentions."""

from __future__ import annotations

from datetime import date, time
from typing import Annotated, Literal

from pydantic import Field as Bounds

from falai import Agent, Branch, Collect, Field, Flow, OnMention, OnMessage, Say

CLASSES = ["econômico", "SUV", "van"]

FIELDS = {
    "cidade": Field(str, description="cidade da retirada do carro", ask="Pergunte em que cidade.", correct=True),
    "retirada": Field(date, description="dia da retirada", ask="Pergunte a partir de que dia.", correct=True),
    "hora": Field(time, description="hora da retirada, como 10:00", ask="Pergunte a hora da retirada."),
    "categoria": Field(Literal["econômico", "SUV", "van"], description="tipo de carro", correct=True),
    "pessoas": Field(int, description="quantas pessoas viajam", ask="Pergunte quantos vão.", correct=True),
    "dias": Field(Annotated[int, Bounds(ge=1, le=60)], description="por quantos dias", correct=True),
    "diaria": Field(float, description="quanto quer pagar por dia, em reais", ask="Pergunte o limite por dia."),
    "seguro": Field(bool, description="se quer o seguro completo", extract="anywhere"),
    "codigo": Field(str, description="código da reserva, como R-1234", ask="Peça o código da reserva."),
}

rent = Flow(
    "alugar",
    name="Aluguel de carro",
    description="Anota um pedido de aluguel: onde, quando, que carro, por quanto.",
    on=[OnMessage("quer alugar um carro", "precisa de um carro", "pede um orçamento", "!quer vender um carro")],
    steps=[
        Collect("onde", ["cidade", "retirada", "hora"], prompt="Descubra onde e quando."),
        Collect("qual", ["categoria", "pessoas", "dias"], prompt="Descubra que carro serve, e por quantos dias."),
        Collect("preco", ["diaria", "seguro"], branches=[Branch("desistiu do aluguel", then="end")]),
        Say("pronto", "Anotado. Já envio a proposta."),
    ],
)

change = Flow(
    "alterar",
    name="Mudança de reserva",
    description="Muda ou cancela uma reserva que já existe.",
    on=[OnMessage("quer mudar a reserva", "quer cancelar a reserva")],
    steps=[
        Collect("reserva", ["codigo"], prompt="Descubra qual é a reserva."),
        Say("visto", "Vou ver a reserva agora."),
    ],
)

breakdown = Flow(
    "pane",
    name="Pane ou acidente",
    on=[
        OnMention(
            "o carro quebrou",
            "teve um acidente",
            extract={"lugar": {"type": "string", "description": "onde está o carro"}},
            repeat="always",
        )
    ],
    steps=[Say("socorro", "O guincho já vai. Fique em um lugar seguro.")],
)

prices = Flow(
    "precos",
    name="Preços",
    on=[
        OnMention(
            "pergunta o preço",
            "pergunta quanto custa",
            extract={"categorias": {"type": "array", "items": {"type": "string", "enum": CLASSES}}},
            repeat="always",
        )
    ],
    steps=[Say("tabela", "Econômico R$ 120, SUV R$ 220, van R$ 310 por dia.")],
)

person = Flow(
    "pessoa",
    name="Atendente",
    on=[OnMention("pede uma pessoa", "quer falar com um atendente", repeat="always")],
    steps=[Say("momento", "Vou chamar alguém.")],
)

agent = Agent(
    name="Caio",
    model="lexical",
    persona="Atendente de uma locadora: direto e cordial.",
    knowledge_base={"lojas": ["Recife", "Olinda", "Natal", "Salvador"], "idade mínima": 21},
    timezone="America/Sao_Paulo",
    fields=FIELDS,
    flows=[rent, change, breakdown, prices, person],
)
