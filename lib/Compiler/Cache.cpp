//===- Cache.cpp - Compiled kernels in a folder ---------------------------===//
//
// A file is a mark, the SHA-256 of all that follows, and fields, each behind its
// length: the key, the target, the code and the manifests as JSON.
//
//===----------------------------------------------------------------------===//
#include "lib/Compiler/Cache.h"

#include "lib/Codegen/Emit.h"
#include "lib/Compiler/BuildId.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace replayssm;

namespace {

/// Changes with the form of an entry.
constexpr StringLiteral mark = "replayssm kernels 1\n";
constexpr size_t digestBytes = 32;

std::string digest(StringRef text) {
  return toStringRef(SHA256::hash(arrayRefFromStringRef(text))).str();
}

void append(std::string &text, StringRef field) {
  char length[8];
  support::endian::write64le(length, field.size());
  text.append(length, sizeof length).append(field.data(), field.size());
}

/// Takes the first field off `text`.
std::optional<StringRef> takeField(StringRef &text) {
  if (text.size() < 8)
    return std::nullopt;
  uint64_t length = support::endian::read64le(text.data());
  text = text.drop_front(8);
  if (length > text.size())
    return std::nullopt;
  StringRef field = text.take_front(length);
  text = text.drop_front(length);
  return field;
}

Status makeFolder(const std::string &folder) {
  if (sys::fs::is_directory(folder))
    return Status::ok();
  std::error_code error = sys::fs::create_directories(folder, /*IgnoreExisting=*/true, sys::fs::all_all);
  if (!error && sys::fs::is_directory(folder))
    return Status::ok();
  if (!error)
    error = std::make_error_code(std::errc::not_a_directory);
  return {StatusCode::InvalidArgument,
          "expected a folder for the cache of compiled kernels but got '" + folder + "': " + error.message()};
}

/// All code that has a part in a compilation; it may be in one object or in three.
Status appendBuilds(std::string &text) {
  const void *parts[] = {reinterpret_cast<const void *>(&makeFolder),
                         reinterpret_cast<const void *>(&mlir::verify),
                         reinterpret_cast<const void *>(&SHA256::hash)};
  for (const void *part : parts) {
    Result<std::string> id = buildIdOf(part);
    if (!id)
      return id.status();
    append(text, *id);
  }
  return Status::ok();
}

} // namespace

Result<CacheEntry> CacheEntry::open(std::string_view source, std::string_view fileName,
                                    const CompileOptions &options) {
  RSSM_RETURN_IF_ERROR(makeFolder(options.cacheDir));
  std::string text;
  append(text, mark);
  RSSM_RETURN_IF_ERROR(appendBuilds(text));
  append(text, options.emit == Emit::Cubin ? "cubin" : "ptx");
  if (options.emit == Emit::Cubin) {
    Result<std::string> assembler = codegen::assemblerVersion();
    if (!assembler)
      return assembler.status();
    append(text, *assembler);
  }
  append(text, options.target);
  append(text, options.tiling);
  append(text, options.places);
  append(text, options.verifyEach ? "verify-each" : "");
  append(text, fileName);
  append(text, source);
  std::string key = digest(text);
  SmallString<256> path(options.cacheDir);
  sys::path::append(path, toHex(key, /*LowerCase=*/true) + ".kernels");
  return CacheEntry(std::move(key), path.str().str());
}

std::optional<CompiledModule> CacheEntry::load() const {
  // To open a pipe is to wait for its writer, and devices may have no end.
  if (!sys::fs::is_regular_file(path))
    return std::nullopt;
  // Volatile: read, not mapped, so that nothing that happens to the file matters.
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                      /*IsVolatile=*/true);
  if (!buffer)
    return std::nullopt;
  StringRef text = (*buffer)->getBuffer();
  if (!text.consume_front(mark) || text.size() < digestBytes)
    return std::nullopt;
  StringRef expected = text.take_front(digestBytes);
  text = text.drop_front(digestBytes);
  if (digest(text) != expected)
    return std::nullopt;
  std::optional<StringRef> of = takeField(text), target = takeField(text), code = takeField(text);
  if (!of || *of != key || !target || !code)
    return std::nullopt;
  CompiledModule module;
  module.target = target->str();
  module.code = code->str();
  while (!text.empty()) {
    std::optional<StringRef> json = takeField(text);
    if (!json)
      return std::nullopt;
    Result<KernelManifest> manifest = manifestFromJson(*json);
    if (!manifest)
      return std::nullopt;
    module.kernels.push_back(manifest.take());
  }
  return module;
}

void CacheEntry::store(const CompiledModule &module) const {
  std::string text;
  append(text, key);
  append(text, module.target);
  append(text, module.code);
  for (const KernelManifest &manifest : module.kernels)
    append(text, toJson(manifest));

  std::string temporary =
      path + "." + utohexstr(sys::Process::GetRandomNumber()) + utohexstr(sys::Process::GetRandomNumber());
  int file = -1;
  if (sys::fs::openFileForWrite(temporary, file, sys::fs::CD_CreateNew))
    return;
  raw_fd_ostream os(file, /*shouldClose=*/true);
  os << mark << digest(text) << text;
  os.close();
  bool isWritten = !os.has_error();
  os.clear_error();
  if (!isWritten || sys::fs::rename(temporary, path))
    sys::fs::remove(temporary);
}
