"""Inputs and expected outputs of unnamed-kernel.mlir, from its formulas in double."""
import math
import random

H, HV, K, V, L, ROWS, SLOTS = 2, 4, 24, 40, 11, 3, 4
random.seed(7)


def number():
    return random.randint(-32, 32) / 32  # exact in bf16 and f32


def buffer(name, dtype, slots, stride, values):
    print("buffer", name, dtype, slots, stride)
    print(*values)


def filled(slots, inner, stride):
    """Rows of `inner` numbers; what lies between slots is nan and never read."""
    return [number() if i % stride < inner else math.nan for i in range(slots * stride)]


state_idx, ring_idx, wp = [2, 0, 3], [1, 77, 0], [10, 3, 5, 9]
strides = {"state": HV * V * K + 8, "d": HV * L * V + 4, "k": H * L * K + 4, "g": HV * L + 4,
           "b": HV * L + 4, "qkv": 2 * H * K + HV * V + 8, "row": HV + 1, "out": HV * V + 3}
state = filled(SLOTS, HV * V * K, strides["state"])
d_ring = filled(SLOTS, HV * L * V, strides["d"])
k_ring = filled(SLOTS, H * L * K, strides["k"])
g_ring = [-abs(x) for x in filled(SLOTS, HV * L, strides["g"])]
b_ring = [math.nan] * (SLOTS * strides["b"])
qkv = filled(ROWS, 2 * H * K + HV * V, strides["qkv"])
a, b = filled(ROWS, HV, strides["row"]), filled(ROWS, HV, strides["row"])
A_log, dt_bias = [number() for _ in range(HV)], [number() for _ in range(HV)]
# Records at or past wp are nan: they must not be read.
for slot in range(SLOTS):
    for head in range(HV):
        for j in range(wp[slot], L):
            g_ring[slot * strides["g"] + head * L + j] = math.nan
            for i in range(V):
                d_ring[slot * strides["d"] + (head * L + j) * V + i] = math.nan
    for head in range(H):
        for j in range(wp[slot], L):
            for i in range(K):
                k_ring[slot * strides["k"] + (head * L + j) * K + i] = math.nan

out = ["keep"] * (ROWS * strides["out"])
appended = {name: ["keep"] * (SLOTS * strides[name]) for name in "dkgb"}


def step(row, head):
    slot, ring, key_head = state_idx[row], ring_idx[row], head // (HV // H)
    m = wp[ring]
    token = row * strides["qkv"]
    q = qkv[token + key_head * K:][:K]
    k = qkv[token + (H + key_head) * K:][:K]
    v = qkv[token + 2 * H * K + head * V:][:V]
    x = a[row * strides["row"] + head] + dt_bias[head]
    g = -math.exp(A_log[head]) * math.log1p(math.exp(x))
    beta = 1 / (1 + math.exp(-b[row * strides["row"] + head]))
    qk = [x * y for x, y in zip(q, k)]
    gates = g_ring[ring * strides["g"] + head * L:][:m]
    total = math.exp(sum(gates))

    def read(x):
        y = []
        scores = [math.exp(sum(gates[j + 1:])) *
                  sum(c * e for c, e in zip(k_ring[ring * strides["k"] + (key_head * L + j) * K:], x))
                  for j in range(m)]
        for i in range(V):
            row_of_state = state[slot * strides["state"] + (head * V + i) * K:][:K]
            value = total * sum(c * e for c, e in zip(row_of_state, x))
            value += sum(scores[j] * d_ring[ring * strides["d"] + (head * L + j) * V + i]
                         for j in range(m))
            y.append(value)
        return y

    y0, y1, y2 = read(q), read(k), read(qk)
    for i in range(V):
        out[row * strides["out"] + head * V + i] = y0[i] - y1[i] + beta * (2 * y2[i] + v[i])
        appended["d"][ring * strides["d"] + (head * L + m) * V + i] = v[i] - y1[i]
    for i in range(K):
        appended["k"][ring * strides["k"] + (key_head * L + m) * K + i] = qk[i]
    appended["g"][ring * strides["g"] + head * L + m] = g
    appended["b"][ring * strides["b"] + head * L + m] = beta


for row in range(ROWS):
    for head in range(HV):
        if state_idx[row] > 0:
            step(row, head)
        else:
            out[row * strides["out"] + head * V:row * strides["out"] + (head + 1) * V] = [0] * V

print("rows", ROWS)
buffer("state_idx", "i32", 1, ROWS, state_idx)
buffer("ring_idx", "i32", 1, ROWS, ring_idx)
buffer("wp", "i32", 1, SLOTS, wp)
buffer("state", "f32", SLOTS, strides["state"], state)
buffer("d_ring", "f32", SLOTS, strides["d"], d_ring)
buffer("k_ring", "f32", SLOTS, strides["k"], k_ring)
buffer("g_ring", "f32", SLOTS, strides["g"], g_ring)
buffer("b_ring", "f32", SLOTS, strides["b"], b_ring)
buffer("mixed_qkv", "bf16", ROWS, strides["qkv"], qkv)
buffer("a", "bf16", ROWS, strides["row"], a)
buffer("b", "bf16", ROWS, strides["row"], b)
buffer("A_log", "f32", 1, HV, A_log)
buffer("dt_bias", "f32", 1, HV, dt_bias)
buffer("out", "bf16", ROWS, strides["out"], [math.nan] * (ROWS * strides["out"]))
for name, values in [("out", out), ("state", ["keep"] * len(state)), ("wp", ["keep"] * SLOTS)]:
    print("expect", name)
    print(*values)
for name, values in appended.items():
    print("expect", name + "_ring")
    print(*values)
