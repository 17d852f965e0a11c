//===- BuildId.cpp - Which build a piece of code is of --------------------===//
#include "lib/Compiler/BuildId.h"

#include <cstring>
#include <link.h>

using namespace replayssm;

namespace {

struct Search {
  uintptr_t address;
  bool isFound = false;
  std::string object, id;
};

/// The build id among the notes of one segment, or nothing.
std::string buildIdIn(const char *notes, size_t bytes, size_t alignment) {
  auto padded = [&](size_t size) { return (size + alignment - 1) / alignment * alignment; };
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    size_t name = at + sizeof note, id = padded(name + note.n_namesz);
    if (id > bytes || note.n_descsz > bytes - id)
      break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !std::memcmp(notes + name, "GNU", 4))
      return std::string(notes + id, note.n_descsz);
    at = padded(id + note.n_descsz);
  }
  return "";
}

int visit(dl_phdr_info *info, size_t, void *data) {
  auto &search = *static_cast<Search *>(data);
  auto holds = [&](const ElfW(Phdr) &segment) {
    return segment.p_type == PT_LOAD && search.address - (info->dlpi_addr + segment.p_vaddr) < segment.p_memsz;
  };
  const ElfW(Phdr) *begin = info->dlpi_phdr, *end = begin + info->dlpi_phnum;
  for (const ElfW(Phdr) *segment = begin; segment != end && !search.isFound; ++segment)
    search.isFound = holds(*segment);
  if (!search.isFound)
    return 0;
  search.object = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "the program";
  for (const ElfW(Phdr) *segment = begin; segment != end && search.id.empty(); ++segment)
    if (segment->p_type == PT_NOTE)
      search.id = buildIdIn(reinterpret_cast<const char *>(info->dlpi_addr + segment->p_vaddr),
                            segment->p_memsz, segment->p_align == 8 ? 8 : 4);
  return 1;
}

} // namespace

Result<std::string> replayssm::buildIdOf(const void *address) {
  Search search{reinterpret_cast<uintptr_t>(address), false, "", ""};
  dl_iterate_phdr(visit, &search);
  if (search.id.empty())
    return {StatusCode::Unsupported,
            "a cache of compiled kernels needs a build id in " +
                (search.isFound ? search.object : "the code of the library") +
                " but it has none: link it with -Wl,--build-id=sha1"};
  return search.id;
}
