"""The exact engine on the CPU: certificates for most samples, a search for the rest."""

from rectifold._engines.exact.engine import (
    answer_all,
    certify_all,
    certify_only,
    count_among,
    neighbours_of,
    propose,
    propose_among,
    propose_some,
    search_uncertified,
)

__all__ = [
    "answer_all",
    "certify_all",
    "certify_only",
    "count_among",
    "neighbours_of",
    "propose",
    "propose_among",
    "propose_some",
    "search_uncertified",
]
