//===- Mutations.cpp - Texts with faults, and random specs ----------------===//
#include "Robustness.h"

#include <cctype>

using namespace robustness;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

namespace {

using Tokens = std::vector<std::string>;

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$'; }

/// Names with their sigil, numbers, strings and single characters; spaces stand alone.
Tokens split(const std::string &text) {
  Tokens tokens;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    char first = text[begin];
    if (std::isspace(static_cast<unsigned char>(first))) {
      while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])))
        ++end;
    } else if (first == '"') {
      while (end < text.size() && text[end] != '"' && text[end] != '\n')
        ++end;
      end = std::min(end + 1, text.size());
    } else if (isWordChar(first) || first == '%' || first == '@' || first == '#' || first == '!' || first == '^') {
      while (end < text.size() && isWordChar(text[end]))
        ++end;
    }
    tokens.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return tokens;
}

std::string join(const Tokens &tokens) {
  std::string text;
  for (const std::string &token : tokens)
    text += token;
  return text;
}

bool isSpace(const std::string &token) { return std::isspace(static_cast<unsigned char>(token.front())); }
bool isNumber(const std::string &token) { return std::isdigit(static_cast<unsigned char>(token.front())); }

/// The place of a random token that `wanted` accepts, or the number of tokens.
template <typename Predicate>
size_t find(const Tokens &tokens, Random &random, Predicate wanted) {
  if (tokens.empty())
    return 0;
  size_t start = random.below(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i)
    if (size_t at = (start + i) % tokens.size(); wanted(tokens[at]))
      return at;
  return tokens.size();
}

constexpr const char *extremes[] = {
    "0", "1", "2", "3", "5", "7", "8", "9", "16", "17", "31", "32", "33", "63", "64", "65", "128", "255", "256",
    "257", "1024", "4096", "65535", "65536", "2147483647", "2147483648", "4294967295", "4294967296",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "-1", "-2", "-2147483648",
    "-9223372036854775808", "1.0e300", "1.0e-300", "1.0e-60", "3.5e38", "0.0", "-0.0", "0x7FC00000", "0x7F800000",
    "0xFF800000", "0x7FF8000000000000"};

std::string otherNumber(const std::string &number, Random &random) {
  if (random.chance(60))
    return random.pick(extremes);
  bool isWhole = number.find_first_not_of("0123456789") == std::string::npos && number.size() < 18;
  long long value = isWhole ? std::stoll(number) : 1;
  switch (random.below(4)) {
  case 0:
    return std::to_string(value + 1);
  case 1:
    return std::to_string(value - 1);
  case 2:
    return std::to_string(value * 2);
  default:
    return std::to_string(value / 2);
  }
}

/// The end of the group that a bracket at `begin` opens.
size_t endOfGroup(const Tokens &tokens, size_t begin) {
  const std::string open = "<([{", close = ">)]}";
  char other = close[open.find(tokens[begin])];
  int depth = 0;
  for (size_t at = begin; at < tokens.size(); ++at) {
    depth += tokens[at] == tokens[begin];
    depth -= tokens[at] == std::string(1, other);
    if (depth == 0)
      return at + 1;
  }
  return tokens.size();
}

void mutateTokens(Tokens &tokens, const Tokens &others, Random &random) {
  auto isWord = [](const std::string &token) { return !isSpace(token); };
  size_t at = find(tokens, random, isWord);
  if (at == tokens.size())
    return;
  switch (random.below(10)) {
  case 0:
    tokens.erase(tokens.begin() + at);
    return;
  case 1:
    tokens.insert(tokens.begin() + at, {tokens[at], " "});
    return;
  case 2:
    std::swap(tokens[at], tokens[find(tokens, random, isWord)]);
    return;
  case 3:
  case 4:
  case 5:
    if (size_t number = find(tokens, random, isNumber); number != tokens.size())
      tokens[number] = otherNumber(tokens[number], random);
    return;
  case 6: { // Another name of the same sort, of this text or the other one.
    const Tokens &from = random.chance(70) ? tokens : others;
    size_t other = find(from, random, [&](const std::string &token) {
      bool sameSort = token.front() == tokens[at].front() ||
                      (std::isalpha(static_cast<unsigned char>(token.front())) &&
                       std::isalpha(static_cast<unsigned char>(tokens[at].front())));
      return sameSort && token != tokens[at];
    });
    if (other != from.size())
      tokens[at] = from[other];
    return;
  }
  case 7: { // A group in brackets, or what a word before it says.
    size_t open = find(tokens, random, [](const std::string &token) {
      return token == "<" || token == "[" || token == "{" || token == "(";
    });
    if (open != tokens.size())
      tokens.erase(tokens.begin() + open, tokens.begin() + endOfGroup(tokens, open));
    return;
  }
  case 8: { // key = value
    size_t equals = find(tokens, random, [](const std::string &token) { return token == "="; });
    if (equals == tokens.size())
      return;
    size_t begin = equals, end = equals + 1;
    while (begin > 0 && isSpace(tokens[begin - 1]))
      --begin;
    begin -= begin > 0;
    while (end < tokens.size() && isSpace(tokens[end]))
      ++end;
    end += end < tokens.size();
    if (end < tokens.size() && tokens[end] == ",")
      ++end;
    tokens.erase(tokens.begin() + begin, tokens.begin() + end);
    return;
  }
  default: { // A value in place of another.
    auto isValue = [](const std::string &token) { return token.front() == '%' && token.size() > 1; };
    size_t to = find(tokens, random, isValue), from = find(tokens, random, isValue);
    if (to != tokens.size())
      tokens[to] = tokens[from];
    return;
  }
  }
}

