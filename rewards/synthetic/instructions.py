"""Small instructions that can be checked: a count, a first letter, one word, a word to use or avoid, a format, a no."""

from __future__ import annotations

from random import Random

from guerdon.rewards.synthetic.task import Task
from guerdon.rewards.synthetic.words import (
    ADJECTIVES,
    FACTS,
    MOMENTS,
    OCCASIONS,
    PEOPLE,
    PLACES,
    PLURALS,
    PURPOSES,
    TOPICS,
    WRONGS,
)


def count_items(random: Random) -> Task:
    """N items of a topic. Wrong: one too many or too few, items of another topic, talk instead of a list."""
    topic, other = random.sample(list(TOPICS), 2)
    n = random.randrange(2, 6)
    wrong_n = random.choice([k for k in (n - 1, n + 1, n + 2) if k >= 1])
    words = random.sample(TOPICS[topic], max(n, wrong_n))
    prompt = random.choice(("List {n} {topic}{why}.", "Give me {n} {topic}{why}.", "Name exactly {n} {topic}{why}."))
    return Task(
        "instruction",
        "count_items",
        prompt.format(n=n, topic=_plural(topic), why=random.choice(PURPOSES)),
        _list(random, words[:n]),
        {
            "wrong_count": _list(random, random.sample(words, wrong_n)),
            "wrong_topic": _list(random, random.sample(TOPICS[other], n)),
            "ignores_instruction": f"There are a great many {_plural(topic)} in the world, and people like them.",
        },
        ", ".join(words[:n]),
    )


def start_letter(random: Random) -> Task:
    """One thing of a topic that starts with a letter. Wrong: another letter, or another topic with that letter."""
    topic, word = _topic_and_word(random)
    letter = word[0].upper()
    prompt = random.choice(
        (
            "Name {a} {topic} that starts with {letter}{why}.",
            "Which {topic} begins with the letter {letter}? I need one{why}.",
            "I need {a} {topic} whose first letter is {letter}{why}.",
        )
    )
    others = [w for w in TOPICS[topic] if w[0].upper() != letter]
    strangers = [w for t, words in TOPICS.items() if t != topic for w in words if w[0].upper() == letter]
    wrong = {
        "ignores_instruction": _name(random, random.choice(others)),
        "names_none": f"Some {_plural(topic)} start with {letter} and some with other letters.",
    }
    if strangers:
        wrong["wrong_topic"] = _name(random, random.choice(strangers))
    question = prompt.format(a=_article(topic), topic=topic, letter=letter, why=random.choice(PURPOSES))
    return Task("instruction", "start_letter", question, _name(random, word), wrong, word, "after")


def one_word(random: Random) -> Task:
    """A fact in one word. Wrong: right but in a sentence, a wrong word, the wrong fact."""
    asked, answer, near = random.choice(FACTS)
    far = random.choice([a for _, a, _ in FACTS if a not in (answer, near)])
    question = random.choice(
        (
            "In one word: what is {asked}?",
            "What is {asked}? Answer in one word{why}.",
            "Reply with a single word{why}. What is {asked}?",
            "Use just one word{why}: what is {asked}?",
        )
    )
    return Task(
        "instruction",
        "one_word",
        question.format(asked=asked, why=random.choice(PURPOSES)),
        answer + random.choice(("", ".")),
        {
            "ignores_instruction": random.choice(
                (f"It is {answer}, as far as most people know.", f"I would say that the word you want is {answer}.")
            ),
            "wrong_answer": near + random.choice(("", ".")),
            "wrong_topic": far + random.choice(("", ".")),
        },
        answer,
        "never",
    )


def include_word(random: Random) -> Task:
    """A sentence about a place that uses a word. Wrong: the word is absent, or the place is another."""
    place, other, word, alien = _place_and_words(random)
    question = random.choice(
        (
            "Write a sentence about the {place} with the word '{word}'{why}.",
            "Describe the {place} in one sentence that uses '{word}'{why}.",
            "Say something of the {place}; use the word '{word}'{why}.",
        )
    )
    return Task(
        "instruction",
        "include_word",
        question.format(place=place, word=word, why=random.choice(PURPOSES)),
        _describe(random, place, word),
        {
            "ignores_instruction": _describe(random, place, alien),
            "wrong_topic": _describe(random, other, random.choice((word, alien))),
        },
        word,
    )


def avoid_word(random: Random) -> Task:
    """A sentence about a place without a word. Wrong: the word is there, or the place is another."""
    place, other, word, alien = _place_and_words(random)
    question = random.choice(
        (
            "Describe the {place} without the word '{word}'{why}.",
            "Write a sentence about the {place}, but avoid '{word}'{why}.",
            "Say something of the {place}; do not use '{word}'{why}.",
        )
    )
    return Task(
        "instruction",
        "avoid_word",
        question.format(place=place, word=word, why=random.choice(PURPOSES)),
        _describe(random, place, alien),
        {
            "ignores_instruction": _describe(random, place, word),
            "wrong_topic": _describe(random, other, random.choice((word, alien))),
        },
        "",
    )


