"""Roman numerals."""

_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def to_number(numeral):
    """Return the value of a Roman numeral, as in `to_number("XIV") == 14`; letters may be small."""
    return sum(_VALUES[letter] for letter in numeral)


def to_numeral(number):
    """Return the Roman numeral of a number from 1 to 3999, with subtraction: 4 is IV."""
    written = ""
    for letter, value in reversed(_VALUES.items()):
        while number > value:
            written += letter
            number -= value
    return written
