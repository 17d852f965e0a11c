"""Named mutation operators: where a source file can have a fault, and the text that has it.

Works on tokens and brackets, not on types: a site whose fault does not compile is
dropped by the build. No fault changes the number of lines of its file.
"""
import re
from dataclasses import dataclass
from typing import Callable

OPERATORS = {
    "off-by-one": "a constant is one more or one less",
    "comparison": "< for <=, sge for sgt, == for !=",
    "dropped-mask": "one side of an and, a select's condition, or the rows, mask or owner of an access",
    "dropped-clamp": "one side of a minimum or maximum alone",
    "dropped-barrier": "a barrier, fence or wait is not made",
    "dropped-check": "the condition of an if is never or always true",
    "dropped-call": "a call for its effect is not made",
    "swapped-operands": "a - b as b - a, arms of a select, operands of a comparison",
    "other-sign": "+ for -, a shift the other way, a signed extension for an unsigned one",
    "narrower-address": "64 bits of an address go through 32",
}


@dataclass
class Site:
    text: str  # of the whole file
    begin: int
    end: int
    operator: str
    original: str
    mutated: str
    # The text for the range, with the fault behind the condition that is given.
    rewrite: Callable[[str, int], str]


def mask(text):
    """The text with comments, literals and directives blanked; every offset stays."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"\w*\(.*?\)\w*"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\''
                       r"|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.DOTALL | re.MULTILINE)
    return token.sub(lambda m: blank(m) if m.group()[0] in "/#R " else '"' + blank(m)[2:] + '"', text)


def closing(code, opening):
    """Offset of the bracket that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0:
            return at
    return None


def arguments(code, opening, end):
    """Ranges of the arguments between the brackets."""
    ranges, depth, begin = [], 0, opening + 1
    for at in range(opening + 1, end + 1):
        if (code[at] == "," and depth == 0) or at == end:
            first, last = begin, at
            while first < last and code[first].isspace():
                first += 1
            while last > first and code[last - 1].isspace():
                last -= 1
            if first < last:
                ranges.append((first, last))
            begin = at + 1
        depth += (code[at] in "([{") - (code[at] in ")]}")
    return ranges


def flat(text):
    return re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", text)).strip()


class File:
    def __init__(self, text):
        self.text, self.code, self.sites = text, mask(text), []

    def add(self, begin, end, operator, mutated, rewrite, original=None):
        self.sites.append(Site(self.text, begin, end, operator, original or flat(self.text[begin:end]), mutated, rewrite))

    def choose(self, begin, end, operator, mutated, kind="::mlir::Value"):
        """One expression or the other; both as `kind`, or as what they are."""
        original = flat(self.text[begin:end])
        cast = kind or ""
        self.add(begin, end, operator, mutated, lambda on, n: f"({on} ? {cast}({mutated}) : {cast}({original}))")

    def of(self, span):
        return flat(self.text[span[0]:span[1]])


def call_sites(file, pattern):
    """(match, offset behind the call, arguments) of each call."""
    for match in re.finditer(pattern + r"\(", file.code):
        opening = match.end() - 1
        end = closing(file.code, opening)
        if end:
            yield match, end + 1, arguments(file.code, opening, end)


SIGNS = {"AddI": "SubI", "SubI": "AddI", "AddF": "SubF", "SubF": "AddF", "ShLI": "ShRUI", "ShRUI": "ShLI",
         "ExtSI": "ExtUI", "ExtUI": "ExtSI"}
ORDERED = {"SubI", "DivUI", "RemUI", "ShLI", "ShRUI", "SubF", "DivF"}
CLAMPS = {"MaxSI", "MinSI", "MaximumF", "MinimumF"}


def ops(file):
    """Ops that a pass creates."""
    for match, end, args in call_sites(file, r"\b(?:arith|math)::(\w+)Op::create"):
        begin, name = match.start(), match.group(1)
        if len(args) > 1 and re.search(r"^loc$|getLoc\(\)$", file.of(args[1])):
            args = args[:1] + args[2:]
        operands = args[1:]
        whole = flat(file.text[begin:end])
        if name in SIGNS:
            file.choose(begin, end, "other-sign", whole.replace(name + "Op::", SIGNS[name] + "Op::", 1))
        if name == "NegF" and operands:
            file.choose(begin, end, "other-sign", file.of(operands[-1]))
        if name in ORDERED and len(operands) == 2:
            swap(file, operands)
        if name in ("CmpI", "CmpF", "Select", "Fma") and len(operands) == 3:
            swap(file, operands[1:])
        if name in CLAMPS and len(operands) == 2:
            for operand in operands:
                file.choose(begin, end, "dropped-clamp", file.of(operand))
        if name == "AndI" and len(operands) == 2:
            for operand in operands:
                file.choose(begin, end, "dropped-mask", file.of(operand))
        if name == "Select" and len(operands) == 3:
            file.choose(begin, end, "dropped-mask", file.of(operands[1]))
        if name in ("MulI", "AddI") and re.search(r"[sS]tride|i64|toI64|[oO]ffset|row|slot", whole):
            file.choose(begin, end, "narrower-address", f"::rssm_mutant::narrow({file.of(args[0])}, {whole})")
    for match, end, args in call_sites(file, r"\bLLVM::GEPOp::create"):
        ranges = [a for a in args if file.of(a).startswith(("ValueRange{", "ArrayRef<LLVM::GEPArg>{"))]
        if ranges:
            begin = ranges[0][0] + file.text[ranges[0][0]:].index("{") + 1
            file.choose(begin, ranges[0][1] - 1, "narrower-address",
                        f"::rssm_mutant::narrow({file.of(args[0])}, {file.of((begin, ranges[0][1] - 1))})")


