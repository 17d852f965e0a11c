//===- CrashReport.h - What the compiler says when it dies ---------*- C++ -*-===//
#pragma once

namespace replayssm {

/// The exit code of a process that died of a fault of its own (EX_SOFTWARE).
constexpr int crashExitCode = 70;

/// From now on a fatal signal ends the process with one line on the standard error and
/// crashExitCode, also where the stack has run out. For tools; a library leaves signals
/// alone. `line` has to outlive the process.
void reportCrashes(const char *line);

} // namespace replayssm
