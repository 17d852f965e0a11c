//===- BitwiseCommand.cpp - replayssm-run bitwise --------------------------===//
#include "tools/replayssm-run/Bitwise.h"

#include <cstdio>

using namespace replayssm;
using namespace replayssm::run;

namespace {

/// The kernel of the command line: of a spec, or with a spec of its own from a file.
struct Named {
  KernelSpec spec;
  std::string source; ///< Empty: compiled from the spec.
};

Result<Named> findNamed(Device &device, const Options &options, const CompileOptions &compile) {
  Named named;
  std::string text = options.spec;
  if (options.spec.empty() && !options.file.empty()) {
    auto source = readFile(options.file);
    if (!source)
      return source.status();
    named.source = source.take();
    auto kernels = jitSource(device, named.source, options.file, compile);
    if (!kernels)
      return kernels.status();
    if (kernels->size() != 1)
      return Status(StatusCode::InvalidArgument, "bitwise: expected a file with one kernel but got " +
                                                     std::to_string(kernels->size()));
    text = kernels->front().manifest().spec;
    if (text.empty())
      return Status(StatusCode::InvalidArgument, "bitwise: expected a kernel with a spec but kernel '" +
                                                     kernels->front().manifest().name + "' has none");
  }
  if (text.empty())
    return Status(StatusCode::InvalidArgument, "expected a file or --spec=...");
  auto spec = parseKernelSpec(text);
  if (!spec)
    return spec.status();
  named.spec = *spec;
  return named;
}

/// Every comparison that the kernel takes part in.
Status compareAll(Device &device, const Named &named, const Options &options, int64_t rows,
                         const CompileOptions &compile, BitwiseReport &found) {
  if (!named.source.empty()) {
    auto kernels = jitSource(device, named.source, options.file, compile);
    return kernels ? compareBatches(device, named.spec, options, rows, found, &kernels->front()) : kernels.status();
  }
  // Every way to the same states begins with the same chain.
  if (named.spec.phase == Phase::Snapshots && named.spec.window == Window::Chain)
    RSSM_RETURN_IF_ERROR(compareKernels(device, named.spec, options, rows, found));
  return compareBatches(device, named.spec, options, rows, found);
}

} // namespace

void BitwiseReport::compare(const uint8_t *got, const uint8_t *expected, size_t bytes, const std::string &what) {
  ++compared;
  size_t at = std::mismatch(got, got + bytes, expected).first - got;
  if (at == bytes)
    return;
  ++violations;
  if (messages.size() < 8)
    messages.push_back(what + ": expected the same bits but byte " + std::to_string(at) + " differs");
}

void BitwiseReport::compare(const Case &got, const Case &expected, const std::string &what) {
  for (const auto &[name, array] : got.arrays)
    compare(array.host.data(), expected.arrays.at(name).host.data(), array.host.size(), what + ", '" + name + "'");
}

int run::runBitwise(const Options &options) {
  auto report = [](const Status &status) {
    std::fprintf(stderr, "replayssm-run: %s\n", status.str().c_str());
    return 1;
  };
  auto device = openDevice(options);
  if (!device)
    return report(device.status());
  CompileOptions compile = options.compileOptions(/*isTiled=*/true);
  auto named = findNamed(*device, options, compile);
  if (!named)
    return report(named.status());
  std::string json = "{\"checks\": [";
  bool ok = true;
  for (int64_t rows : options.rows.empty() ? std::vector<int64_t>{3} : options.rows) {
    BitwiseReport found;
    if (Status status = compareAll(*device, *named, options, rows, compile, found); !status)
      return report(status);
    bool same = found.violations == 0 && found.compared > 0;
    ok &= same;
    char digest[32];
    std::snprintf(digest, sizeof digest, "%016llx", static_cast<unsigned long long>(found.digest));
    std::printf("%s %s  rows %lld, %lld buffers compared, digest %s\n", same ? "PASS" : "FAIL", print(named->spec).c_str(),
                static_cast<long long>(rows), static_cast<long long>(found.compared), digest);
    for (const std::string &message : found.messages)
      std::printf("    FAILED: %s\n", message.c_str());
    json += std::string(json.back() == '[' ? "" : ", ") + "{\"report\": {\"digest\": \"" + digest +
            "\", \"violations\": " + std::to_string(found.violations) + "}}";
  }
  if (!options.jsonPath.empty())
    if (Status status = writeFile(options.jsonPath, json + "]}\n"); !status)
      return report(status);
  return ok ? 0 : 1;
}
