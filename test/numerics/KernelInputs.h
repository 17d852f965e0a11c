//===- KernelInputs.h - One launch of a compiled kernel -------------------===//
//
// Buffers by name, sized for as many elements of a row, slot or token as a test
// gives, and launched in the order of the manifest.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Jit.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace inputs {

class Buffers {
public:
  explicit Buffers(replayssm::Device &device) : device(device) {}

  /// `stride` elements from one slot, row or token to the next.
  template <typename T> void set(const std::string &name, const std::vector<T> &values, int64_t stride = 0) {
    auto buffer = device.allocate(values.size() * sizeof(T));
    ASSERT_TRUE(buffer) << buffer.status().message();
    ASSERT_TRUE(buffer->copyIn(values.data(), values.size() * sizeof(T)));
    buffers[name] = buffer.take();
    strides[name] = stride;
  }

  template <typename T> std::vector<T> get(const std::string &name) {
    std::vector<T> values(buffers.at(name).bytes() / sizeof(T));
    EXPECT_TRUE(buffers.at(name).copyOut(values.data(), values.size() * sizeof(T)));
    return values;
  }

  void launch(replayssm::Kernel &kernel, uint32_t rows) {
    std::vector<uint64_t> args;
    for (const replayssm::KernelArg &arg : kernel.manifest().args) {
      bool isStride = arg.kind == replayssm::KernelArg::Kind::Stride;
      std::string name = isStride ? arg.name.substr(0, arg.name.size() - std::strlen("_stride")) : arg.name;
      ASSERT_TRUE(buffers.count(name)) << arg.name;
      args.push_back(isStride ? uint64_t(strides[name]) : buffers[name].address());
    }
    replayssm::Status status = kernel.launch(args, rows);
    ASSERT_TRUE(status) << status.message();
    status = device.synchronize();
    ASSERT_TRUE(status) << status.message();
  }

private:
  replayssm::Device &device;
  std::map<std::string, replayssm::Buffer> buffers;
  std::map<std::string, int64_t> strides;
};

} // namespace inputs
