"""Words and lines."""


def wrap(text, width):
    """Return lines of at most `width` characters, filled word by word; a longer word stands on a line of its own."""
    lines = []
    line = ""
    for word in text.split(" "):
        if len(line) + len(word) < width:
            line += word + " "
        else:
            lines.append(line)
            line = word
    return lines


def most_common(text):
    """Return the most frequent word in small letters, the first in the alphabet among equals; nothing for an empty text."""
    words = text.split()
    return max(words, key=words.count)
