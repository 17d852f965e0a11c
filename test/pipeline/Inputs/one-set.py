"""The module of the first file with the kernels of the others, which are of the same layer."""
import sys


def body(path):
    """What a module holds: a layer, and kernels from here on."""
    with open(path) as file:
        text = file.read()
    text = text[text.index("module {\n") + len("module {\n"):text.rstrip().rindex("}")]
    kernels = text.index("  replay.kernel")
    return text[:kernels], text[kernels:]


bodies = [body(path) for path in sys.argv[1:]]
print(bodies[0][0] + "".join(kernels for _, kernels in bodies))
