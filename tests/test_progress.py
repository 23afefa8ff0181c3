import pytest
from gaancore.cli.show import phases

from gaancore.progress import listening, tell, told


def test_the_listener_is_told_and_nobody_is_needed() -> None:
    heard: list[tuple[str, float]] = []
    tell("before")
    with listening(lambda what, share: heard.append((what, share))):
        assert list(told("going through", ["a", "b"])) == ["a", "b"]
        tell("reading")
    tell("after")
    assert heard == [("going through", 0.0), ("going through", 0.5), ("reading", 0.0)]


@pytest.mark.parametrize(
    ("terminal", "quiet", "shown"), [(1, 0, True), (1, 1, False), (0, 0, False)]
)
def test_what_is_told_is_shown_on_a_terminal_unless_the_command_is_quiet(
    terminal: int, quiet: int, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setenv("TERM", "xterm")  # rich draws nothing on a dumb one
    monkeypatch.setenv("FORCE_COLOR" if terminal else "TTY_COMPATIBLE", "1" if terminal else "0")
    with phases(bool(quiet)):
        tell("checking the graph")
        tell("layer 1", 0.5)
    assert ("layer 1" in capsys.readouterr().out) is shown
