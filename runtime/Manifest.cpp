//===- Manifest.cpp - Manifests as JSON -----------------------------------===//
//
// A strict reader of exactly what the writer emits: every key is required once
// and unknown keys are errors, so that a manifest of another version is never
// half understood.
//
//===----------------------------------------------------------------------===//
#include "replayssm/Manifest.h"
#include "replayssm/KernelABI.h"

#include <cstdio>
#include <functional>
#include <initializer_list>
#include <limits>

using namespace replayssm;

//===----------------------------------------------------------------------===//
// Writer
//===----------------------------------------------------------------------===//

static std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

static const char *kindName(KernelArg::Kind kind) {
  switch (kind) {
  case KernelArg::Kind::Pointer:
    return "pointer";
  case KernelArg::Kind::Stride:
    return "stride";
  case KernelArg::Kind::Table:
    return "table";
  }
  return "unknown";
}

/// `[]`, or one item a line.
static std::string list(size_t size, const std::function<std::string(size_t)> &item) {
  std::string out = "[";
  for (size_t i = 0; i < size; ++i)
    out += (i ? ",\n    " : "\n    ") + item(i);
  return out + (size ? "\n  ]" : "]");
}

std::string replayssm::toJson(const KernelManifest &manifest) {
  std::string out = "{\n  \"abi\": " + std::to_string(RSSM_ABI_VERSION);
  out += ",\n  \"name\": " + quote(manifest.name);
  out += ",\n  \"spec\": " + quote(manifest.spec);
  out += ",\n  \"threads\": " + std::to_string(manifest.threads);
  out += ",\n  \"blocks_per_row\": " + std::to_string(manifest.blocksPerRow);
  out += ",\n  \"shared_bytes\": " + std::to_string(manifest.sharedBytes);
  out += ",\n  \"args\": " + list(manifest.args.size(), [&](size_t i) {
    const KernelArg &arg = manifest.args[i];
    return "{\"name\": " + quote(arg.name) + ", \"kind\": \"" + kindName(arg.kind) +
           "\", \"dtype\": " + quote(arg.dtype) +
           (arg.kind == KernelArg::Kind::Stride ? ", \"min_elements\": " + std::to_string(arg.minElements) : "") +
           "}";
  });
  out += ",\n  \"sites\": " +
         list(manifest.sites.size(), [&](size_t i) { return quote(manifest.sites[i]); });
  return out + "\n}\n";
}

//===----------------------------------------------------------------------===//
// Reader
//===----------------------------------------------------------------------===//

namespace {

/// Recursive descent with one error: the first one stays.
class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}

  /// A key of an object and what reads its value; each is given once, and required
  /// unless something else of the object decides that.
  struct Field {
    std::string_view key;
    std::function<bool()> read;
    bool required = true;
  };

  bool object(std::initializer_list<Field> fields);
  bool array(const std::function<bool()> &element);
  bool string(std::string &out);
  template <typename T>
  bool integer(T &out);
  bool end();
  /// The position of the next value, for `fail` to point at.
  size_t mark() { return skipSpace(), pos; }
  bool failAt(size_t position, std::string what, StatusCode code = StatusCode::InvalidArgument) {
    pos = position;
    return fail(std::move(what), code);
  }
  bool fail(std::string what, StatusCode code = StatusCode::InvalidArgument);

  Status status;

private:
  char peek() const { return pos < text.size() ? text[pos] : '\0'; }
  void skipSpace();
  bool take(char c);
  bool expect(char c);
  bool escape(std::string &out);
  bool hexDigits(uint32_t &out);
  std::string found() const;

  std::string_view text;
  size_t pos = 0;
};

bool Reader::fail(std::string what, StatusCode code) {
  if (status.isOk()) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < pos && i < text.size(); ++i) {
      column = text[i] == '\n' ? 1 : column + 1;
      line += text[i] == '\n';
    }
    status = Status(code, "manifest:" + std::to_string(line) + ":" + std::to_string(column) +
                              ": " + std::move(what));
  }
  return false;
}

std::string Reader::found() const {
  if (pos >= text.size())
    return "the end";
  char c = text[pos];
  if (c >= 0x20 && c < 0x7f)
    return std::string("'") + c + "'";
  char hex[8];
  std::snprintf(hex, sizeof hex, "0x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return std::string("byte ") + hex;
}

void Reader::skipSpace() {
  while (pos < text.size() && std::string_view(" \t\r\n").find(text[pos]) != std::string_view::npos)
    ++pos;
}

bool Reader::take(char c) {
  skipSpace();
  if (pos >= text.size() || text[pos] != c)
    return false;
  ++pos;
  return true;
}

bool Reader::expect(char c) {
  return take(c) || fail(std::string("expected '") + c + "' but got " + found());
}

bool Reader::end() {
  skipSpace();
  return pos == text.size() || fail("expected the end but got " + found());
}

bool Reader::object(std::initializer_list<Field> fields) {
  if (!expect('{'))
    return false;
  uint32_t seen = 0;
  if (!take('}')) {
    do {
      size_t keyPos = mark();
      std::string key;
      if (!string(key))
        return false;
      size_t index = 0;
      while (index < fields.size() && fields.begin()[index].key != key)
        ++index;
      if (index == fields.size() || (seen >> index & 1)) {
        if (index < fields.size())
          return failAt(keyPos, "key '" + key + "' is given twice");
        std::string known;
        for (const Field &field : fields)
          known += (known.empty() ? "" : ", ") + std::string(field.key);
        return failAt(keyPos, "unknown key '" + key + "', expected one of " + known);
      }
      seen |= 1u << index;
      if (!expect(':') || !fields.begin()[index].read())
        return false;
    } while (take(','));
    if (!expect('}'))
      return false;
  }
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields.begin()[i].required && !(seen >> i & 1))
      return fail("missing key '" + std::string(fields.begin()[i].key) + "'");
  return true;
}

