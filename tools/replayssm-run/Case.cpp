//===- Case.cpp - Buffers and inputs of one run ---------------------------===//
#include "tools/replayssm-run/Case.h"
#include "tools/replayssm-run/HostMemory.h"

#include "replayssm/KernelABI.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

using namespace replayssm;
using namespace replayssm::run;

static int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

Result<Case> Case::create(Device &device, const KernelSpec &spec, const CaseOptions &options) {
  Case c;
  c.spec = spec;
  c.options = options;
  c.isHost = device.isHost();
  c.rng.seed(options.seed * 0x9e3779b97f4a7c15ull + 1);
  int64_t B = options.rows, GK = spec.gateDim();
  bool ofSnapshots = spec.phase == Phase::Snapshots, ofInputs = spec.phase == Phase::InputReplay;
  bool isWindowed = spec.phase == Phase::Verify || ofSnapshots || ofInputs;
  // Windows may say to be a token longer than they can be; some tokens are nobody's.
  int64_t tokens = isWindowed ? B * (spec.T + 1) + 3 : B;
  // With null = lt0 slot 0 is an ordinary slot; with le0 it is nobody's.
  // Where states are stored to other slots, each row has one of its own.
  int64_t ringSlots = B + options.spareSlots, stateSlots = ringSlots + B * (spec.dst + spec.track);

  auto add = [&](const std::string &name, DType dtype, int64_t width, int64_t slots,
                 int64_t inner, bool gap, int64_t layers = 1) {
    Array &array = c.arrays[name];
    array.dtype = dtype;
    array.width = width;
    array.slots = slots;
    array.inner = inner;
    // No base address and no stride is a multiple of more than the contract says.
    int64_t granule = findKernelBuffer(name)->isWide ? 16 / width : 1;
    array.lead = granule * width;
    array.stride = roundUp(inner, granule) + (gap && options.gaps ? 3 * granule : 0);
    if (gap && options.gaps && array.stride / granule % 2 == 0)
      array.stride += granule;
    array.layers = layers;
    // No two alike: one that is taken for another is found out.
    array.layerStride = roundUp(slots * array.stride, granule) + (5 + int64_t(c.arrays.size())) * granule;
    array.isReversed = spec.layers == Layers::Table;
  };
  // What every layer has of its own.
  auto addFloats = [&](const std::string &name, DType dtype, int64_t slots, int64_t inner, bool gap) {
    add(name, dtype, byteWidth(dtype), slots, inner, gap, c.layers());
  };
  addFloats("state", spec.state, stateSlots, spec.HV * spec.V * spec.K, true);
  addFloats("mixed_qkv", spec.io, tokens, 2 * spec.H * spec.K + spec.HV * spec.V, true);
  addFloats("a", spec.aType(), tokens, spec.HV * GK, true);
  addFloats("b", spec.bType(), tokens, spec.HV, true);
  addFloats("out", spec.io, tokens, spec.HV * spec.V, true);
  addFloats("A_log", DType::F32, 1, spec.HV, false);
  addFloats("dt_bias", DType::F32, 1, spec.HV * GK, false);
  add("state_idx", DType::F32, 4, 1, B, false);
  add("ring_idx", DType::F32, 4, 1, B, false);
  add("wp", DType::F32, 4, 1, ringSlots, false);
  add("force_flush", DType::F32, 1, 1, B, false);
  if (isWindowed) {
    add("query_start_loc", DType::F32, 4, 1, B + 1, false);
    add("accept_len", DType::F32, 4, 1, B, false);
    add("fold_len", DType::F32, 4, 1, B, false);
    add("parent", DType::F32, 4, 1, B * spec.Tmax, false);
    add("accept_idx", DType::F32, 4, 1, B * spec.Tmax, false);
  }
  if (spec.phase == Phase::Verify && spec.flushAt != FlushAt::EveryCommit)
    add("reset_mask", DType::F32, 1, 1, B, false);
  if (spec.isCircular()) {
    add("base", DType::F32, 4, 1, ringSlots, false);
    add("is_flush", DType::F32, 1, 1, ringSlots, false);
  }
  if (spec.dst)
    add("dst_idx", DType::F32, 4, 1, B, false);
  if (spec.track)
    for (const char *name : {"track_step", "track_pos", "track_idx"})
      add(name, DType::F32, 4, 1, B, false);
  if (ofSnapshots)
    addFloats("snapshots", spec.state, ringSlots, spec.Tmax * spec.HV * spec.V * spec.K, true);
  for (const Field &field : c.fields()) {
    bool isIo = std::string_view(field.name).substr(0, 4) == "raw_";
    addFloats(field.name, isIo ? spec.io : DType::F32, ringSlots, field.heads * spec.L * field.width, true);
  }
  RSSM_RETURN_IF_ERROR(c.allocate(device));

  // Slots: a random choice for each row; ring slots are another permutation.
  int64_t firstSlot = spec.null == NullRow::LE0 ? 1 : 0;
  std::vector<int32_t> stateOf(stateSlots - firstSlot), ringOf(ringSlots);
  std::iota(stateOf.begin(), stateOf.end(), int32_t(firstSlot));
  std::iota(ringOf.begin(), ringOf.end(), 0);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<bool> isNull(B);
  for (int64_t row = 0; row < B; ++row)
    isNull[row] = uniform(c.rng) < options.nullRate && B > 1;
  if (options.nullRate > 0 && B > 1) // At least one.
    isNull[c.rng() % B] = true;
  // No row uses the slot of its own number or one slot for both, and one uses the
  // lowest slot that is not null: a kernel that takes one index for another, or
  // compares with the wrong number, is found out.
  bool canUseFirst = false;
  for (int64_t row = 0; row < B; ++row)
    canUseFirst |= !isNull[row] && row != firstSlot;
  auto isMixed = [&] {
    bool usesFirst = false;
    for (int64_t row = 0; row < B; ++row) {
      if (stateOf[row] == row || ringOf[row] == row || stateOf[row] == ringOf[row])
        return false;
      usesFirst |= !isNull[row] && stateOf[row] == firstSlot;
    }
    return usesFirst || !canUseFirst;
  };
  do {
    std::shuffle(stateOf.begin(), stateOf.end(), c.rng);
    std::shuffle(ringOf.begin(), ringOf.end(), c.rng);
  } while (!isMixed());
  bool anyNull = false;
  for (int64_t row = 0; row < B; ++row) {
    // Null values in use: the largest, some other negatives, the least.
    int32_t largest = spec.null == NullRow::LE0 ? 0 : -1;
    int32_t nullValue = !anyNull || uniform(c.rng) < 0.5 ? largest
                        : uniform(c.rng) < 0.5           ? -1
                                                         : INT32_MIN;
    anyNull |= isNull[row];
    int32_t slot = isNull[row] ? nullValue : stateOf[row];
    // The ring index of a null row is ignored, whatever it says.
    int32_t ring = isNull[row] ? INT32_MAX : ringOf[row];
    std::memcpy(c.arrays["state_idx"].at(0, row), &slot, 4);
    std::memcpy(c.arrays["ring_idx"].at(0, row), &ring, 4);
    if (spec.dst)
      c.setInteger("dst_idx", row, isNull[row] ? INT32_MAX : stateOf[B + row]);
    if (spec.track)
      c.setInteger("track_idx", row, isNull[row] ? INT32_MAX : stateOf[B * (1 + spec.dst) + row]);
  }
  // Where every commit folds there is no cursor: what it says is nobody's.
  bool hasCursor = spec.flushAt != FlushAt::EveryCommit;
  std::memset(c.arrays["wp"].host.data(), hasCursor ? 0 : 0x55, c.arrays["wp"].host.size());
  for (int64_t slot = 0; slot < ringSlots && spec.isCircular(); ++slot) {
    c.setInteger("base", slot, int64_t(c.rng() % spec.L));
    *c.arrays["is_flush"].at(0, slot) = uniform(c.rng) < 0.2;
  }

  std::normal_distribution<double> normal(0, 1);
  c.forEachLayer([&] {
    Array &state = c.arrays["state"];
    for (int64_t slot = 0; slot < stateSlots; ++slot)
      for (int64_t i = 0; i < state.inner; ++i)
        fromDouble(state.at(slot, i), spec.state, 0.1 * normal(c.rng));
    for (int64_t hv = 0; hv < spec.HV; ++hv) {
      // A_log of a safe gate is the slope of its sigmoid.
      double aLog = spec.gate == Gate::Safe      ? (options.gates == Gates::Strong ? 2 : options.gates == Gates::Mild ? -3 : 0) + 0.5 * normal(c.rng)
                    : options.gates == Gates::Strong ? std::log(16.0 + 200 * uniform(c.rng))
                    : options.gates == Gates::Mild ? std::log(1e-4 + 1e-3 * uniform(c.rng))
                                                   : std::log(0.5 + 15.5 * uniform(c.rng));
      if (options.gates == Gates::Extreme)
        aLog = c.rng() % 8 ? 220 * uniform(c.rng) - 110 : (c.rng() % 2 ? 1 : -1) * std::exp(88 * uniform(c.rng));
      fromDouble(c.arrays["A_log"].at(0, hv), DType::F32, aLog);
    }
    for (int64_t i = 0; i < spec.HV * GK; ++i)
      fromDouble(c.arrays["dt_bias"].at(0, i), DType::F32,
                 options.gates == Gates::Extreme && c.rng() % 4 == 0
                     ? (c.rng() % 2 ? 1 : -1) * std::exp(88 * uniform(c.rng))
                     : -4.0 + 3.0 * normal(c.rng));
  });
  RSSM_RETURN_IF_ERROR(c.upload());
  return c;
}

