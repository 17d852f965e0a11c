//===- Driver.h - The command line of the compiler proper -------*- C++ -*-===//
#pragma once

namespace replayssm {

/// Whether the arguments ask for the compiler (--emit, or an option that needs it) and not for mlir-opt.
bool isDriverCall(int argc, char **argv);
/// `main` of `replayssm-opt --emit=...`: 0, or 1 after a message on stderr.
int driverMain(int argc, char **argv);

} // namespace replayssm
