"""Sources without their comments, line by line as they were."""
import re

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def code_lines(path):
    """(number, line) of the file with blanks for its comments."""
    with open(path) as source:
        code = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), source.read())
    return enumerate(code.split("\n"), 1)
