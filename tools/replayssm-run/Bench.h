//===- Bench.h - Timings of one kernel --------------------------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/Case.h"
#include "tools/replayssm-run/Streams.h"

namespace replayssm::run {

/// Microseconds of one launch, and of the stream of the fewest bytes.
struct Column {
  std::string name;
  double time = 0, floor = 0;
};
struct Timing {
  std::string spec;
  int64_t rows = 0;
  std::vector<double> positions; ///< us at each of Bench::positions().
  std::vector<Column> columns;
};

/// Buffers of one (spec, rows): `sets` disjoint groups of random slots.
class Bench {
public:
  static Result<Bench> create(Device &device, const KernelSpec &spec, int64_t rows, Buffer &pool);
  Result<Timing> run(Kernel &kernel);

private:
  Status fill(const std::string &name, DType dtype, uint64_t elements, double scale, double shift);
  Status put(const std::string &name, const std::vector<int32_t> &values);
  uint64_t launchArg(const KernelArg &arg, int64_t set, int64_t position) const;
  double otherBytes(int64_t position) const;
  std::vector<int64_t> positions() const;
  bool writesState(int64_t position) const;

  Device *device = nullptr;
  Buffer *pool = nullptr;
  KernelSpec spec;
  int64_t rows = 0, sets = 0;
  std::map<std::string, Buffer> buffers;
  std::map<std::string, uint64_t> strides, perSetBytes;
  std::mt19937_64 rng{7};
};

} // namespace replayssm::run
