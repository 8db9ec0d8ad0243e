"""From the words of a command line to a scorer: ``load_scorer("numeric")``, ``load_scorer("runs/helpful")`` ...

A spec is read by the first rule that fits, so that every spec means one thing:

    http://HOST:PORT#NAME, https://...   scorer NAME of another guerdon server
    vllm+http://HOST:PORT#MODEL          a model in another engine: vllm, sglang, tei, infinity or transformers
                                         (guerdon.serving.external); options renderer, tokenizer, question, token ...
    MODULE:NAME, FILE.py:NAME            Python code of the user's own (below)
    a verifier's name                    guerdon.verifiers.load
    a folder (``./numeric`` if a verifier is called so too)   a reward model saved by ``guerdon train``
    OWNER/NAME                           a reward model of the hub
    SPEC@FILE.json                       any of these with what calibration found out about it: error rates, a
                                         probability map, a bias curve (guerdon.calibration.wrap); may be repeated

Code may be any of these, told apart by what it is and by its required parameters:

    an object that is a Scorer                    taken as it is
    a class, or a function without a required parameter   called with the options; must give a Scorer
    ``verify(response, reference)``               called with the response's text and the reference
    ``reward(sample)``                            called with the Sample

The last two return a Score, a number, or None (unscored), and get the options as keyword arguments. Three options are
not passed on: ``scale`` (else the function's own attribute ``scale``, else ``real``, which promises only a finite
number), ``name`` and ``version`` (else a hash of the source file and the options).

Naming code runs it. A spec comes from the command line or a configuration file, never from a request.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from guerdon.rewards import Sample, Score, Scorer, pointwise
from guerdon.rewards.errors import MissingExtraError, UnknownNameError, UsageError
from guerdon.rewards.types import thaw

_CODE = re.compile(r"(?P<where>.+):(?P<attribute>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_MEASURED = re.compile(r"(?P<spec>.+)@(?P<file>[^@]+\.json)")
_ENGINE = re.compile(r"[A-Za-z0-9_-]+\+https?://")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

_FORMS = (
    "A scorer is the name of a verifier, the folder or hub id (owner/name) of a reward model, module:function, "
    "file.py:function, http://host:port#name, or vllm+http://host:port#model (or another engine); each may end in "
    "@rates.json (or another file of calibration)."
)


def load_scorer(spec: str, **options: Any) -> Scorer:
    """The scorer that a spec names; the module says which forms a spec may take. options go to what is loaded.

    Raises UsageError (with "Did you mean") for a spec that names nothing or an option that is unknown, CheckpointError
    for a folder that holds no reward model, OutageError for a server that does not answer.
    """
    if not isinstance(spec, str) or not spec.strip():
        raise UsageError(f"a scorer's spec must be a non-empty string, got {spec!r}. {_FORMS}")
    if measured := _MEASURED.fullmatch(spec):
        from guerdon.calibration.wrap import wrapped

        return wrapped(load_scorer(measured["spec"], **options), Path(measured["file"]).expanduser())
    if spec.startswith(("http://", "https://")):
        from guerdon.serving.client import RemoteScorer

        return _call(RemoteScorer, spec, spec, options)
    if _ENGINE.match(spec):
        from guerdon.serving.external.scorer import EngineScorer

        return _call(EngineScorer, spec, spec, options)
    if code := _code(spec):
        return _load_code(spec, *code, options)

    from guerdon import verifiers

    if spec in verifiers.names():
        return _call(verifiers.load, spec, spec, options)
    if Path(spec).expanduser().is_dir():
        return load_model(str(Path(spec).expanduser()), **options)
    if _HUB_ID.fullmatch(spec) and not Path(spec).parent.is_dir():
        return load_model(spec, **options)
    raise UsageError(f"{UnknownNameError('scorer', spec, [*verifiers.names(), *_models_near(spec)])}\n{_FORMS}")


def is_data(spec: str) -> bool:
    """Whether loading a spec runs no code but guerdon's and that of installed verifiers, and asks nobody else: a
    verifier, or a model's folder that is here, with or without files of calibration.

    >>> is_data("numeric"), is_data("numeric@rates.json"), is_data("my_rewards.py:check"), is_data("http://host:8008#x")
    (True, True, False, False)
    """
    from guerdon import verifiers

    while measured := _MEASURED.fullmatch(spec):
        spec = measured["spec"]
    if spec.startswith(("http://", "https://")) or _code(spec):
        return False
    return spec in verifiers.names() or Path(spec).expanduser().is_dir()


def load_model(where: str, **options: Any) -> Scorer:
    """A reward model and nothing else: no code, no other server. where: a folder or a hub id. Raises as load_scorer."""
    try:
        from guerdon.rewards.model import RewardModel
    except ImportError as error:
        raise MissingExtraError(f"the reward model {where!r}", "rm") from error
    return _call(RewardModel.load, where, where, options)


def _models_near(spec: str) -> list[str]:
    """Folders with a saved model where the spec points, for "Did you mean"."""
    parent = Path(spec).expanduser().parent
    try:
        return [str(folder) for folder in parent.iterdir() if (folder / "config.json").is_file()]
    except OSError:
        return []


def _call(function: Callable[..., Scorer], spec: str, argument: str, options: Mapping[str, Any]) -> Scorer:
    """``function(argument, **options)``, with an option it does not have reported by name."""
    _check_options(function, spec, options)
    return function(argument, **options)


def _check_options(function: Callable[..., Any], spec: str, options: Mapping[str, Any], taken: int = 1) -> None:
    """Raises if an option is unknown or lacking. taken: how many of the function's first parameters are no options."""
    parameters = _parameters(function)
    choices = [p for p in parameters[taken:] if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in choices]
    for option in options:
        if option not in names and not any(p.kind is p.VAR_KEYWORD for p in parameters):
            raise UnknownNameError(f"option of {spec!r}", option, names)
    lacking = [p.name for p in choices if p.default is p.empty and p.name not in options]
    if lacking:
        raise UsageError(f"{spec!r} needs the option(s) {', '.join(lacking)}; give them as scorer options")


