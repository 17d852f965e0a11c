//===- ManifestTest.cpp - Manifests as JSON -------------------------------===//
#include "FakeDevice.h"
#include "replayssm/KernelABI.h"

using namespace replayssm;

namespace {

std::string without(std::string text, const std::string &what, const std::string &by = "") {
  size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

std::string errorOf(std::string_view json) {
  Result<KernelManifest> manifest = manifestFromJson(json);
  return manifest ? "ok" : manifest.status().str();
}

TEST(Manifest, RoundTrip) {
  KernelManifest manifest = exampleManifest();
  manifest.sites.push_back("quote \" backslash \\ newline \n tab \t bell \x07 accent \xc3\xa9");
  Result<KernelManifest> read = manifestFromJson(toJson(manifest));
  ASSERT_TRUE(read) << read.status().str();
  EXPECT_EQ(*read, manifest);
  EXPECT_EQ(toJson(*read), toJson(manifest));

  KernelManifest empty;
  read = manifestFromJson(toJson(empty));
  ASSERT_TRUE(read) << read.status().str();
  EXPECT_EQ(*read, empty);
}

TEST(Manifest, LargestNumbers) {
  KernelManifest manifest;
  manifest.args = {{"out_stride", KernelArg::Kind::Stride, "i64", UINT64_MAX}};
  manifest.threads = manifest.blocksPerRow = manifest.sharedBytes = UINT32_MAX;
  Result<KernelManifest> read = manifestFromJson(toJson(manifest));
  ASSERT_TRUE(read) << read.status().str();
  EXPECT_EQ(*read, manifest);
}

TEST(Manifest, Text) {
  KernelManifest manifest;
  manifest.name = "k";
  manifest.threads = 32;
  manifest.blocksPerRow = 1;
  manifest.args = {{"out", KernelArg::Kind::Pointer, "f32"}, {"out_stride", KernelArg::Kind::Stride, "i64", 8}};
  EXPECT_EQ(toJson(manifest), "{\n"
                              "  \"abi\": 1,\n"
                              "  \"name\": \"k\",\n"
                              "  \"spec\": \"\",\n"
                              "  \"threads\": 32,\n"
                              "  \"blocks_per_row\": 1,\n"
                              "  \"shared_bytes\": 0,\n"
                              "  \"args\": [\n"
                              "    {\"name\": \"out\", \"kind\": \"pointer\", \"dtype\": \"f32\"},\n"
                              "    {\"name\": \"out_stride\", \"kind\": \"stride\", \"dtype\": \"i64\", "
                              "\"min_elements\": 8}\n"
                              "  ],\n"
                              "  \"sites\": []\n"
                              "}\n");
}

TEST(Manifest, Escapes) {
  std::string json = without(toJson({}), "\"spec\": \"\"",
                             "\"spec\" : \"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\"");
  Result<KernelManifest> read = manifestFromJson(json);
  ASSERT_TRUE(read) << read.status().str();
  EXPECT_EQ(read->spec, "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/\b\f\n\r\t");
}

TEST(Manifest, Keys) {
  std::string json = toJson({});
  EXPECT_EQ(errorOf(without(json, "\"spec\"", "\"specs\"")),
            "invalid argument: manifest:4:3: unknown key 'specs', expected one of abi, name, "
            "spec, threads, blocks_per_row, shared_bytes, args, sites");
  EXPECT_EQ(errorOf(without(json, "\"spec\"", "\"name\"")),
            "invalid argument: manifest:4:3: key 'name' is given twice");
  EXPECT_EQ(errorOf(without(json, "  \"threads\": 0,\n")),
            "invalid argument: manifest:9:2: missing key 'threads'");
  EXPECT_EQ(errorOf(without(toJson(exampleManifest()), "\"dtype\"", "\"type\"")),
            "invalid argument: manifest:9:46: unknown key 'type', expected one of name, kind, "
            "dtype, min_elements");
  EXPECT_EQ(errorOf(without(toJson(exampleManifest()), "\"kind\": \"pointer\"", "\"kind\": \"ptr\"")),
            "invalid argument: manifest:9:35: expected kind 'pointer', 'stride' or 'table' but got 'ptr'");
}

TEST(Manifest, LeastStrides) {
  std::string json = toJson(exampleManifest());
  EXPECT_EQ(errorOf(without(json, ", \"min_elements\": 64")),
            "invalid argument: manifest:16:63: missing key 'min_elements' of the stride 'state_stride'");
  EXPECT_EQ(errorOf(without(json, "\"dtype\": \"i32\"", "\"min_elements\": 4, \"dtype\": \"i32\"")),
            "invalid argument: manifest:9:62: key 'min_elements' applies to strides only but 'state_idx' is none");
  EXPECT_EQ(errorOf(without(json, "\"min_elements\": 64", "\"min_elements\": 18446744073709551616")),
            "invalid argument: manifest:16:80: expected an integer of 0 to 18446744073709551615 but got '1'");
  EXPECT_EQ(errorOf(without(json, "\"min_elements\": 64", "\"min_elements\": -1")),
            "invalid argument: manifest:16:80: expected an integer of 0 to 18446744073709551615 but got '-'");
}

/// A kind that a program has cast gives text that is refused.
TEST(Manifest, UnknownKind) {
  KernelManifest manifest;
  manifest.args = {{"out", static_cast<KernelArg::Kind>(7), "f32"}};
  EXPECT_EQ(errorOf(toJson(manifest)), "invalid argument: manifest:9:29: expected kind 'pointer', 'stride' or "
                                       "'table' but got 'unknown'");
}

TEST(Manifest, AbiVersion) {
  EXPECT_EQ(RSSM_ABI_VERSION, 1);
  EXPECT_EQ(errorOf(without(toJson({}), "\"abi\": 1", "\"abi\": 2")),
            "incompatible: manifest:2:10: expected ABI version 1 but got 2");
}

TEST(Manifest, Syntax) {
  std::string json = toJson({});
  EXPECT_EQ(errorOf(""), "invalid argument: manifest:1:1: expected '{' but got the end");
  EXPECT_EQ(errorOf("[]"), "invalid argument: manifest:1:1: expected '{' but got '['");
  EXPECT_EQ(errorOf("{}"), "invalid argument: manifest:1:3: missing key 'abi'");
  EXPECT_EQ(errorOf("{\"abi\" 1"), "invalid argument: manifest:1:8: expected ':' but got '1'");
  EXPECT_EQ(errorOf("{\"abi\": 1;"), "invalid argument: manifest:1:10: expected '}' but got ';'");
  EXPECT_EQ(errorOf("{\"abi\": 1,}"),
            "invalid argument: manifest:1:11: expected a string but got '}'");
  EXPECT_EQ(errorOf("{\"abi"), "invalid argument: manifest:1:6: expected '\"' but got the end");
  EXPECT_EQ(errorOf("{\"a\nb"),
            "invalid argument: manifest:1:4: expected '\"' but got byte 0x0a");
  EXPECT_EQ(errorOf(json + "x"), "invalid argument: manifest:11:1: expected the end but got 'x'");
  EXPECT_EQ(errorOf(without(json, "[]", "[\"a\"")),
            "invalid argument: manifest:8:12: expected '{' but got '\"'");
  EXPECT_EQ(errorOf("{\"\\x"),
            "invalid argument: manifest:1:4: expected an escape sequence but got 'x'");
  EXPECT_EQ(errorOf("{\"\\u12g4"),
            "invalid argument: manifest:1:7: expected four hexadecimal digits but got 'g'");
  EXPECT_EQ(errorOf("{\"\\ude00"),
            "invalid argument: manifest:1:9: expected a surrogate pair but got half of one");
  EXPECT_EQ(errorOf("{\"\\ud83d\\u0041"),
            "invalid argument: manifest:1:15: expected a surrogate pair but got half of one");
  for (const char *text : {"-1", "1.5", "1e3", "007", "4294967296", "99999999999999999999", "\"1\""})
    EXPECT_EQ(errorOf(without(json, "\"threads\": 0", std::string("\"threads\": ") + text)),
              std::string("invalid argument: manifest:5:14: expected an integer of 0 to "
                          "4294967295 but got '") +
                  text[0] + "'");
}

/// Cutting a manifest anywhere gives an error, never a crash or a value.
TEST(Manifest, EveryPrefixIsAnError) {
  std::string json = toJson(exampleManifest());
  json.pop_back(); // The newline at the end may go.
  for (size_t size = 0; size < json.size(); ++size)
    EXPECT_NE(errorOf(std::string_view(json).substr(0, size)), "ok") << size;
}

} // namespace
