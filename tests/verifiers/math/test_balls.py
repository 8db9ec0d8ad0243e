"""Both fields of balls enclose what mpmath computes with far more digits, and agree with each other."""

from __future__ import annotations

from fractions import Fraction as Q

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.verifiers._math import balls
from guerdon.verifiers._math._balls_mpmath import MpmathField
from guerdon.verifiers._math.decision import OversizeError, UndefinedError, VagueError
from guerdon.verifiers._math.exact import Gaussian

PRECISIONS = (128, 512)


def _fields(precision):
    yield MpmathField(precision)
    if balls.has_flint():
        from guerdon.verifiers._math._balls_flint import FlintField

        yield FlintField(precision)


FIELDS = [field for precision in PRECISIONS for field in _fields(precision)]
each_field = pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"{type(field).__name__}-{field.precision}")
ORACLES = {
    "sqrt": mpmath.sqrt,
    "exp": mpmath.exp,
    "log": mpmath.log,
    "gamma": mpmath.gamma,
    "rgamma": mpmath.rgamma,
    "abs": abs,
    "re": mpmath.re,
    "im": mpmath.im,
    "conj": mpmath.conj,
    "arg": mpmath.arg,
    **{name: getattr(mpmath, name) for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{name: getattr(mpmath, name) for name in ("sinh", "cosh", "tanh", "coth", "sech", "csch")},
    **{f"arc{name}": getattr(mpmath, f"a{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
ARGUMENTS = [
    Q(1, 3),
    Q(-1, 3),
    Q(5, 2),
    Q(-5, 2),
    40,
    Gaussian(Q(1, 2), Q(3, 4)),
    Gaussian(-1, -2),
    Gaussian(3, Q(-1, 7)),
]


def as_ball(field, number):
    """An mpmath number as a ball, to its last bit."""
    parts = []
    for part in (mpmath.re(number), mpmath.im(number)):
        sign, man, exp, _ = mpmath.mpf(part)._mpf_
        parts.append(Q(-man if sign else man) * Q(2) ** exp)
    return field.ball(Gaussian(*parts)) if parts[1] else field.ball(parts[0])


def number_of(value):
    if isinstance(value, Gaussian):
        return mpmath.mpc(number_of(value.real), number_of(value.imag))
    return mpmath.mpf(value.numerator) / value.denominator


def test_every_function_has_an_oracle():
    assert set(ORACLES) == set(balls.UNARY)


@each_field
@pytest.mark.parametrize("name", balls.UNARY)
def test_functions_enclose_the_true_value(field, name):
    with mpmath.workprec(1200), field:
        for argument in ARGUMENTS:
            true = ORACLES[name](number_of(argument))
            found = field.unary(name, field.ball(argument), real=False)
            # 1,200 bits of mpmath, widened far below the field's own resolution
            assert field.closeness(found, as_ball(field, true)) == "near", (argument, true)


@each_field
def test_constants_powers_and_inverses(field):
    with mpmath.workprec(1200), field:
        assert field.closeness(field.pi(), as_ball(field, +mpmath.pi)) == "near"
        third = field.ball(Q(1, 3))
        assert field.closeness(third, field.ratio(1, 3)) == "near"
        assert field.closeness(field.inverse(field.ball(3)), third) == "near"
        power = field.power(field.ball(Gaussian(1, 2)), field.ball(Q(1, 3)))
        assert field.closeness(power, as_ball(field, mpmath.mpc(1, 2) ** (mpmath.mpf(1) / 3))) == "near"
        assert field.closeness(field.integer_power(field.ball(Q(-3, 2)), -3), field.ball(Q(-8, 27))) == "near"
        assert (
            field.closeness(field.integer_power(field.ball(Gaussian(1, 1)), 5), field.ball(Gaussian(-4, -4))) == "near"
        )


@each_field
def test_numbers_that_differ_in_the_last_bits_are_apart(field):
    with field:
        root = field.unary("sqrt", field.ball(2), real=True)
        assert field.closeness(root * root, field.ball(2)) == "near"
        moved = root * root + field.ball(Q(1, 2 ** (field.precision - 8)))
        assert field.closeness(moved, field.ball(2)) == "apart"


@each_field
def test_a_wide_ball_is_vague(field):
    with field:
        assert field.closeness(field.widened(field.ball(7), 1), field.ball(7)) == "vague"
        assert field.sign(field.widened(field.ball(0), 1)) is None
        assert field.floor(field.widened(field.ball(7), 1)) is None


@each_field
def test_signs_and_floors_are_certain_or_none(field):
    with field:
        for value, sign, floor in ((Q(7, 2), 1, 3), (Q(-7, 2), -1, -4), (0, 0, 0), (5, 1, 5)):
            assert field.sign(field.ball(value)) == sign
            assert field.floor(field.ball(value)) == floor
        root = field.unary("sqrt", field.ball(2), real=True)
        assert field.floor(root * root) is None
        assert field.floor(field.integer_power(field.ball(10), 10**6)) is None


@each_field
def test_exponents_tell_how_far_a_number_lies_from_one(field):
    with field:
        assert field.exponent(field.ball(3)) < 70
        assert field.exponent(field.integer_power(field.ball(10), 1000)) == pytest.approx(3322, abs=2)
        assert field.exponent(field.integer_power(field.ball(10), -1000)) == pytest.approx(3322, abs=2)
        assert field.exponent(field.ball(0)) == 0


@each_field
@pytest.mark.parametrize(
    ("name", "argument"),
    [("sqrt", -2), ("log", -2), ("arcsin", 2), ("arccos", -2), ("arccosh", 0), ("arctanh", 2), ("exp", Gaussian(0, 1))],
)
def test_where_a_function_has_no_real_value_that_is_said(field, name, argument):
    with field, pytest.raises(UndefinedError):
        field.unary(name, field.ball(argument), real=True)


@each_field
def test_poles_are_vague_and_never_infinite(field):
    with field:
        zero = field.unary("sin", field.pi(), real=True)
        for work in (
            lambda: field.inverse(zero),
            lambda: field.unary("log", zero, real=False),
            lambda: field.unary("cot", zero, real=False),
            lambda: field.unary("gamma", zero, real=False),
            lambda: field.power(zero, field.pi()),
        ):
            with pytest.raises(VagueError):
                work()


@each_field
def test_giants_are_refused_at_once(field):
    with field:
        giant = field.integer_power(field.ball(10), 10**10)
        for name in ("exp", "gamma", "sin"):
            try:
                found = field.unary(name, giant, real=True)
            except (OversizeError, VagueError):
                continue
            assert field.closeness(found, field.ball(0)) != "apart" or name != "sin"
        with pytest.raises(OversizeError):
            field.unary("exp", giant, real=True)


@each_field
@pytest.mark.parametrize("size", [Q(1, 10**400), Q(1), 10**400])
def test_the_same_digits_differ_by_less_than_one_unit_of_the_last(field, size):
    with field:
        a = field.ball(size * Q("1.23456789012"))
        assert field.same_digits(a, field.ball(size * Q("1.234567890129")), 12)
        assert not field.same_digits(a, field.ball(size * Q("1.234567890131")), 12)
        assert not field.same_digits(field.ball(0), field.ball(0), 12)


@settings(max_examples=60)
@given(st.fractions(min_value=-5, max_value=5, max_denominator=1000), st.sampled_from(sorted(balls.UNARY)))
@pytest.mark.skipif(not balls.has_flint(), reason="python-flint is not installed")
def test_flint_and_mpmath_agree(value, name):
    outcomes = []
    for field in _fields(128):
        with field:
            try:
                found = field.unary(name, field.ball(value), real=False)
                parts = [field.unary(part, found, real=False) for part in ("re", "im")]
                outcomes.append([field.floor(part * field.ball(10**15) + field.ratio(1, 3)) for part in parts])
            except (VagueError, OversizeError) as error:
                outcomes.append(type(error).__name__)
    assert outcomes[0] == outcomes[1] or "VagueError" in outcomes


@pytest.mark.skipif(not balls.has_flint(), reason="python-flint is not installed")
def test_an_integral_is_enclosed():
    field = balls.field(128)
    with field:
        found = field.integral(lambda x, analytic: x * x, field.ball(0), field.ball(1))
        assert field.closeness(found, field.ball(Q(1, 3))) == "near"


@pytest.mark.skipif(not balls.has_flint(), reason="python-flint is not installed")
def test_the_precision_of_others_is_put_back():
    import flint

    before = flint.ctx.prec
    with balls.field(512), balls.field(128), balls.field(512):
        assert flint.ctx.prec == 512
    assert flint.ctx.prec == before
