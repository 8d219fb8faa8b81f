"""Fixtures for tests that need NVIDIA devices."""

from __future__ import annotations

import pytest

from cuda_devices import device_count


@pytest.fixture
def two_devices() -> None:
    if device_count() < 2:
        pytest.skip(f"needs two devices, here is {device_count()}")
