//===- Bench.h - Timings of one kernel --------------------------*- C++ -*-===//
#pragma once

#include "tools/replayssm-run/BenchMoments.h"
#include "tools/replayssm-run/Case.h"
#include "tools/replayssm-run/Streams.h"

namespace replayssm::run {

/// Microseconds of one launch, and of the stream of the fewest bytes.
struct Column {
  std::string name;
  double time = 0, floor = 0;
  Traffic bytes; ///< Of all rows.
};
struct Timing {
  std::string spec;
  int64_t rows = 0, layers = 1;
  std::vector<double> moments; ///< us at each moment of the plan.
  std::vector<Column> columns;
};

/// Buffers of one (spec, rows): `sets` disjoint groups of random slots.
class Bench {
public:
  static Result<Bench> create(Device &device, const KernelSpec &spec, int64_t rows);
  /// Times every moment; the streams run over `pool` and are compiled as `compile` says.
  Result<Timing> run(Kernel &kernel, Buffer &pool, const CompileOptions &compile);
  /// Launches every moment once, on one set; no times.
  Result<Timing> dryRun(Kernel &kernel);

private:
  /// `copies` = layers where every layer has its own.
  Status add(const std::string &name, uint64_t count, uint64_t inner, uint64_t width, uint64_t perSet = 0,
             uint64_t copies = 1);
  Status fill(const std::string &name, DType dtype, uint64_t count, uint64_t inner, double scale,
              double shift, uint64_t perSet = 0);
  template <typename T>
  Status put(const std::string &name, const std::vector<T> &values, uint64_t perSet = 0);
  Status addStates();
  Status addRings();
  Status addTokens();
  Status addIndices();
  Status addMoments();
  Status addAll();
  Result<uint64_t> table(const std::string &name, uint64_t at);
  Result<uint64_t> launchArg(const KernelArg &arg, int64_t set, size_t moment);
  Result<std::vector<std::vector<uint64_t>>> launchArgs(const Kernel &kernel, size_t moment);
  Result<std::vector<double>> floors(Buffer &pool, const CompileOptions &compile) const;
  Timing timingOf(std::vector<double> times, const std::vector<double> &floors) const;

  struct Data {
    Buffer buffer;
    uint64_t stride = 0, layerStride = 0, width = 0; ///< Elements; bytes.
    uint64_t perSet = 0;                             ///< Bytes.
  };
  Device *device = nullptr;
  KernelSpec spec;
  int64_t rows = 0, sets = 0, slots = 0, layers = 1;
  bool isCounting = false;     ///< Nothing is allocated: `totalBytes` alone.
  uint64_t totalBytes = 0;
  BenchPlan plan;
  std::map<std::string, Data> data;
  std::map<std::pair<std::string, uint64_t>, Buffer> tables; ///< By buffer and bytes from its begin.
  std::mt19937_64 rng{7};
};

} // namespace replayssm::run
