from gaancore.progress import listening, tell, told


def test_the_listener_is_told_and_nobody_is_needed() -> None:
    heard: list[tuple[str, float]] = []
    tell("before")
    with listening(lambda what, share: heard.append((what, share))):
        assert list(told("going through", ["a", "b"])) == ["a", "b"]
        tell("reading")
    tell("after")
    assert heard == [("going through", 0.0), ("going through", 0.5), ("reading", 0.0)]
