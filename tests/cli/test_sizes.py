"""Sizes as people write them."""

from __future__ import annotations

import pytest

from thalweg.errors import InvalidError
from thalweg.sizes import format_size, parse_size, parse_sizes


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("4096", 4096),
        ("4KiB", 4096),
        ("4KB", 4000),
        ("4kb", 4000),
        ("0.4MB", 400_000),
        ("1.2MB", 1_200_000),
        ("1MiB", 1 << 20),
        (" 8 MB ", 8_000_000),
        ("128MB", 128_000_000),
        ("2GiB", 2 << 30),
        ("1TB", 10**12),
    ],
)
def test_units_are_powers_of_1000_or_of_1024(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "size: '' is not a size; expected a number and a unit, such as 4KiB, 1.2MB or 8MiB"),
        ("4Kx", "size: '4Kx' is not a size; expected a number and a unit, such as 4KiB, 1.2MB or 8MiB"),
        ("-4KB", "size: '-4KB' is not a size; expected a number and a unit, such as 4KiB, 1.2MB or 8MiB"),
        ("1e3", "size: '1e3' is not a size; expected a number and a unit, such as 4KiB, 1.2MB or 8MiB"),
        ("0MB", "size: '0MB' is 0 bytes; expected at least 1"),
    ],
)
def test_what_is_no_size_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidError) as caught:
        parse_size(text)
    assert str(caught.value) == message


def test_lists_keep_their_order() -> None:
    assert parse_sizes("8MB, 4KiB") == [8_000_000, 4096]


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(InvalidError, match="names no size"):
        parse_sizes(" , ")


@pytest.mark.parametrize("text", ["4 KiB", "1 MiB", "1.2 MB", "8 MB", "128 MB", "3 GiB", "12 B"])
def test_a_printed_size_reads_back(text: str) -> None:
    assert format_size(parse_size(text)) == text
