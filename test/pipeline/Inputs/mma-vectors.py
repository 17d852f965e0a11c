"""Writes the vectors of codegen-host-mma.test: what lanes bring to tensor cores, and the product.

Numbers are small integers, so that every sum is exact, whatever its order.
"""
import random
import struct


def element(kind, operand, lane, i):
    """Of element i of a lane's operand the place in its matrix, as the manual of PTX has it."""
    group, thread = lane // 4, lane % 4
    if operand == "c":
        return group + 8 * (i // 2), 2 * thread + i % 2
    if kind == "tf32":
        return (group + 8 * (i % 2), thread + 4 * (i // 2)) if operand == "a" else (thread + 4 * i, group)
    channel = 2 * thread + i % 2
    if operand == "a":
        return group + 8 * (i // 2 % 2), channel + 8 * (i // 4)
    return channel + 8 * (i // 2), group


def write(kind, dtype, name, count, matrix, operand, word="buffer"):
    values = [matrix[element(kind, operand, lane, i)] for lane in range(32) for i in range(count)]
    head = f"buffer {name} {dtype} 1 {len(values)}" if word == "buffer" else f"expect {name}"
    print(head, *values)


random.seed(1)
print("rows 1")
for kind, dtype in [("tf32", "f32"), ("bf16", "bf16"), ("f16", "f16")]:
    channels, per_word = (8, 1) if kind == "tf32" else (16, 2)
    a = {(m, k): random.randint(-9, 9) for m in range(16) for k in range(channels)}
    b = {(k, n): random.randint(-9, 9) for k in range(channels) for n in range(8)}
    c = {(m, n): random.randint(-99, 99) for m in range(16) for n in range(8)}
    product = {(m, n): c[m, n] + sum(a[m, k] * b[k, n] for k in range(channels)) for m, n in c}
    write(kind, dtype, f"{kind}_a", 4 * per_word, a, "a")
    write(kind, dtype, f"{kind}_b", 2 * per_word, b, "b")
    write(kind, "f32", f"{kind}_c", 4, c, "c")
    write(kind, "f32", f"{kind}_c", 4, product, "c", "expect")
# What is cut off and what is left.
numbers = [1.0000001, -3.1415927, 65504, 1e-3, 0, -1e30, 2**-126, 1.5] * 4
bits = [struct.unpack("<i", struct.pack("<f", x))[0] for x in numbers]
print("buffer bits i32 1 32", *bits)
print("expect bits", *[x & ~0x1fff for x in bits])
