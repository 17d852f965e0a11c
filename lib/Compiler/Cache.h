//===- Cache.h - Compiled kernels in a folder -------------------*- C++ -*-===//
//
// One file per compilation, written aside and renamed, so that threads and
// processes may share a folder. A file that does not verify counts as absent.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "replayssm/Compiler.h"

#include <optional>

namespace replayssm {

/// Where the result of one compilation is kept.
class CacheEntry {
public:
  /// Makes options.cacheDir where it is missing. Whatever may change the result is
  /// part of the entry's name: the builds of this library and of LLVM, the
  /// assembler of a cubin, options and source.
  static Result<CacheEntry> open(std::string_view source, std::string_view fileName,
                                 const CompileOptions &options);

  std::optional<CompiledModule> load() const;
  /// Replaces what is there. A folder that cannot be written stays as it is.
  void store(const CompiledModule &module) const;

private:
  CacheEntry(std::string key, std::string path) : key(std::move(key)), path(std::move(path)) {}

  std::string key, path;
};

} // namespace replayssm
