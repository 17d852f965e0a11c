# How lit finds and runs the tests of this folder: every .mlir and .test file.
import os
import re

import lit.formats

config.name = "replayssm"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "CMakeLists.txt"]
config.test_source_root = os.path.join(config.source_root, "test")
config.test_exec_root = os.path.join(config.build_root, "test")

config.substitutions.append(("%root", config.source_root))
config.substitutions.append(("%build", config.build_root))
config.substitutions.append(("%examples", os.path.join(config.source_root, "examples")))
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%opt", os.path.join(config.build_root, "bin", "replayssm-opt")))

# Tools are called by name; a RUN line gets the one of this build.
bin_folder = os.path.join(config.build_root, "bin")
for folder, names in [
    (bin_folder, ["replayssm-opt", "replayssm-run"]),
    (config.llvm_tools, ["FileCheck", "not", "count", "split-file"]),
]:
    for name in names:
        pattern = r"(?<![\w./%-])" + re.escape(name) + r"(?![\w./-])"
        config.substitutions.append((pattern, os.path.join(folder, name)))

if os.path.exists(os.path.join(bin_folder, "replayssm-run")):
    config.available_features.add("replayssm-run")
fake_cuda = os.path.join(config.build_root, "lib", "libreplayssm_fake_cuda.so")
if os.path.exists(fake_cuda):
    config.available_features.add("fake-cuda")
    config.substitutions.append(("%fake_cuda", fake_cuda))
if config.ptxas:
    config.available_features.add("ptxas")
    config.environment["PATH"] = os.pathsep.join(
        [os.path.dirname(config.ptxas), os.environ.get("PATH", "")])
