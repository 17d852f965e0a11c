//===- Engine.h - Kernels and buffers of all layers, and one forward ------===//
#pragma once

#include "Oracle.h"
#include "replayssm/Jit.h"

#include <map>
#include <optional>

namespace lifecycle {

constexpr uint32_t rows = 3;
constexpr int64_t stateSlots = 5, ringSlots = 3, noRow = -1;

/// What the scheduler says before a forward, row by row.
struct Batch {
  std::vector<int32_t> state_idx, ring_idx, query_start_loc, track_step, track_idx;
  std::vector<int8_t> force_flush, reset_mask;
  std::vector<Token> tokens[layers]; ///< Of all rows, behind each other.
};

/// The layers of one model on one device. Each has a state and a ring for every
/// slot; the cursors of a request are shared by all of them.
class Engine {
public:
  /// With `captured` a forward is two graphs, recorded once and replayed.
  static replayssm::Result<Engine> create(replayssm::Device device, const std::vector<Params> &params,
                                          bool captured);

  /// What a prefill leaves behind: the state of one layer in a slot.
  replayssm::Status prefill(int layer, int64_t slot, const std::vector<float> &state);
  /// NaN in everything that a slot of a layer holds: what its last owner left.
  replayssm::Status spoil(int layer, std::optional<int64_t> state, std::optional<int64_t> ring);
  /// Resets the cursors of new requests; then every layer's outputs.
  replayssm::Status verify(const Batch &batch);
  /// Counts the accepted tokens; then folds the rings that are full, forced or tracked.
  replayssm::Status commit(const std::vector<int32_t> &accepted);

  replayssm::Result<std::vector<float>> read(int layer, const std::string &name) const;
  replayssm::Result<std::vector<int32_t>> cursors() const;
  /// The bytes of every buffer, one behind the other.
  replayssm::Result<std::vector<uint8_t>> bytes() const;

private:
  struct Array {
    replayssm::Buffer buffer;
    uint64_t slotSize = 0, width = 4;
  };
  using Arrays = std::map<std::string, Array>;

  explicit Engine(replayssm::Device device) : device(std::move(device)) {}
  replayssm::Status add(Arrays &to, const std::string &name, uint64_t slots, uint64_t slotSize,
                        uint64_t width = 4);
  replayssm::Status addLayer(int layer, const Params &params);
  replayssm::Status compile();
  replayssm::Status launch(replayssm::Kernel &kernel, int layer);
  replayssm::Status launchVerify();
  replayssm::Status launchCommit();
  replayssm::Status capture();
  template <typename T>
  replayssm::Status write(Array &array, const std::vector<T> &values, uint64_t slot = 0);

  replayssm::Device device;
  Arrays shared, ofLayer[layers]; ///< By the names of docs/abi.md.
  std::map<std::string, replayssm::Kernel> kernels;
  std::optional<replayssm::Graph> verifyGraph, commitGraph;
};

} // namespace lifecycle
