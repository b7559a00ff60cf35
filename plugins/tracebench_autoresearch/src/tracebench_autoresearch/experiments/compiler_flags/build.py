"""Compiles the program with the flags, which are read as data, and runs it."""

import re
import subprocess
import sys

TAKEN = re.compile(r"-O([0-3sgz]|fast)?|-f(no-)?[a-z][\w=.,+-]*|-m[a-z][\w=.,+-]*|--param=[\w-]+=\d+")
REFUSED = re.compile(r"plugin|dump|profile|lto|file|spec|sanitize|coverage|prefix|save|record|opt-info|auxname|use-ld")


def main():
    with open("flags.txt", encoding="utf-8") as file:
        flags = file.read().split()
    for flag in flags:
        if not TAKEN.fullmatch(flag) or REFUSED.search(flag):
            sys.exit(f"the flag {flag} is not taken")
    subprocess.run(["gcc", *flags, "-o", "program", "program.c"], check=True)
    with open("printed.txt", "wb") as file:
        subprocess.run(["./program", sys.argv[-1]], stdout=file, check=True)


main()
