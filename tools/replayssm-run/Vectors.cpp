//===- Vectors.cpp - A kernel against a file of inputs and outputs --------===//
//
// For kernels without a spec. The file is text, whitespace-separated:
//   rows 2
//   buffer NAME DTYPE SLOTS STRIDE  v v v ...    (SLOTS * STRIDE values; nan is legal)
//   expect NAME                     v v v ...    (all values of that buffer after the launch)
// `any` in an expectation is not compared; `keep` must be bitwise what it was.
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

struct Expectation {
  std::string name;
  std::vector<std::string> values;
};
struct Vectors {
  int64_t rows = 0;
  std::map<std::string, Array> buffers;
  std::map<std::string, std::string> dtypes;
  std::vector<Expectation> expectations;
};

Status malformed(const std::string &what) {
  return Status(StatusCode::InvalidArgument, "vectors: " + what);
}

/// Far more than a file of numbers holds: a larger count is a slip of the pen.
constexpr int64_t maxValues = int64_t(1) << 28, maxRows = 65535;

std::optional<double> parseValue(const std::string &text) {
  char *end;
  double value = std::strtod(text.c_str(), &end);
  return *end ? std::nullopt : std::optional(value);
}

Result<Vectors> parse(const std::string &text) {
  std::istringstream in(text);
  Vectors vectors;
  for (std::string word; in >> word;) {
    if (word == "rows") {
      if (!(in >> vectors.rows) || vectors.rows < 1 || vectors.rows > maxRows)
        return malformed("expected a number in 1.." + std::to_string(maxRows) + " after 'rows'");
    } else if (word == "buffer") {
      std::string name, dtype;
      int64_t slots, stride;
      if (!(in >> name >> dtype >> slots >> stride) || slots < 1 || stride < 1)
        return malformed("expected 'buffer NAME DTYPE SLOTS STRIDE'");
      if (slots > maxValues / stride)
        return malformed("buffer '" + name + "': expected at most " + std::to_string(maxValues) +
                         " values but got " + std::to_string(slots) + " x " + std::to_string(stride));
      Array array;
      bool integer = dtype == "i32" || dtype == "i8";
      if (!integer && dtype != "f32" && dtype != "bf16" && dtype != "f16")
        return malformed("buffer '" + name + "': expected dtype f32, bf16, f16, i32 or i8 but got '" +
                         dtype + "'");
      array.dtype = dtype == "bf16" ? DType::BF16 : dtype == "f16" ? DType::F16 : DType::F32;
      array.width = dtype == "i8" ? 1 : integer ? 4 : byteWidth(array.dtype);
      array.slots = slots;
      array.inner = array.stride = stride;
      array.host.resize(slots * stride * array.width);
      for (int64_t i = 0; i < slots * stride; ++i) {
        std::string value;
        if (!(in >> value))
          return malformed("buffer '" + name + "': expected " + std::to_string(slots * stride) +
                           " values but got " + std::to_string(i));
        std::optional<double> parsed = parseValue(value);
        if (!parsed)
          return malformed("buffer '" + name + "': expected a number but got '" + value + "'");
        double number = *parsed, limit = dtype == "i8" ? 0x1p7 : 0x1p31;
        if (integer && !(number >= -limit && number < limit && number == std::trunc(number)))
          return malformed("buffer '" + name + "': expected an " + dtype + " but got '" + value + "'");
        if (integer) {
          int32_t whole = static_cast<int32_t>(number);
          std::memcpy(array.at(0, i), &whole, array.width);
        } else if (std::isnan(number)) {
          std::memset(array.at(0, i), 0xff, array.width);
        } else {
          fromDouble(array.at(0, i), array.dtype, number);
        }
      }
      vectors.dtypes[name] = dtype;
      vectors.buffers[name] = std::move(array);
    } else if (word == "expect") {
      Expectation expectation;
      if (!(in >> expectation.name) || !vectors.buffers.count(expectation.name))
        return malformed("expected a buffer's name after 'expect'");
      const Array &array = vectors.buffers[expectation.name];
      for (int64_t i = 0; i < array.slots * array.stride; ++i) {
        std::string value;
        if (!(in >> value))
          return malformed("expect '" + expectation.name + "': expected " +
                           std::to_string(array.slots * array.stride) + " values but got " +
                           std::to_string(i));
        if (value != "any" && value != "keep" && !parseValue(value))
          return malformed("expect '" + expectation.name +
                           "': expected a number, any or keep but got '" + value + "'");
        expectation.values.push_back(value);
      }
      vectors.expectations.push_back(std::move(expectation));
    } else {
      return malformed("expected rows, buffer or expect but got '" + word + "'");
    }
  }
  if (vectors.rows == 0 || vectors.expectations.empty())
    return malformed("expected 'rows' and at least one 'expect'");
  return vectors;
}

