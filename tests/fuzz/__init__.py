"""A fuzzer: small tables of many kinds, cleaned in many ways, beside a plain reading."""
