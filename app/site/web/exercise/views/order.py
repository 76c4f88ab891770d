"""Exercises that ask for an order, on a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from app.course.kinds.base import Option
from app.course.kinds.order import Order
from app.site.web.exercise.page_context import Fields, first_value
from app.site.web.exercise.views.base import Form, FormInput, KindView, inline, stored_list, typed_line


@dataclass(frozen=True, slots=True)
class ItemView:
    """One thing to put in order; *place* is empty until it has one."""

    key: str
    text: Markup
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderForm(Form):
    """The things; *strangers* when some of them do not belong."""

    items: tuple[ItemView, ...]
    strangers: bool
    script: str = "order.js"


class OrderView(KindView[Order]):
    """A list to put in order, by dragging or with numbers."""

    def form(self, exercise: Order, filled: FormInput) -> OrderForm:
        """The things in the order that was sent."""
        question = exercise.question(filled.seed)
        items = _items(question.items, filled.given)
        return OrderForm(items=items, strangers=question.strangers)

    def told(self, exercise: Order, seed: int, stored: str) -> Iterator[Markup]:
        """The statements in the order that was sent."""
        items = {item.key: item.text for item in exercise.question(seed).items}
        keys = stored_list(stored)
        for place, key in enumerate(keys, 1):
            yield Markup(f"{place}. ") + (inline(items[key]) if key in items else typed_line(key))
        if not keys:
            yield typed_line(stored)


def _items(items: Sequence[Option], given: Fields) -> tuple[ItemView, ...]:
    """The things in the order given, then those left out."""
    order = list(given.get("answer", ()))
    views = [ItemView(item.key, inline(item.text), _place(item, order, given)) for item in items]
    if order:
        views.sort(key=lambda view: order.index(view.key) if view.key in order else len(order))
    return tuple(views)


def _place(item: Option, order: Sequence[str], given: Fields) -> str:
    if item.key in order:
        return str(order.index(item.key) + 1)
    return first_value(given, f"place.{item.key}")


VIEW = OrderView()
