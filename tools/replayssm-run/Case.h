//===- Case.h - Buffers and inputs of one run -------------------*- C++ -*-===//
//
// Every buffer has a host mirror. Bytes that no kernel may touch (gaps between
// slots, unused ring rows, outputs before a launch) hold NaN. Buffers are as
// aligned as the contract asks and not more, and end with their last element.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "lib/Reference/Reference.h"
#include "tools/replayssm-run/Commands.h"

#include <map>
#include <random>

namespace replayssm::run {

double toDouble(const uint8_t *data, DType dtype);
void fromDouble(uint8_t *data, DType dtype, double value);
int64_t byteWidth(DType dtype);
/// Distance between neighbouring values of `dtype` at `value`.
double ulp(DType dtype, double value);

/// slots x inner elements, each slot `stride` elements after the one before; of what
/// every layer has of its own so many for each. Nothing follows the last.
struct Layout {
  DType dtype = DType::F32;
  int64_t width = 4; ///< Bytes per element (integers too).
  int64_t slots = 0, inner = 0, stride = 0;
  int64_t layers = 1, layerStride = 0; ///< Elements between layers.
  bool isReversed = false;             ///< The last layer lies first: only a table says so.
  int64_t layer = 0;                   ///< The one that `at` is about.
  int64_t lead = 0;                    ///< Bytes of the buffer in front of the first element.

  /// Of the layer, in elements.
  int64_t offset() const { return (isReversed ? layers - 1 - layer : layer) * layerStride; }
  int64_t bytes() const {
    return slots ? ((layers - 1) * layerStride + (slots - 1) * stride + inner) * width : 0;
  }
};

struct Array : Layout {
  std::vector<uint8_t> host;
  Buffer device;

  uint64_t address() const { return device.address() + lead; }
  uint8_t *at(int64_t slot, int64_t index = 0) {
    return host.data() + (offset() + slot * stride + index) * width;
  }
  const uint8_t *at(int64_t slot, int64_t index = 0) const {
    return host.data() + (offset() + slot * stride + index) * width;
  }
  Status upload() { return device.copyIn(host.data(), host.size(), lead); }
  Status download() { return device.copyOut(host.data(), host.size(), lead); }
};

/// The buffer that an argument is about, and which of its strides it is.
struct BufferArg {
  std::string name;
  bool isLayerStride = false;
};
constexpr std::string_view strideSuffix = "_stride", layerStrideSuffix = "_layer_stride";
BufferArg bufferArg(const KernelArg &arg);

struct CaseOptions {
  int64_t rows = 1;
  uint64_t seed = 1;
  double nullRate = 0;
  double flushRate = 0;
  Gates gates = Gates::Mixed;
  int64_t spareSlots = 2; ///< Slots that no row uses.
  bool gaps = true;
  /// At most so many times the buffers are held on the host, copies and oracle together.
  int64_t copies = 6;
};

/// Layers of a launch for many.
constexpr int64_t manyLayers = 3;
inline int64_t layerCount(const KernelSpec &spec) { return spec.layers == Layers::One ? 1 : manyLayers; }

class Case {
public:
  static Result<Case> create(Device &device, const KernelSpec &spec, const CaseOptions &options);

  /// The layer that everything below is about; indices, cursors and flags are shared.
  void select(int64_t layer);
  int64_t layer() const { return layer_; }
  int64_t layers() const { return layerCount(spec); }
  /// Runs `body` with each layer selected in turn.
  template <typename F> void forEachLayer(F body) {
    int64_t before = layer_;
    for (int64_t layer = 0; layer < layers(); ++layer) {
      select(layer);
      body();
    }
    select(before);
  }

  /// New token inputs, force flags and poisoned outputs, uploaded.
  Status nextToken();
  /// New inputs of one token (host mirror only).
  void fillToken(int64_t token);
  /// Fills the whole ring of one slot with NaN (host mirror only).
  void poisonRing(int64_t ringSlot);

  /// All host mirrors to the device, or back.
  Status upload();
  Status download();
  /// The host mirrors of another time.
  void restore(const Case &from);
  /// Runs `kernel` on the buffers for all rows, one of many layers for all of them; adds what that takes to `seconds`.
  Status launch(Device &device, Kernel &kernel, double *seconds = nullptr) const;
  /// The launch arguments of `manifest`, by name.
  Result<std::vector<uint64_t>> args(const KernelManifest &manifest) const;
  uint32_t launchedLayers(const Kernel &kernel) const;

  bool live(int64_t row) const;
  int64_t stateSlot(int64_t row) const;
  int64_t ringSlot(int64_t row) const;
  int64_t targetSlot(int64_t row) const; ///< Where states are stored.
  /// As in the host mirror; where every commit folds, windows start the ring.
  int32_t wp(int64_t row) const;
  int32_t base(int64_t row) const;  ///< 0 in a linear ring.
  bool flushing(int64_t row) const; ///< is_flush of its ring slot.
  bool forced(int64_t row) const;
  /// Where record `j` of a row lies in its ring.
  int64_t position(int64_t row, int64_t j) const { return (base(row) + j) % spec.L; }
  /// Those of records first .. end-1.
  std::vector<int64_t> positions(int64_t row, int64_t first, int64_t end) const;

  /// The inputs of one (token, value head), as the oracle wants them; the token
  /// of a decode kernel is its row.
  reference::Token token(int64_t token, int64_t hv) const;
  std::vector<double> state(int64_t row, int64_t hv) const;
  /// Of any slot of `buffer`: of `state`, or from element `first` on of `snapshots`.
  std::vector<double> stateOf(const char *buffer, int64_t slot, int64_t hv, int64_t first = 0) const;
  /// Packed copies of the valid records of one (row, value head).
  struct OwnedRecords {
    std::vector<float> d, k, g;
    reference::Records view() const;
    int64_t wp = 0;
  };
  OwnedRecords records(int64_t row, int64_t hv) const;
  OwnedRecords records(int64_t row, int64_t hv, int64_t count) const {
    return recordsAt(row, hv, positions(row, 0, count));
  }
  OwnedRecords recordsAt(int64_t row, int64_t hv, const std::vector<int64_t> &positions) const;

  /// One field of a record: its ring buffer, for how many heads, and its width.
  struct Field {
    const char *name;
    int64_t heads, width;
  };
  std::vector<Field> fields() const; ///< That this set stores.
  /// Record `position` as the recurrence is run from it again: k, v, beta and the
  /// stored gates, which are put into `gates`. To be used with rawSpec().
  reference::Token rawToken(int64_t row, int64_t hv, int64_t position, std::vector<double> &gates) const;
  KernelSpec rawSpec() const;
  int32_t integer(const char *name, int64_t i) const;
  void setInteger(const char *name, int64_t i, int64_t value);

  double gateInput(int64_t token, int64_t element);
  double extremeGateInput(int64_t element);
  double betaInput();

  KernelSpec spec;
  CaseOptions options;
  /// Whether cursors, lengths and positions are what a caller may say: the host device
  /// then reports any other. Else they are also what a kernel has to clamp.
  bool inRange = true;
  std::map<std::string, Array> arrays;
  std::map<std::string, Buffer> tables; ///< The address of each layer's part of an array.
  std::mt19937_64 rng;
  bool isHost = false;
  uint64_t history = 0; ///< Hash of every byte of every buffer behind each launch so far.

private:
  Status allocate(Device &device);
  Status addTable(Device &device, const std::string &name);
  int64_t layer_ = 0;
};

} // namespace replayssm::run