def swap(file, pair):
    (a, b), (c, d) = pair
    first, second, between = file.of((a, b)), file.of((c, d)), flat(file.text[b:c])
    def either(on, x, y):
        return f"({on} ? ::mlir::Value({y}) : ::mlir::Value({x}))"
    file.add(a, d, "swapped-operands", f"{second}, {first}",
             lambda on, n: either(on, first, second) + between + either(on, second, first))


def accesses(file):
    """What bounds a load or store, and its predicate."""
    optional = re.compile(r"(?:rows|mask|also|owner|valid|ring\.valid|live|owns\w+|(?:rows|tokens)From\(.*\)|op\.get(?:Rows|Mask|Owner)\(\))")
    for match, end, args in call_sites(file, r"\b(?:load|store|tile::(?:Load|Store|Copy)Op::create|Access access)"):
        for begin, finish in args:
            if optional.fullmatch(file.of((begin, finish))):
                file.choose(begin, finish, "dropped-mask", "nullptr")
    for match in re.finditer(r"(?<=, )predicate(?=\}\))", file.code):
        file.choose(match.start(), match.end(), "dropped-mask", "l.trueValue()")


PREDICATES = {"sge": "sgt", "sgt": "sge", "sle": "slt", "slt": "sle", "uge": "ugt", "ugt": "uge", "ule": "ult",
              "ult": "ule", "eq": "ne", "ne": "eq", "OGT": "OGE", "OGE": "OGT", "OLT": "OLE", "OLE": "OLT"}
RELATIONS = {"<": ("Less", "<="), "<=": ("LessEqual", "<"), ">": ("Greater", ">="), ">=": ("GreaterEqual", ">"),
             "==": ("Equal", "!="), "!=": ("NotEqual", "==")}
STATIC = re.compile(r"\b(?:template|operator|case|static_assert|constexpr|using|requires)\b")


def line_of(text, at):
    begin = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return text[begin:end if end >= 0 else len(text)]


def infix(file, at, end, operator, name, symbol, mutated):
    line = line_of(file.text, at).strip()
    file.add(at, end, operator, f"{mutated}", lambda on, n: f" {symbol} ::rssm_mutant::{name}<{n}>{{}} {symbol} ",
             original=f"{symbol} in `{line}`")


