"""What may stand beside readings: the places of sensors, and other quantities."""

from collections.abc import Mapping, Sequence

import numpy as np

from gaancore.data.traffic.dataset import count_sensors
from gaancore.errors import DataError

MOST = 1e9  # beyond it is no reading in any unit, and float32 overflows in a square


def places_of(
    sensor_ids: Sequence[str],
    coordinates: Mapping[str, tuple[float, float]] | None,
) -> tuple[np.ndarray | None, list[str]]:
    """(N, 2) latitude and longitude, None where one is not known, and notes."""
    if coordinates is None:
        return None, []
    unknown = [name for name in sensor_ids if name not in coordinates]
    if unknown:
        return None, [f"coordinates not used: {count_sensors(unknown)} without any"]
    return np.array([coordinates[name] for name in sensor_ids]), []


def expect_none(bad: np.ndarray, what: str, values: np.ndarray, sensor_ids: Sequence[str]) -> None:
    """Raises DataError if any reading is `bad`; bad, values (T, N)."""
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"{what}: {bad.sum():,}, first {values[row, column]:g} at row {row}, sensor "
            f"{sensor_ids[column]}; correct them or leave them empty"
        )


def others_of(
    path: str,
    shape: tuple[int, ...],
    others: Mapping[str, np.ndarray],
    sensor_ids: Sequence[str],
) -> tuple[np.ndarray | None, list[str]]:
    """(T, N, C) float32 of other quantities by name, NaN where one is missing, and notes; None
    without any.

    path, shape : of the readings. Raises DataError for other shapes, and numbers beyond MOST.
    """
    if not others:
        return None, []
    for name, values in others.items():
        if values.shape != shape:
            raise DataError(
                f"{path}: inputs: {name} has shape {values.shape}, the readings {shape}; they must "
                "agree"
            )
        beyond = np.abs(values) > MOST
        expect_none(beyond, f"{path}: inputs: {name} beyond {MOST:g}", values, sensor_ids)
    stacked = np.stack(list(others.values()), axis=2).astype(np.float32)
    missing = np.isnan(stacked).mean()
    return stacked, [f"inputs: {', '.join(others)} beside the readings, {missing:.2%} missing"]
