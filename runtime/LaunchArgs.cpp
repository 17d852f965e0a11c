//===- LaunchArgs.cpp - What a launch may be given ------------------------===//
#include "runtime/LaunchArgs.h"

#include "replayssm/KernelABI.h"

#include <algorithm>
#include <cstdio>

using namespace replayssm;
using namespace replayssm::rt;

namespace {

constexpr std::string_view strideSuffix = "_stride", layerStrideSuffix = "_layer_stride";

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

bool isLayerStride(const KernelArg &arg) {
  return arg.kind == KernelArg::Kind::Stride && std::string_view(arg.name).ends_with(layerStrideSuffix);
}

/// The buffer that a stride belongs to; null if there is none.
const KernelArg *strideOwner(const KernelManifest &manifest, const KernelArg &stride) {
  std::string_view name = stride.name;
  if (!name.ends_with(strideSuffix))
    return nullptr;
  name.remove_suffix((isLayerStride(stride) ? layerStrideSuffix : strideSuffix).size());
  for (const KernelArg &arg : manifest.args)
    if (arg.kind != KernelArg::Kind::Stride && arg.name == name)
      return &arg;
  return nullptr;
}

} // namespace

bool KernelManifest::isLayered() const {
  return std::any_of(args.begin(), args.end(), [](const KernelArg &arg) {
    return arg.kind == KernelArg::Kind::Table || isLayerStride(arg);
  });
}

uint64_t rt::dtypeBytes(std::string_view dtype) {
  if (dtype == "i8")
    return 1;
  if (dtype == "bf16" || dtype == "f16")
    return 2;
  if (dtype == "f32" || dtype == "i32")
    return 4;
  if (dtype == "i64")
    return 8;
  return 0;
}

std::vector<ArgRule> rt::argRules(const KernelManifest &manifest) {
  std::vector<ArgRule> rules;
  rules.reserve(manifest.args.size());
  for (const KernelArg &arg : manifest.args) {
    bool pointer = arg.kind != KernelArg::Kind::Stride;
    const KernelArg *buffer = pointer ? &arg : strideOwner(manifest, arg);
    ArgRule rule;
    rule.isAddress = pointer;
    rule.least = arg.minElements;
    if (arg.kind == KernelArg::Kind::Table) {
      rule.align = sizeof(uint64_t);
    } else if (buffer) {
      uint64_t elementBytes = std::max<uint64_t>(dtypeBytes(buffer->dtype), 1);
      rule.scale = pointer ? 1 : elementBytes;
      const KernelBuffer *known = findKernelBuffer(buffer->name);
      rule.align = known && known->isWide ? 16 : elementBytes;
    }
    rules.push_back(rule);
  }
  return rules;
}

Status rt::checkManifest(const KernelManifest &manifest) {
  if (manifest.name.empty())
    return invalid("manifest: expected a kernel name");
  std::string where = "manifest of '" + manifest.name + "': ";
  if (manifest.threads == 0 || manifest.threads > maxThreads)
    return invalid(where + "expected 1 to " + std::to_string(maxThreads) + " threads but got " +
                   std::to_string(manifest.threads));
  if (manifest.blocksPerRow == 0 || manifest.blocksPerRow > INT32_MAX)
    return invalid(where + "expected 1 to " + std::to_string(INT32_MAX) +
                   " blocks per row but got " + std::to_string(manifest.blocksPerRow));
  bool strides = false;
  for (size_t i = 0; i < manifest.args.size(); ++i) {
    const KernelArg &arg = manifest.args[i];
    std::string what = where + "argument '" + arg.name + "': ";
    if (arg.kind < KernelArg::Kind::Pointer || arg.kind > KernelArg::Kind::Table)
      return invalid(what + "expected kind pointer, stride or table but got " +
                     std::to_string(static_cast<int>(arg.kind)));
    for (size_t j = 0; j < i; ++j)
      if (manifest.args[j].name == arg.name)
        return invalid(what + "expected distinct names but got this one twice");
    if (arg.kind == KernelArg::Kind::Stride) {
      strides = true;
      if (arg.dtype != "i64")
        return invalid(what + "expected dtype i64 of a stride but got '" + arg.dtype + "'");
      if (!strideOwner(manifest, arg))
        return invalid(what + "expected the name of a pointer argument followed by '_stride'");
      if (arg.minElements == 0)
        return invalid(what + "expected a stride of at least 1 element but got 0");
      continue;
    }
    if (strides)
      return invalid(what + "expected all pointers before all strides");
    if (dtypeBytes(arg.dtype) == 0)
      return invalid(what + "expected dtype f32, bf16, f16, i64, i32 or i8 but got '" +
                     arg.dtype + "'");
  }
  return Status::ok();
}

Status rt::checkArgCount(const KernelManifest &manifest, size_t count) {
  if (count == manifest.args.size())
    return Status::ok();
  return invalid("launch of '" + manifest.name + "': expected " + std::to_string(manifest.args.size()) +
                 " arguments but got " + std::to_string(count));
}

Status rt::checkLaunch(const KernelManifest &manifest, const std::vector<ArgRule> &rules,
                       const std::vector<uint64_t> &args, uint32_t rows, uint32_t layers) {
  auto where = [&] { return "launch of '" + manifest.name + "': "; };
  RSSM_RETURN_IF_ERROR(checkArgCount(manifest, args.size()));
  if (rows > maxRows)
    return invalid(where() + "expected at most " + std::to_string(maxRows) + " rows but got " +
                   std::to_string(rows));
  if (layers > maxLayers)
    return invalid(where() + "expected at most " + std::to_string(maxLayers) + " layers but got " +
                   std::to_string(layers));
  if (layers > 1 && !manifest.isLayered())
    return invalid(where() + "expected 1 layer but got " + std::to_string(layers) +
                   "; a kernel of many layers is compiled with layers=stride or layers=table");
  if (rows == 0 || layers == 0)
    return Status::ok();
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgRule &rule = rules[i];
    const KernelArg &arg = manifest.args[i];
    if (args[i] == 0 && rule.isAddress)
      return invalid(where() + "expected a device address for argument '" + arg.name +
                     "' but got null");
    int64_t stride = static_cast<int64_t>(args[i]);
    if ((args[i] * rule.scale) % rule.align != 0)
      return invalid(where() + "expected argument '" + arg.name + "' to be a multiple of " +
                     (rule.isAddress ? std::to_string(rule.align) + " bytes but got " + hex(args[i])
                                     : std::to_string(rule.align / rule.scale) + " elements (" +
                                           std::to_string(rule.align) + " bytes) but got " +
                                           std::to_string(stride)));
    uint64_t distance = stride < 0 ? 0 - args[i] : args[i];
    if (!rule.isAddress && distance < rule.least)
      return invalid(where() + "expected argument '" + arg.name + "' to be at least " +
                     std::to_string(rule.least) + " elements, or at most -" + std::to_string(rule.least) +
                     ", but got " + std::to_string(stride) + ": what it leads over would overlap");
  }
  return Status::ok();
}
