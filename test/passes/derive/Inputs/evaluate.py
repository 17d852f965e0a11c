"""Runs replay kernels in double precision and compares them with the recurrence.

Reads a module in generic form from stdin. What a kernel must do follows from
its name: packed*, replay* (with and without flush), verify*, fold*, cursors*, commit*. The
kernel's ops may be those of any stage from derive-kernels to erase-kind.
"""
import math
import random
import re
import sys

K, V, L = 16, 8, 4
SCALE, EPS = 0.25, 1e-6


# Matrices are lists of rows.
def shape(x):
    return len(x), len(x[0])


def zip_with(f, *xs):
    assert len({shape(x) for x in xs}) == 1, [shape(x) for x in xs]
    return [[f(*e) for e in zip(*rows)] for rows in zip(*xs)]


def broadcast(x, rows, cols):
    r, c = shape(x)
    assert r in (1, rows) and c in (1, cols)
    return [[x[i if r > 1 else 0][j if c > 1 else 0] for j in range(cols)] for i in range(rows)]


def dot(x, y):
    assert len(x) == len(y)
    return sum(a * b for a, b in zip(x, y))


def times(x, y):
    """x y^T"""
    return [[dot(a, b) for b in y] for a in x]


def decay(s, g):
    alpha = [[math.exp(e) for e in row] for row in g]
    return zip_with(lambda a, b: a * b, s, broadcast(alpha, *shape(s)))


def rank1(s, d, k):
    return [[e + d[0][v] * k[0][c] for c, e in enumerate(row)] for v, row in enumerate(s)]


def replay(s, records):
    """The ring applied record by record: the definition."""
    for d, k, g in records:
        s = rank1(decay(s, [g]), [d], [k])
    return s


def delta(s, q, k, v, g, beta):
    os, ds = [], []
    for t in range(len(q)):
        s = decay(s, [g[t]])
        d = [beta[t][0] * (a - dot(row, k[t])) for a, row in zip(v[t], s)]
        s = rank1(s, [d], [k[t]])
        os.append([dot(row, q[t]) for row in s])
        ds.append(d)
    return s, os, ds


def norm(x, eps, scale):
    return [[scale / math.sqrt(dot(row, row) + eps)] for row in x]


def gate(a, a_log, dt):
    def g(e, b):
        z = e + b
        return -math.exp(a_log[0][0]) * (z if z > 20 else math.log1p(math.exp(z)))
    return zip_with(g, a, broadcast(dt, *shape(a)))


def sigmoid(b):
    return [[1 / (1 + math.exp(-e)) for e in row] for row in b]


def ring_weights(records, width):
    total, w = [0.0] * width, []
    for _, _, g in reversed(records):
        w.insert(0, [math.exp(e) for e in total])
        total = [a + b for a, b in zip(total, g)]
        assert all(e <= 0 for e in total), "a decay above one"
    return w, [[math.exp(e) for e in total]]


def ring_read(records, w, x):
    out = []
    for row in x:
        y = [0.0] * V
        for (d, k, _), weight in zip(records, w):
            weight = broadcast([weight], 1, K)[0]
            c = sum(a * b * e for a, b, e in zip(weight, k, row))
            y = [a + c * b for a, b in zip(y, d)]
        out.append(y)
    return out


def scores(x, y, g=None):
    out = times(x, y)
    if g is None:
        return out
    for i in range(len(x)):
        for j in range(len(y)):
            total = [sum(g[t][c] for t in range(j + 1, i + 1)) for c in range(len(g[0]))]
            e = broadcast([[math.exp(t) for t in total]], 1, K)[0]
            out[i][j] = sum(a * b * c for a, b, c in zip(x[i], y[j], e)) if j <= i else 0.0
    return out


def ut_solve(p, y, v, beta):
    d = []
    for i in range(len(y)):
        row = [b - a for a, b in zip(y[i], v[i])]
        for j in range(i):
            row = [e - p[i][j] * f for e, f in zip(row, d[j])]
        d.append([beta[i][0] * e for e in row])
    return d


class Memory:
    """One row: state slot, ring slot and the inputs of its tokens."""

    def __init__(self, rng, gate_dim, tokens, wp, force, length):
        mat = lambda r, c: [[rng.gauss(0, 1) for _ in range(c)] for _ in range(r)]
        unit = lambda: [e / 4 for e in mat(1, K)[0]]
        self.state = mat(V, K)
        self.records = [(mat(1, V)[0], unit(), [-abs(e) for e in mat(1, gate_dim)[0]])
                        for _ in range(wp)]
        self.tokens = {"q": mat(tokens, K), "k": mat(tokens, K), "v": mat(tokens, V),
                       "a": mat(tokens, gate_dim), "b": mat(tokens, 1)}
        self.params = {"A_log": mat(1, 1), "dt_bias": mat(1, gate_dim)}
        self.wp, self.force, self.length = wp, force, length
        self.rows = {"accept_len": length + 1 if force else length - 1, "force_flush": int(force),
                     "fold_len": wp}
        self.out = self.stored = self.appended = self.cursor = self.fold = None


