//===- HostMemory.cpp - Whether so much memory can be had -----------------===//
#include "tools/replayssm-run/HostMemory.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sys/resource.h>

using namespace replayssm;
using namespace replayssm::run;

/// The number behind `key` in a file of such lines; below 0 = not there.
static double readNumber(const char *path, const std::string &key) {
  std::ifstream file(path);
  for (std::string word; file >> word;)
    if (double value; word == key && file >> value)
      return value;
  return -1;
}

/// Bytes that are free, within the limits of the process and of its control group.
static double availableMemory() {
  double available = 1024 * readNumber("/proc/meminfo", "MemAvailable:");
  if (available < 0)
    available = 0x1p63; // Not known: the other limits hold.
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    available = std::min(available, double(limit.rlim_cur));
  std::ifstream group("/sys/fs/cgroup/memory.max");
  if (double most; group >> most)
    available = std::min(available, most);
  return available;
}

/// Whole bytes, and gibibytes where nobody can read them.
static std::string bytesText(double bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%.0f bytes (%.1f GiB)", bytes, bytes / 0x1p30);
  return text;
}

Status run::expectHostMemory(const std::string &what, double bytes) {
  double available = availableMemory();
  if (bytes <= available)
    return Status::ok();
  return Status(StatusCode::Exhausted, what + ": expected at most " + bytesText(available) +
                                           " of host memory, which are free, but got " + bytesText(bytes));
}

Status run::noDeviceMemory(const std::string &what, uint64_t bytes, const Status &refused) {
  return Status(refused.code(), what + ": expected " + bytesText(double(bytes)) +
                                    " of device memory but got: " + refused.message());
}