/// Nothing before it is known that all of it can be had.
Status Case::allocate(Device &device) {
  uint64_t bytes = 0;
  for (const auto &[name, array] : arrays)
    bytes += array.bytes();
  std::string what = "buffers of " + std::to_string(options.rows) + " rows";
  RSSM_RETURN_IF_ERROR(expectHostMemory(what, double(bytes) * double(options.copies + device.isHost())));
  for (auto &[name, array] : arrays) {
    array.host.assign(array.bytes(), 0xff);
    auto buffer = device.allocate(array.lead + array.host.size());
    if (!buffer)
      return noDeviceMemory(what, bytes, buffer.status());
    array.device = buffer.take();
    if (spec.layers == Layers::Table && array.layers > 1)
      RSSM_RETURN_IF_ERROR(addTable(device, name));
  }
  return Status::ok();
}

Status Case::addTable(Device &device, const std::string &name) {
  Array &array = arrays.at(name);
  std::vector<uint64_t> addresses;
  for (array.layer = 0; array.layer < array.layers; ++array.layer)
    addresses.push_back(array.address() + array.offset() * array.width);
  array.layer = layer_;
  auto table = device.allocate(addresses.size() * 8);
  if (!table)
    return table.status();
  RSSM_RETURN_IF_ERROR(table->copyIn(addresses.data(), addresses.size() * 8));
  tables[name] = table.take();
  return Status::ok();
}