bool Reader::array(const std::function<bool()> &element) {
  if (!expect('['))
    return false;
  if (take(']'))
    return true;
  do {
    if (!element())
      return false;
  } while (take(','));
  return expect(']');
}

bool Reader::hexDigits(uint32_t &out) {
  out = 0;
  for (int i = 0; i < 4; ++i, ++pos) {
    char c = peek();
    uint32_t digit;
    if (c >= '0' && c <= '9')
      digit = c - '0';
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
      digit = (c | 0x20) - 'a' + 10;
    else
      return fail("expected four hexadecimal digits but got " + found());
    out = out << 4 | digit;
  }
  return true;
}

/// What follows a backslash.
bool Reader::escape(std::string &out) {
  static constexpr std::string_view letters = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
  size_t simple = pos < text.size() ? letters.find(text[pos]) : std::string_view::npos;
  if (simple != std::string_view::npos) {
    out += values[simple];
    ++pos;
    return true;
  }
  if (peek() != 'u')
    return fail("expected an escape sequence but got " + found());
  ++pos;
  uint32_t code, low;
  if (!hexDigits(code))
    return false;
  if (code >= 0xd800 && code < 0xe000) {
    if (code >= 0xdc00 || text.substr(pos, 2) != "\\u")
      return fail("expected a surrogate pair but got half of one");
    pos += 2;
    if (!hexDigits(low))
      return false;
    if (low < 0xdc00 || low >= 0xe000)
      return fail("expected a surrogate pair but got half of one");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
  return true;
}

bool Reader::string(std::string &out) {
  out.clear();
  skipSpace();
  if (peek() != '"')
    return fail("expected a string but got " + found());
  ++pos;
  while (true) {
    if (pos >= text.size() || static_cast<unsigned char>(text[pos]) < 0x20)
      return fail("expected '\"' but got " + found());
    char c = text[pos++];
    if (c == '"')
      return true;
    if (c != '\\')
      out += c;
    else if (!escape(out))
      return false;
  }
}

template <typename T>
bool Reader::integer(T &out) {
  constexpr T most = std::numeric_limits<T>::max();
  skipSpace();
  size_t start = pos;
  T value = 0;
  bool fits = true;
  for (; peek() >= '0' && peek() <= '9'; ++pos) {
    T digit = text[pos] - '0';
    fits = fits && value <= (most - digit) / 10;
    value = fits ? value * 10 + digit : value;
  }
  bool leadingZero = pos - start > 1 && text[start] == '0';
  if (pos == start || !fits || leadingZero || peek() == '.' || (peek() | 0x20) == 'e') {
    pos = start;
    return fail("expected an integer of 0 to " + std::to_string(most) + " but got " + found());
  }
  out = value;
  return true;
}

} // namespace

Result<KernelManifest> replayssm::manifestFromJson(std::string_view json) {
  KernelManifest manifest;
  Reader reader(json);
  auto abi = [&] {
    uint32_t version;
    size_t at = reader.mark();
    if (!reader.integer(version))
      return false;
    return version == RSSM_ABI_VERSION ||
           reader.failAt(at,
                         "expected ABI version " + std::to_string(RSSM_ABI_VERSION) +
                             " but got " + std::to_string(version),
                         StatusCode::Incompatible);
  };
  auto arg = [&] {
    KernelArg &arg = manifest.args.emplace_back();
    auto kind = [&] {
      std::string text;
      size_t at = reader.mark();
      if (!reader.string(text))
        return false;
      arg.kind = text == "stride"  ? KernelArg::Kind::Stride
                 : text == "table" ? KernelArg::Kind::Table
                                   : KernelArg::Kind::Pointer;
      return text == kindName(arg.kind) ||
             reader.failAt(at, "expected kind 'pointer', 'stride' or 'table' but got '" + text + "'");
    };
    bool hasMin = false;
    size_t minAt = 0;
    auto min = [&] {
      hasMin = true;
      minAt = reader.mark();
      return reader.integer(arg.minElements);
    };
    if (!reader.object({{"name", [&] { return reader.string(arg.name); }},
                        {"kind", kind},
                        {"dtype", [&] { return reader.string(arg.dtype); }},
                        {"min_elements", min, /*required=*/false}}))
      return false;
    bool isStride = arg.kind == KernelArg::Kind::Stride;
    if (isStride && !hasMin)
      return reader.fail("missing key 'min_elements' of the stride '" + arg.name + "'");
    return isStride || !hasMin ||
           reader.failAt(minAt, "key 'min_elements' applies to strides only but '" + arg.name + "' is none");
  };
  auto site = [&] { return reader.string(manifest.sites.emplace_back()); };
  bool ok =
      reader.object({{"abi", abi},
                     {"name", [&] { return reader.string(manifest.name); }},
                     {"spec", [&] { return reader.string(manifest.spec); }},
                     {"threads", [&] { return reader.integer(manifest.threads); }},
                     {"blocks_per_row", [&] { return reader.integer(manifest.blocksPerRow); }},
                     {"shared_bytes", [&] { return reader.integer(manifest.sharedBytes); }},
                     {"args", [&] { return reader.array(arg); }},
                     {"sites", [&] { return reader.array(site); }}}) &&
      reader.end();
  if (!ok)
    return reader.status;
  return manifest;
}
