"""Columns that are computed from others, filters, and weights of surveys."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pandas as pd

from tests.system.shapes.shape import MONTHS, ROWS, Shape, Truth, write_table


def write_sales(path: Path, random: Random) -> None:
    """A shop: prices, quantities and days, of which some are missing."""
    rows = [
        (
            f"{random.randint(100, 20_000) / 100:.2f}",
            random.randint(1, 10) if random.random() < 0.93 else "",
            f"2024-{random.randint(1, 3):02}-{random.randint(1, 28):02}",
            random.choice(["shop", "web", "phone", "shop", "web", "phone", ""]),
        )
        for _ in range(ROWS)
    ]
    write_table(path, [("price", "quantity", "sold", "channel"), *rows])


def sales(path: Path) -> Truth:
    """Products and months, and filters that leave out missing cells or count them."""
    frame = pd.read_csv(path, keep_default_na=False, na_values={"quantity": [""]})
    revenue = frame["price"] * frame["quantity"]
    months = pd.to_datetime(frame["sold"]).dt.month_name()
    channel = frame["channel"]
    by_month = revenue.groupby(months).sum()
    return {
        "rows": len(frame),
        "revenue": revenue.sum(),
        "by_month": by_month.reindex(MONTHS, fill_value=0),
        "not_web": (~channel.isin(["web", ""])).sum(),
        "kept": (channel != "web").sum(),
        "big": ((revenue > 500) & (frame["quantity"] < 8)).sum(),
        "either": ((channel == "phone") | (months == "February")).sum(),
    }


UNKNOWN_OR_NOT_WEB = "{any: [{channel: {missing: true}}, {not: {channel: web}}]}"

DERIVED = Shape(
    "derived columns and filters",
    "sales.csv",
    write_sales,
    {
        "price": "type: number, bounds: [0, 200], step: 0.01",
        "quantity": "type: integer, bounds: [0, 10]",
        "sold": "type: date, bounds: [2024-01-01, 2024-12-31]",
        "channel": "type: category, values: [shop, web, phone]",
    },
    (
        "name: revenue, statistic: sum, column: revenue",
        "name: by_month, statistic: sum, column: revenue, by: [month]",
        "name: not_web, statistic: count, where: {not: {channel: web}}",
        f"name: kept, statistic: count, where: {UNKNOWN_OR_NOT_WEB}",
        "name: big, statistic: count, where: {revenue: {above: 500}, quantity: {below: 8}}",
        "name: either, statistic: count, where: {any: [{channel: phone}, {month: February}]}",
    ),
    sales,
    derive=("revenue: {product: [price, quantity]}", "month: {part: month, of: sold}"),
)


def write_weighted(path: Path, random: Random) -> None:
    """A survey whose rows stand for different numbers of people."""
    rows = [
        (
            random.choice(["north", "south"]),
            random.randint(18, 90),
            random.choice(["yes", "yes", "no", "yes", "yes", "no", ""]),
            f"{random.randint(50, 250) / 100:.2f}",
        )
        for _ in range(ROWS)
    ]
    write_table(path, [("region", "age", "insured", "pweight"), *rows], end="\n")


def weighted(path: Path) -> Truth:
    """Weighted numbers, means and shares."""
    frame = pd.read_csv(path)
    products = (frame["age"] * frame["pweight"]).groupby(frame["region"]).sum()
    weights = frame.groupby("region")["pweight"].sum()
    answered = frame.dropna(subset="insured")
    insured = answered["pweight"][answered["insured"] == "yes"].sum()
    return {
        "rows": len(frame),
        "adults": weights,
        "mean_age": products / weights,
        "insured": insured / answered["pweight"].sum(),
        "ages": products.sum(),
    }


WEIGHTED = Shape(
    "weights of a survey",
    "survey.csv",
    write_weighted,
    {
        "region": "type: category, values: [north, south]",
        "age": "type: integer, bounds: [18, 98]",
        "insured": 'type: boolean, values: ["no", "yes"]',
        "pweight": "type: number, bounds: [0.5, 2.5], step: 0.01",
    },
    (
        "name: adults, statistic: count, weight: pweight, by: [region]",
        "name: mean_age, statistic: mean, column: age, weight: pweight, by: [region]",
        "name: insured, statistic: proportion, column: insured, weight: pweight",
        "name: ages, statistic: sum, column: age, weight: pweight",
    ),
    weighted,
)

ANALYSES = (DERIVED, WEIGHTED)
