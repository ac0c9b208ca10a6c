// SPDX-License-Identifier: Apache-2.0
// Reading fields of JSON objects without building a document.
#include "traces/exchange/lines/json_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "tests/support/places.h"
#include "traces/format/core/input_file.h"
#include "traces/format/core/json.h"

namespace ringscope::traces {
namespace {

struct Found {
  std::string key, value;
  JsonType type;
  friend bool operator==(const Found& a, const Found& b) {
    return a.key == b.key && a.value == b.value && a.type == b.type;
  }
};

std::vector<Found> fieldsOf(const std::string& text) {
  std::vector<JsonField> fields;
  EXPECT_TRUE(readJsonFields(text, fields)) << text;
  std::vector<Found> found;
  for (const JsonField& field : fields)
    found.push_back({text.substr(field.key_begin, field.key_size),
                     text.substr(field.value_begin, field.value_size), field.type});
  return found;
}

bool isRead(const std::string& text) {
  std::vector<JsonField> fields;
  return readJsonFields(text, fields);
}

/// Reports whether the JSON library reads an object.
bool isObject(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  return !json.is_discarded() && json.is_object();
}

TEST(JsonFields, AreFoundInTheirOrderWithTheirTypes) {
  EXPECT_EQ(fieldsOf(R"({"line":"hop","n":-1.5e3,"yes":true,"no":false,"none":null})"),
            (std::vector<Found>{{"line", R"("hop")", JsonType::kPlainText},
                                {"n", "-1.5e3", JsonType::kNumber},
                                {"yes", "true", JsonType::kTrue},
                                {"no", "false", JsonType::kFalse},
                                {"none", "null", JsonType::kNull}}));
  EXPECT_EQ(fieldsOf(" { \"a\" : [ 1 , {\"b\":2} ] ,\t\"o\":{ } }\r"),
            (std::vector<Found>{{"a", R"([ 1 , {"b":2} ])", JsonType::kList},
                                {"o", "{ }", JsonType::kObject}}));
  EXPECT_TRUE(fieldsOf("{}").empty());
}

TEST(JsonFields, ATextIsPlainWithoutEscapesAndControlCharacters) {
  for (const char* odd : {R"({"a":"\n"})", R"({"a":"\u0041"})", "{\"a\":\"\xC3\xA4\"}",
                          "{\"a\":\"\x7F\"}", R"({"a":"\""})"})
    EXPECT_EQ(fieldsOf(odd).front().type, JsonType::kText) << odd;
  EXPECT_EQ(fieldsOf(R"({"a":" !#~[]{},:"})").front().type, JsonType::kPlainText);
}

TEST(JsonFields, RejectsTextThatIsNoObject) {
  for (const char* text : {"",
                           " ",
                           "null",
                           "[]",
                           "3",
                           "\"x\"",
                           "{",
                           "{}}",
                           "{} x",
                           "{,}",
                           R"({"a"})",
                           R"({"a":})",
                           R"({"a":1,})",
                           R"({"a":1 "b":2})",
                           R"({a:1})",
                           R"({"a":01})",
                           R"({"a":1.})",
                           R"({"a":.5})",
                           R"({"a":+1})",
                           R"({"a":1e})",
                           R"({"a":-})",
                           R"({"a":NaN})",
                           R"({"a":Infinity})",
                           R"({"a":-Infinity})",
                           R"({"a":1e999})",
                           R"({"a":nul})",
                           R"({"a":True})",
                           R"({"a":"x})",
                           R"({"a":"\x"})",
                           R"({"a":"\)",
                           R"({"a":"\ud800"})",
                           "{\"a\":\"\xFF\"}",
                           "{\"a\":\"\n\"}",
                           R"({"a":[1})",
                           R"({"a":[1,]})",
                           R"({"a":{"b":1]})"}) {
    EXPECT_FALSE(isRead(text)) << text;
    EXPECT_FALSE(isObject(text)) << "the test is wrong about " << text;
  }
}

TEST(JsonFields, NestingEndsWhereThatOfDocumentsDoes) {
  const auto nested = [](int levels) {
    return R"({"a":)" + std::string(static_cast<std::size_t>(levels) - 1, '[') +
           std::string(static_cast<std::size_t>(levels) - 1, ']') + "}";
  };
  EXPECT_TRUE(isRead(nested(kMaxJsonDepth)));
  EXPECT_FALSE(isRead(nested(kMaxJsonDepth + 1)));
  EXPECT_NO_THROW(parseJson(nested(kMaxJsonDepth), "it"));
  EXPECT_FALSE(isRead(R"({"a":)" + std::string(1'000'000, '[')));
}

TEST(JsonFields, AcceptsTheSameDamagedLinesAsTheJsonLibrary) {
  const std::string all = readFile(test::inSources("tests/reference/recording/rank-00000.jsonl"));
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end; (end = all.find('\n', begin)) != std::string::npos;
       begin = end + 1)
    lines.push_back(all.substr(begin, end - begin));
  std::mt19937 random(7);
  const std::string odd = "\"\\{}[]:,-+.eE0189ntfu \x01\x7F\x80\xC3";
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string line = lines[random() % lines.size()];
    for (unsigned i = 0; i <= random() % 2; ++i) {
      char& at = line[random() % line.size()];
      at = random() % 3 == 0 ? static_cast<char>(at ^ (1 << random() % 8))
                             : odd[random() % odd.size()];
    }
    ASSERT_EQ(isRead(line), isObject(line)) << line;
    refused += isRead(line) ? 0 : 1;
  }
  EXPECT_GT(refused, 2000);
  EXPECT_LT(refused, 18'000);
}

TEST(JsonItems, AreReadOneByOne) {
  JsonItems items(R"([ 1, "a,b" ,[2,3],{"x":[]} , null])");
  std::vector<std::string> texts;
  while (const auto item = items.next()) texts.emplace_back(item->text);
  EXPECT_EQ(texts, (std::vector<std::string>{"1", R"("a,b")", "[2,3]", R"({"x":[]})", "null"}));
  EXPECT_FALSE(JsonItems("[ ]").next());
}

TEST(WholeNumber, IsExactOrNone) {
  const auto of = [](std::string_view text) { return wholeNumber({text, JsonType::kNumber}); };
  EXPECT_EQ(of("0"), 0);
  EXPECT_EQ(of("9007199254740992"), std::int64_t{1} << 53);
  for (const char* none : {"9007199254740993", "-1", "1.0", "1e3", "99999999999999999999999"})
    EXPECT_FALSE(of(none)) << none;
  EXPECT_FALSE(wholeNumber({"\"1\"", JsonType::kPlainText}));
}

}  // namespace
}  // namespace ringscope::traces