def expressions(file):
    for match in re.finditer(r"\b(CmpIPredicate|CmpFPredicate)::(\w+)\b", file.code):
        if other := PREDICATES.get(match.group(2)):
            file.choose(match.start(), match.end(), "comparison", f"arith::{match.group(1)}::{other}", kind=None)
    for match in re.finditer(r"(?<=[\w)\]]) (<|<=|>|>=|==|!=) (?=[\w(\-*])", file.code):
        if not STATIC.search(line_of(file.code, match.start())):
            name, mutated = RELATIONS[match.group(1)]
            infix(file, match.start(), match.end(), "comparison", name, match.group(1), mutated)
    for match in re.finditer(r"(?<=[\w)\]]) ([+\-/%]) (?=[\w(])", file.code):
        line, symbol = line_of(file.code, match.start()), match.group(1)
        if STATIC.search(line) or '"' in line:
            continue
        if symbol in "+-":
            infix(file, match.start(), match.end(), "other-sign", "Plus" if symbol == "+" else "Minus", symbol,
                  "-" if symbol == "+" else "+")
        if symbol in "-/%":
            infix(file, match.start(), match.end(), "swapped-operands",
                  {"-": "SwapMinus", "/": "SwapDivide", "%": "SwapModulo"}[symbol], symbol, "operands swapped")
    for match in re.finditer(r"(?<= [+-] )1\b(?![.\w<'])", file.code):
        if not STATIC.search(line_of(file.code, match.start())):
            file.add(match.start(), match.end(), "off-by-one", "0", lambda on, n: f"({on} ? 0 : 1)",
                     original=f"1 in `{line_of(file.text, match.start()).strip()}`")
    for match, end, args in call_sites(file, r"\b(?:l\.)?(?:i64|i32|index)"):
        if len(args) == 1 and not re.search(r"^int64_t \w+$|^Value\b", file.of(args[0])):
            (begin, finish), inner = args[0], file.of(args[0])
            file.add(begin, finish, "off-by-one", f"{inner} + 1", lambda on, n, i=inner: f"({i}) + ({on} ? 1 : 0)",
                     original=flat(file.text[match.start():end]))
    for match, end, args in call_sites(file, r"\bstd::(?:min|max)(?:<\w+>)?"):
        if len(args) == 2:
            for arg in args:
                file.choose(match.start(), end, "dropped-clamp", file.of(arg), kind=None)
    for match, end, args in call_sites(file, r"(?<![\w>])(?:u?int64_t|size_t|static_cast<(?:u?int64_t|size_t)>)"):
        if len(args) == 1 and not file.of(args[0]).isdigit():
            (begin, finish), inner = args[0], file.of(args[0])
            file.add(begin, finish, "narrower-address", f"int32_t({inner})",
                     lambda on, n, i=inner: f"{on} ? decltype({i})(static_cast<int32_t>({i})) : ({i})",
                     original=flat(file.text[match.start():end]))
    for match, end, args in call_sites(file, r"\bbuilder\.Create(Add|LShr|Shl|And|Or|Select|ZExt)"):
        name, whole = match.group(1), flat(file.text[match.start():end])
        other = {"Add": "Sub", "LShr": "AShr", "Shl": "LShr", "ZExt": "SExt"}.get(name)
        if other:
            file.choose(match.start(), end, "other-sign", whole.replace("Create" + name, "Create" + other, 1), kind=None)
        if name == "And" and args:
            file.choose(match.start(), end, "dropped-mask", file.of(args[0]), kind=None)
        if name == "Select" and len(args) == 3:
            file.choose(match.start(), end, "dropped-mask", file.of(args[1]), kind=None)


DECLARES = re.compile(r"^(?:constexpr|auto\b|const\b|[\w:]+(?:<[^=]*>)?\s*[*&]?\s+[*&]?\w+\s*=[^=])|;")


def statements(file):
    for match in re.finditer(r"\bif \(", file.code):
        end = closing(file.code, match.end() - 1)
        condition = flat(file.text[match.end():end]) if end else ";"
        if DECLARES.search(condition):
            continue
        for mutated, form in [("false", "!{on} && ({c})"), ("true", "{on} || ({c})")]:
            file.add(match.end(), end, "dropped-check", mutated,
                     lambda on, n, f=form, c=condition: f.format(on=on, c=c), original=f"if ({condition})")
    keywords = r"(?!(?:return|if|for|while|switch|else|delete|case|assert|static_assert|llvm_unreachable|RSSM_\w+)\b)"
    for match, end, args in call_sites(file, r"(?<=[;{}\n])[ ]*\n([ ]+)" + keywords + r"[a-zA-Z_][\w:.]*(?:->\w+)*"):
        begin = match.start(1) + len(match.group(1))
        before = file.code[:begin].rstrip()
        if file.code[end:end + 1] != ";" or not before or before[-1] not in ";{}":
            continue
        text = flat(file.text[begin:end])
        name = file.code[begin:match.end()]
        made = re.split(r"\.|->", name)[-1] + (text if name == "assemble" or name.endswith("call") else "")
        waits = re.search(r"[bB]arrier|[fF]ence|[wW]ait|[eE]xpect|[aA]rrive", made)
        file.add(begin, end, "dropped-barrier" if waits else "dropped-call", "nothing",
                 lambda on, n, t=text: f"if (!{on}) {t}", original=text)


def sites(text):
    """Every site of a file, in the order of the text."""
    file = File(text)
    for find in (ops, accesses, expressions, statements):
        find(file)
    return sorted(file.sites, key=lambda s: (s.begin, s.end, s.operator, s.mutated))


def rewrite(chosen, header):
    """The file with the faults of `chosen`, {number: site}; sites must not overlap."""
    text = next(iter(chosen.values())).text
    for number, site in sorted(chosen.items(), key=lambda item: -item[1].begin):
        replaced = site.rewrite(f"::rssm_mutant::on({number})", number)
        lines = text[site.begin:site.end].count("\n")
        text = text[:site.begin] + replaced + "\n" * lines + text[site.end:]
    return f'#include "mutant/{header}"\n#line 1\n' + text
