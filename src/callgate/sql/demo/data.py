"""The demo shop's rows, made up from lists and a fixed seed: every run makes the same. Pure."""

import random
from collections.abc import Iterator
from datetime import date, timedelta

_SEED = 20240229
CUSTOMERS = 420
ORDERS = 1_450
_FIRST_DAY = date(2024, 1, 2)
_DAYS = 720

_COUNTRIES = {
    "Germany": (
        "Anna Jonas Lena Paul Mia Felix",
        "Weber Fischer Keller Vogel Brandt Lorenz",
        "Berlin Hamburg Köln",
    ),
    "France": (
        "Chloé Hugo Léa Louis Manon Jules",
        "Martin Bernard Dubois Moreau Laurent Girard",
        "Paris Lyon Lille",
    ),
    "Spain": (
        "Lucía Pablo Sofía Diego Carmen Álvaro",
        "García Romero Navarro Torres Vidal Ortega",
        "Madrid Sevilla Vigo",
    ),
    "United States": (
        "Emma Noah Olivia Liam Grace Ethan",
        "Carter Brooks Hayes Foster O'Neil Reed",
        "Boston Denver Austin",
    ),
    "Japan": ("Yui Haruto Aoi Ren Sakura Sota", "Sato Suzuki Tanaka Ito Yamada Mori", "Tokyo Osaka Kyoto"),
    "Brazil": (
        "Ana João Beatriz Pedro Larissa Caio",
        "Silva Souza Lima Rocha Alves Barros",
        "Recife Santos Natal",
    ),
}
_PRODUCTS = {
    "Coffee": ("Espresso Filter Decaf Mocha Lungo Ristretto", "Beans 250 g|Beans 1 kg|Ground 500 g", (6, 28)),
    "Tea": ("Assam Darjeeling Sencha Rooibos Mint Oolong", "Loose 100 g|Sachets 20|Tin 200 g", (4, 22)),
    "Kitchen": ("Steel Copper Bamboo Glass Ceramic Oak", "Kettle|Board|Jug", (12, 95)),
    "Books": (
        "Baking Brewing Foraging Pickling Grilling Fermenting",
        "Handbook|for Beginners|Field Notes",
        (11, 45),
    ),
    "Office": ("Linen Walnut Cork Felt Brass Recycled", "Notebook|Desk Tray|Pen Pot", (5, 60)),
}
_STATUSES = {"delivered": 62, "shipped": 14, "pending": 12, "cancelled": 8, "returned": 4}

Row = tuple[int | str | float | None, ...]


class DemoRows:
    """One pass of the dice over all tables, in the order in which they refer to one another."""

    def __init__(self) -> None:
        dice = random.Random(_SEED)  # noqa: S311 - dice for a demo, not for secrets
        self.customers = list(_customers(dice))
        self.products = list(_products(dice))
        self.orders: list[Row] = []
        self.order_items: list[Row] = []
        prices = [int(str(product[4])) for product in self.products]
        for order_id in range(1, ORDERS + 1):
            placed = _FIRST_DAY + timedelta(days=(order_id * _DAYS) // ORDERS)
            self.orders.append(_order(dice, order_id, placed))
            for product_id in sorted(dice.sample(range(1, len(prices) + 1), dice.choice((1, 1, 2, 2, 3, 4)))):
                item_id = len(self.order_items) + 1
                quantity = dice.choice((1, 1, 1, 2, 2, 3, 6))
                self.order_items.append(
                    (item_id, order_id, product_id, quantity, prices[product_id - 1] / 100)
                )
        self.products = [(*row[:4], int(str(row[4])) / 100, *row[5:]) for row in self.products]


def _customers(dice: random.Random) -> Iterator[Row]:
    countries = list(_COUNTRIES)
    for customer_id in range(1, CUSTOMERS + 1):
        country = dice.choices(countries, weights=(24, 18, 14, 26, 10, 8))[0]
        firsts, lasts, cities = (words.split() for words in _COUNTRIES[country])
        name = f"{dice.choice(firsts)} {dice.choice(lasts)}"
        since = _FIRST_DAY - timedelta(days=dice.randrange(900))
        phone = f"+{dice.randrange(1, 99)} {dice.randrange(10**8):08d}" if dice.random() < 0.7 else None
        email = f"customer{customer_id:03d}@example.com"
        yield (customer_id, name, email, dice.choice(cities), country, phone, since.isoformat())


def _products(dice: random.Random) -> Iterator[Row]:
    """The price comes in cents here: whole numbers do not drift."""
    product_id = 0
    for category, (kinds, forms, (low, high)) in _PRODUCTS.items():
        for kind in kinds.split():
            for form in forms.split("|"):
                product_id += 1
                cents = dice.randrange(low, high) * 100 + dice.choice((0, 49, 50, 90, 95, 99))
                name = f"{kind} {form}"
                yield (
                    product_id,
                    f"{category[:2].upper()}-{product_id:04d}",
                    name,
                    category,
                    cents,
                    dice.randrange(400),
                )


def _order(dice: random.Random, order_id: int, placed: date) -> Row:
    status = dice.choices(list(_STATUSES), weights=list(_STATUSES.values()))[0]
    shipped = None
    if status in ("delivered", "shipped", "returned"):
        shipped = (placed + timedelta(days=dice.randrange(1, 6))).isoformat()
    # A few customers order often: the square of an even die leans to the low numbers.
    customer_id = 1 + int(CUSTOMERS * dice.random() ** 2)
    return (order_id, customer_id, status, placed.isoformat(), shipped)