Result<int64_t> runOnce(const Options &options, Device &device, Kernel &kernel) {
  auto text = readFile(options.vectors);
  if (!text)
    return text.status();
  auto vectors = parse(*text);
  if (!vectors)
    return vectors.status();
  for (auto &[name, array] : vectors->buffers) {
    auto buffer = device.allocate(array.host.size());
    if (!buffer)
      return buffer.status();
    array.device = buffer.take();
    RSSM_RETURN_IF_ERROR(array.upload());
  }
  std::vector<uint64_t> args;
  for (const KernelArg &arg : kernel.manifest().args) {
    bool stride = arg.kind == KernelArg::Kind::Stride;
    std::string name = stride ? arg.name.substr(0, arg.name.size() - 7) : arg.name;
    auto it = vectors->buffers.find(name);
    if (it == vectors->buffers.end())
      return malformed("kernel '" + kernel.manifest().name + "' needs a buffer '" + name + "'");
    if (!stride && vectors->dtypes[name] != arg.dtype)
      return malformed("buffer '" + name + "': expected dtype " + arg.dtype + " but got " +
                       vectors->dtypes[name]);
    args.push_back(stride ? uint64_t(it->second.stride) : it->second.device.address());
  }
  RSSM_RETURN_IF_ERROR(kernel.launch(args, uint32_t(vectors->rows)));
  RSSM_RETURN_IF_ERROR(device.synchronize());
  int64_t failures = 0;
  for (const Expectation &expectation : vectors->expectations) {
    Array &array = vectors->buffers[expectation.name];
    std::vector<uint8_t> before = array.host;
    RSSM_RETURN_IF_ERROR(array.download());
    double squares = 0;
    int64_t numbers = 0;
    for (const std::string &value : expectation.values)
      if (value != "any" && value != "keep") {
        squares += std::strtod(value.c_str(), nullptr) * std::strtod(value.c_str(), nullptr);
        ++numbers;
      }
    double rms = numbers ? std::sqrt(squares / numbers) : 0;
    bool integer = vectors->dtypes[expectation.name][0] == 'i';
    for (size_t i = 0; i < expectation.values.size(); ++i) {
      const std::string &value = expectation.values[i];
      bool ok = true;
      if (value == "keep")
        ok = std::memcmp(array.at(0, i), before.data() + i * array.width, array.width) == 0;
      else if (value != "any" && integer) {
        int32_t got = 0;
        std::memcpy(&got, array.at(0, i), array.width);
        ok = got == std::strtol(value.c_str(), nullptr, 10);
      } else if (value != "any") {
        double expected = std::strtod(value.c_str(), nullptr);
        ok = std::fabs(toDouble(array.at(0, i), array.dtype) - expected) <=
             ulp(array.dtype, expected) + 2e-6 * rms;
      }
      if (!ok && ++failures <= 8)
        std::printf("    FAILED: %s[%zu]: expected %s but got %.9g\n", expectation.name.c_str(), i,
                    value.c_str(), integer ? NAN : toDouble(array.at(0, i), array.dtype));
    }
  }
  return failures;
}

} // namespace

int run::runVectors(const Options &options, Device &device, Kernel &kernel) {
  auto failures = runOnce(options, device, kernel);
  if (!failures) {
    std::fprintf(stderr, "replayssm-run: %s\n", failures.status().str().c_str());
    return 1;
  }
  std::printf("%s %s  by vectors of %s\n", *failures == 0 ? "PASS" : "FAIL",
              kernel.manifest().name.c_str(), options.vectors.c_str());
  return *failures == 0 ? 0 : 1;
}
