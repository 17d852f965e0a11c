//===- AssembleCubin.cpp - PTX to machine code by ptxas -------------------===//
#include "common/Targets.h"
#include "lib/Codegen/Emit.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

using namespace llvm;
using namespace replayssm;

static Result<std::string> findAssembler() {
  SmallVector<std::string> toolkits{"/usr/local/cuda"};
  if (const char *home = std::getenv("CUDA_HOME"))
    toolkits.insert(toolkits.begin(), home);
  SmallVector<std::string> folders;
  for (const std::string &toolkit : toolkits)
    folders.push_back(toolkit + "/bin");
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas"))
    return *found;
  SmallVector<StringRef> paths(folders.begin(), folders.end());
  if (ErrorOr<std::string> found = sys::findProgramByName("ptxas", paths))
    return *found;
  return {StatusCode::Unavailable,
          "emission of a cubin needs ptxas in PATH, $CUDA_HOME/bin or /usr/local/cuda/bin"};
}

static Status makeTemporary(StringRef suffix, SmallString<128> &path) {
  std::error_code error = sys::fs::createTemporaryFile("replayssm", suffix, path);
  if (!error)
    return Status::ok();
  path.clear(); // Nothing to remove.
  SmallString<128> folder;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  return {StatusCode::Exhausted, "expected a folder for the temporary files of ptxas (TMPDIR) but got '" +
                                     folder.str().str() + "': " + error.message()};
}

/// Runs the assembler: what it says, which is why it failed where it did.
static Result<std::string> runAssembler(const std::string &assembler, ArrayRef<StringRef> options) {
  SmallString<128> log;
  RSSM_RETURN_IF_ERROR(makeTemporary("log", log));
  scope_exit cleanup([&] { sys::fs::remove(log); });
  SmallVector<StringRef> args{assembler};
  args.append(options.begin(), options.end());
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log), StringRef(log)};
  std::string error;
  // Without a limit of time, which would be the process's alarm.
  int code = sys::ExecuteAndWait(assembler, args, std::nullopt, redirects, /*SecondsToWait=*/0,
                                 /*MemoryLimit=*/0, &error);
  auto text = MemoryBuffer::getFile(log);
  std::string said = text ? (*text)->getBuffer().trim().str() : "";
  if (code != 0)
    return {StatusCode::Internal,
            "ptxas failed with code " + std::to_string(code) + ": " + (error.empty() ? said : error)};
  return said;
}

Result<std::string> codegen::assemblerVersion() {
  Result<std::string> assembler = findAssembler();
  if (!assembler)
    return assembler;
  Result<std::string> version = runAssembler(*assembler, {"--version"});
  if (version && version->empty())
    return {StatusCode::Internal, "expected '" + *assembler + " --version' to say a version but it said nothing"};
  return version;
}

Result<std::string> codegen::assembleCubin(std::string_view ptx, std::string_view target) {
  if (Result<const TargetFacts *> facts = lookupTarget(target); !facts)
    return facts.status();
  Result<std::string> assembler = findAssembler();
  if (!assembler)
    return assembler;

  SmallString<128> input, output;
  scope_exit cleanup([&] {
    for (SmallString<128> *path : {&input, &output})
      sys::fs::remove(*path);
  });
  RSSM_RETURN_IF_ERROR(makeTemporary("ptx", input));
  RSSM_RETURN_IF_ERROR(makeTemporary("cubin", output));
  {
    std::error_code error;
    raw_fd_ostream os(input, error);
    os << StringRef(ptx.data(), ptx.size());
    os.close();
    if (!error)
      error = os.error();
    os.clear_error();
    if (error)
      return {StatusCode::Exhausted,
              "cannot write the input of ptxas '" + input.str().str() + "' (TMPDIR): " + error.message()};
  }
  std::string arch = "-arch=" + std::string(target);
  if (Result<std::string> ran = runAssembler(*assembler, {"-O3", arch, "-o", output, input}); !ran)
    return ran;
  auto cubin = MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!cubin || (*cubin)->getBufferSize() == 0)
    return {StatusCode::Internal, "ptxas wrote no cubin"};
  return (*cubin)->getBuffer().str();
}
