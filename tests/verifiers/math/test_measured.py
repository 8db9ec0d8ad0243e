"""Quantities, money, angles, percents, ratios, times, dates and digits in a base."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Same = Callable[..., bool | None]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (r"15\text{ cm}^2", "15"),
        (r"5\text{ cm}", r"50\text{ mm}"),
        (r"1.5\text{ hours}", r"90\text{ minutes}"),
        (r"36\text{ km/h}", r"10\text{ m/s}"),
        ("5 ft 6 in", "66 inches"),
        (r"5\text{ units}", r"5\text{ cm}"),
        ("7 goats", "7 stuffed goats"),
        (r"\$0.50", "50 cents"),
        (r"\$18.90", "18.9"),
        (r"60^\circ", r"\frac{\pi}{3}"),
        (r"60^\circ", "60"),
        (r"60^\circ", "60 degrees"),
        (r"\frac{\pi}{3}\text{ radians}", r"60^\circ"),
        (r"12.5\%", r"\frac18"),
        (r"40\%", "40 percent"),
        ("6:8", "3:4"),
        ("6:8", r"\frac34"),
        ("1:2:3", "2:4:6"),
        ("x:y", "2x:2y"),
        ("3:30 PM", "15:30"),
        ("3:30 PM", "3:30"),
        ("March 5", "5 March"),
        ("March 5", "March 5, 2024"),
        ("1011_2", "1011_{2}"),
        ("2E_{16}", r"\text{2E}_{16}"),
        ("2E_{16}", "2e_{16}"),
    ],
)
def test_these_are_the_same_measure(same: Same, a: str, b: str) -> None:
    assert same(a, b) is True


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (r"5\text{ cm}", r"5\text{ m}"),
        (r"5\text{ cm}", r"5\text{ cm}^2"),
        ("12 hours", "12 minutes"),
        ("12 hours", "12 apples"),
        ("12 apples", "12 oranges"),
        (r"\$5", "€5"),
        (r"\$5", "5 cents"),
        (r"30^\circ", r"60^\circ"),
        (r"\frac{\pi}{6}", "30"),
        (r"30^\circ", r"30\text{ radians}"),
        (r"5\%", "0.5"),
        (r"0.5\%", "0.5"),
        ("3:4", "4:3"),
        ("1:2:3", "1:2"),
        ("12:00", "1:00"),
        ("2:15", "2:51"),
        ("3:30 PM", "3:30 AM"),
        ("3:30 AM", "15:30"),
        ("March 5", "March 6"),
        ("March 5, 2024", "March 5, 2025"),
        ("204_5", "204_6"),
        ("1011_2", "11"),
        ("2A_{16}", "2b_{16}"),
        ("2A_{16}", "2a_{15}"),
    ],
)
def test_these_are_other_measures(same: Same, a: str, b: str) -> None:
    assert same(a, b) is False


@pytest.mark.parametrize("share", ["1/2", "0.125", "3/7", "-1/4"])
def test_a_percent_is_a_hundredth_beside_a_share(same: Same, share: str) -> None:
    assert same(rf"{share}\%", f"({share})/100") is True
    assert same(rf"{share}\%", share) is False
