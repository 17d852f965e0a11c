//===- Corpus.cpp - Texts to start from -----------------------------------===//
#include "Robustness.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

namespace fs = std::filesystem;
using namespace robustness;

static std::string readFile(const fs::path &path) {
  std::ifstream stream(path);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

/// The .mlir files below `folder`, by name: the order of cases is that of every machine.
static std::vector<fs::path> sourcesBelow(const fs::path &folder) {
  std::vector<fs::path> paths;
  for (const auto &entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".mlir")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<Text> robustness::readExamples(const std::string &root) {
  std::vector<Text> texts;
  for (const fs::path &path : sourcesBelow(fs::path(root) / "examples"))
    texts.push_back({fs::relative(path, root), readFile(path)});
  return texts;
}

std::vector<Text> robustness::readTests(const std::string &root) {
  const std::string mark = "// -----";
  std::vector<Text> texts;
  for (const fs::path &path : sourcesBelow(fs::path(root) / "test")) {
    std::string text = readFile(path), name = fs::relative(path, root);
    size_t begin = 0, part = 0;
    while (begin < text.size()) {
      size_t end = std::min(text.find(mark, begin), text.size());
      texts.push_back({name + "#" + std::to_string(part++), text.substr(begin, end - begin)});
      begin = end + mark.size();
    }
  }
  return texts;
}

std::vector<PassName> robustness::readPasses(const std::string &root) {
  std::string text = readFile(fs::path(root) / "passes" / "Passes.td");
  std::regex definition("Pass<\"(replay-[a-z-]+)\", \"::mlir::(gpu::GPU)?ModuleOp\">");
  std::vector<PassName> passes;
  for (std::sregex_iterator match(text.begin(), text.end(), definition), end; match != end; ++match)
    passes.push_back({(*match)[1], (*match)[2].matched ? "gpu.module" : "builtin.module"});
  return passes;
}
