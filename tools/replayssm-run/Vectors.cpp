//===- Vectors.cpp - A kernel against a file of inputs and outputs --------===//
//
// docs/spec.md, "Vectors", says what the file holds.
//
//===----------------------------------------------------------------------===//
#include "tools/replayssm-run/Case.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>

using namespace replayssm;
using namespace replayssm::run;

namespace {

/// Far more than a file of numbers holds: a larger count is a slip of the pen.
constexpr int64_t maxValues = int64_t(1) << 28, maxCount = 65535;

/// One expected value. `any` is not compared, `keep` is what the buffer held.
struct Expected {
  enum class Kind { Any, Keep, Value } kind = Kind::Any;
  double value = 0;
};
struct VectorBuffer {
  Array array;
  std::string dtype;
  std::optional<std::vector<Expected>> expected;

  bool isInteger() const { return dtype[0] == 'i'; }
  int64_t size() const { return array.slots * array.stride; }
  double number(int64_t i) const;
  bool matches(int64_t i, const Expected &want, const std::vector<uint8_t> &before, double rms) const;
};
struct Vectors {
  int64_t rows = 0, layers = 0; ///< 0 = not said.
  std::map<std::string, VectorBuffer> buffers;
};

Status malformed(const std::string &what) {
  return Status(StatusCode::InvalidArgument, "vectors: " + what);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

class Parser {
public:
  explicit Parser(const std::string &text) : in(text) {}
  Result<Vectors> parse();

private:
  Status count(const std::string &word, int64_t &value);
  Status buffer();
  Status expect();
  Result<double> number(const std::string &what, const VectorBuffer &of, const std::string &text,
                        const char *expected) const;

  std::istringstream in;
  Vectors vectors;
};

/// A number that `of` can hold; of floats also nan and infinities.
Result<double> Parser::number(const std::string &what, const VectorBuffer &of, const std::string &text,
                              const char *expected) const {
  char *end;
  double value = std::strtod(text.c_str(), &end);
  if (*end)
    return malformed(what + ": expected " + expected + " but got '" + text + "'");
  double limit = of.dtype == "i8" ? 0x1p7 : 0x1p31, largest = of.dtype == "f16" ? 65504 : of.dtype == "bf16" ? 0x1.fep127 : 0x1.fffffep127;
  bool isHeld = of.isInteger() ? value >= -limit && value < limit && value == std::trunc(value)
                               : std::fabs(value) <= largest || !std::isfinite(value);
  // strtod makes an infinity of what is too large even for a double.
  bool isNamed = std::isfinite(value) || text.find_first_of("0123456789") == text.npos;
  if (!isHeld || !isNamed)
    return malformed(what + ": expected an " + of.dtype + " but got '" + text + "'");
  return value;
}

Status Parser::count(const std::string &word, int64_t &value) {
  if (value != 0)
    return malformed("expected '" + word + "' once but got it twice");
  if (!(in >> value) || value < 1 || value > maxCount)
    return malformed("expected a number in 1.." + std::to_string(maxCount) + " after '" + word + "'");
  return Status::ok();
}

Status Parser::buffer() {
  std::string name;
  VectorBuffer buffer;
  Array &array = buffer.array;
  if (!(in >> name >> buffer.dtype >> array.slots >> array.stride) || array.slots < 1 || array.stride < 1)
    return malformed("expected 'buffer NAME DTYPE SLOTS STRIDE'");
  std::string what = "buffer '" + name + "'";
  if (vectors.buffers.count(name))
    return malformed(what + ": expected it once but got it twice");
  if (array.slots > maxValues / array.stride)
    return malformed(what + ": expected at most " + std::to_string(maxValues) + " values but got " +
                     std::to_string(array.slots) + " x " + std::to_string(array.stride));
  const std::string &dtype = buffer.dtype;
  if (dtype != "i32" && dtype != "i8" && dtype != "f32" && dtype != "bf16" && dtype != "f16")
    return malformed(what + ": expected dtype f32, bf16, f16, i32 or i8 but got '" + dtype + "'");
  array.dtype = dtype == "bf16" ? DType::BF16 : dtype == "f16" ? DType::F16 : DType::F32;
  array.width = dtype == "i8" ? 1 : dtype == "i32" ? 4 : byteWidth(array.dtype);
  array.inner = array.stride;
  for (int64_t i = 0; i < buffer.size(); ++i) {
    std::string text;
    if (!(in >> text))
      return malformed(what + ": expected " + std::to_string(buffer.size()) + " values but got " + std::to_string(i));
    auto value = number(what, buffer, text, "a number");
    if (!value)
      return value.status();
    // Grows with the file, whatever the file says that it holds.
    array.host.resize((i + 1) * array.width);
    if (buffer.isInteger()) {
      int32_t whole = static_cast<int32_t>(*value);
      std::memcpy(array.at(0, i), &whole, array.width);
    } else if (std::isnan(*value)) {
      std::memset(array.at(0, i), 0xff, array.width);
    } else {
      fromDouble(array.at(0, i), array.dtype, *value);
    }
  }
  vectors.buffers[name] = std::move(buffer);
  return Status::ok();
}

Status Parser::expect() {
  std::string name;
  if (!(in >> name) || !vectors.buffers.count(name))
    return malformed("expected a buffer's name after 'expect'");
  VectorBuffer &buffer = vectors.buffers[name];
  std::string what = "expect '" + name + "'";
  if (buffer.expected)
    return malformed(what + ": expected it once but got it twice");
  buffer.expected.emplace();
  for (int64_t i = 0; i < buffer.size(); ++i) {
    std::string text;
    if (!(in >> text))
      return malformed(what + ": expected " + std::to_string(buffer.size()) + " values but got " + std::to_string(i));
    Expected one;
    if (text == "keep")
      one.kind = Expected::Kind::Keep;
    else if (text != "any") {
      auto value = number(what, buffer, text, "a number, any or keep");
      if (!value)
        return value.status();
      one = {Expected::Kind::Value, *value};
    }
    buffer.expected->push_back(one);
  }
  return Status::ok();
}

Result<Vectors> Parser::parse() {
  bool isCompared = false;
  for (std::string word; in >> word;) {
    if (word == "rows")
      RSSM_RETURN_IF_ERROR(count(word, vectors.rows));
    else if (word == "layers")
      RSSM_RETURN_IF_ERROR(count(word, vectors.layers));
    else if (word == "buffer")
      RSSM_RETURN_IF_ERROR(buffer());
    else if (word == "expect")
      RSSM_RETURN_IF_ERROR(expect());
    else
      return malformed("expected rows, layers, buffer or expect but got '" + word + "'");
    isCompared |= word == "expect";
  }
  if (vectors.rows == 0 || !isCompared)
    return malformed("expected 'rows' and at least one 'expect'");
  return std::move(vectors);
}

//===----------------------------------------------------------------------===//
// Launching
//===----------------------------------------------------------------------===//

class Launch {
public:
  Launch(Device &device, Kernel &kernel, Vectors &vectors) : device(device), kernel(kernel), vectors(vectors) {}
  Status run();

private:
  Result<uint64_t> argument(const KernelArg &arg);
  Result<uint64_t> table(const VectorBuffer &buffer);

  Device &device;
  Kernel &kernel;
  Vectors &vectors;
  std::vector<Buffer> tables;
};

Result<uint64_t> Launch::table(const VectorBuffer &buffer) {
  std::vector<uint64_t> addresses;
  for (int64_t layer = 0; layer < vectors.layers; ++layer)
    addresses.push_back(buffer.array.device.address() + layer * buffer.array.layerStride * buffer.array.width);
  auto table = device.allocate(addresses.size() * 8);
  if (!table)
    return table.status();
  RSSM_RETURN_IF_ERROR(table->copyIn(addresses.data(), addresses.size() * 8));
  tables.push_back(table.take());
  return tables.back().address();
}

Result<uint64_t> Launch::argument(const KernelArg &arg) {
  BufferArg of = bufferArg(arg);
  auto it = vectors.buffers.find(of.name);
  if (it == vectors.buffers.end())
    return malformed("kernel '" + kernel.manifest().name + "' needs a buffer '" + of.name + "'");
  VectorBuffer &buffer = it->second;
  bool isStride = arg.kind == KernelArg::Kind::Stride, isTable = arg.kind == KernelArg::Kind::Table;
  if (!isStride && buffer.dtype != arg.dtype)
    return malformed("buffer '" + of.name + "': expected dtype " + arg.dtype + " but got " + buffer.dtype);
  if (of.isLayerStride || isTable) {
    if (buffer.array.slots % vectors.layers != 0)
      return malformed("buffer '" + of.name + "': expected slots for each of " + std::to_string(vectors.layers) +
                       " layers but got " + std::to_string(buffer.array.slots));
    buffer.array.layerStride = buffer.array.slots / vectors.layers * buffer.array.stride;
  }
  if (isTable)
    return table(buffer);
  return isStride ? uint64_t(of.isLayerStride ? buffer.array.layerStride : buffer.array.stride)
                  : buffer.array.device.address();
}

Status Launch::run() {
  const KernelManifest &manifest = kernel.manifest();
  if (manifest.isLayered() != (vectors.layers != 0))
    return malformed(std::string(manifest.isLayered() ? "expected 'layers'" : "expected no 'layers'") + " for kernel '" +
                     manifest.name + "'");
  for (auto &[name, buffer] : vectors.buffers) {
    bool isTaken = false;
    for (const KernelArg &arg : manifest.args)
      isTaken |= bufferArg(arg).name == name;
    if (!isTaken)
      return malformed("buffer '" + name + "': kernel '" + manifest.name + "' has no such argument");
    auto made = device.allocate(buffer.array.host.size());
    if (!made)
      return made.status();
    buffer.array.device = made.take();
    RSSM_RETURN_IF_ERROR(buffer.array.upload());
  }
  std::vector<uint64_t> args;
  for (const KernelArg &arg : manifest.args) {
    auto value = argument(arg);
    if (!value)
      return value.status();
    args.push_back(*value);
  }
  RSSM_RETURN_IF_ERROR(kernel.launch(args, uint32_t(vectors.rows), uint32_t(std::max<int64_t>(vectors.layers, 1))));
  return device.synchronize();
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

double VectorBuffer::number(int64_t i) const {
  if (!isInteger())
    return toDouble(array.at(0, i), array.dtype);
  if (array.width == 1)
    return static_cast<int8_t>(*array.at(0, i));
  int32_t value;
  std::memcpy(&value, array.at(0, i), 4);
  return value;
}

bool VectorBuffer::matches(int64_t i, const Expected &want, const std::vector<uint8_t> &before, double rms) const {
  switch (want.kind) {
  case Expected::Kind::Any:
    return true;
  case Expected::Kind::Keep:
    return std::memcmp(array.at(0, i), before.data() + i * array.width, array.width) == 0;
  case Expected::Kind::Value:
    break;
  }
  double got = number(i);
  if (std::isnan(want.value))
    return std::isnan(got);
  if (isInteger() || std::isinf(want.value))
    return got == want.value;
  return std::fabs(got - want.value) <= ulp(array.dtype, want.value) + 2e-6 * rms;
}

/// How many values differ; the first are printed.
Result<int64_t> compare(Vectors &vectors) {
  int64_t failures = 0;
  for (auto &[name, buffer] : vectors.buffers) {
    if (!buffer.expected)
      continue;
    std::vector<uint8_t> before = buffer.array.host;
    RSSM_RETURN_IF_ERROR(buffer.array.download());
    double squares = 0;
    int64_t numbers = 0;
    for (const Expected &want : *buffer.expected)
      if (want.kind == Expected::Kind::Value && std::isfinite(want.value)) {
        squares += want.value * want.value;
        ++numbers;
      }
    double rms = numbers ? std::sqrt(squares / double(numbers)) : 0;
    for (int64_t i = 0; i < buffer.size(); ++i) {
      const Expected &want = (*buffer.expected)[i];
      if (buffer.matches(i, want, before, rms) || ++failures > 8)
        continue;
      std::string expected = "what it held";
      if (want.kind == Expected::Kind::Value) {
        char text[32];
        std::snprintf(text, sizeof text, "%.9g", want.value);
        expected = text;
      }
      std::printf("    FAILED: %s[%lld]: expected %s but got %.9g\n", name.c_str(), static_cast<long long>(i),
                  expected.c_str(), buffer.number(i));
    }
  }
  return failures;
}

} // namespace

Result<int64_t> run::runVectors(const Options &options, Device &device, Kernel &kernel) {
  auto text = readFile(options.vectors);
  if (!text)
    return text.status();
  auto vectors = Parser(*text).parse();
  if (!vectors)
    return vectors.status();
  RSSM_RETURN_IF_ERROR(Launch(device, kernel, *vectors).run());
  auto failures = compare(*vectors);
  if (failures)
    std::printf("%s %s  by vectors of %s\n", *failures == 0 ? "PASS" : "FAIL", kernel.manifest().name.c_str(),
                options.vectors.c_str());
  return failures;
}
