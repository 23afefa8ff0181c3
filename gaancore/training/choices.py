"""Settings as values: changed by name, read from files, checked, compared.

A task's settings are a frozen dataclass; these functions know none of them.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from importlib import resources
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from gaancore.errors import SettingsError, expect_choice
from gaancore.system.paths import user_path

Layer = tuple[str, dict[str, Any]]  # what to blame in an error, and {setting: value}
NO_WORDS: Mapping[str, Any] = {}
AnySettings = TypeVar("AnySettings", bound=Any)  # a frozen dataclass of one task's settings


def with_changes(settings: AnySettings, *layers: Layer) -> AnySettings:
    """`settings` with values replaced; strings are read as the field's type.

    A field may name words that stand for numbers, in the `words` of its metadata.
    layers : (what to blame in an error, such as a file name; {setting: value}); where two name the
             same setting, the later one wins. Only what comes out at the end has to be valid.
    Raises SettingsError for a name or value that is not valid.
    """
    known = {f.name: f for f in fields(settings)}
    values: dict[str, Any] = {}
    blame: dict[str, str] = {}
    for where, changes in layers:
        for name, value in changes.items():
            if name not in known:
                raise SettingsError(f"{where}: {name}: no such setting; known: {', '.join(known)}")
            meaning = known[name].metadata.get("words", {})
            values[name] = _convert(where, name, value, known[name].default, meaning)
            blame[name] = where
    try:
        return replace(settings, **values)
    except SettingsError as error:
        culprit = blame.get(str(error).partition(":")[0])
        raise SettingsError(f"{culprit}: {error}" if culprit else str(error)) from None


def shipped_recipes() -> list[str]:
    """Names of the recipes that come with the package."""
    folder = resources.files("gaancore.recipes")
    names = (file.name for file in folder.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def shipped_recipe(name: str) -> dict[str, Any]:
    """The settings of a recipe that comes with the package."""
    file = resources.files("gaancore.recipes") / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def read_config(name: str) -> dict[str, Any]:
    """The settings of a TOML file, one `name = value` a line.

    name : a path, or the name of a shipped recipe. Raises SettingsError.
    """
    recipes = shipped_recipes()
    try:
        path = user_path(name)
        if not path.exists() and name in recipes:
            return shipped_recipe(name)
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"{name}: cannot be read ({error.strerror}), and no shipped recipe has this name "
            f"({', '.join(recipes) or 'there are none'})"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{name}: not a TOML file: {error}") from None


def differences(a: Any, b: Any) -> list[str]:
    """`name: value in a, value in b` for each setting in which they differ."""
    mine, yours = asdict(a), asdict(b)
    return [f"{name}: {mine[name]} -> {yours[name]}" for name in mine if mine[name] != yours[name]]


def choices_of(kind: type) -> dict[str, tuple[str, ...]]:
    """The values that each setting of a class may have, where its type is a Literal of them."""
    hints = get_type_hints(kind)
    return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}


def expect_choices(settings: Any) -> None:
    """Raise SettingsError unless every setting whose type is a Literal has one of its values."""
    for name, allowed in choices_of(type(settings)).items():
        expect_choice(name, getattr(settings, name), allowed)


def expect_at_least(settings: Any, least: int, *names: str) -> None:
    """Raise SettingsError unless each of the settings is `least` or more, and not NaN."""
    for name in names:
        if not getattr(settings, name) >= least:
            raise SettingsError(f"{name}: expected {least} or more, got {getattr(settings, name)}")


def expect_rates(settings: Any) -> None:
    """Raise SettingsError unless the learning rate can start, fall and stop falling."""
    s = settings
    if not (0 < s.lr_floor <= s.lr < float("inf") and 0 < s.lr_factor < 1):
        raise SettingsError(
            f"lr: expected 0 < lr_floor <= lr and 0 < lr_factor < 1, got lr {s.lr}, "
            f"lr_floor {s.lr_floor}, lr_factor {s.lr_factor}; set all three"
        )


def _convert(
    where: str, name: str, value: Any, default: Any, words: Mapping[str, Any] = NO_WORDS
) -> Any:
    """`value` as something of the type of `default`; a tuple's elements as its first one. `words`
    stand for numbers."""
    kind = type(default)
    if isinstance(value, str) and kind is not tuple:
        value = words.get(value.strip(), value)
    try:
        if kind is tuple:
            parts = value.split(",") if isinstance(value, str) else value
            return tuple(_convert(where, name, part, default[0], words) for part in parts)
        if isinstance(value, bool) or (kind is int and isinstance(value, float)):
            raise ValueError
        if kind is str and not isinstance(value, str | int | float):
            raise ValueError
        converted = kind(value)
        if converted != converted:  # NaN
            raise ValueError
        return converted
    except (TypeError, ValueError):
        meaning = {tuple: "numbers such as 25,10", int: "a whole number", float: "a number"}
        raise SettingsError(
            f"{where}: {name}: expected {meaning.get(kind, 'text')}, got {value!r}"
        ) from None
