//===- CrashReport.cpp - What the compiler says when it dies --------------===//
#include "lib/Compiler/CrashReport.h"

#include <csignal>
#include <cstring>
#include <unistd.h>

static const char *message;

/// Nothing but what a signal handler may call: memory and locks may be in any state.
static void report(int) {
  (void)!write(STDERR_FILENO, message, std::strlen(message));
  _exit(replayssm::crashExitCode);
}

void replayssm::reportCrashes(const char *line) {
  message = line;
  // A stack that has run out has no room for the handler.
  static char stack[64 * 1024];
  stack_t other = {};
  other.ss_sp = stack;
  other.ss_size = sizeof(stack);
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_handler = report;
  action.sa_flags = SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS})
    sigaction(signal, &action, nullptr);
}