Tokens lines(const std::string &text) {
  Tokens lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

void mutateLines(Tokens &text, const Tokens &others, Random &random) {
  if (text.empty())
    return;
  size_t at = random.below(text.size()), to = random.below(text.size());
  std::string line = text[at];
  switch (random.below(5)) {
  case 0:
    text.erase(text.begin() + at);
    return;
  case 1:
    text.insert(text.begin() + at, line);
    return;
  case 2:
    text.erase(text.begin() + at);
    text.insert(text.begin() + std::min(to, text.size()), line);
    return;
  case 3:
    std::swap(text[at], text[to]);
    return;
  default: { // A piece of another text.
    size_t begin = random.below(others.size());
    size_t end = std::min(begin + 1 + random.below(12), others.size());
    text.insert(text.begin() + at, others.begin() + begin, others.begin() + end);
    return;
  }
  }
}

} // namespace

std::string robustness::mutate(const std::string &text, const std::string &other, Random &random) {
  std::string result = text;
  // One fault leaves more for later stages to meet than three.
  for (size_t i = 0, count = random.chance(60) ? 1 : 2 + random.below(2); i < count; ++i) {
    if (random.chance(25)) {
      Tokens parts = lines(result);
      mutateLines(parts, lines(other), random);
      result = join(parts);
    } else {
      Tokens parts = split(result);
      mutateTokens(parts, split(other), random);
      result = join(parts);
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Specs
//===----------------------------------------------------------------------===//

namespace {

struct Key {
  const char *name;
  std::vector<const char *> values; ///< Legal somewhere.
};

const Key keys[] = {
    {"rule", {"gdn", "kda"}},
    {"phase", {"packed", "replay", "cursors", "verify", "fold", "compact", "input_replay", "snapshots", "reset"}},
    {"H", {"1", "2", "3", "4", "16", "65535"}},
    {"HV", {"1", "2", "4", "6", "32", "65535"}},
    {"K", {"8", "16", "24", "40", "64", "96", "128", "200", "256"}},
    {"V", {"8", "16", "24", "40", "64", "96", "128", "200", "256"}},
    {"L", {"1", "2", "3", "4", "8", "13", "16", "32", "33", "63", "64"}},
    {"T", {"1", "2", "3", "4", "5", "8", "16"}},
    {"T_max", {"1", "2", "3", "4", "5", "8", "11", "16"}},
    {"gate", {"softplus", "safe", "precomputed"}},
    {"lower_bound", {"-5", "-0.5", "-1e-3", "-100"}},
    {"beta", {"sigmoid_f32", "sigmoid_io", "precomputed"}},
    {"beta_factor", {"1", "2"}},
    {"qk_norm", {"l2_rsqrt"}},
    {"eps", {"1e-6", "1e-12", "1"}},
    {"scale", {"K^-0.5", "1", "0.25", "1e30"}},
    {"io", {"bf16", "f16", "f32"}},
    {"state", {"f32", "bf16"}},
    {"null", {"lt0", "le0"}},
    {"ring", {"dkg", "raw", "dkg+raw"}},
    {"ring_shape", {"linear", "circular"}},
    {"contract", {"exact"}},
    {"dot", {"fma"}},
    {"flush_dot", {"fma"}},
    {"flush_at", {"verify", "commit", "every_commit"}},
    {"fold", {"records", "replay"}},
    {"window", {"chain", "tree"}},
    {"track", {"no", "yes"}},
    {"dst", {"no", "yes"}},
    {"layers", {"one", "stride", "table"}},
};

constexpr const char *junk[] = {"", "0", "-1", "7", "257", "1e300", "1e-60", "-1e300", "nan", "inf", "-inf", "f16", "mma",
                                "none", "l2_div", "saturate", "99999999999999999999", "0x10", " 8", "8 ", "=", "gdn,", "%s"};

std::string unconstrained(Random &random) {
  std::string text;
  for (const Key &key : keys) {
    if (random.chance(30))
      continue;
    std::string name = random.chance(2) ? "keys" : key.name;
    text += (text.empty() ? "" : ",") + name + "=" + (random.chance(8) ? random.pick(junk) : random.pick(key.values));
  }
  return text;
}

struct Sizes {
  std::vector<const char *> H, group, K, V;
};

/// The keys that a phase takes, with values that agree.
std::string agreeing(Random &random, const Sizes &sizes, const std::vector<const char *> &phases) {
  std::string text;
  auto add = [&](const char *key, const std::string &value) {
    text += (text.empty() ? "" : ",") + std::string(key) + "=" + value;
  };
  auto maybe = [&](const char *key, std::initializer_list<const char *> values) {
    if (random.chance(40))
      add(key, random.pick(std::vector<const char *>(values)));
  };
  std::string phase = random.pick(phases);
  add("rule", random.pick(keys[0].values));
  add("phase", phase);
  int H = std::stoi(random.pick(sizes.H));
  add("H", std::to_string(H));
  add("HV", std::to_string(H * std::stoi(random.pick(sizes.group))));
  add("K", random.pick(sizes.K));
  add("V", random.pick(sizes.V));
  std::string gate = random.pick(keys[9].values);
  add("gate", gate);
  if (gate == "safe")
    add("lower_bound", random.pick(keys[10].values));
  add("beta", random.pick(keys[11].values));
  add("qk_norm", "l2_rsqrt");
  add("null", random.chance(50) ? "lt0" : "le0");
  maybe("beta_factor", {"1", "2"});
  maybe("eps", {"1e-6", "1e-5"});
  maybe("io", {"bf16", "f16", "f32"});
  maybe("state", {"f32", "bf16"});
  bool isSet = phase == "verify" || phase == "fold" || phase == "compact" ||
               ((phase == "cursors" || phase == "reset") && random.chance(60));
  bool hasInputs = phase == "input_replay" || phase == "snapshots";
  std::string flushAt;
  if (isSet) {
    std::vector<const char *> flushes = {"commit"};
    if (phase != "fold")
      flushes.push_back("verify");
    if (phase != "compact" && phase != "reset")
      flushes.push_back("every_commit");
    flushAt = random.pick(flushes);
    add("flush_at", flushAt);
    add("fold", random.chance(50) ? "records" : "replay");
  }
  int most = 1;
  if (isSet || hasInputs) {
    most = 1 + random.below(16);
    add("T_max", std::to_string(most));
    if (phase == "compact" || random.chance(40))
      add("window", "tree");
    if ((phase == "verify" || hasInputs) && random.chance(30))
      add("T", std::to_string(1 + random.below(most)));
  }
  int least = !isSet ? 1 : flushAt == "verify" ? 2 * most : most;
  if (phase != "packed" && !hasInputs && random.chance(70))
    add("L", std::to_string(least + random.below(65 - least)));
  else if (least > 16 && flushAt != "verify")
    add("L", std::to_string(least));
  if (((phase == "cursors" && isSet) || phase == "fold") && flushAt != "verify" && random.chance(40))
    add("track", "yes");
  bool stores = phase == "packed" || phase == "replay" || phase == "fold" || phase == "input_replay" ||
                (phase == "verify" && flushAt == "verify");
  if (stores && random.chance(30))
    add("dst", "yes");
  if ((phase == "fold" || phase == "compact" || phase == "input_replay") && random.chance(40))
    add("layers", random.chance(50) ? "stride" : "table");
  return text;
}

} // namespace

std::string robustness::randomSpec(Random &random) {
  if (random.chance(40))
    return unconstrained(random);
  static const Sizes any = {{"1", "2", "3", "4", "16"}, {"1", "2", "3", "4"}, keys[4].values, keys[5].values};
  std::string text = agreeing(random, any, keys[1].values);
  if (random.chance(20)) // One fault.
    text += "," + std::string(random.pick(keys).name) + "=" + random.pick(junk);
  return text;
}

std::string robustness::smallSpec(Random &random) {
  static const Sizes small = {{"1"}, {"1", "2"}, {"8", "16", "24"}, {"8", "16"}};
  // Cursors and resets are checked with the kernels that they serve.
  static const std::vector<const char *> phases = {"packed", "replay", "verify", "fold", "compact", "input_replay", "snapshots"};
  return agreeing(random, small, phases);
}