void Case::select(int64_t layer) {
  layer_ = layer;
  for (auto &[name, array] : arrays)
    array.layer = array.layers > 1 ? layer : 0;
}

Status Case::nextToken() {
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int64_t row = 0; row < options.rows; ++row) {
    fillToken(row);
    *arrays["force_flush"].at(0, row) = uniform(rng) < options.flushRate ? 1 : 0;
  }
  Array &out = arrays["out"];
  std::fill(out.host.begin(), out.host.end(), uint8_t(0xff));
  for (const char *name : {"mixed_qkv", "a", "b", "force_flush", "out"})
    RSSM_RETURN_IF_ERROR(arrays[name].upload());
  return Status::ok();
}

void Case::poisonRing(int64_t ringSlot) {
  for (const Field &field : fields()) {
    Array &array = arrays.at(field.name);
    std::memset(array.at(ringSlot), 0xff, array.inner * array.width);
  }
}

Status Case::upload() {
  for (auto &[name, array] : arrays)
    if (!array.host.empty())
      RSSM_RETURN_IF_ERROR(array.upload());
  return Status::ok();
}

/// Eight bytes at a time: gigabytes pass here.
static uint64_t hashWords(uint64_t hash, const uint8_t *data, size_t size) {
  uint64_t word;
  for (; size; data += std::min(size, sizeof word), size -= std::min(size, sizeof word)) {
    word = size;
    std::memcpy(&word, data, std::min(size, sizeof word));
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

/// A CPU gives a NaN the sign and the payload of whichever operand its compiler put first.
static std::vector<uint8_t> withOneNaN(const Array &array) {
  std::vector<uint8_t> bytes = array.host;
  auto clear = [&](auto sign, auto infinity) {
    decltype(sign) bits;
    for (size_t i = 0; i + sizeof bits <= bytes.size(); i += sizeof bits) {
      std::memcpy(&bits, &bytes[i], sizeof bits);
      if (decltype(sign)(bits & ~sign) > infinity)
        bits = infinity + 1;
      std::memcpy(&bytes[i], &bits, sizeof bits);
    }
  };
  if (array.width == 4)
    clear(uint32_t(0x80000000), uint32_t(0x7f800000));
  else if (array.width == 2)
    clear(uint16_t(0x8000), uint16_t(array.dtype == DType::BF16 ? 0x7f80 : 0x7c00));
  return bytes;
}

Status Case::download() {
  for (auto &[name, array] : arrays) {
    if (!array.host.empty())
      RSSM_RETURN_IF_ERROR(array.download());
    if (array.host.empty())
      continue;
    std::vector<uint8_t> plain = isHost ? withOneNaN(array) : std::vector<uint8_t>();
    history = hashWords(history, isHost ? plain.data() : array.host.data(), array.host.size());
  }
  return Status::ok();
}

void Case::restore(const Case &from) {
  for (auto &[name, array] : arrays)
    array.host = from.arrays.at(name).host;
}

Status Case::launch(Device &device, Kernel &kernel, double *seconds) const {
  auto values = args(kernel.manifest());
  if (!values)
    return values.status();
  device.hostOptions().checkRanges = inRange;
  auto start = std::chrono::steady_clock::now();
  RSSM_RETURN_IF_ERROR(kernel.launch(*values, uint32_t(options.rows), launchedLayers(kernel)));
  RSSM_RETURN_IF_ERROR(device.synchronize());
  if (seconds)
    *seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return Status::ok();
}

uint32_t Case::launchedLayers(const Kernel &kernel) const {
  return kernel.manifest().isLayered() ? uint32_t(layers()) : 1;
}

BufferArg run::bufferArg(const KernelArg &arg) {
  if (arg.kind != KernelArg::Kind::Stride)
    return {arg.name};
  bool isOfLayers = arg.name.ends_with(layerStrideSuffix);
  std::string_view suffix = isOfLayers ? layerStrideSuffix : strideSuffix;
  return {arg.name.substr(0, arg.name.size() - std::min(arg.name.size(), suffix.size())), isOfLayers};
}

Result<std::vector<uint64_t>> Case::args(const KernelManifest &manifest) const {
  std::vector<uint64_t> values;
  // A kernel of many layers gets the first, one of a single layer that which is selected.
  bool isLayered = manifest.isLayered();
  for (const KernelArg &arg : manifest.args) {
    BufferArg of = bufferArg(arg);
    auto it = arrays.find(of.name);
    auto table = tables.find(of.name);
    bool isTable = arg.kind == KernelArg::Kind::Table;
    if (it == arrays.end() || (isTable && table == tables.end()))
      return Status(StatusCode::Unsupported, "kernel '" + manifest.name + "' has an argument '" +
                                                 arg.name + "' that its spec does not explain");
    const Array &array = it->second;
    if (isTable)
      values.push_back(table->second.address());
    else if (arg.kind == KernelArg::Kind::Stride)
      values.push_back(uint64_t(of.isLayerStride ? array.layerStride : array.stride));
    else
      values.push_back(array.address() + (isLayered ? 0 : array.offset() * array.width));
  }
  return values;
}

static int32_t readInt(const std::map<std::string, Array> &arrays, const char *name, int64_t i) {
  int32_t value;
  std::memcpy(&value, arrays.at(name).at(0, i), 4);
  return value;
}

int32_t Case::integer(const char *name, int64_t i) const { return readInt(arrays, name, i); }
void Case::setInteger(const char *name, int64_t i, int64_t value) {
  int32_t number = int32_t(value);
  std::memcpy(arrays.at(name).at(0, i), &number, 4);
}
int64_t Case::targetSlot(int64_t row) const { return spec.dst ? integer("dst_idx", row) : stateSlot(row); }
int64_t Case::stateSlot(int64_t row) const { return readInt(arrays, "state_idx", row); }
int64_t Case::ringSlot(int64_t row) const { return readInt(arrays, "ring_idx", row); }
bool Case::live(int64_t row) const {
  return spec.null == NullRow::LE0 ? stateSlot(row) > 0 : stateSlot(row) >= 0;
}
int32_t Case::wp(int64_t row) const {
  return spec.flushAt == FlushAt::EveryCommit ? 0 : readInt(arrays, "wp", ringSlot(row));
}
int32_t Case::base(int64_t row) const {
  return spec.isCircular() ? readInt(arrays, "base", ringSlot(row)) : 0;
}
bool Case::flushing(int64_t row) const {
  return spec.isCircular() && *arrays.at("is_flush").at(0, ringSlot(row)) != 0;
}
bool Case::forced(int64_t row) const { return *arrays.at("force_flush").at(0, row) != 0; }