OP = re.compile(r'^(?:(?P<res>%[\w:, %]+) = )?"(?P<name>[\w.]+)"\((?P<args>[^)]*)\)(?P<rest>.*)$')


def parse(lines):
    """Ops as (results, name, operands, rest, regions)."""
    ops = []
    while lines:
        line = lines.pop(0).strip()
        if line.startswith("}"):
            return ops, line
        match = OP.match(line)
        if not match:
            continue
        results = []
        for part in (match["res"] or "").split(","):
            name, _, count = part.strip().partition(":")
            if count:
                results += [f"{name}#{i}" for i in range(int(count))]
            elif name:
                results.append(name)
        args = [a.strip() for a in match["args"].split(",") if a.strip()]
        rest, regions = match["rest"], []
        while rest.endswith("({") or rest.startswith("}, {"):
            region, closing = parse(lines)
            regions.append(region)
            if not closing.startswith("}, {"):
                rest += closing
                break
        ops.append((results, match["name"], args, rest, regions))
    return ops, ""


def result_shapes(rest):
    types = rest.rsplit("->", 1)[1]
    return [tuple(int(n) for n in m) for m in re.findall(r"tensor<(\d+)x(\d+)x", types)]


def number(rest, key):
    match = re.search(key + r" = ([-\d.eE+]+)", rest)
    return float(match[1])


def text(rest, key):
    return re.search(key + r' = "(\w+)"', rest)[1]


def run(ops, memory, env):
    for results, name, args, rest, regions in ops:
        if name == "scf.if":
            branch = 0 if env[args[0]] else 1
            if branch < len(regions):
                run(regions[branch], memory, env)
            continue
        x = [env[a] for a in args]
        out = evaluate(name, x, rest, memory)
        if len(results) != 1:
            env.update(zip(results, out or ()))
        else:
            env[results[0]] = out


def evaluate(name, x, rest, m):
    if name == "replay.row":
        return 5, 7, True
    if name == "replay.cursor":
        return m.wp, m.wp >= number(rest, "length") - 1 or m.force
    if name == "replay.load_slot":
        assert x == [7] and text(rest, "name") == "wp"
        return m.wp
    if name == "replay.expect":
        return None  # Numbers out of range are among the runs.
    if name == "replay.load_state":
        assert x == [5]
        return m.state
    if name == "replay.load_ring":
        assert x == [7, m.wp]
        return m.records
    if name == "replay.window":
        return 11, m.length
    if name == "replay.load_row":
        return m.rows[text(rest, "name")]
    if name == "replay.store_row":
        assert text(rest, "name") == "fold_len"
        m.fold = x[0]
        return None
    if name == "replay.load_token":
        assert x in ([], [11, m.length])
        rows = m.tokens[text(rest, "name")]
        return [row if i < m.length else [0.0] * len(row) for i, row in enumerate(rows)]
    if name == "replay.load_param":
        return m.params[text(rest, "name")]
    if name == "replay.store_state":
        assert x[1] == 5 and m.stored is None
        m.stored = x[0]
        return None
    if name == "replay.store_out":
        assert x[1:] in ([], [11, m.length])
        m.out = x[0]
        return None
    if name == "replay.append":
        fields = re.findall(r'"(\w+)"', re.search(r"fields = \[([^\]]*)\]", rest)[1])
        assert x[:2] == [7, m.wp]
        m.appended = {f: value for f, value in zip(fields, x[2:])}
        return None
    if name == "replay.set_cursor":
        assert x[0] == 7
        m.cursor = x[1]
        return None
    if name in ("replay.l2norm", "replay.rnorm"):
        r = norm(x[0], number(rest, "eps"), number(rest, "scale") if "scale" in rest else 1.0)
        if name == "replay.rnorm":
            return r
        return zip_with(lambda a, b: a * b, x[0], broadcast(r, *shape(x[0])))
    if name == "replay.read":
        ys = [times(e, x[0]) for e in x[1:]]
        return ys if len(ys) > 1 else ys[0]
    if name == "replay.ring_read":
        ys = [ring_read(x[0], x[1], e) for e in x[2:]]
        return ys if len(ys) > 1 else ys[0]
    if name == "replay.scores":
        count = int(re.search(r"operandSegmentSizes = array<i32: (\d+)", rest)[1])
        ps = [scores(e, *x[count:]) for e in x[:count]]
        return ps if len(ps) > 1 else ps[0]
    if name == "replay.ring_weights":
        return ring_weights(x[0], result_shapes(rest)[1][1])
    if name == "replay.cumulate":
        return [[sum(x[0][t][c] for t in range(i + 1)) for c in range(len(x[0][0]))]
                for i in range(len(x[0]))]
    if name == "replay.apply_scores":
        return times(x[0], [list(c) for c in zip(*x[1])])
    if name == "tile.broadcast":
        return broadcast(x[0], *result_shapes(rest)[0])
    if name == "tensor.extract_slice":
        row, col = map(int, re.search(r"static_offsets = array<i64: (\d+), (\d+)>", rest).groups())
        rows, cols = result_shapes(rest)[0]
        return [r[col:col + cols] for r in x[0][row:row + rows]]
    if name == "tensor.concat":
        return [row for e in x for row in e]
    if name == "tensor.collapse_shape":
        return x[0]
    if name == "tensor.expand_shape":
        rows, cols = result_shapes(rest)[0]
        flat = [e for row in x[0] for e in row]
        return [flat[i * cols:(i + 1) * cols] for i in range(rows)]
    if name == "arith.constant":
        return int(re.search(r"value = (\d+) : index", rest)[1])
    simple = {
        "replay.gate": gate, "replay.beta": sigmoid, "replay.delta": delta,
        "replay.decay": decay, "replay.rank1": rank1, "replay.replay": replay,
        "scf.yield": lambda: None,
        "replay.ut_solve": ut_solve, "arith.extf": lambda a: a,
        "arith.mulf": lambda a, b: zip_with(lambda p, q: p * q, a, b),
        "arith.addf": lambda a, b: zip_with(lambda p, q: p + q, a, b),
        "arith.subf": lambda a, b: zip_with(lambda p, q: p - q, a, b),
        "math.fma": lambda a, b, c: zip_with(lambda p, q, r: p * q + r, a, b, c),
        "math.exp": lambda a: [[math.exp(e) for e in row] for row in a],
        "arith.addi": lambda a, b: a + b, "arith.minsi": min, "arith.maxsi": max,
        "arith.ori": lambda a, b: a or b,
        "arith.cmpi": lambda a, b: a != b if "predicate = 1 " in rest else a > b,
        "arith.select": lambda c, a, b: a if c else b,
    }
    return simple[name](*x)


