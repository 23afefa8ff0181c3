"""Rows that other ranks have, fetched in one exchange: a question to each rank, and its answer."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from gaancore.parallel.team import Team

# of rows: (n, ...). Of lists: how many values each has, (n,), and columns of these, one list after
# another
Answer = Callable[..., tuple[np.ndarray, ...]]


def ask_rows(
    team: Team, owner: np.ndarray, asked: Sequence[np.ndarray], answer: Callable[..., np.ndarray]
) -> np.ndarray:
    """(n, ...): rows of the ranks that own them, in the order in which they are asked for.

    owner  : (n,) the rank that has each row; this one's are neither copied nor sent.
    asked  : arrays (n,), of which each owner is given what is about its rows.
    answer : answer(*arrays) -> (len(arrays[0]), ...), the rows that another rank asks for. All
             ranks have to ask, even for nothing, and to answer alike.
    """
    pieces = ask_pieces(team, owner, asked, answer)
    first = pieces[0][1]
    out = np.empty((owner.size, *first.shape[1:]), first.dtype)
    for which, rows in pieces:
        out[which] = rows
    return out


def ask_pieces(
    team: Team, owner: np.ndarray, asked: Sequence[np.ndarray], answer: Callable[..., np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same as each rank's answers came, without a copy: for each rank, which of the questions
    it was asked, (k,), and their rows.
    """
    order, replies = _asked(team, owner, asked, lambda *parts: (answer(*parts),))
    stops = np.cumsum([len(rows) for (rows,) in replies])[:-1]
    return [(which, rows) for which, (rows,) in zip(np.split(order, stops), replies, strict=True)]


def ask_lists(
    team: Team,
    owner: np.ndarray,
    asked: Sequence[np.ndarray],
    answer: Answer,
    told: Sequence[np.ndarray] = (),
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """counts (n,), columns and order (n,): lists of values, one after another, and what each column
    says of them; the list of question order[k] is the k-th.

    answer : answer(*told, *arrays) -> (counts, *columns), else as in `ask_rows`.
    told   : arrays that every owner is given whole.
    """
    order, replies = _asked(team, owner, asked, answer, told)
    counts, *columns = (np.concatenate(parts) for parts in zip(*replies, strict=True))
    return counts, columns, order


def _asked(
    team: Team,
    owner: np.ndarray,
    asked: Sequence[np.ndarray],
    answer: Answer,
    told: Sequence[np.ndarray] = (),
) -> tuple[np.ndarray, list[Sequence[np.ndarray]]]:
    """The questions in the order of their owners, and what each of these answers."""
    order = np.argsort(owner, kind="stable")
    bounds = np.searchsorted(owner[order], np.arange(team.size + 1)).tolist()
    questions = [
        [*told, *(x[order[start:stop]] for x in asked)] for start, stop in pairwise(bounds)
    ]
    return order, team.trade([answer(*question) for question in team.trade(questions)])