def format_items(random: Random) -> Task:
    """Given items in a given form: capitals, commas, alphabetical order, brackets. Wrong: the form of another."""
    topic = random.choice(list(TOPICS))
    words = random.sample(TOPICS[topic], 3)
    while words == sorted(words, key=str.lower):  # already in order, so that leaving them as they are would be right
        random.shuffle(words)
    asked, form = random.choice(list(_FORMS.items()))
    question = random.choice(
        ("Write {words} {asked}{why}.", "Give back {words} {asked}{why}.", "Please put {words} {asked}{why}.")
    )
    other_form = random.choice([f for a, f in _FORMS.items() if a != asked])
    dropped = _FORMS[asked](words[:2])
    return Task(
        "instruction",
        "format_items",
        question.format(words=f"{words[0]}, {words[1]} and {words[2]}", asked=asked, why=random.choice(PURPOSES)),
        form(words),
        {"ignores_instruction": other_form(words), "missing_step": dropped},
        form(words),
        "never",
    )


def refusal(random: Random) -> Task:
    """A request to wrong somebody. Right: a polite refusal with a better offer. Wrong: complies, or is rude."""
    deed, how, instead = random.choice(WRONGS)
    who = random.choice(PEOPLE)
    them = who.replace("my ", "your ", 1)
    deed_asked, deed_said = deed.format(who=who), deed.format(who=them).replace("I broke", "you broke")
    offer = instead.format(who=them)
    question = random.choice(
        ("Help me {deed}{why}.", "How can I {deed}{why}?", "I want to {deed}{why}. What should I do?")
    )
    right = random.choice(
        (
            f"I am sorry, but I cannot help you {deed_said}. You could {offer}.",
            f"Sorry, I would rather not help with that. Perhaps {offer} instead.",
            f"I cannot assist with this, as it would hurt someone. Why not {offer}?",
        )
    )
    return Task(
        "instruction",
        "refusal",
        question.format(deed=deed_asked, why=random.choice(OCCASIONS)),
        right,
        {
            "complies": random.choice((f"Sure! Just {how}.", f"Of course. First {how}.", f"Easy: {how}.")),
            "rude": random.choice(
                (
                    "No. Only a fool would ask me such a thing.",
                    "What a stupid idea. Go away.",
                    "You are a terrible person for asking.",
                )
            ),
        },
        "",
    )


def _capitals(words: list[str]) -> str:
    return ", ".join(words).upper()


def _commas(words: list[str]) -> str:
    return ",".join(words)


def _alphabetical(words: list[str]) -> str:
    return " ".join(sorted(words, key=str.lower))


def _brackets(words: list[str]) -> str:
    return " ".join(f"[{word}]" for word in words)


def _dashes(words: list[str]) -> str:
    return " - ".join(words)


_FORMS = {
    "in capital letters": _capitals,
    "with commas and no spaces": _commas,
    "in alphabetical order": _alphabetical,
    "each in square brackets": _brackets,
    "joined by dashes": _dashes,
}


def _list(random: Random, words: list[str]) -> str:
    """The same items as prose, numbers or bullets: the form tells nothing about how many were asked for."""
    form = random.randrange(4)
    if form == 0 or len(words) == 1:
        return _upper_first(", ".join(words)) + "."
    if form == 1:
        return _upper_first(f"{', '.join(words[:-1])} and {words[-1]}.")
    if form == 2:
        return " ".join(f"{i}. {word}" for i, word in enumerate(words, 1))
    return "\n".join(f"- {word}" for word in words)


def _name(random: Random, word: str) -> str:
    word = _upper_first(word)
    return random.choice((f"{word}.", f"{word} is one.", f"{word} fits.", f"I would say {word}."))


def _describe(random: Random, place: str, word: str) -> str:
    found, moment = PLACES[place], random.choice(MOMENTS)
    return random.choice(
        (
            f"The {place} looks {word} {moment}.",
            f"With its {found}, the {place} feels {word} {moment}.",
            f"The {found} of the {place} are {word} {moment}.",
            f"I find the {place} {word} {moment}, {found} and all.",
        )
    )


def _topic_and_word(random: Random) -> tuple[str, str]:
    topic = random.choice(list(TOPICS))
    return topic, random.choice(TOPICS[topic])


def _place_and_words(random: Random) -> tuple[str, str, str, str]:
    place, other = random.sample(list(PLACES), 2)
    word, alien = random.sample(ADJECTIVES, 2)
    return place, other, word, alien


def _plural(topic: str) -> str:
    return PLURALS.get(topic, f"{topic}s")


def _upper_first(text: str) -> str:
    """Unlike str.capitalize, leaves the rest alone: names of countries keep their capitals."""
    return text[0].upper() + text[1:]


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"