def distance(x, y):
    assert shape(x) == shape(y), (shape(x), shape(y))
    return max(abs(a - b) for r, s in zip(x, y) for a, b in zip(r, s))


def check(name, ops, gate_dim, tokens, ring, wp, force, length, rng):
    """The largest difference from the recurrence; asserts what is touched."""
    m = Memory(rng, gate_dim, tokens, wp, force, length)
    run(ops, m, {})
    if name.startswith(("cursors", "commit")):
        assert m.out is None and m.stored is None and m.appended is None
        if name.startswith("cursors"):
            assert m.cursor == (0 if force or wp >= L - 1 else wp + 1), m.cursor
            return 0.0
        total = wp + min(max(m.rows["accept_len"], 0), length)
        folds = force or total + tokens > L
        assert (m.cursor, m.fold) == ((0, total) if folds else (total, 0)), (m.cursor, m.fold)
        return 0.0
    assert m.cursor is None
    if name.startswith("fold"):
        assert m.out is None and m.appended is None and (m.stored is not None) == (wp > 0)
        return distance(m.stored, replay(m.state, m.records)) if wp else 0.0
    scale = lambda x, s: zip_with(lambda a, b: a * b, x, broadcast(norm(x, EPS, s), *shape(x)))
    q, k = scale(m.tokens["q"], SCALE), scale(m.tokens["k"], 1.0)
    g, beta = gate(m.tokens["a"], **{"a_log": m.params["A_log"], "dt": m.params["dt_bias"]}), sigmoid(m.tokens["b"])
    state, o, d = delta(replay(m.state, m.records), q, k, m.tokens["v"], g, beta)
    error = distance(m.out[:length], o[:length]) if length else 0.0
    verifies = name.startswith("verify")
    stores = not ring or (not verifies and (force or wp >= L - 1))
    assert (m.stored is not None) == stores, "stored"
    assert (m.appended is not None) == (ring and not stores), "appended"
    if m.stored is not None:
        error = max(error, distance(m.stored, state))
    if m.appended is not None and length:
        for field, value in (("d", d), ("k", k), ("g", g)):
            error = max(error, distance(m.appended[field][:length], value[:length]))
    return error


def main():
    lines = sys.stdin.read().splitlines()
    module, _ = parse(lines)
    kernels = [op for op in module[0][4][0] if op[1] == "replay.kernel"]
    for _, _, _, rest, (ops,) in kernels:
        name = text(rest, "sym_name")
        gate_dim = K if "_kda" in name else 1
        window = re.search(r"window = (\d+) : i64", rest)
        tokens = int(window[1]) if window else 1
        ring = any(op[1] in ("replay.cursor", "replay.load_slot", "replay.load_ring") for op in ops)
        ragged = any(op[1] == "replay.window" for op in ops)
        rng, worst, runs = random.Random(1), 0.0, 0
        for wp in range(L) if ring else [0]:
            for force in (False, True) if ring else [False]:
                for length in range(tokens + 1) if ragged else [tokens]:
                    worst = max(worst, check(name, ops, gate_dim, tokens, ring, wp, force, length, rng))
                    runs += 1
        verdict = "agrees" if worst < 1e-12 else f"differs by {worst:.1e}"
        print(f"{name}: {verdict}, {runs} runs")


main()