# --- code of the user's own ---


def _code(spec: str) -> tuple[str, str] | None:
    match = _CODE.fullmatch(spec)
    if match and (match["where"].endswith(".py") or _MODULE.fullmatch(match["where"])):
        return match["where"], match["attribute"]
    return None


def _load_code(spec: str, where: str, attribute: str, options: dict[str, Any]) -> Scorer:
    module = _file_module(where) if where.endswith(".py") else _module(where)
    found = _attribute(module, where, attribute)
    if not inspect.isclass(found) and isinstance(found, Scorer):
        if options:
            raise UsageError(f"{spec!r} is already a scorer and takes no options; got {', '.join(options)}")
        return found
    if not callable(found):
        raise UsageError(f"{spec!r} is {found!r:.80}: neither a scorer nor a function. See guerdon.serving.specs")
    parameters = _parameters(found)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    if inspect.isclass(found) or not required:
        return _made_by(found, spec, options)
    verifies = [p.name for p in positional[:2]] == ["response", "reference"]
    if not verifies and len(required) != 1:
        raise UsageError(
            f"{spec!r} has the parameters {inspect.signature(found)}; a scorer is a function of one sample, "
            "verify(response, reference), or a function without required parameters that makes a scorer"
        )
    given = {key: options.pop(key) for key in ("name", "scale", "version") if key in options}
    _check_options(found, spec, options, taken=2 if verifies else 1)
    return pointwise(
        _UserFunction(_absolute(where), attribute, found, verifies=verifies, options=options),
        name=given.get("name", attribute),
        scale=given.get("scale", getattr(found, "scale", "real")),
        version=given.get("version", _source_version(module, options)),
    )


class _UserFunction:
    """A user's function as a function of a sample. It pickles as where it was found, because the module of a file
    cannot be imported by name in another process."""

    def __init__(
        self, where: str, attribute: str, function: Callable[..., Any], *, verifies: bool, options: Mapping[str, Any]
    ) -> None:
        self._where, self._attribute, self._function = where, attribute, function
        self._verifies, self._options = verifies, dict(options)

    def __call__(self, sample: Sample) -> Score | float | None:
        if self._verifies:
            result = self._function(sample.response_text, thaw(sample.reference), **self._options)
        else:
            result = self._function(sample, **self._options)
        return cast("Score | float | None", result)

    def __reduce__(self) -> tuple[Any, ...]:
        return _find_user_function, (self._where, self._attribute, self._verifies, self._options)


def _find_user_function(where: str, attribute: str, verifies: bool, options: Mapping[str, Any]) -> _UserFunction:
    module = _file_module(where) if where.endswith(".py") else _module(where)
    return _UserFunction(where, attribute, _attribute(module, where, attribute), verifies=verifies, options=options)


def _made_by(factory: Callable[..., Any], spec: str, options: Mapping[str, Any]) -> Scorer:
    _check_options(factory, spec, options, taken=0)
    made = factory(**options)
    if isinstance(made, Scorer):
        return made
    raise UsageError(
        f"{spec!r} takes no sample, so it was called to make a scorer, and gave {made!r:.80}; "
        "a scorer has name, version, scale and score(samples)"
    )


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError as error:  # some functions of C extensions
        raise UsageError(f"cannot tell the parameters of {function!r}; wrap it in a Python function") from error


def _attribute(module: ModuleType, where: str, attribute: str) -> Any:
    try:
        return functools.reduce(getattr, attribute.split("."), module)
    except AttributeError:
        public = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise UnknownNameError(f"function in {where}", attribute, public) from None


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # importing runs code we do not own, a script's exit included
        file = Path(*name.split(".")).with_suffix(".py")
        hint = f" To run the file beside you, write {file}:function" if file.is_file() else ""
        raise UsageError(f"cannot import {name!r}: {type(error).__name__}: {error}.{hint}") from error


def _file_module(where: str) -> ModuleType:
    path = Path(_absolute(where))
    try:
        source = path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {where!r}: {error.strerror}") from error
    # Named by place and content: loaded once, and again when the file has changed.
    name = f"_guerdon_{path.stem}_{hashlib.sha256(str(path).encode() + source).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    module_spec = importlib.util.spec_from_file_location(name, path)
    if module_spec is None or module_spec.loader is None:
        raise UsageError(f"{where!r} is not a Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[name] = module
    try:
        module_spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # code we do not own
        del sys.modules[name]
        raise UsageError(f"cannot run {where!r}: {type(error).__name__}: {error}") from error
    return module


def _absolute(where: str) -> str:
    return str(Path(where).expanduser().absolute()) if where.endswith(".py") else where


def _source_version(module: ModuleType, options: Mapping[str, Any]) -> str:
    file = getattr(module, "__file__", None)
    source = Path(file).read_bytes() if file else sys.version.encode()  # a built-in changes with its interpreter
    return "code-" + hashlib.sha256(source + repr(sorted(options.items())).encode()).hexdigest()[:12]
