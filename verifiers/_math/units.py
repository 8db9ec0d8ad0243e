r"""Units: their names, what they measure, and their exact sizes.

A unit that we know is written by its short name whatever it was called: "kilometres per hour" is km/h. A word that we
do not know ("apples", "children tickets") is a unit of its own. ``measure`` says of any unit what it measures and how
large it is, so that 5 cm and 50 mm can be compared and 5 cm and 5 s cannot.

Words that only describe fall away: "4 cups of flour" are cups, "12 feet long" are feet. Words that change a number or
begin a clause ("more", "since", "is") are no units, so the text is not read.
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from guerdon.verifiers._math.tree import Unit

PERCENT = Unit((("%", 1),))

# short name: what it is made of; then all its other names
_SYSTEM = """
m = m: meter meters metre metres
km = 1000 m: kilometer kilometers kilometre kilometres kms
dm = 1/10 m: decimeter decimeters decimetre decimetres
cm = 1/100 m: centimeter centimeters centimetre centimetres cms
mm = 1/1000 m: millimeter millimeters millimetre millimetres
μm = 1/1000000 m: micrometer micrometers micrometre micrometres micron microns
nm = 1/1000000000 m: nanometer nanometers nanometre nanometres
in = 127/5000 m: inch inches
ft = 381/1250 m: foot feet
yd = 1143/1250 m: yard yards yds
mi = 201168/125 m: mile miles
nmi = 1852 m: nauticalmile
ha = 10000 m^2: hectare hectares
acre = 316160658/78125 m^2: acres
L = 1/1000 m^3: l liter liters litre litres
mL = 1/1000000 m^3: ml cc milliliter milliliters millilitre millilitres
cL = 1/100000 m^3: cl centiliter centiliters centilitre centilitres
dL = 1/10000 m^3: dl deciliter deciliters decilitre decilitres
gal = 473176473/125000000000 m^3: gallon gallons
qt = 473176473/500000000000 m^3: quart quarts
pt = 473176473/1000000000000 m^3: pint pints
cup = 473176473/2000000000000 m^3: cups
floz = 473176473/16000000000000 m^3:
tbsp = 473176473/32000000000000 m^3: tablespoon tablespoons
tsp = 473176473/96000000000000 m^3: teaspoon teaspoons
kg = kg: kilogram kilograms kilogramme kilogrammes kgs kilo kilos
g = 1/1000 kg: gram grams gramme grammes
mg = 1/1000000 kg: milligram milligrams
t = 1000 kg: tonne tonnes
ton = ton: tons
lb = 45359237/100000000 kg: lbs pound pounds
oz = 45359237/1600000000 kg: ounce ounces
s = s: sec secs second seconds
ms = 1/1000 s: millisecond milliseconds
min = 60 s: mins minute minutes
h = 3600 s: hr hrs hour hours
day = 86400 s: days
week = 604800 s: weeks wk wks
month = month: months
year = 12 month: years yr yrs
decade = 120 month: decades
century = 1200 month: centuries
A = A: amp amps ampere amperes
K = K: kelvin kelvins
mol = mol: mole moles
cd = cd: candela
Hz = s^-1: hertz
kHz = 1000 s^-1: kilohertz
N = kg m s^-2: newton newtons
kN = 1000 kg m s^-2: kilonewton kilonewtons
J = kg m^2 s^-2: joule joules
kJ = 1000 kg m^2 s^-2: kilojoule kilojoules
W = kg m^2 s^-3: watt watts
kW = 1000 kg m^2 s^-3: kilowatt kilowatts
MW = 1000000 kg m^2 s^-3: megawatt megawatts
kWh = 3600000 kg m^2 s^-2: kilowatthour
Pa = kg m^-1 s^-2: pascal pascals
kPa = 1000 kg m^-1 s^-2: kilopascal kilopascals
V = kg m^2 s^-3 A^-1: volt volts
Ω = kg m^2 s^-3 A^-2: ohm ohms
kΩ = 1000 kg m^2 s^-3 A^-2: kiloohm kiloohms kohm
MΩ = 1000000 kg m^2 s^-3 A^-2: megaohm megaohms
mV = 1/1000 kg m^2 s^-3 A^-1: millivolt millivolts
kV = 1000 kg m^2 s^-3 A^-1: kilovolt kilovolts
mA = 1/1000 A: milliamp milliamps milliampere milliamperes
μA = 1/1000000 A: microamp microamps
μF = 1/1000000 kg^-1 m^-2 s^4 A^2: microfarad microfarads
nF = 1/1000000000 kg^-1 m^-2 s^4 A^2: nanofarad nanofarads
pF = 1/1000000000000 kg^-1 m^-2 s^4 A^2: picofarad picofarads
μC = 1/1000000 s A: microcoulomb microcoulombs
nC = 1/1000000000 s A: nanocoulomb nanocoulombs
μs = 1/1000000 s: microsecond microseconds
ns = 1/1000000000 s: nanosecond nanoseconds
μg = 1/1000000000 kg: microgram micrograms
μL = 1/1000000000 m^3: microliter microliters
MHz = 1000000 s^-1: megahertz
GHz = 1000000000 s^-1: gigahertz
MPa = 1000000 kg m^-1 s^-2: megapascal megapascals
GPa = 1000000000 kg m^-1 s^-2: gigapascal gigapascals
MJ = 1000000 kg m^2 s^-2: megajoule megajoules
eV = 801088317/5000000000000000000000000000 kg m^2 s^-2: electronvolt electronvolts
keV = 801088317/5000000000000000000000000 kg m^2 s^-2:
MeV = 801088317/5000000000000000000000 kg m^2 s^-2:
GeV = 801088317/5000000000000000000 kg m^2 s^-2:
mmol = 1/1000 mol: millimole millimoles
C = s A: coulomb coulombs
F = kg^-1 m^-2 s^4 A^2: farad farads
T = kg s^-2 A^-1: tesla teslas
mph = 1397/3125 m s^-1:
kph = 5/18 m s^-1: kmh kmph
$ = $: dollar dollars USD usd bucks
¢ = 1/100 $: cent cents
€ = €: euro euros EUR
£ = £: GBP
¥ = ¥: yen JPY
₹ = ₹: rupee rupees INR Rs
RMB = RMB: yuan CNY
° = °: degree degrees deg
′ = 1/60 °: arcminute arcminutes arcmin
″ = 1/3600 °: arcsecond arcseconds arcsec
rev = 360 °: revolution revolutions
rad = rad: radian radians
°C = °C:
°F = °F:
% = 1/100: percent pct
bit = bit: bits
byte = 8 bit: bytes
unit = unit: units
"""

SIGNS = {"\\$": "$", "\\euro": "€", "\\pounds": "£", "\\cent": "¢", "\\yen": "¥", "\\rupee": "₹"}
"""Currency signs, as tokens."""

_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_POWERS_AFTER = {"squared": 2, "cubed": 3}
_DESCRIPTIONS = """
long tall high wide deep thick old away apart each total altogether ago later left remaining
"""
_DESCRIBE = frozenset(_DESCRIPTIONS.split())
_CLAUSES = """
and or half halves quarter quarters third thirds fourths fifths plus minus over to than squared cubed factorial not
pi sqrt root until between mod divided multiplied times out if for where when with is are was were be the a an this
that these those because since as so but except otherwise else more less fewer only which who it its they there has
have had will can would should could must may might however therefore hence thus while at most least about
approximately base equals equal given such by from on into choose even odd then true false yes no
"""
_CHANGING = """
half halves quarter quarters third thirds fourth fourths fifth fifths tenth tenths hundredth hundredths thousandth
thousandths hundred thousand million billion dozen tens hundreds thousands plus minus over to through till until
squared cubed doubled tripled halved factorial root roots power powers mod modulo divided multiplied times point
negative positive reciprocal inverse opposite complement versus vs not never no nope nor unknown wrong incorrect false
maybe perhaps possibly probably ish below above under shy
"""
CHANGES = frozenset(_CHANGING.split())
"""Words that make another number, or another statement, of the number before them."""
NO_UNITS = frozenset(_CLAUSES.split()) | CHANGES
"""Words that change the number before them or begin a clause."""
_MOST_WORDS = 6


@dataclass(frozen=True, slots=True)
class Measure:
    """What a unit measures and how large it is. dimension: base units to powers, in alphabetical order.

    factor: how many of the base units one of this unit is. Two quantities with the same dimension may be compared by
    their values times their factors.
    """

    dimension: tuple[tuple[str, int], ...]
    factor: Fraction


def _parsed(system: str) -> tuple[dict[str, str], dict[str, Measure]]:
    names: dict[str, str] = {}
    measures: dict[str, Measure] = {}
    for line in system.strip().splitlines():
        definition, _, others = line.partition(":")
        short, _, made_of = definition.partition(" = ")
        factor, dimension = Fraction(1), {}
        for part in made_of.split():
            if part[0].isdigit():
                factor = Fraction(part)
            else:
                base, _, power = part.partition("^")
                dimension[base] = int(power or 1)
        names.update(dict.fromkeys((short, *others.split()), short))
        measures[short] = Measure(tuple(sorted(dimension.items())), factor)
    return names, measures


_SHORT, _MEASURES = _parsed(_SYSTEM)


_CHINESE = """
米 m 公尺 m 厘米 cm 毫米 mm 分米 dm 千米 km 公里 km 微米 μm 纳米 nm 公顷 ha 升 L 毫升 mL 千克 kg 公斤 kg 克 g 毫克 mg
吨 t 秒 s 分钟 min 小时 h 时 h 天 day 日 day 周 week 星期 week 月 month 个月 month 年 year 元 RMB 人民币 RMB 度 ° 牛 N
牛顿 N 焦耳 J 瓦 W 千瓦 kW 伏 V 伏特 V 安 A 安培 A 欧 Ω 欧姆 Ω 摩尔 mol 赫兹 Hz 美元 $ 欧元 € 弧度 rad
"""
_SHORT |= dict(zip(_CHINESE.split()[::2], _CHINESE.split()[1::2], strict=True))


def known(word: str) -> str | None:
    """The short name of a unit, by any of its names; capitals matter only in names of one or two letters."""
    short = _SHORT.get(word)
    return short if short or len(word) < 3 else _SHORT.get(word.lower())


_CHINESE_WORDS = {"平方": '"square', "立方": '"cubic', "每": '"per'}
_CHINESE_PARTS = re.compile("(平方|立方|每)")


def chinese_unit(run: str) -> list[str] | None:
    """The word tokens in a run of ideographs such as 平方厘米 or 米每秒; None if these are no units that we know."""
    if run.isascii() or not (parts := [part for part in _CHINESE_PARTS.split(run) if part]):
        return None
    if not all(part in _CHINESE_WORDS or part in _SHORT for part in parts) or parts[-1] not in _SHORT:
        return None
    return [_CHINESE_WORDS.get(part) or f'"{part}' for part in parts]


@lru_cache(maxsize=1024)
def measure(unit: Unit) -> Measure:
    """What a unit measures; an unknown word is a dimension of its own, the same in singular and plural."""
    factor, dimension = Fraction(1), dict[str, int]()
    for name, power in unit.factors:
        one = _MEASURES.get(name) or Measure(((_singular(name), 1),), Fraction(1))
        factor *= one.factor**power
        for base, exponent in one.dimension:
            dimension[base] = dimension.get(base, 0) + exponent * power
    return Measure(tuple(sorted((base, power) for base, power in dimension.items() if power)), factor)


def _singular(name: str) -> str:
    if name.endswith("ies") and len(name) > 4:
        return name[:-3] + "y"
    if name.endswith(("ches", "shes", "sses", "xes")):
        return name[:-2]
    return name[:-1] if name.endswith("s") and not name.endswith("ss") and len(name) > 3 else name


def unit_of(factors: Iterable[tuple[str, int]]) -> Unit:
    """The unit made of these names to these powers, in order, each name once."""
    powers: dict[str, int] = {}
    for name, power in factors:
        powers[name] = powers.get(name, 0) + power
    return Unit(tuple(sorted((name, power) for name, power in powers.items() if power)))


def times(first: Unit, second: Unit) -> Unit:
    """Both units together; the same unit named twice ("$5 dollars") is named once."""
    return first if first == second else unit_of((*first.factors, *second.factors))


def read_unit(tokens: Sequence[str], at: int) -> tuple[Unit, int] | None:
    """The unit that begins at a word token, and where it ends; None if the word is no unit.

    Words are tokens that begin with a quotation mark. Known are powers (``^2``, ``^{-1}``, "squared", "square …"),
    quotients ("/", "per") and products (a dot, a hyphen, or nothing between them).
    """
    if tokens[at] == '"per' and tokens[at + 1] == '"cent':
        return PERCENT, at + 2
    factors: list[tuple[str, int]] = []
    unknown: list[str] = []
    sign, start = 1, at
    while at - start < 4 * _MOST_WORDS:
        after, sign_here = _joint(tokens, at)
        if sign_here:
            if unknown:
                factors.append((" ".join(unknown), sign))
                unknown = []
            sign, at = sign_here, after
        word = tokens[at][1:] if tokens[at][:1] == '"' else ""
        power = _POWERS.get(word.lower(), 1)
        if power > 1:
            at += 1
            word = tokens[at][1:] if tokens[at][:1] == '"' else "unit"
        short = known(word) if word else None
        if short is None and ((len(word) < 2 and word.isascii()) or word.lower() in NO_UNITS):
            break
        at += 1
        if short is None:
            unknown.append(word.lower())
            if tokens[at] == "^":
                at, exponent = _exponent(tokens, at)
                factors.append((" ".join(unknown), sign * exponent))
                unknown, sign = [], 1
            if len(unknown) > _MOST_WORDS:
                return None
            continue
        at, exponent = _exponent(tokens, at)
        factors.append((short, sign * power * exponent))
        sign = 1
        if tokens[at] == '"of':
            at = _described(tokens, at)
            break
    while unknown and len(unknown) + len(factors) > 1 and unknown[-1] in _DESCRIBE:
        unknown.pop()
    if unknown:
        factors.append((" ".join(unknown), sign))
    return (unit_of(factors), at) if factors else None


def _joint(tokens: Sequence[str], at: int) -> tuple[int, int]:
    """Where the next name begins behind "/", "per" or a dot, and the sign of its power; 0 where there is none."""
    token = tokens[at]
    if token == '"per' or (token == "/" and _is_name(tokens[at + 1])):
        return at + 1, -1
    if token in ("\\cdot", "*", "-") and _is_name(tokens[at + 1]) and tokens[at - 1] != token:
        return at + 1, 1
    return at, 0


def _is_name(token: str) -> bool:
    return token[:1] == '"' and (known(token[1:]) is not None or len(token) > 2) and token[1:].lower() not in NO_UNITS


def _exponent(tokens: Sequence[str], at: int) -> tuple[int, int]:
    token = tokens[at]
    if token[:1] == '"' and token[1:] in _POWERS_AFTER:
        return at + 1, _POWERS_AFTER[token[1:]]
    if token not in ("^", "**"):
        return at, 1
    end = at + 1
    braced = tokens[end] == "{"
    end += braced
    negative = tokens[end] == "-"
    end += negative
    digits = tokens[end]
    if not (digits.isdigit() and len(digits) == 1) or (braced and tokens[end + 1] != "}"):
        return at, 1
    return end + 1 + braced, -int(digits) if negative else int(digits)


def read_part(tokens: Sequence[str], at: int) -> tuple[Unit, int] | None:
    """ "of the pizza" as a unit of its own; None if "of" is followed by a number."""
    end = at + 1
    while tokens[end][:1] == '"' and (tokens[end] in ('"the', '"a', '"all', '"his', '"her') or _is_name(tokens[end])):
        end += 1
    words = [token[1:].lower() for token in tokens[at:end]]
    return (unit_of(((" ".join(words), 1),)), end) if 1 < len(words) <= _MOST_WORDS else None


def _described(tokens: Sequence[str], at: int) -> int:
    """Where "of flour" ends."""
    end = at + 1
    while tokens[end][:1] == '"' and tokens[end][1:].lower() not in NO_UNITS and end - at <= _MOST_WORDS:
        end += 1
    return end if end > at + 1 else at
